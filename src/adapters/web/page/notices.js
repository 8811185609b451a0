// The service worker of the console: it shows notices and opens the page when one is clicked. It answers no
// requests and keeps nothing.

/** @type {any} */
const worker = self;

worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil((async () => {
    const pages = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
    const url = event.notification.data?.url;
    const page = pages.find((open) => open.url === url) ?? pages[0];
    await (page ? page.focus() : worker.clients.openWindow(url ?? '/'));
  })());
});

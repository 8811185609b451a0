// The service worker of the console: it shows notices and opens the page when one is clicked. It answers no
// requests and keeps nothing.

/** @type {any} */
const worker = self;

worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil((async () => {
    const pages = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
    await (pages.length ? pages[0].focus() : worker.clients.openWindow(event.notification.data?.url ?? '/'));
  })());
});

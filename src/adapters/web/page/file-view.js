// A file of a message: an image that is shown, or a name that downloads it. Both need the login, so
// neither is a plain URL in the page: images are fetched as blobs, downloads use a link that is
// signed on click, and recordings are fetched when they are played.

import { api } from './api.js';
import { attempt, problemLine } from './controls.js';
import { h, icon, safeHref } from './dom.js';
import { player } from './sound.js';
import { t } from './strings.js';

// A blob that is opened is a document of this origin: no other types.
const PICTURE = /^image\/(?:png|jpeg|gif|webp)$/;
const INLINE_PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)[;,]/i;

// How many images keep their object URL; older ones are revoked.
const KEPT = 40;
const objectUrls = new Map();

/** The URL of an image to show. */
function pictureUrl(file) {
  const known = objectUrls.get(file);
  if (known) return known;
  const url = api.file(file).then((blob) => {
    if (!PICTURE.test(blob.type)) throw new TypeError(blob.type);
    return URL.createObjectURL(blob);
  });
  objectUrls.set(file, url);
  url.catch(() => objectUrls.delete(file));
  if (objectUrls.size > KEPT) {
    const [oldest, revoked] = objectUrls.entries().next().value;
    objectUrls.delete(oldest);
    revoked.then((old) => URL.revokeObjectURL(old), () => {});
  }
  return url;
}

// Images are fetched shortly before they become visible.
const wanted = new WeakMap();
const sight = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting) continue;
    sight.unobserve(target);
    wanted.get(target)?.();
  }
}, /** @type {IntersectionObserverInit} */ ({ scrollMargin: '600px' }));

/** The normalised path of a file of this daemon; null for others. */
export function ownFile(url) {
  const found = /^\/api\/files\/([^/?#\\]+)\/([^/?#\\]+)$/.exec(url);
  if (!found) return null;
  try {
    const segments = found.slice(1).map(decodeURIComponent);
    if (segments.some((segment) => /^\.{1,2}$/.test(segment))) return null;
    return `/api/files/${segments.map(encodeURIComponent).join('/')}`;
  } catch {
    return null;
  }
}

/** Shows a picture as large as the window allows; `opener` has the focus afterwards. */
function zoom(src, name, opener) {
  const closed = () => {
    dialog.remove();
    opener.focus({ preventScroll: true });
  };
  const dialog = h('dialog', { class: 'zoom', 'aria-label': name, 'data-testid': 'zoom', onclick: () => dialog.close(), onclose: closed },
    h('img', { src, alt: name }),
    h('button', { type: 'button', class: 'icon-button', 'aria-label': t('close') }, icon('close')));
  document.body.append(dialog);
  dialog.showModal();
}

function zoomable(img, name) {
  const opener = h('button', { type: 'button', class: 'picture', 'aria-label': t('zoom', { name }), 'data-testid': 'picture-zoom', onclick: () => img.src && zoom(img.src, name, opener) }, img);
  return opener;
}

export class FileView {
  constructor() {
    this.el = h('div', { class: 'part part-file' });
  }

  update(part) {
    const url = String(part.url ?? '');
    const isPicture = String(part.mediaType).startsWith('image/');
    const name = part.filename || t(isPicture ? 'image' : 'file');
    // A message is rendered again with every change; its image stays.
    const key = JSON.stringify([url, isPicture, name]);
    if (this.key === key) return;
    this.key = key;
    const file = ownFile(url);
    if (file && isPicture) this.showPicture(file, name);
    else if (file && String(part.mediaType).startsWith('audio/')) this.showSound(file, name);
    else if (file) this.showDownload(file, name);
    else if (isPicture && INLINE_PICTURE.test(url)) this.el.replaceChildren(zoomable(h('img', { src: url, alt: name, loading: 'lazy' }), name));
    else this.showLink(url, name);
  }

  showPicture(file, name) {
    const img = h('img', { alt: name, 'data-testid': 'picture' });
    this.el.replaceChildren(zoomable(img, name));
    wanted.set(img, async () => {
      try {
        img.src = await pictureUrl(file);
      } catch {
        // The next update of the message retries.
        this.key = null;
        if (img.isConnected) this.showDownload(file, name);
      }
    });
    sight.observe(img);
  }

  showSound(file, name) {
    const problem = problemLine();
    const play = async () => {
      const sound = await api.file(file);
      this.el.replaceChildren(player(sound, name));
    };
    this.el.replaceChildren(
      h('button', { type: 'button', class: 'file', 'data-testid': 'sound', 'aria-label': t('play', { name }), onclick: () => attempt(this.el, problem, play) }, icon('play'), name),
      problem);
  }

  showDownload(file, name) {
    const problem = problemLine();
    const download = async () => {
      const href = await api.fileLink(file);
      h('a', { href, download: name }).click();
    };
    this.el.replaceChildren(
      h('button', { type: 'button', class: 'file', 'data-testid': 'file', onclick: () => attempt(this.el, problem, download) }, icon('file'), name),
      problem);
  }

  // A data URL may be saved, never opened: it would be a document.
  showLink(url, name) {
    const data = url.startsWith('data:');
    const href = data ? url : safeHref(url);
    this.el.replaceChildren(href
      ? h('a', { class: 'file', href, download: data ? name : null, target: data ? null : '_blank', rel: 'noopener noreferrer' }, icon('file'), name)
      : h('span', { class: 'file' }, icon('file'), name));
  }
}

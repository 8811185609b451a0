// Plays recordings and spoken answers. They need the login, so they are fetched as blobs.

import { h } from './dom.js';

// How many players keep their sound; older ones are revoked.
const KEPT = 8;
const urls = [];

/** An element that plays sound from the daemon, at once. */
export function player(blob, name) {
  if (!blob.type.startsWith('audio/')) throw new TypeError(blob.type);
  const url = URL.createObjectURL(blob);
  urls.push(url);
  if (urls.length > KEPT) URL.revokeObjectURL(urls.shift());
  return h('audio', { class: 'player', src: url, controls: true, autoplay: true, 'aria-label': name, 'data-testid': 'player' });
}

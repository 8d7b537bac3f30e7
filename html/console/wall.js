/*
 * A wall of live pictures: a tile for each stream with its newest key frame,
 * /APP/NAME.still.mp4, which the browser's own decoder shows.
 *
 * Only tiles in sight are asked for, and none while nobody looks at the page.
 * Few requests are under way at once, the tile that waits longest first; what
 * cannot be had is asked for less and less often.  A tile out of sight has no
 * picture and no memory: browsers limit how many video elements a page has.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { el, setAttribute, setText } from './dom.js';
import * as format from './format.js';
import { stillUrl } from './lines.js';
import { stateOf } from './model.js';

const EVERY = 4000; // ms from one picture of a stream to the next
const SLOWEST = 60000; // of one that cannot be had
const AT_ONCE = 3; // of a browser's six connections to a host
const PATIENCE = 15000; // of a request
const LARGEST = 8 * 1024 * 1024; // bytes of a picture
const LIMIT = 500; // tiles
const collator = new Intl.Collator('en', { numeric: true });

class Tile {
  inSight = false;
  row = null;
  #due = 0; // when it is asked for next
  #wait = EVERY;
  #asking = null; // AbortController
  #tag = null; // ETag of what it shows
  #url = ''; // of the blob that it shows

  constructor(row) {
    this.video = el('div', { class: 'still' });
    this.words = el('span', { class: 'tile-words' });
    this.state = el('span', { class: 'state' });
    this.rate = el('span', { class: 'rate' });
    this.node = el('li', {},
      el('a', { href: `#/streams/${encodeURIComponent(row.key)}` },
        el('div', { class: 'frame' }, this.video, this.words),
        el('span', { class: 'tile-name' }, row.key), this.state, this.rate));
    this.update(row);
  }

  update(row) {
    if (this.row?.state !== row.state) {
      this.#wait = EVERY; // another publisher may send what can be shown
      this.#due = 0;
    }
    this.row = row;
    setText(this.state, stateOf(row));
    setAttribute(this.state, 'data-state', row.state);
    setText(this.rate, format.bitRate(row.video_speed + row.audio_speed));
  }

  /** When it wants a picture; Infinity: it does not. */
  get due() {
    const wanted = this.inSight && !this.#asking && this.row.state === 'live';
    return wanted ? this.#due : Infinity;
  }

  /** Asks for a picture. */
  async ask() {
    const asking = this.#asking = new AbortController();
    const late = setTimeout(() => asking.abort(), PATIENCE);
    let problem;
    try {
      problem = await this.#show(await fetch(stillUrl(this.row.key), {
        signal: asking.signal, cache: 'no-cache',
      }), asking.signal);
    } catch {
      problem = 'no answer';
    }
    clearTimeout(late);
    if (this.#asking !== asking) {
      return; // it has gone out of sight
    }
    this.#asking = null;
    this.#wait = problem ? Math.min(2 * this.#wait, SLOWEST) : EVERY;
    this.#due = performance.now() + this.#wait;
    this.#say(problem ?? '');
  }

  /* What is wrong with it; undefined: nothing. */
  async #show(answer, signal) {
    const tag = answer.headers.get('ETag');
    if (!answer.ok || (tag && tag === this.#tag)) {
      answer.body?.cancel().catch(() => {});
      return answer.ok ? undefined : PROBLEMS[answer.status] ??
        `status ${answer.status}`;
    }
    if (Number(answer.headers.get('Content-Length')) > LARGEST) {
      answer.body?.cancel().catch(() => {});
      return 'its picture is too large';
    }
    const url = URL.createObjectURL(await answer.blob());
    const next = el('video', {
      class: 'still', muted: true, playsinline: true, preload: 'auto',
      tabindex: -1, 'aria-hidden': 'true',
    });
    next.muted = true;
    try {
      await loaded(next, url, signal);
      signal.throwIfAborted();
    } catch (error) {
      URL.revokeObjectURL(url);
      return error.message;
    }
    this.#put(next, url, tag);
    return undefined;
  }

  /* The one before stays until the next one is there: nothing flickers. */
  #put(node, url, tag) {
    const [before, old] = [this.video, this.#url];
    before.replaceWith(node);
    this.video = node;
    this.#url = url;
    this.#tag = tag;
    before.removeAttribute('src');
    before.load?.();
    if (old) {
      URL.revokeObjectURL(old);
    }
  }

  #say(text) {
    setText(this.words, text);
  }

  /** Out of sight: it keeps nothing. */
  leave() {
    this.#asking?.abort();
    this.#asking = null;
    this.#due = 0;
    if (this.#url) {
      this.#put(el('div', { class: 'still' }), '', null);
    }
  }

  /** The page is hidden: what it shows stays. */
  pause() {
    this.#asking?.abort();
    this.#asking = null;
  }
}

const PROBLEMS = {
  401: 'asks for a password',
  403: 'not for this address',
  404: 'no picture',
  429: 'asked too often',
  503: 'no picture yet',
};

function loaded(video, url, signal) {
  return new Promise((resolve, reject) => {
    video.addEventListener('loadeddata', resolve, { once: true });
    video.addEventListener('error', () =>
      reject(new Error('this browser cannot show it')), { once: true });
    signal.addEventListener('abort', () => {
      video.removeAttribute('src');
      reject(new Error('no answer'));
    }, { once: true });
    video.src = url;
  });
}

export class WallView {
  #tiles = new Map(); // key: Tile
  #byNode = new WeakMap();
  #asking = 0;
  #timer = null;
  #open = false;
  #observer = new IntersectionObserver((seen) => this.#seen(seen));

  constructor(model) {
    this.model = model;
    this.list = el('ul', { class: 'tiles', 'aria-label': 'Pictures' });
    this.empty = el('p', { class: 'more' });
    this.node = el('div', { class: 'wall' }, el('h1', {}, 'Pictures'),
      this.empty, this.list);
    document.addEventListener('visibilitychange', () => this.#look());
  }

  show() {
    this.#open = true;
  }

  close() {
    this.#open = false;
    clearTimeout(this.#timer);
    for (const key of [...this.#tiles.keys()]) {
      this.#forget(key);
    }
  }

  update() {
    const all = [...this.model.streams.values()].filter((s) => !s.ended)
      .sort((a, b) => collator.compare(a.key, b.key));
    const rows = all.slice(0, LIMIT);
    const keys = new Set(rows.map((row) => row.key));
    for (const key of [...this.#tiles.keys()].filter((k) => !keys.has(k))) {
      this.#forget(key);
    }
    rows.forEach((row, n) => this.#place(row, n));
    const more = all.length - rows.length + this.model.streamsLeftOut;
    this.empty.hidden = !this.model.streamsKnown ||
      (all.length > 0 && more === 0);
    setText(this.empty, all.length === 0 ? 'No stream is live.' :
      `${format.count(more)} more streams are not shown.`);
    this.#ask();
  }

  #place(row, n) {
    let tile = this.#tiles.get(row.key);
    if (tile) {
      tile.update(row);
    } else {
      tile = new Tile(row);
      this.#tiles.set(row.key, tile);
      this.#byNode.set(tile.node, tile);
      this.#observer.observe(tile.node);
    }
    if (this.list.children[n] !== tile.node) {
      this.list.insertBefore(tile.node, this.list.children[n] ?? null);
    }
  }

  #forget(key) {
    const tile = this.#tiles.get(key);
    this.#tiles.delete(key);
    this.#observer.unobserve(tile.node);
    tile.inSight = false;
    tile.leave();
    tile.node.remove();
  }

  #seen(changes) {
    for (const { target, isIntersecting } of changes) {
      const tile = this.#byNode.get(target);
      tile.inSight = isIntersecting && this.#tiles.has(tile.row.key);
      if (!tile.inSight) {
        tile.leave();
      }
    }
    this.#ask();
  }

  #look() {
    if (document.hidden) {
      clearTimeout(this.#timer);
      for (const tile of this.#tiles.values()) {
        tile.pause();
      }
    } else {
      this.#ask();
    }
  }

  /* As many as may be asked at once, and again when the next one wants. */
  #ask() {
    clearTimeout(this.#timer);
    if (!this.#open || document.hidden || this.model.away) {
      return;
    }
    const now = performance.now();
    const waiting = [...this.#tiles.values()]
      .filter((tile) => tile.due !== Infinity).sort((a, b) => a.due - b.due);
    while (this.#asking < AT_ONCE && waiting[0]?.due <= now) {
      this.#asking++;
      waiting.shift().ask().then(() => {
        this.#asking--;
        this.#ask();
      });
    }
    if (this.#asking < AT_ONCE && waiting.length > 0) {
      this.#timer = setTimeout(() => this.#ask(), waiting[0].due - now);
    }
  }
}

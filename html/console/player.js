/*
 * Plays a live stream in the page: HTTP-FLV, taken apart by mpegts.js, which
 * is fetched when something is played for the first time.
 *
 * It begins silent, as browsers want it.  That its bytes end says little: the
 * stream may have ended, or weir may be gone.  So whoever shows it tells by
 * see() what is known, and it goes on by itself when the stream is there again.
 * A picture of another size is begun anew, because mpegts.js stalls there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { el, setText } from './dom.js';
import { flvPath } from './lines.js';

const LIBRARY = new URL('../vendor/mpegts.js', import.meta.url);
const CONFIG = {
  enableWorker: false, // a worker from a blob: would need a laxer policy
  enableStashBuffer: false,
  lazyLoad: false,
  liveBufferLatencyChasing: true,
  liveBufferLatencyMaxLatency: 3,
  liveBufferLatencyMinRemain: 1,
  autoCleanupSourceBuffer: true,
  autoCleanupMaxBackwardDuration: 30,
  autoCleanupMinBackwardDuration: 15,
};

const STATUS = {
  401: 'The server wants to know who asks (auth in weir.conf).',
  403: 'This address may not play it (play_access in weir.conf).',
  404: 'Nobody publishes this name.',
  429: 'Too many requests; try again in a while.',
  503: 'The server has no room for another player now.',
};

let library;

function loadLibrary() {
  library ??= new Promise((resolve, reject) => {
    const script = el('script', {
      src: LIBRARY,
      onload: () => {
        // What goes wrong is said in the page.
        window.mpegts.LoggingControl.enableAll = false;
        resolve(window.mpegts);
      },
      onerror: () => {
        library = undefined;
        script.remove();
        reject(new Error('vendor/mpegts.js could not be loaded'));
      },
    });
    document.head.append(script);
  });
  return library;
}

export class Player {
  #library; // mpegts.js's player of now
  #state = 'stopped'; // stopped, starting, playing, ended, failed
  #turn = 0; // a stop() or play() makes what was begun before stale
  #text = ''; // what its state says of itself
  #known = {}; // as see() was told last
  #broken = false; // it ended for a reason that may be over

  constructor(key) {
    this.key = key;
    this.video = el('video', {
      controls: true, muted: true, playsinline: true, preload: 'none',
      'aria-label': `Picture of ${key}`,
      onplaying: () => this.#playing(),
      onresize: () => this.#playing(),
    });
    this.video.muted = true;
    this.words = el('p', { class: 'player-words', role: 'status' });
    this.button = el('button', {
      type: 'button',
      onclick: () => (this.#idle() ? this.play() : this.stop()),
    });
    this.node = el('figure', { class: 'player' }, this.video,
      el('figcaption', {}, this.button, this.words));
    this.#set('stopped', '');
  }

  async play() {
    this.#drop();
    const turn = this.#turn;
    this.#set('starting', 'Waiting for the picture …');
    try {
      const mpegts = await loadLibrary();
      if (turn === this.#turn) {
        this.#start(mpegts);
      }
    } catch (error) {
      this.#fail(turn, `It cannot be played here: ${error.message}`);
    }
  }

  stop() {
    this.#drop();
    this.#set('stopped', '');
  }

  /** What is known of the stream: away: the server cannot be asked; state
   *  "live", "hold" or "ended"; size of the picture. */
  see(known) {
    const before = this.#known;
    const here = ({ away, state }) => !away && state === 'live';
    this.#known = known;
    if (here(known) && !here(before) && this.#broken) {
      this.play();
    } else if (known.size && before.size && known.size !== before.size &&
      this.#state !== 'stopped') {
      this.play();
    }
    this.#say();
  }

  #start(mpegts) {
    if (!mpegts.isSupported()) {
      this.#set('failed', 'This browser cannot play live streams ' +
        '(Media Source Extensions are missing). Use a line below.');
      return;
    }
    const turn = this.#turn;
    const url = location.origin + flvPath(this.key);
    const player = mpegts.createPlayer({ type: 'flv', isLive: true, url },
      CONFIG);
    this.#library = player;
    player.on(mpegts.Events.ERROR, (type, detail, info) =>
      this.#fail(turn, explain(type, detail, info), type === 'NetworkError'));
    player.on(mpegts.Events.LOADING_COMPLETE, () => this.#end(turn));
    player.attachMediaElement(this.video);
    player.load();
    player.play()?.catch?.(() => {}); // stopped before it began
  }

  #playing() {
    this.#set('playing', '');
    this.node.classList.toggle('sound', this.video.videoWidth === 0);
  }

  #end(turn) {
    setTimeout(() => {
      if (turn === this.#turn) {
        this.#drop();
        this.#broken = true;
        this.#set('ended', 'The stream has ended.');
      }
    });
  }

  /* From a callback of the library, which is not to be destroyed in it. */
  #fail(turn, text, broken = false) {
    setTimeout(() => {
      if (turn === this.#turn) {
        this.#drop();
        this.#broken = broken;
        this.#set('failed', text);
      }
    });
  }

  #drop() {
    this.#turn++;
    this.#broken = false;
    this.#library?.destroy();
    this.#library = undefined;
  }

  #say() {
    const { away, state } = this.#known;
    let text = this.#text;
    if (away && this.#idle() && this.#state !== 'stopped') {
      text = 'weir is away. The picture comes back with it.';
    } else if (state === 'hold' && this.#state !== 'stopped') {
      text = 'On hold: its publisher is away. The picture goes on when it ' +
        'comes back.';
    } else if (this.#state === 'ended' && state === 'live') {
      text = 'The server ended this picture; the stream is live.';
    }
    setText(this.words, text);
  }

  #idle() {
    return ['stopped', 'ended', 'failed'].includes(this.#state);
  }

  #set(state, text) {
    this.#state = state;
    this.#text = text;
    this.node.dataset.state = state;
    this.#say();
    setText(this.button, this.#idle() ? 'Play' : 'Stop');
  }
}

function explain(type, detail, info) {
  if (detail === 'HttpStatusCodeInvalid') {
    return STATUS[info?.code] ?? `The server answered ${info?.code}.`;
  }
  if (type === 'NetworkError') {
    return 'The connection to the server broke.';
  }
  if (detail === 'CodecUnsupported' || detail === 'MediaMSEError') {
    return 'This browser cannot decode what is published.';
  }
  return `What came could not be played (${detail}).`;
}

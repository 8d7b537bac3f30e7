/*
 * Plays a live stream in the page, by HTTP-FLV or HLS (flv.js, hls.js): FLV
 * where its library reads the codecs, the other one when one cannot.
 *
 * It begins silent, as browsers want it.  That its bytes end says little: the
 * stream may have ended, or weir may be gone.  So whoever shows it tells by
 * see() what is known, and it goes on by itself when the stream is there again.
 * FLV is begun anew where its picture has another size, because mpegts.js
 * stalls there, or gives up before the size is known here; and where the picture
 * of a live stream stands still: nothing else notices a connection that died
 * without a word.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { el, setText } from './dom.js';
import { flv } from './flv.js';
import { hls } from './hls.js';

const STILL = 8000; // ms without a new picture
const APART = 8000; // ms between pictures that break in the middle

const STATUS = {
  401: 'The server wants to know who asks (auth in weir.conf).',
  403: 'This address may not play it (play_access in weir.conf).',
  404: 'Nobody publishes this name.',
  429: 'Too many requests; try again in a while.',
  503: 'The server has no room for another player now.',
};

export class Player {
  #drop = () => {}; // ends what plays now
  #state = 'stopped'; // stopped, starting, playing, ended, failed
  #turn = 0; // a stop() or play() makes what was begun before stale
  #text = ''; // what its state says of itself
  #known = {}; // as see() was told last
  #broken = false; // it ended for a reason that may be over
  #size; // of the picture that was begun
  #at = 0; // the video's time, and when it got there
  #moved = 0;
  #way; // flv or hls
  #failure = ''; // of the way that was tried before it
  #played = false; // the way that is tried has shown something
  #renewed = -APART; // when such a one broke

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

  play() {
    this.#failure = '';
    return this.#playBy(this.#fits() ? flv : hls);
  }

  stop() {
    this.#leave();
    this.#set('stopped', '');
  }

  /** What is known of the stream: away: the server cannot be asked; state
   *  "live", "hold" or "ended"; size of the picture; its codecs by name. */
  see(known) {
    const before = this.#known;
    const here = ({ away, state }) => !away && state === 'live';
    this.#known = known;
    if (here(known) && !here(before) && this.#broken) {
      this.play();
    } else if (this.#way === flv && this.#state !== 'stopped' &&
      (!this.#fits() && !this.#failure || this.#resized() ||
       this.#stands(here(known)))) {
      this.play();
    }
    this.#say();
  }

  #resized() {
    const { size } = this.#known;
    this.#size ??= size;
    return size && size !== this.#size;
  }

  #stands(live) {
    const now = performance.now();
    if (!live || this.#idle() || this.video.paused ||
      this.video.currentTime !== this.#at) {
      this.#at = this.video.currentTime;
      this.#moved = now;
    }
    return now - this.#moved > STILL;
  }

  /* Whether FLV will do, as far as is known. */
  #fits() {
    return flv.reads(this.#known.codecs ?? []);
  }

  async #playBy(way) {
    this.#leave();
    const turn = this.#turn;
    this.#way = way;
    this.#size = this.#known.size;
    this.#played = false;
    this.#moved = performance.now();
    this.node.dataset.way = way.name;
    this.#set('starting', 'Waiting for the picture …');
    try {
      const how = await way.load();
      if (turn === this.#turn) {
        this.#start(how);
      }
    } catch (error) {
      this.#fail(turn, { detail: error.message });
    }
  }

  #start(how) {
    const turn = this.#turn;
    if (!how) {
      this.#fail(turn, { detail: 'Media Source Extensions are missing' });
      return;
    }
    this.#drop = this.#way.start(how, this.video, this.key, {
      onEnd: () => this.#end(turn),
      onError: (error) => this.#fail(turn, error),
    });
  }

  #playing() {
    this.#played = true;
    this.#set('playing', '');
    this.node.classList.toggle('sound', this.video.videoWidth === 0);
  }

  #end(turn) {
    setTimeout(() => {
      if (turn === this.#turn) {
        this.#leave();
        this.#broken = true;
        this.#set('ended', 'The stream has ended.');
      }
    });
  }

  /* Whether what FLV played has become another in the middle. */
  #changed() {
    const now = performance.now();
    const changed = this.#way === flv && this.#played &&
      now - this.#renewed > APART;
    this.#renewed = changed ? now : this.#renewed;
    return changed;
  }

  /* From a callback of the library, which is not to be destroyed in it. */
  #fail(turn, error) {
    setTimeout(() => {
      if (turn !== this.#turn) {
        return;
      }
      if (this.#changed() && !error.broken) {
        this.#playBy(flv);
        return;
      }
      const text = explain(error);
      // Module hls may be missing where FLV is served.
      const final = error.broken && (this.#way === flv || error.status !== 404);
      if (!final && !this.#failure) {
        this.#failure = text;
        this.#playBy(this.#way === flv ? hls : flv);
        return;
      }
      this.#leave();
      this.#broken = error.broken;
      this.#set('failed', this.#way === hls && this.#failure || text);
    });
  }

  #leave() {
    this.#turn++;
    this.#broken = false;
    this.#drop();
    this.#drop = () => {};
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

function explain({ broken, status, detail }) {
  if (status) {
    return STATUS[status] ?? `The server answered ${status}.`;
  }
  return broken ? 'The connection to the server broke.' :
    `This browser cannot play what is published (${detail}).`;
}

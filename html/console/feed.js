/*
 * The statistics, as they come: over Socket.IO (/stat/socket.io/), because a
 * browser has six connections to a host, and a tab that reads an answer without
 * end takes one.  Where no WebSocket can be had - a proxy does not let it
 * through, the location has none - it is GET /stat/events?changes=..., a stream
 * of server-sent events.  Before either, /stat/server is asked: for the
 * addresses of the node, and because neither a WebSocket nor EventSource tells
 * the status, which says "not allowed" or "not there".  That finds the node, too
 * (base.js).
 *
 * A feed is live from the first event on.  When it breaks, or is silent for
 * three of the intervals it came in, it is taken up again after 1, 2, 4 ... 30
 * seconds.  An end in good order is a reload: the process that answered drains,
 * and another one is there already.  So it is asked for at once, and again as
 * often as the browser may have kept a connection to the one that drains.
 * While nobody looks at the page for a minute the feed rests, so that forgotten
 * tabs cost the server nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { at, folders, stand } from './base.js';
import { Socket } from './socket.js';

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30000;
const REFUSED_WAIT = 30000;
const MOST_HOPS = 8; // a browser keeps six connections to a host
const MOST_MISSES = 3; // of sockets, where there has been one before
const SOCKETS_AGAIN = 5 * 60 * 1000; // where there has been none
const LONG_ENOUGH = 5000; // of a feed, to forget the hops before it
const FIRST_SILENCE = 75000; // the longest interval is a minute
const SHORTEST_SILENCE = 15000;
const HIDDEN = 60000;
const LONGEST_EVENT = 64 * 1024 * 1024; // characters

/** Server-sent events of a body: yields { event, data, retry }. */
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let found = { event: 'message', data: [] };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      return;
    }
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    if (rest.length > LONGEST_EVENT) {
      throw new Error('an event without an end');
    }
    for (const line of lines.map((l) => l.replace(/\r$/, ''))) {
      if (line === '') {
        yield { ...found, data: found.data.join('\n') };
        found = { event: 'message', data: [] };
        continue;
      }
      const [, name, text] = /^([^:]*):? ?(.*)$/.exec(line);
      if (name === 'data') {
        found.data.push(text);
      } else if (name === 'event') {
        found.event = text;
      } else if (name === 'retry' && /^\d+$/.test(text)) {
        found.retry = Number(text);
      }
    }
  }
}

function placeOf({ rtmp, http, here }) {
  return { rtmp, http, here };
}

/* The first interval is cut short: what was made last is sent at once. */
function silenceAfter(rounds, before) {
  rounds.push(Date.now());
  if (rounds.length < 3) {
    return before;
  }
  const [, last, now] = rounds;
  rounds.shift();
  return Math.max(SHORTEST_SILENCE, 3 * (now - last));
}

export class Feed {
  /*
   * onEvent(name, value): one event, its JSON parsed; "place" has the node's
   *   addresses (rtmp, http and here of /stat/server).
   * onState({ state, status, local, own, wait }): state is "connecting", "live",
   *   "lost" (again in wait ms), "refused" (by an HTTP status that will not
   *   change soon; local is where this machine itself would be answered, own
   *   whether it is weir that refuses) or "resting".
   */
  constructor({ onEvent, onState }) {
    this.onEvent = onEvent;
    this.onState = onState;
    this.failures = 0;
    this.hops = 0; // ends in good order, one after the other
    this.asked = 0; // ms that the server asked to wait
    this.misses = 0; // sockets that did not come to be, one after the other
    this.noSockets = -Infinity; // when it was found that there are none
    document.addEventListener('visibilitychange', () => this.#seen());
  }

  /** Reads that path of the node from now on. */
  watch(path) {
    this.path = path;
    if (this.socket?.joined) {
      this.#ask();
    } else if (!this.resting) {
      this.start(this.live);
    }
  }

  /** Asks at once, whatever it waits for or reads.  quiet: without a word. */
  start(quiet = false) {
    clearTimeout(this.timer);
    this.abort?.abort();
    if (!quiet) {
      this.#say({ state: 'connecting' });
    }
    this.#run();
  }

  #say(now) {
    this.live = now.state === 'live';
    this.onState(now);
  }

  async #run() {
    const abort = new AbortController();
    this.abort = abort;
    let outcome = {};
    try {
      outcome = await this.#read(abort);
    } catch {
      // broken or silent: the same as an end
    }
    if (this.abort === abort) { // else another has begun
      clearTimeout(this.silence);
      this.#again(outcome);
    }
  }

  /* Over a socket if there is one, else as server-sent events. */
  async #read(abort) {
    const old = Date.now() - this.noSockets < SOCKETS_AGAIN;
    this.#heard(abort, SHORTEST_SILENCE);
    const { refusal, place } = await this.#look(abort);
    if (refusal) {
      return refusal;
    }
    abort.signal.throwIfAborted();
    this.onEvent('place', place);
    return (!old && await this.#talk(abort)) || this.#listen(abort);
  }

  /* Whether the statistics may be seen, and where the node is. */
  async #look(abort) {
    let first;
    for (const folder of folders()) {
      const { place, refusal } = await this.#lookAt(folder, abort);
      if (place) {
        stand(folder);
        return { place };
      }
      first ??= refusal;
      if (!refusal.passes) {
        // Above the page it may be another's, who says nothing of weir's.
        return { refusal: refusal.own ? refusal : first };
      }
    }
    return { refusal: first };
  }

  async #lookAt(folder, abort) {
    const answer = await fetch(new URL('stat/server', folder), {
      signal: abort.signal, cache: 'no-store',
    });
    const said = answer.ok ? await answer.json().catch(() => null) : null;
    return said?.http ? { place: placeOf(said) } :
      { refusal: await this.#refusal(answer) };
  }

  /* passes: the node may be in a folder above; there a page stands for whatever
   * is not found, or weir, whose answers have their status in them, has none. */
  async #refusal(answer) {
    const said = answer.ok ? {} : await answer.json().catch(() => ({}));
    const own = said.status === answer.status;
    return {
      status: answer.ok ? 404 : answer.status,
      local: said.local,
      own,
      passes: answer.ok || own && [404, 405].includes(answer.status),
    };
  }

  /* ---- over a socket ---- */

  /* How it ended; null: there is none to be had. */
  async #talk(abort) {
    const { joined, orderly } = await this.#session(abort);
    if (joined) {
      this.misses = 0;
      return { orderly };
    }
    if (abort.signal.aborted) {
      return {};
    }
    this.misses++;
    if (this.talked && this.misses < MOST_MISSES) {
      return {}; // it comes back
    }
    this.noSockets = Date.now();
    this.misses = 0;
    return null;
  }

  #session(abort) {
    return new Promise((onOver) => {
      const began = Date.now();
      const socket = new Socket(at('/stat/socket.io/'), {
        onJoined: () => {
          this.talked = true;
          this.#ask();
        },
        onEvent: (name, value) => this.#take(abort, name, value),
        onOver: (end) => {
          this.socket = null;
          this.#endOf(began);
          onOver(end);
        },
      });
      this.socket = socket;
      this.rounds = { silence: FIRST_SILENCE, began: [] };
      abort.signal.addEventListener('abort', () => socket.close());
      this.#heard(abort, FIRST_SILENCE);
    });
  }

  /* What comes before the answer is of what was watched before. */
  #ask() {
    const said = at(this.path).searchParams;
    const wish = this.path;
    this.asking = true;
    this.socket.emit('watch', [said.get('changes'), said.get('of') ?? ''],
      () => {
        this.asking = wish !== this.path;
      });
  }

  #take(abort, name, value) {
    if (!this.asking) {
      this.#event(abort, name, value);
    }
  }

  /* ---- as server-sent events ---- */

  async #listen(abort) {
    const began = Date.now();
    this.rounds = { silence: FIRST_SILENCE, began: [] };
    this.#heard(abort, SHORTEST_SILENCE);
    const answer = await fetch(at(this.path), {
      signal: abort.signal,
      cache: 'no-store',
      headers: { Accept: 'text/event-stream' },
    });
    const type = answer.headers.get('Content-Type') ?? '';
    if (!answer.ok || !type.startsWith('text/event-stream')) {
      const refusal = await this.#refusal(answer);
      abort.abort();
      return refusal;
    }
    this.#heard(abort, FIRST_SILENCE);
    for await (const found of readEvents(answer.body)) {
      this.asked = found.retry ?? this.asked;
      if (found.data !== '') {
        this.#event(abort, found.event, JSON.parse(found.data));
      }
    }
    this.#endOf(began);
    return { orderly: true };
  }

  /* ---- both ---- */

  #event(abort, name, value) {
    if (name === 'server') { // the last one of a round
      this.rounds.silence =
        silenceAfter(this.rounds.began, this.rounds.silence);
    }
    this.#heard(abort, this.rounds.silence);
    this.failures = 0;
    this.#say({ state: 'live' });
    this.onEvent(name, value);
  }

  #endOf(began) {
    if (Date.now() - began > LONG_ENOUGH) {
      this.hops = 0;
    }
  }

  #heard(abort, silence) {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => abort.abort(), silence);
  }

  #again({ status, local, own, orderly }) {
    const refused = status >= 400 && status < 500 && status !== 429;
    const hop = orderly && this.hops < MOST_HOPS;
    const state = refused ? 'refused' : hop ? 'connecting' : 'lost';
    const wait = refused ? REFUSED_WAIT : hop ? 0 : this.#backOff();
    this.hops += hop ? 1 : 0;
    this.asked = 0;
    this.#say({ state, status, local, own, wait });
    this.timer = setTimeout(() => this.start(), wait);
  }

  #backOff() {
    const jitter = 1 + Math.random() / 4;
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.failures);
    this.failures++;
    return Math.max(this.asked, wait * jitter);
  }

  #seen() {
    clearTimeout(this.hidden);
    if (document.hidden) {
      this.hidden = setTimeout(() => this.#rest(), HIDDEN);
    } else if (this.resting) {
      this.resting = false;
      this.start();
    }
  }

  #rest() {
    const { abort } = this;
    this.resting = true;
    this.abort = null;
    clearTimeout(this.timer);
    abort?.abort();
    this.#say({ state: 'resting' });
  }
}

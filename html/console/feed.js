/*
 * The statistics, as they come: GET /stat/events?changes=..., a stream of
 * server-sent events.  It is read with fetch, because EventSource hides the status that
 * tells "not allowed" from "not there".
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

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30000;
const REFUSED_WAIT = 30000;
const MOST_HOPS = 8; // a browser keeps six connections to a host
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
   * onEvent(name, value): one event, its JSON parsed.
   * onState({ state, status, local, wait }): state is "connecting", "live", "lost"
   *   (again in wait ms), "refused" (by an HTTP status that will not change
   *   soon; local is where this machine itself would be answered) or
   *   "resting".
   */
  constructor({ onEvent, onState }) {
    this.onEvent = onEvent;
    this.onState = onState;
    this.failures = 0;
    this.hops = 0; // ends in good order, one after the other
    this.asked = 0; // ms that the server asked to wait
    document.addEventListener('visibilitychange', () => this.#seen());
  }

  /** Reads that address from now on. */
  watch(url) {
    this.url = url;
    if (!this.resting) {
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

  async #read(abort) {
    const began = Date.now();
    let silence = FIRST_SILENCE;
    const rounds = []; // when they began
    this.#heard(abort, SHORTEST_SILENCE);
    const answer = await fetch(this.url, {
      signal: abort.signal,
      cache: 'no-store',
      headers: { Accept: 'text/event-stream' },
    });
    const type = answer.headers.get('Content-Type') ?? '';
    if (!answer.ok || !type.startsWith('text/event-stream')) {
      const said = answer.ok ? {} : await answer.json().catch(() => ({}));
      abort.abort();
      return { status: answer.ok ? 404 : answer.status, local: said.local };
    }
    this.#heard(abort, silence);
    for await (const found of readEvents(answer.body)) {
      if (found.event === 'server') {
        silence = silenceAfter(rounds, silence);
      }
      this.#heard(abort, silence);
      this.asked = found.retry ?? this.asked;
      if (found.data !== '') {
        this.failures = 0;
        this.#say({ state: 'live' });
        this.onEvent(found.event, JSON.parse(found.data));
      }
    }
    if (Date.now() - began > LONG_ENOUGH) {
      this.hops = 0;
    }
    return { orderly: true };
  }

  #heard(abort, silence) {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => abort.abort(), silence);
  }

  #again({ status, local, orderly }) {
    const refused = status >= 400 && status < 500 && status !== 429;
    const hop = orderly && this.hops < MOST_HOPS;
    const state = refused ? 'refused' : hop ? 'connecting' : 'lost';
    const wait = refused ? REFUSED_WAIT : hop ? 0 : this.#backOff();
    this.hops += hop ? 1 : 0;
    this.asked = 0;
    this.#say({ state, status, local, wait });
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

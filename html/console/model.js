/*
 * What is known: rows as the events of changes have made them, and what speeds
 * were over the last minutes.  A stream that ended stays for a minute, so that
 * its end is seen.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { History } from './history.js';

const KEEP_ENDED = 60 * 1000;
const DROPS_MATTER = 60 * 1000;

/* Rows by their number; apply() takes an event of docs/statistics.md. */
class Rows {
  rows = new Map();
  leftOut = 0;

  apply({ reset, rows, gone = [], more }) {
    if (reset) {
      this.rows.clear();
    }
    for (const number of gone) {
      this.rows.delete(number);
    }
    for (const [number, change] of rows) {
      this.rows.set(number, { ...this.rows.get(number), ...change });
    }
    this.leftOut = more;
    return this.rows;
  }
}

export class Model {
  server = null;
  streams = new Map(); // key: what a list shows, history, ended
  stream = null; // all of the one that is looked at
  traffic = new History(); // { at, in, out } in bit/s
  streamsKnown = false;
  away = false; // the server cannot be reached
  #place = {};
  #servers = new Rows();
  #streams = new Rows();
  #sessions = new Rows();
  #quiet = true; // what comes first is no news

  /** Another feed begins, which may tell less. */
  expect() {
    this.stream = null;
    this.#sessions = new Rows();
    this.#quiet = true;
  }

  /** One event of the feed; returns what to say aloud, or "". */
  take(name, value, now = Date.now()) {
    switch (name) {
      case 'server': // the last one of a round
        this.#takeServer(this.#servers.apply(value).get(0), now);
        this.#sample(now);
        return '';
      case 'place':
        this.#place = value;
        return '';
      case 'streams':
        return this.#takeStreams(this.#streams.apply(value), now);
      case 'stream':
        this.stream = value;
        return '';
      case 'sessions':
        this.#sessions.apply(value);
        return '';
      default:
        return '';
    }
  }

  get streamsLeftOut() { // an event has so many rows and no more
    return this.#streams.leftOut;
  }

  get sessions() {
    return [...this.#sessions.rows.values()];
  }

  get sessionsLeftOut() {
    return this.#sessions.leftOut;
  }

  /** A stream's sessions: the publisher first, the fastest next. */
  sessionsOf(key) {
    return this.sessions.filter((s) => s.key === key);
  }

  uptime({ began_ms: began }) {
    return this.server ? Math.max(0, this.server.uptime_ms - began) : null;
  }

  /** Frames that its memory or its players of now did not take. */
  dropped(stream) {
    return stream.dropped + stream.skipped;
  }

  /** How many of them within the last minute. */
  droppedLately({ history: { samples } }) {
    const last = samples.at(-1);
    const first = last && samples.findLast((s, n) =>
      n === 0 || samples[n - 1].at < last.at - DROPS_MATTER);
    return last ? Math.max(0, last.dropped - first.dropped) : 0;
  }

  /* The server's own clock divides: what the network delays does not show. */
  #takeServer({ place = this.#place, ...server }, now) {
    const before = this.server;
    this.server = { ...server, ...place };
    const ms = before?.pid === server.pid ?
      server.uptime_ms - before.uptime_ms : 0;
    if (ms > 0) {
      const rate = (name) =>
        Math.max(0, server[name] - before[name]) * 8000 / ms;
      this.traffic.add({
        at: now, in: rate('bytes_in'), out: rate('bytes_out'),
      });
    }
  }

  #sample(now) {
    for (const [key, stream] of this.streams) {
      if (!stream.ended) {
        stream.history.add({
          at: now, video: stream.video_speed, audio: stream.audio_speed,
          dropped: this.dropped(stream),
        });
      } else if (now - stream.ended > KEEP_ENDED) {
        this.streams.delete(key);
      }
    }
  }

  #takeStreams(rows, now) {
    const said = [];
    const seen = new Set();
    for (const row of rows.values()) {
      seen.add(row.key);
      const known = this.streams.get(row.key);
      if ((!known || known.ended) && !this.#quiet) {
        said.push(`${row.key} is live`);
      }
      const history = known?.history ?? new History();
      this.streams.set(row.key, { ...row, history, ended: 0 });
    }
    for (const [key, stream] of this.streams) {
      if (!seen.has(key)) {
        said.push(...this.#absent(key, stream, now));
      }
    }
    this.streamsKnown = true;
    this.#quiet = false;
    return said.slice(0, 3).join(', ');
  }

  #absent(key, stream, now) {
    if (this.streamsLeftOut > 0) { // it may be one of those
      this.streams.delete(key);
    } else if (!stream.ended) {
      this.streams.set(key, {
        ...stream, ended: now, state: 'ended', players: 0,
        video_speed: 0, audio_speed: 0,
      });
      return [`${key} has ended`];
    }
    return [];
  }
}

/** What an operator calls the state of a stream. */
export function stateOf(stream) {
  const words = { live: 'live', hold: 'waiting', ended: 'ended' };
  return words[stream.state] ?? stream.state;
}

/*
 * What is known: the last answer of each kind, and what speeds were over the
 * last minutes.  A stream that ended stays for a minute, so that its end is
 * seen.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

export const WINDOW = 5 * 60 * 1000; // ms that charts go back
const KEEP_ENDED = 60 * 1000;
const DROPS_MATTER = 60 * 1000;
const MOST_SAMPLES = 1200;

/** Samples { at, ... } of the last WINDOW. */
class History {
  samples = [];

  add(sample) {
    const oldest = sample.at - WINDOW;
    const stale = this.samples.findIndex((s) => s.at >= oldest);
    this.samples.splice(0, stale < 0 ? this.samples.length : stale);
    this.samples.push(sample);
    if (this.samples.length > MOST_SAMPLES) {
      this.samples.shift();
    }
  }
}

export class Model {
  server = null;
  streams = new Map(); // key: what /stat/streams says, history, ended
  streamsLeftOut = 0; // an event has so many rows and no more
  sessions = [];
  sessionsLeftOut = 0;
  skipped = new Map(); // key: frames that its players were too slow for
  traffic = new History(); // { at, in, out } in bit/s
  streamsKnown = false;

  /** One event of /stat/events; returns what to say aloud, or "". */
  take(name, value, now = Date.now()) {
    switch (name) {
      case 'server':
        this.#takeServer(value, now);
        return '';
      case 'streams':
        this.streamsLeftOut = value.more ?? 0;
        return this.#takeStreams(value.streams, now);
      case 'sessions':
        this.sessionsLeftOut = value.more ?? 0;
        this.#takeSessions(value.sessions);
        return '';
      default:
        return '';
    }
  }

  /** A stream's sessions: the publisher first, the fastest next. */
  sessionsOf(key) {
    return this.sessions.filter((s) => s.key === key);
  }

  /** Frames that its memory or its players of now did not take. */
  dropped(stream) {
    return stream.dropped + (this.skipped.get(stream.key) ?? 0);
  }

  /** How many of them within the last minute. */
  droppedLately({ history }) {
    const { samples } = history;
    const last = samples.at(-1);
    const first = samples.find((s) => s.at >= last.at - DROPS_MATTER);
    return Math.max(0, last.dropped - first.dropped);
  }

  /* The server's own clock divides: what the network delays does not show. */
  #takeServer(server, now) {
    const before = this.server;
    this.server = server;
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

  #takeSessions(rows) {
    this.sessions = rows;
    this.skipped.clear();
    for (const { key, role, dropped } of rows) {
      if (role === 'player') {
        this.skipped.set(key, (this.skipped.get(key) ?? 0) + dropped);
      }
    }
  }

  #takeStreams(rows, now) {
    const said = [];
    const seen = new Set();
    for (const row of rows) {
      seen.add(row.key);
      const known = this.streams.get(row.key);
      if ((!known || known.ended) && this.streamsKnown) {
        said.push(`${row.key} is live`);
      }
      const history = known?.history ?? new History();
      history.add({
        at: now, video: row.video_speed, audio: row.audio_speed,
        dropped: this.dropped(row),
      });
      this.streams.set(row.key, { ...row, history, ended: 0 });
    }
    for (const [key, stream] of this.streams) {
      if (!seen.has(key)) {
        said.push(...this.#absent(key, stream, now));
      }
    }
    this.streamsKnown = true;
    return said.slice(0, 3).join(', ');
  }

  #absent(key, stream, now) {
    if (this.streamsLeftOut > 0) { // it may be one of those
      this.streams.delete(key);
      return [];
    }
    if (!stream.ended) {
      this.streams.set(key, {
        ...stream, ended: now, state: 'ended', players: 0,
        video_speed: 0, audio_speed: 0,
      });
      return [`${key} has ended`];
    }
    if (now - stream.ended > KEEP_ENDED) {
      this.streams.delete(key);
    }
    return [];
  }
}

/** What an operator calls the state of a stream. */
export function stateOf(stream) {
  const words = { live: 'live', hold: 'waiting', ended: 'ended' };
  return words[stream.state] ?? stream.state;
}

/*
 * Speeds over time: what /stat/history keeps of the last day, and behind it
 * what the events have told since.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { at } from './base.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What a chart can show: its level of /stat/history. */
export const RANGES = [
  { id: '5m', name: '5 minutes', ms: 5 * MINUTE, level: 0 },
  { id: '1h', name: '1 hour', ms: HOUR, level: 1 },
  { id: '24h', name: '24 hours', ms: 24 * HOUR, level: 2 },
];

const KEEP = RANGES[0].ms; // of what the events tell
const MOST_SAMPLES = 1500;

/** Samples { at, ... } of the last minutes, and levels of those before. */
export class History {
  samples = []; // as the events told them
  #levels = []; // as the server kept them, [{ samples, read }]

  add(sample) {
    const oldest = sample.at - KEEP;
    const stale = this.samples.findIndex((s) => s.at >= oldest);
    this.samples.splice(0, stale < 0 ? this.samples.length : stale);
    this.samples.push(sample);
    if (this.samples.length > MOST_SAMPLES) {
      this.samples.shift();
    }
  }

  /** The samples of a range, the oldest first. */
  of({ level, ms }, now = Date.now()) {
    const kept = this.#levels[level]?.samples ?? [];
    const live = level === 0 ? this.samples : [];
    const first = live[0]?.at ?? Infinity;
    return [...kept.filter((s) => s.at < first && s.at >= now - ms), ...live];
  }

  /** Whether the server should be asked for that range (again). */
  wants({ level }, now = Date.now()) {
    const { read, step } = this.#levels[level] ?? {};
    return read == null || (level > 0 && now - read >= step);
  }

  /** Takes an answer of /stat/history; null: there is none. */
  fill(answer, now = Date.now()) {
    const [first, second] = answer?.series ?? [];
    this.#levels = RANGES.map(({ level }) => {
      const { step_ms: step, age_ms: age, points } =
        answer?.levels[level] ?? { step_ms: MINUTE, age_ms: 0, points: [] };
      const at = (n) => now - age - (points.length - 1 - n) * step;
      return {
        step, read: now,
        samples: points.flatMap((point, n) => (point ? [{
          at: at(n), [first]: point[0], [second]: point[1],
        }] : [])),
      };
    });
  }
}

/** Asks for what a history wants of a range; key: of a stream, else the
 *  node's. */
export async function readHistory(history, range, key) {
  if (!history.wants(range) || history.asking) {
    return;
  }
  history.asking = true;
  try {
    const answer = await fetch(at('/stat/history' +
      (key ? `?of=${encodeURIComponent(key)}` : '')), { cache: 'no-store' });
    history.fill(answer.ok ? await answer.json() : null);
  } catch {
    history.fill(null); // asked again in a while
  }
  history.asking = false;
}

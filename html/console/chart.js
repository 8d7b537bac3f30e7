/*
 * Speeds over time, drawn as SVG: a chart with axes and a legend of words,
 * and a small line for a row of a table.  Where samples are missing the line
 * is broken.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { el, setAttribute, setText, svg } from './dom.js';
import { bitRate } from './format.js';
import { RANGES } from './history.js';

const BREAK = 8000; // ms, or three times what samples are apart
const LEFT = 72;
const BOTTOM = 22;
const TOP = 8;
const HEIGHT = 200;
const MINUTE = 60000;
const HOUR = 60 * MINUTE;
/* What an axis may span, and how it is divided. */
const SPANS = [
  [MINUTE, MINUTE / 2], [2 * MINUTE, MINUTE], [5 * MINUTE, MINUTE],
  [15 * MINUTE, 5 * MINUTE], [HOUR, 15 * MINUTE], [3 * HOUR, HOUR],
  [6 * HOUR, 2 * HOUR], [24 * HOUR, 6 * HOUR],
];

/* 1, 2 or 5 times a power of ten: what an axis is divided by. */
function step(most) {
  const rough = Math.max(most, 1000) / 4;
  const ten = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((n) => n * ten >= rough) * ten;
}

function path(samples, x, y) {
  const apart = samples.map((sample, n) =>
    (n > 0 ? sample.at - samples[n - 1].at : Infinity));
  const broken = Math.max(BREAK, 3 * Math.min(...apart));
  return samples.map((sample, n) => {
    const move = n === 0 || apart[n] > broken ? 'M' : 'L';
    return `${move}${x(sample).toFixed(1)} ${y(sample).toFixed(1)}`;
  }).join('');
}

function lowHigh(samples, of) {
  const values = samples.map(of);
  return [Math.min(...values), Math.max(...values)];
}

function ago(ms) {
  return ms === 0 ? 'now' : ms < MINUTE ? `−${ms / 1000} s` :
    ms < 2 * HOUR ? `−${ms / MINUTE} min` : `−${ms / HOUR} h`;
}

export class Chart {
  /** series: [{ id, name }]: samples have a number, in bit/s, at each id;
   *  heading: its element. */
  constructor(title, series, heading = 'h3') {
    this.series = series.map(({ id, name }) => ({
      id, name,
      line: svg('path', { class: `line ${id}` }),
      words: el('dd'),
    }));
    this.grid = svg('g', { class: 'grid' });
    this.cursor = svg('line', { class: 'cursor', y1: TOP, hidden: true });
    this.svg = svg('svg', { 'aria-hidden': 'true', height: HEIGHT },
      this.grid, ...this.series.map((s) => s.line), this.cursor);
    this.svg.addEventListener('pointermove', (event) => this.#point(event));
    this.svg.addEventListener('pointerleave', () => this.#point(null));
    this.heading = el(heading, {}, title);
    this.select = el('select', {
      'aria-label': `${title}: time shown`,
      onchange: () => this.onRange?.(),
    }, ...RANGES.map(({ id, name }) => el('option', { value: id }, name)));
    this.when = el('span', { class: 'when' });
    this.node = el('section', { class: 'chart' },
      el('header', {}, this.heading, this.select, this.when,
        el('dl', { class: 'legend' }, ...this.series.map((s) =>
          el('div', { class: s.id }, el('dt', {}, s.name), s.words)))),
      this.svg);
    this.samples = [];
  }

  /** The one of RANGES that is chosen; onRange() is called when it is another. */
  get range() {
    return RANGES.find(({ id }) => id === this.select.value);
  }

  update(samples, now = Date.now()) {
    this.samples = samples;
    this.now = now;
    // No longer than what is known.
    const known = now - (samples[0]?.at ?? now);
    [this.span, this.each] = SPANS.find(([ms]) =>
      ms >= Math.min(known, this.range.ms));
    this.width = this.svg.clientWidth || 600;
    setAttribute(this.svg, 'viewBox', `0 0 ${this.width} ${HEIGHT}`);
    const most = Math.max(0, ...samples.flatMap((sample) =>
      this.series.map((s) => sample[s.id])));
    const unit = step(most);
    this.top = Math.max(1, Math.ceil(most / unit)) * unit;
    this.#drawGrid(unit);
    for (const { id, line } of this.series) {
      setAttribute(line, 'd', path(samples, (s) => this.#x(s.at),
        (s) => this.#y(s[id])));
    }
    this.#tell();
  }

  #x(at) {
    const width = this.width - LEFT - 8;
    return LEFT + width * (1 - (this.now - at) / this.span);
  }

  #y(value) {
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / this.top;
  }

  #drawGrid(unit) {
    const marks = [];
    for (let value = 0; value <= this.top; value += unit) {
      const y = this.#y(value);
      marks.push(
        svg('line', { x1: LEFT, x2: this.width - 8, y1: y, y2: y }),
        svg('text', { x: LEFT - 8, y: y + 4, 'text-anchor': 'end' },
          bitRate(value)));
    }
    const each = this.width < 450 ? this.span : this.each; // as there is room
    for (let ms = 0; ms <= this.span; ms += each) {
      marks.push(svg('text', {
        x: this.#x(this.now - ms), y: HEIGHT - 4,
        'text-anchor': ms === 0 ? 'end' : 'middle',
      }, ago(ms)));
    }
    this.grid.replaceChildren(...marks);
  }

  /* The legend says in words what the lines show. */
  #tell() {
    const pointed = this.pointed && this.samples.reduce((best, s) =>
      (Math.abs(s.at - this.pointed) < Math.abs(best.at - this.pointed) ?
        s : best), this.samples[0]);
    const sample = pointed ?? this.samples.at(-1);
    this.cursor.toggleAttribute('hidden', !pointed);
    setText(this.when, pointed ? new Date(pointed.at).toLocaleTimeString() :
      '');
    if (pointed) {
      const x = this.#x(pointed.at);
      setAttribute(this.cursor, 'x1', x);
      setAttribute(this.cursor, 'x2', x);
      setAttribute(this.cursor, 'y2', HEIGHT - BOTTOM);
    }
    for (const { id, words } of this.series) {
      if (!sample) {
        setText(words, bitRate(null));
        continue;
      }
      const [low, high] = lowHigh(this.samples, (s) => s[id]);
      setText(words, pointed ? bitRate(sample[id]) :
        `${bitRate(sample[id])} (${bitRate(low)} to ${bitRate(high)})`);
    }
  }

  #point(event) {
    const width = this.width - LEFT - 8;
    this.pointed = event && this.now -
      this.span * (1 - (event.offsetX - LEFT) / width);
    this.#tell();
  }
}

const SPARK = { width: 96, height: 24, back: 90000 };

/** A small line of one value over the last minute and a half. */
export class Spark {
  constructor(of) {
    this.of = of;
    this.line = svg('path', { class: 'line' });
    this.node = svg('svg', {
      class: 'spark', 'aria-hidden': 'true',
      viewBox: `0 0 ${SPARK.width} ${SPARK.height}`,
    }, this.line);
  }

  update(samples, now = Date.now()) {
    const shown = samples.filter((s) => s.at >= now - SPARK.back);
    const most = Math.max(1, ...shown.map(this.of));
    setAttribute(this.line, 'd', path(shown,
      (s) => SPARK.width * (1 - (now - s.at) / SPARK.back),
      (s) => SPARK.height - 2 - (SPARK.height - 4) * this.of(s) / most));
  }
}

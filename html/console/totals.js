/*
 * The node at a glance: what it does now, in a row of figures.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { Spark } from './chart.js';
import { el, setText } from './dom.js';
import * as format from './format.js';
import { RANGES, readHistory } from './history.js';

const FIGURES = [
  { term: 'Live', text: ({ server }) => format.count(server.publishers) },
  { term: 'Players', text: ({ server }) => format.count(server.players) },
  { term: 'In', spark: 'in',
    text: ({ traffic }) => format.bitRate(traffic.samples.at(-1)?.in) },
  { term: 'Out', spark: 'out',
    text: ({ traffic }) => format.bitRate(traffic.samples.at(-1)?.out) },
  { term: 'Connections',
    text: ({ server }) => format.count(server.connections) },
  { term: 'Live memory', text: ({ server: { memory } }) =>
    format.memory(memory.used_bytes),
    of: ({ server: { memory } }) => format.memory(memory.arena_bytes) },
];

export class Totals {
  constructor(model) {
    this.model = model;
    this.figures = FIGURES.map(({ spark, ...figure }) => ({
      ...figure, name: el('dt'), value: el('dd'),
      spark: spark && new Spark((s) => s[spark]),
    }));
    this.node = el('dl', { class: 'totals', 'aria-label': 'Node' },
      ...this.figures.map((f) =>
        el('div', {}, f.name, f.value, f.spark?.node)));
  }

  update() {
    this.node.hidden = !this.model.server;
    if (this.node.hidden) {
      return;
    }
    const { traffic } = this.model;
    readHistory(traffic, RANGES[0]);
    const shown = traffic.of(RANGES[0]);
    for (const { term, of, text, name, value, spark } of this.figures) {
      setText(name, of ? `${term} of ${of(this.model)}` : term);
      setText(value, text(this.model));
      spark?.update(shown);
    }
  }
}

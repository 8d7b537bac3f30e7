/*
 * The server: its state, its processes, its traffic.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { Chart } from './chart.js';
import { el, facts } from './dom.js';
import * as format from './format.js';
import { readHistory } from './history.js';
import { Table } from './table.js';

const STATES = {
  ready: 'ready',
  drain: 'draining: load balancers are told to send nobody here',
  maint: 'in maintenance: load balancers are told to send nobody here',
};

const PROCESSES = [
  { id: 'name', title: 'Process', text: (p) => p.name },
  { id: 'pid', title: 'Pid', number: true, text: (p) => String(p.pid),
    sort: (p) => p.pid },
  { id: 'generation', title: 'Generation', number: true,
    text: (p) => String(p.generation), sort: (p) => p.generation },
  { id: 'status', title: 'State', text: (p) => p.state },
  { id: 'connections', title: 'Connections', number: true,
    text: (p) => format.count(p.connections), sort: (p) => p.connections },
];

export class ServerView {
  constructor(model) {
    this.model = model;
    this.facts = facts('facts');
    this.chart = new Chart('Traffic', [
      { id: 'out', name: 'Out' }, { id: 'in', name: 'In' },
    ], 'h2');
    this.chart.onRange = () => this.update();
    this.table = new Table({
      label: 'Processes', columns: PROCESSES, key: (p) => p.slot,
      sort: { id: 'name', down: false },
    });
    this.node = el('section', { class: 'list' },
      el('h1', {}, 'Server'), this.facts.node, this.chart.node,
      el('h2', {}, 'Processes'), this.table.node);
  }

  close() {}

  show() {}

  update() {
    const { server, traffic } = this.model;
    this.node.hidden = !server;
    if (!server) {
      return;
    }
    this.facts.set({
      State: STATES[server.state] ?? server.state,
      Version: server.version,
      Up: format.duration(server.uptime_ms),
      'Master process': String(server.pid),
      'Configuration generation': String(server.generation),
      Connections: format.count(server.connections),
      Streams: `${format.count(server.streams)}, ` +
        `${format.count(server.publishers)} published`,
      Players: format.count(server.players),
      Received: format.traffic(server.bytes_in),
      Sent: format.traffic(server.bytes_out),
      'Live memory': `${format.memory(server.memory.used_bytes)} of ` +
        format.memory(server.memory.arena_bytes),
    });
    readHistory(traffic, this.chart.range);
    this.chart.update(traffic.of(this.chart.range));
    this.table.update(server.processes);
  }
}

/*
 * Who publishes and who plays.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { at } from './base.js';
import { el, setText } from './dom.js';
import * as format from './format.js';
import { Table } from './table.js';

const speed = (s) => s.video_speed + s.audio_speed;
const total = (s) => s.video_total_bytes + s.audio_total_bytes;

const STREAM = { id: 'name', title: 'Stream', text: (s) => s.key };
const columns = (model) => [
  { id: 'role', title: 'Role', text: (s) => s.role,
    sort: (s) => (s.role === 'publisher' ? 0 : 1) },
  { id: 'protocol', title: 'By', text: (s) => s.protocol },
  { id: 'address', title: 'Address', text: (s) => s.address },
  { id: 'rate', title: 'Speed', number: true,
    text: (s) => format.bitRate(speed(s)), sort: speed },
  { id: 'total', title: 'Total', number: true,
    text: (s) => format.traffic(total(s)), sort: total },
  { id: 'dropped', title: 'Dropped', number: true,
    text: (s) => format.count(s.dropped), sort: (s) => s.dropped },
  { id: 'uptime', title: 'Up', number: true,
    text: (s) => format.duration(model.uptime(s)),
    sort: (s) => -s.began_ms },
  { id: 'process', title: 'Process', text: (s) => s.process ?? '' },
  { id: 'url', title: 'URL', text: (s) => s.url },
];

export class SessionTable {
  constructor(model, label, ofAll, onSort) {
    const own = columns(model);
    this.table = new Table({
      label, columns: ofAll ? [STREAM, ...own] : own,
      key: (s) => s.id, sort: { id: 'role', down: false }, onSort,
    });
    this.more = el('p', { class: 'more' });
    this.node = el('div', { class: 'sessions' }, this.table.node, this.more);
  }

  update(sessions, leftOut) {
    this.table.update(sessions);
    this.more.hidden = leftOut === 0;
    setText(this.more, `${format.count(leftOut)} more sessions of this ` +
      `server are not listed here: ${at('/stat/sessions').pathname} has all.`);
  }
}

export class SessionsView {
  constructor(model) {
    this.model = model;
    this.sessions = new SessionTable(model, 'Sessions', true,
      () => this.onChoice?.());
    this.none = el('p', { class: 'empty', hidden: true },
      'Nobody publishes or plays.');
    this.filter = el('input', {
      type: 'search', placeholder: 'Find a stream, address or URL',
      'aria-label': 'Find a stream, address or URL', autocomplete: 'off',
      oninput: () => {
        this.update();
        this.onChoice?.();
      },
    });
    this.node = el('section', { class: 'list' },
      el('h1', {}, 'Sessions'), this.filter, this.sessions.node, this.none);
  }

  close() {}

  show() {}

  /** As of the streams. */
  get choice() {
    return { sort: this.sessions.table.sort, find: this.filter.value };
  }

  set choice({ sort, find }) {
    this.sessions.table.sort = sort;
    this.filter.value = find;
  }

  update() {
    const wanted = this.filter.value.trim().toLowerCase();
    const rows = this.model.sessions.filter((s) =>
      [s.key, s.address, s.url, s.role, s.protocol].some((text) =>
        text?.toLowerCase().includes(wanted)));
    this.sessions.update(rows, this.model.sessionsLeftOut);
    this.sessions.table.node.hidden = rows.length === 0;
    this.none.hidden = rows.length > 0 || !this.model.server;
  }
}

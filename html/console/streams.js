/*
 * The view of all streams: the node's totals, and a row for each stream.
 * Beside it, or instead of it on a phone, the one that is looked at.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { at } from './base.js';
import { Spark } from './chart.js';
import { el, setAttribute, setText } from './dom.js';
import * as format from './format.js';
import { stateOf } from './model.js';
import { Publish } from './publish.js';
import { StreamView } from './stream.js';
import { Table } from './table.js';
import { Totals } from './totals.js';

export function streamHref(key) {
  return `#/streams/${encodeURIComponent(key)}`;
}

function nameCell(row) {
  const link = el('a', { href: streamHref(row.key) }, row.key);
  const state = el('span', { class: 'state' });
  return {
    node: el('div', {}, link, ' ', state),
    update: (now) => {
      setText(state, stateOf(now));
      setAttribute(state, 'data-state', now.state);
    },
  };
}

function rateCell() {
  const text = el('span');
  const spark = new Spark((s) => s.video + s.audio);
  return {
    node: el('div', {}, spark.node, text),
    update: (row) => {
      setText(text, format.bitRate(row.video_speed + row.audio_speed));
      spark.update(row.history.samples);
    },
  };
}

const columns = (model) => [
  { id: 'name', title: 'Stream', make: nameCell, sort: (s) => s.key },
  { id: 'rate', title: 'Bit rate', number: true, make: rateCell,
    sort: (s) => s.video_speed + s.audio_speed },
  { id: 'players', title: 'Players', number: true,
    text: (s) => format.count(s.players), sort: (s) => s.players },
  { id: 'picture', title: 'Picture', text: format.picture,
    sort: (s) => (s.video?.width ?? 0) * (s.video?.height ?? 0) },
  { id: 'codecs', title: 'Codecs', text: format.codecs },
  { id: 'dropped', title: 'Dropped', number: true,
    text: (s) => format.count(model.dropped(s)),
    sort: (s) => model.dropped(s) },
  { id: 'uptime', title: 'Up', number: true,
    text: (s) => (s.ended ? format.NONE : format.duration(model.uptime(s))),
    sort: (s) => -s.began_ms },
];

export class StreamsView {
  constructor(model) {
    this.model = model;
    this.totals = new Totals(model);
    this.table = new Table({
      label: 'Streams', columns: columns(model), key: (s) => s.key,
      sort: { id: 'name', down: false },
      mark: (node, row) => this.#mark(node, row),
      onSort: () => this.onChoice?.(),
    });
    this.filter = el('input', {
      type: 'search', placeholder: 'Find a stream',
      'aria-label': 'Find a stream', autocomplete: 'off',
      oninput: () => {
        this.update();
        this.onChoice?.();
      },
    });
    this.empty = new Publish();
    this.none = el('p', { class: 'more', hidden: true },
      'No stream has this in its name.');
    this.more = el('p', { class: 'more', hidden: true });
    this.list = el('section', { class: 'list', 'aria-label': 'Streams' },
      this.filter, this.table.node, this.none, this.more,
      this.empty.node);
    this.place = el('div', { class: 'place' });
    this.node = el('div', { class: 'streams' },
      el('h1', { class: 'hidden' }, 'Streams'), this.totals.node,
      el('div', { class: 'split' }, this.list, this.place));
  }

  /** Looks at one stream, or at none. */
  show(key) {
    if (this.stream?.key === key) {
      return;
    }
    const before = this.stream?.key;
    this.stream?.close();
    this.stream = key ? new StreamView(this.model, key) : undefined;
    this.place.replaceChildren(...(this.stream ? [this.stream.node] : []));
    this.node.classList.toggle('chosen', Boolean(key));
    this.update();
    if (this.stream) {
      this.stream.focus();
    } else if (before) {
      this.list.querySelector(`a[href="${CSS.escape(streamHref(before))}"]`)
        ?.focus();
    }
  }

  close() {
    this.show(undefined);
  }

  /** What the address keeps of this view; onChoice() is called when that is
   *  another. */
  get choice() {
    return { sort: this.table.sort, find: this.filter.value };
  }

  set choice({ sort, find }) {
    this.table.sort = sort;
    this.filter.value = find;
  }

  update() {
    const wanted = this.filter.value.trim().toLowerCase();
    const all = [...this.model.streams.values()];
    const rows = all.filter((s) => s.key.toLowerCase().includes(wanted));
    this.totals.update();
    this.table.update(rows);
    this.table.node.hidden = rows.length === 0;
    this.filter.hidden = all.length < 2 && wanted === '';
    this.none.hidden = rows.length > 0 || all.length === 0;
    this.more.hidden = this.model.streamsLeftOut === 0;
    setText(this.more, `${format.count(this.model.streamsLeftOut)} more ` +
      'streams of this server are not listed here: ' +
      `${at('/stat/streams').pathname} has all.`);
    this.empty.node.hidden = all.length > 0 || !this.model.streamsKnown;
    this.empty.update(this.model.server);
    this.stream?.update();
  }

  #mark(node, row) {
    const chosen = row.key === this.stream?.key;
    node.classList.toggle('current', chosen);
    node.classList.toggle('ended', Boolean(row.ended));
    node.classList.toggle('dropping', this.model.droppedLately(row) > 0);
    setAttribute(node.querySelector('a'), 'aria-current',
      chosen ? 'true' : null);
  }
}

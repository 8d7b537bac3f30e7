/*
 * A table whose rows are kept from one update to the next: what did not
 * change is not touched, so focus, selection and the place on the page stay.
 * Rows that are out of view are filled when they come into it.
 * Heads are buttons that sort.  At most LIMIT rows are shown; a line below
 * tells how many there are.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { el, setAttribute, setText } from './dom.js';

const LIMIT = 200;
const NEAR = '300px'; // of what is in view
const collator = new Intl.Collator('en', { numeric: true });

/*
 * columns: [{ id, title, sort(row), and one of
 *   text(row): what the cell says,
 *   make(row): { node, update(row) }, for what is more than text }]
 * number: true sets it to the right.  sort is optional: text then sorts.
 */
export class Table {
  #rows = new Map(); // key: { node, cells, row, near }
  #byNode = new WeakMap();
  #observer = new IntersectionObserver((seen) => this.#seen(seen),
    { rootMargin: NEAR });

  /* onSort(): the order is another. */
  constructor({ label, columns, key, sort, mark = () => {},
    onSort = () => {} }) {
    this.columns = columns;
    this.key = key;
    this.mark = mark; // mark(node, row): classes, attributes
    this.order = this.usual = sort; // { id, down }
    this.onSort = onSort;
    this.heads = columns.map((c) => this.#head(c));
    this.body = el('tbody', { role: 'rowgroup' });
    this.more = el('p', { class: 'more', hidden: true });
    // The style turns rows into cards, where roles would else be lost.
    this.node = el('div', { class: 'table' },
      el('table', { role: 'table', 'aria-label': label },
        el('thead', { role: 'rowgroup' },
          el('tr', { role: 'row' }, ...this.heads)),
        this.body),
      this.more);
  }

  update(rows) {
    this.rows = rows;
    const sorted = this.#sorted(rows);
    const shown = sorted.slice(0, LIMIT);
    const kept = new Map();
    for (const row of shown) {
      const key = this.key(row);
      const known = this.#rows.get(key);
      const entry = known ?? this.#make(row);
      kept.set(key, entry);
      entry.row = row;
      if (!known || entry.near) {
        this.#fill(entry);
      }
    }
    for (const [key, { node }] of this.#rows) {
      if (!kept.has(key)) {
        this.#observer.unobserve(node);
        node.remove();
      }
    }
    this.#rows = kept;
    this.#place([...kept.values()]);
    this.more.hidden = shown.length === rows.length;
    setText(this.more, `${shown.length} of ${rows.length} are shown.`);
  }

  #place(entries) {
    entries.forEach(({ node }, n) => {
      if (this.body.children[n] !== node) {
        this.body.insertBefore(node, this.body.children[n] ?? null);
      }
    });
  }

  #make(row) {
    const cells = this.columns.map((c) => {
      const part = c.make?.(row);
      const cell = el('td', {
        role: 'cell', 'data-title': c.title,
        class: c.number ? `number ${c.id}` : c.id,
      }, part?.node);
      return { cell, part };
    });
    const node = el('tr', { role: 'row' }, ...cells.map((c) => c.cell));
    const entry = { node, cells, row, near: true };
    this.#byNode.set(node, entry);
    this.#observer.observe(node);
    return entry;
  }

  #seen(changes) {
    for (const { target, isIntersecting } of changes) {
      const entry = this.#byNode.get(target);
      entry.near = isIntersecting;
      if (isIntersecting) {
        this.#fill(entry);
      }
    }
  }

  #fill({ node, cells, row }) {
    this.columns.forEach((c, n) => {
      const { cell, part } = cells[n];
      if (part) {
        part.update(row);
      } else {
        setText(cell, c.text(row));
      }
    });
    this.mark(node, row);
  }

  #head(column) {
    const button = el('button', {
      type: 'button', onclick: () => this.#sortBy(column.id),
    }, column.title);
    return el('th', {
      role: 'columnheader', scope: 'col', 'data-id': column.id,
      class: column.number ? `number ${column.id}` : column.id,
    }, button);
  }

  #sortBy(id) {
    const down = this.order.id === id ? !this.order.down :
      Boolean(this.columns.find((c) => c.id === id).number);
    this.order = { id, down };
    this.update(this.rows);
    this.onSort();
  }

  /** The order in a word for the address, "-rate"; "" for the usual one. */
  get sort() {
    const { id, down } = this.order;
    return id === this.usual.id && down === this.usual.down ? '' :
      `${down ? '-' : ''}${id}`;
  }

  set sort(word) {
    const [, down, id] = /^(-?)(.*)$/.exec(word);
    this.order = this.columns.some((c) => c.id === id) ?
      { id, down: down !== '' } : this.usual;
  }

  #sorted(rows) {
    const { id, down } = this.order;
    const column = this.columns.find((c) => c.id === id);
    const of = column.sort ?? column.text;
    for (const head of this.heads) {
      setAttribute(head, 'aria-sort', head.dataset.id !== id ? null :
        down ? 'descending' : 'ascending');
    }
    const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ?
      a - b : collator.compare(a, b));
    // Equal ones stand by their key, so that rows do not jump.
    return rows.map((row) => ({ row, value: of(row), key: this.key(row) }))
      .sort((a, b) => (down ? -1 : 1) * compare(a.value, b.value) ||
        compare(a.key, b.key))
      .map(({ row }) => row);
  }
}

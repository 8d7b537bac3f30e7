/*
 * Making elements.  Names, addresses and URLs are what strangers sent: they
 * become text nodes and attributes here, and never markup.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) {
      node.addEventListener(name.slice(2), value);
    } else if (value === true) {
      node.setAttribute(name, '');
    } else if (value !== false && value != null) {
      node.setAttribute(name, value);
    }
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

/** An element: attributes by name, listeners as onNAME, then children. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Sets text only where it differs: a selection in it stays. */
export function setText(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

export function setAttribute(node, name, value) {
  if (value == null) {
    node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

/** A list of terms; set({term: text}) changes it, null leaves one out. */
export function facts(className) {
  const list = el('dl', { class: className });
  const rows = new Map();
  const row = (term) => {
    const value = el('dd');
    const node = el('div', {}, el('dt', {}, term), value);
    rows.set(term, { node, value });
    list.append(node);
    return rows.get(term);
  };
  const set = (entries) => {
    for (const [term, text] of Object.entries(entries)) {
      const { node, value } = rows.get(term) ?? row(term);
      setText(value, text ?? '');
      node.hidden = text == null;
    }
  };
  return { node: list, set };
}

/** Says something to who cannot see it happen. */
export function say(text) {
  setText(document.getElementById('said'), text);
}

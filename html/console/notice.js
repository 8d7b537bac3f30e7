/*
 * What is told when the statistics do not come, in words that say what to
 * do; and a field to play a stream by its name all the same.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { at, page } from './base.js';
import { el } from './dom.js';
import { streamHref } from './streams.js';

function missing(own) {
  const what = `There are no statistics at ${at('/stat').pathname} on this ` +
    'address.';
  if (own) {
    return [what, 'In weir.conf, give this server a location ' +
      '{ path = "/stat"; module = "stat"; }, then reload. Or open the ' +
      'address of a server that has one: "weirctl show listeners" tells them.'];
  }
  return [what, 'It is not weir that says so, but the proxy or server in ' +
    `front of it. Let it pass all paths below ${page.pathname} to weir, as it ` +
    'does with this page.'];
}

function refusal({ status, local, own }) {
  if (status === 404 || status === 405) {
    return missing(own);
  }
  const port = /:(\d+)\/$/.exec(local ?? '')?.[1];
  const there = port ? 'They are for the machine it runs on: open ' +
    `${local} there, or, through "ssh -L ${port}:127.0.0.1:${port} ` +
    `${location.hostname}", here. Or add ` : 'Add ';
  if (!own) {
    return ['The statistics are not for this address.',
      `The proxy or server in front of weir answered ${status}.`];
  }
  return ['The statistics are not for this address.',
    `The server answered ${status}. ${there}your ` +
    'address to access of the location /stat in weir.conf.'];
}

function playForm() {
  const input = el('input', {
    id: 'play-name', placeholder: 'live/test', autocomplete: 'off',
    spellcheck: 'false', required: true,
  });
  return el('form', {
    class: 'play-form',
    onsubmit: (event) => {
      event.preventDefault();
      const key = input.value.trim().replace(/^\/+|\/+$/g, '');
      location.hash = streamHref(key.includes('/') ? key : `live/${key}`);
    },
  }, el('label', { for: 'play-name' }, 'Streams can be played: '), input,
  el('button', {}, 'Play'));
}

/** Shows what the feed's state means; retry() asks at once. */
export class Notice {
  constructor(node, retry) {
    this.node = node;
    this.retry = retry;
    this.shown = '';
  }

  update(now) {
    const { state, status, local, own } = now;
    if (state === 'connecting' && this.shown !== '') {
      return; // stays until it is known better
    }
    const kind = ['refused', 'lost', 'resting'].includes(state) ?
      `${state} ${status ?? ''} ${local ?? ''} ${own ?? ''}` : '';
    if (kind === this.shown) {
      return;
    }
    this.shown = kind;
    this.node.hidden = kind === '';
    this.node.replaceChildren(...this.#content(now));
  }

  #content(now) {
    const again = el('button', { type: 'button', onclick: this.retry },
      'Try now');
    switch (now.state) {
      case 'refused': {
        const [what, why] = refusal(now);
        return [el('p', {}, el('strong', {}, what)), el('p', {}, why),
          playForm(), again];
      }
      case 'lost':
        return [el('p', {}, el('strong', {},
          'The connection to the statistics is lost.'),
        now.status ? ` The server answered ${now.status}.` : '',
        ' What is shown is as it was; it is tried again.'), again];
      default:
        return [];
    }
  }
}

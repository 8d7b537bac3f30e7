/*
 * What an empty console offers: a room with its stream key, made by a button
 * where this page's server makes keys, and the lines that publish to it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { el, setText } from './dom.js';
import { commands, lineList, obsFields } from './lines.js';
import { applications, keysOf, placeMark, rtmpOf } from './place.js';

const isPublishing = ({ what }) => what.startsWith('Publish');

async function makeKey(url, room) {
  const answer = await fetch(`${url}/get?room=${encodeURIComponent(room)}`,
    { cache: 'no-store' });
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({}));
    throw new Error(said.data ?? `The server answered ${answer.status}.`);
  }
  return answer.text();
}

export class Publish {
  constructor() {
    this.name = el('input', {
      id: 'room', value: 'test', autocomplete: 'off', spellcheck: 'false',
      required: true, maxlength: 200, oninput: () => this.#fill(),
    });
    this.app = el('select', {
      'aria-label': 'Application', oninput: () => this.#fill(),
    });
    this.button = el('button', {}, 'Make its stream key');
    this.words = el('p', { role: 'status' });
    this.place = el('div');
    this.node = el('section', { class: 'empty', hidden: true },
      el('h2', {}, 'No stream is live'),
      el('p', {}, 'Publish one, and it appears here at once.'),
      el('form', {
        class: 'publish-form',
        onsubmit: (event) => {
          event.preventDefault();
          this.#make();
        },
      }, el('label', { for: 'room' }, 'Name'), ' ', this.app, this.name, ' ',
      this.button),
      this.words, this.place);
  }

  update(server) {
    if (server && this.mark !== placeMark(server)) {
      this.mark = placeMark(server);
      this.server = server;
      const names = applications(server);
      this.app.replaceChildren(...names.map((n) => el('option', {}, n)));
      this.app.hidden = names.length < 2;
      this.#fill();
    }
  }

  get #stream() {
    return `${this.app.value}/${this.name.value.trim() || 'test'}`;
  }

  /* The lines for what stands in the form; key: that was made for it. */
  #fill(key) {
    const rtmp = rtmpOf(this.server, this.app.value);
    const keys = keysOf(this.server);
    const wanted = rtmp?.policy === 'key';
    this.button.hidden = !wanted || !keys?.own;
    setText(this.words, this.#advice(rtmp, keys, key));
    this.place.replaceChildren(lineList([
      ...obsFields(this.#stream, this.server, key),
      ...commands(this.#stream, this.server, key).filter(isPublishing),
    ]));
  }

  #advice(rtmp, keys, key) {
    if (!rtmp) {
      return 'No listener takes streams from here: see rtmp in weir.conf.';
    }
    if (rtmp.policy === 'open') {
      return 'Who may publish here names the stream.';
    }
    if (key) {
      return 'The key publishes this name: give it to nobody else.';
    }
    if (keys?.own) {
      return 'It is published with a stream key. The lines below ask for it.';
    }
    return keys ? 'It is published with a stream key, which is made on the ' +
      `machine itself: at ${new URL('/', keys.url)}, or by the lines below.` :
      'It is published with a stream key, and nothing here makes any: give ' +
      'weir.conf a location with module "relay".';
  }

  async #make() {
    const stream = this.#stream;
    const room = stream.slice(stream.indexOf('/') + 1);
    this.button.disabled = true;
    try {
      const key = await makeKey(keysOf(this.server).url, room);
      if (stream === this.#stream) {
        this.#fill(key);
      }
    } catch (error) {
      setText(this.words, `No key was made: ${error.message}`);
    }
    this.button.disabled = false;
  }
}

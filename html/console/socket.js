/*
 * A client of Socket.IO v5 over a WebSocket, as far as the console needs one:
 * the namespace "/", events with JSON both ways, and answers to its own.
 *
 * It tries once and does not come back by itself: the feed decides about that.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

const OPENS_WITHIN = 5000; // a proxy may swallow the upgrade
const GOING_AWAY = 1001;

export class Socket {
  #answers = new Map(); // by the number of the event that asks
  #asked = 0;
  #over;

  /*
   * endpoint: its URL, ".../stat/socket.io/".
   * onJoined(), onEvent(name, ...args); onOver({ joined, orderly }) comes last,
   *   and once.
   */
  constructor(endpoint, { onJoined, onEvent, onOver }) {
    const url = new URL(endpoint);
    url.protocol = url.protocol.replace('http', 'ws');
    url.search = '?EIO=4&transport=websocket';
    this.onJoined = onJoined;
    this.onEvent = onEvent;
    this.#over = onOver;
    this.joined = false;
    this.patience = OPENS_WITHIN;
    this.ws = new WebSocket(url);
    this.ws.onmessage = ({ data }) => this.#take(data);
    this.ws.onclose = ({ code }) => this.#end(code === GOING_AWAY);
    this.#heard();
  }

  /** Sends an event; answered(...args) when the server has answered it. */
  emit(name, args, answered) {
    const number = this.#asked++;
    this.#answers.set(number, answered);
    this.ws.send(`42${number}${JSON.stringify([name, ...args])}`);
  }

  close() {
    this.#end(false);
  }

  #heard() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#end(false), this.patience);
  }

  #end(orderly) {
    const over = this.#over;
    clearTimeout(this.timer);
    this.#over = null;
    this.ws.onmessage = this.ws.onclose = null;
    this.ws.close();
    over?.({ joined: this.joined, orderly });
  }

  /* A packet of Engine.IO: its kind, and what it carries. */
  #take(data) {
    switch (typeof data === 'string' ? data[0] : '') {
      case '0': {
        const { pingInterval, pingTimeout } = JSON.parse(data.slice(1));
        this.patience = pingInterval + pingTimeout;
        this.#heard();
        this.ws.send('40');
        break;
      }
      case '2':
        this.#heard();
        this.ws.send('3');
        break;
      case '4':
        this.#takeMessage(data[1], data.slice(2));
        break;
      case '1':
        this.#end(true);
        break;
      default: // there are others, which it does not need
    }
  }

  /* A packet of Socket.IO. */
  #takeMessage(kind, text) {
    const [, number, json] = /^(\d*)(.*)$/s.exec(text);
    switch (kind) {
      case '0':
        this.joined = true;
        this.onJoined();
        break;
      case '2':
        this.onEvent(...JSON.parse(json));
        break;
      case '3':
        this.#answers.get(Number(number))?.(...JSON.parse(json));
        this.#answers.delete(Number(number));
        break;
      case '1': // it is to come back
      case '4': // it may not join
        this.#end(kind === '1');
        break;
      default:
    }
  }
}

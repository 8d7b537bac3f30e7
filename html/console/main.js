/*
 * Puts the console together: the feed fills the model, the address behind #
 * says which view shows it.
 *
 *   #/streams   #/streams/KEY (encoded)   #/sessions   #/server
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { say, setAttribute, setText } from './dom.js';
import { Feed } from './feed.js';
import { Model } from './model.js';
import { Notice } from './notice.js';
import { ServerView } from './server.js';
import { SessionsView } from './sessions.js';
import { StreamsView } from './streams.js';

const model = new Model();
const views = {
  streams: new StreamsView(model),
  sessions: new SessionsView(model),
  server: new ServerView(model),
};
const place = document.getElementById('view');
const link = document.getElementById('link');
const notice = new Notice(document.getElementById('notice'),
  () => feed.start());
let view;

function route() {
  if (location.hash !== '' && !location.hash.startsWith('#/')) {
    return; // a place in the page, not a view
  }
  const [, name, rest] = location.hash.split('/');
  const next = views[name] ?? views.streams;
  if (view !== next) {
    view?.close();
    view = next;
    place.replaceChildren(view.node);
  }
  let key;
  try {
    key = rest ? decodeURIComponent(rest) : undefined;
  } catch {
    key = undefined; // not written by this page
  }
  view.show(key);
  watch(views.streams === view ? 'streams' : name, key);
  for (const a of document.querySelectorAll('nav a')) {
    setAttribute(a, 'aria-current',
      views[a.hash.slice(2)] === view ? 'page' : null);
  }
  update();
}

/* Only what this view shows is asked for. */
function watch(name, key) {
  const of = name === 'streams' && isKey(key);
  const what = of ? 'streams,sessions' : name;
  const url = `/stat/events?changes=${what}` +
    (of ? `&of=${encodeURIComponent(key)}` : '');
  if (url !== feed.url) {
    model.expect();
    feed.watch(url);
  }
}

/* Whether a stream's key could look like this. */
function isKey(key) {
  return /^[^/\0-\x1f\x7f]+\/[^\0-\x1f\x7f]+$/.test(key ?? '') &&
    new TextEncoder().encode(key).length < 256;
}

let planned = false;

/* The events of a second are shown together. */
function plan() {
  if (!planned) {
    planned = true;
    setTimeout(() => {
      planned = false;
      update();
    });
  }
}

function update() {
  view.update();
  const live = model.server?.publishers;
  document.title = live == null ? 'weir' : `${live} live – weir`;
}

const WORDS = {
  connecting: () => 'connecting',
  live: () => (model.server && model.server.state !== 'ready' ?
    model.server.state : 'live'),
  lost: () => 'lost, trying again',
  refused: () => 'no statistics',
  resting: () => 'resting',
};

function showState(now) {
  const words = WORDS[now.state](now);
  if (link.dataset.state !== now.state && now.state === 'lost') {
    say('Connection to the statistics lost');
  }
  setAttribute(link, 'data-state', now.state);
  setText(link, words);
  notice.update(now);
}

const feed = new Feed({
  onState: showState,
  onEvent: (name, value) => {
    const said = model.take(name, value);
    if (said) {
      say(said);
    }
    plan();
  },
});

/* The address stays that of the view. */
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  document.getElementById('main').focus();
});

window.addEventListener('hashchange', route);
route();

/*
 * Puts the console together: the feed fills the model, the address behind #
 * says which view shows it.
 *
 *   #/streams   #/streams/KEY (encoded)   #/wall   #/sessions   #/server
 *
 * Behind a ? stand the order and what is looked for: ?sort=-rate&find=cam.
 * Without it a view stays as it was.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { say, setAttribute, setText } from './dom.js';
import { Feed } from './feed.js';
import { Model } from './model.js';
import { Notice } from './notice.js';
import { pageOf } from './place.js';
import { ServerView } from './server.js';
import { SessionsView } from './sessions.js';
import { StreamsView } from './streams.js';
import { WallView } from './wall.js';

const model = new Model();
const views = {
  streams: new StreamsView(model),
  wall: new WallView(model),
  sessions: new SessionsView(model),
  server: new ServerView(model),
};
const place = document.getElementById('view');
const link = document.getElementById('link');
const pages = { tts: 'speech', downloads: 'downloads' }; // links by module
const notice = new Notice(document.getElementById('notice'),
  () => feed.start());
let view;

for (const one of Object.values(views)) {
  one.onChoice = keepChoice;
}

function route() {
  if (location.hash !== '' && !location.hash.startsWith('#/')) {
    return; // a place in the page, not a view
  }
  const [path, query] = location.hash.split('?');
  const [, name, rest] = path.split('/');
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
  if (query != null) {
    const said = new URLSearchParams(query);
    view.choice = { sort: said.get('sort') ?? '', find: said.get('find') ?? '' };
  }
  view.show(key);
  keepChoice();
  watch([views.streams, views.wall].includes(view) ? 'streams' : name,
    views.wall === view ? undefined : key);
  for (const a of document.querySelectorAll('nav a')) {
    setAttribute(a, 'aria-current',
      views[a.hash.slice(2)] === view ? 'page' : null);
  }
  update();
}

/* The address says what was chosen, so that it can be handed on. */
function keepChoice() {
  const chosen = Object.entries(view.choice ?? {}).filter(([, word]) => word);
  const query = new URLSearchParams(chosen).toString();
  const path = location.hash.split('?')[0] || '#/streams';
  const hash = query ? `${path}?${query}` : path;
  if (location.hash !== hash && (query || location.hash.includes('?'))) {
    history.replaceState(null, '', hash);
  }
}

/* Only what this view shows is asked for. */
function watch(name, key) {
  const of = name === 'streams' && isKey(key);
  const what = of ? 'streams,sessions' : name;
  const path = `/stat/events?changes=${what}` +
    (of ? `&of=${encodeURIComponent(key)}` : '');
  if (path !== feed.path) {
    model.expect();
    feed.watch(path);
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
  for (const [module, id] of Object.entries(pages)) {
    const to = document.getElementById(id);
    setAttribute(to, 'href', pageOf(model.server, module));
    to.hidden = !to.hasAttribute('href');
  }
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
  const away = now.state === 'lost' || (model.away && now.state !== 'live');
  if (model.away !== away) {
    model.away = away;
    plan();
  }
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

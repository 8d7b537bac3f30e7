/*
 * The commands that publish and play a stream, ready to be copied.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { at } from './base.js';
import { el } from './dom.js';
import { keysOf, pageOf, rtmpOf } from './place.js';

function pathOf(key) {
  return `/${key.split('/').map(encodeURIComponent).join('/')}`;
}

/** The address of a stream's FLV, from its key "APP/NAME". */
export function flvUrl(key) {
  return at(`${pathOf(key)}.flv`).href;
}

/** Of its playlist. */
export function hlsUrl(key) {
  return at(`${pathOf(key)}.m3u8`).href;
}

/** Of its newest key frame. */
export function stillUrl(key) {
  return at(`${pathOf(key)}.still.mp4`).href;
}

/* A name may hold what a shell would run. */
function quoted(text) {
  return /^[\w.:/@%+=,[\]-]+$/.test(text) ? text :
    `'${text.replaceAll("'", "'\\''")}'`;
}

/* What stands for the key in a command: asked for when it is run. */
function askedKey({ url }, name) {
  const room = encodeURIComponent(name).replaceAll("'", '%27');
  return `"$(curl -fsS '${url}/get?room=${room}')"`;
}

/* The address to publish at, as a shell wants it. */
function target({ base, policy }, app, name, keys, key) {
  const to = `${base}/${app}/`;
  if (policy === 'open' || key) {
    return quoted(to + (key ?? name));
  }
  return keys ? quoted(to) + askedKey(keys, name) : quoted(`${to}KEY`);
}

function publishing(server, app, name, key) {
  const rtmp = rtmpOf(server, app);
  if (!rtmp) {
    return [];
  }
  const to = target(rtmp, app, name, keysOf(server), key);
  return [
    { what: 'Publish a file', command:
      `ffmpeg -re -i FILE -c copy -f flv ${to}` },
    { what: 'Publish a test picture', command:
      'ffmpeg -re -f lavfi -i testsrc2=size=1280x720:rate=30 ' +
      '-f lavfi -i sine -c:v libx264 -preset veryfast -tune zerolatency ' +
      `-pix_fmt yuv420p -g 60 -c:a aac -f flv ${to}` },
  ];
}

function playing(server, stream, app) {
  const rtmp = rtmpOf(server, app);
  const flv = quoted(flvUrl(stream));
  return [
    ...(rtmp ? [{ what: 'Play RTMP',
      command: `ffplay ${quoted(`${rtmp.base}/${stream}`)}` }] : []),
    { what: 'Play HTTP-FLV', command: `ffplay ${flv}` },
    ...(pageOf(server, 'hls') ? [{ what: 'Play HLS',
      command: `ffplay ${quoted(hlsUrl(stream))}` }] : []),
    { what: 'Play in VLC', command: `vlc ${flv}` },
  ];
}

/** [{ what, command }] for a stream "APP/NAME"; server is what /stat/server
 *  says; with a key its own lines say it, else they ask for it. */
export function commands(stream, server, key) {
  const [app, ...rest] = stream.split('/');
  return [...publishing(server, app, rest.join('/'), key),
    ...playing(server, stream, app)];
}

/** What OBS wants in its two fields. */
export function obsFields(stream, server, key) {
  const [app, ...rest] = stream.split('/');
  const rtmp = rtmpOf(server, app);
  const secret = key ?? (rtmp?.policy === 'open' ? rest.join('/') : null);
  return rtmp && secret ? [
    { what: 'OBS, service Custom: server', command: `${rtmp.base}/${app}` },
    { what: 'OBS: stream key', command: secret },
  ] : [];
}

/* The clipboard is for secure pages only; plain HTTP has the old way. */
async function copy(code) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  }
  const selection = getSelection();
  selection.selectAllChildren(code);
  return document.execCommand('copy');
}

function line({ what, command }) {
  const code = el('code', {}, command);
  const button = el('button', {
    type: 'button',
    'aria-label': `Copy: ${what}`,
    onclick: async () => {
      const done = await copy(code).catch(() => false);
      button.textContent = done ? 'Copied' : 'Select and copy';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    },
  }, 'Copy');
  return el('li', {}, el('span', {}, what), code, button);
}

export function lineList(commands) {
  return el('ul', { class: 'lines' }, ...commands.map(line));
}

/*
 * The commands that publish and play a stream, ready to be copied.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { el } from './dom.js';

const RTMP_PORT = '1935';

/** The path of a stream's FLV, from its key "APP/NAME". */
export function flvPath(key) {
  return `/${key.split('/').map(encodeURIComponent).join('/')}.flv`;
}

/* The page is served by HTTP; RTMP's port shows in what publishers asked. */
function rtmpPort(sessions) {
  for (const { url } of sessions) {
    const found = /^rtmps?:\/\/[^/]*:(\d+)\//.exec(url ?? '');
    if (found && url.startsWith('rtmp:')) {
      return found[1];
    }
  }
  return RTMP_PORT;
}

/* A name may hold what a shell would run. */
function quoted(text) {
  return /^[\w.:/@%+=,[\]-]+$/.test(text) ? text :
    `'${text.replaceAll("'", "'\\''")}'`;
}

/** [{ what, command }]; sessions tell the port if one is there. */
export function commands(key, sessions = []) {
  const host = location.hostname || 'localhost';
  const rtmp = quoted(`rtmp://${host}:${rtmpPort(sessions)}/${key}`);
  const flv = quoted(location.origin + flvPath(key));
  return [
    { what: 'Publish a file', command:
      `ffmpeg -re -i FILE -c copy -f flv ${rtmp}` },
    { what: 'Publish a test picture', command:
      'ffmpeg -re -f lavfi -i testsrc2=size=1280x720:rate=30 ' +
      '-f lavfi -i sine -c:v libx264 -preset veryfast -tune zerolatency ' +
      `-pix_fmt yuv420p -g 60 -c:a aac -f flv ${rtmp}` },
    { what: 'Play RTMP', command: `ffplay ${rtmp}` },
    { what: 'Play HTTP-FLV', command: `ffplay ${flv}` },
    { what: 'Play in VLC', command: `vlc ${flv}` },
  ];
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

export function commandList(key, sessions, which = () => true) {
  const found = commands(key, sessions).filter((c) => which(c.what));
  return el('ul', { class: 'lines' }, ...found.map(line));
}

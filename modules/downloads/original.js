// A client that does as the web page of the original: it is led by words on
// its standard input, a JSON object each line, and tells what it sees.
//
//     node original.js http://127.0.0.1:8080/original/
//
// Events come as JSON in a string, which it parses; "all" is two lists of
// [url, object]: what is queued or waits, and what is done.
//
//     {"post": "add", "body": {...}}  -> {"answer": "add", "said": {...}}
//     {"get": "download/a.mp4"}       -> {"answer": ..., "size": 1}
//     {"look": true}                  -> {"told": "state", "queue": {...}, ...}
//
// SPDX-License-Identifier: BSD-2-Clause

'use strict';

const readline = require('readline');
const { io } = require('socket.io-client');

const base = new URL(process.argv[2]);
const tell = (what) => console.log(JSON.stringify(what));

let queue = new Map();
let done = new Map();
let updated = 0;
let canDownload = false; // the page shows a form when it has both

const socket = io(base.origin, { path: `${base.pathname}socket.io/` });

// Whatever is not a string of JSON ends the page, and this.
function on(name, take) {
    socket.on(name, (...args) => {
        if (args.length !== 1 || typeof args[0] !== 'string') {
            throw new Error(`${name}: ${JSON.stringify(args)}`);
        }
        take(JSON.parse(args[0]));
        tell({ told: name });
    });
}

on('all', ([active, over]) => {
    queue = new Map(active);
    done = new Map(over);
});
on('added', (e) => queue.set(e.url, e));
on('updated', (e) => {
    const before = queue.get(e.url);
    if (!before) throw new Error(`updated: ${e.url} is not in the queue`);
    queue.set(e.url, { ...e, checked: before.checked });
    updated++;
});
on('completed', (e) => {
    queue.delete(e.url);
    done.set(e.url, e);
});
on('canceled', (url) => queue.delete(url));
on('cleared', (url) => done.delete(url));
on('configuration', (c) => {
    if (!('DEFAULT_OPTION_PLAYLIST_ITEM_LIMIT' in c) ||
        typeof c.CUSTOM_DIRS !== 'boolean') {
        throw new Error(`configuration: ${JSON.stringify(c)}`);
    }
    canDownload = true;
});
on('custom_dirs', ({ download_dir: own, audio_download_dir: audio }) => {
    if (!Array.isArray(own) || !Array.isArray(audio)) {
        throw new Error('custom_dirs');
    }
});
on('ytdl_options_changed', () => {});

async function post(path, body) {
    const answer = await fetch(new URL(path, base), {
        method: 'POST', body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json' },
    });
    tell({ answer: path, said: JSON.parse(await answer.text()) });
}

async function get(path) {
    const answer = await fetch(new URL(path, base));
    tell({ answer: path, size: (await answer.arrayBuffer()).byteLength });
}

socket.on('connect', async () => {
    const answer = await fetch(new URL('version', base));
    tell({ told: 'version', said: await answer.json() });
});

readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const word = JSON.parse(line);
    if (word.post) {
        post(word.post, word.body);
    } else if (word.get) {
        get(word.get);
    } else if (word.look && canDownload) {
        tell({ told: 'state', queue: Object.fromEntries(queue),
            done: Object.fromEntries(done), updated });
    } else {
        throw new Error(`there is no form yet: ${line}`);
    }
}).on('close', () => process.exit(0));

// A client of Socket.IO that tests lead by words on its standard input, a JSON
// object each line, and that tells a line of JSON for all that happens to it.
//
//     node client.js LIBRARY URL '{"transports": ["websocket"]}'
//
//     {"emit": ["message", 1]}        -> {"event": "message-back", "args": [1]}
//     {"ack": ["message-with-ack"]}   -> {"ack": []}
//     {"disconnect": true}            -> {"told": "disconnect", ...}
//
// Bytes are written {"hex": "0102"}.
//
// SPDX-License-Identifier: BSD-2-Clause

'use strict';

const readline = require('readline');

const [library, url, options] = process.argv.slice(2);
const io = require(library);

const each = (value, change) => {
    const changed = change(value);
    if (changed !== undefined || !value || typeof value !== 'object') {
        return changed === undefined ? value : changed;
    }
    return Array.isArray(value) ? value.map((v) => each(v, change)) :
        Object.fromEntries(Object.entries(value).map(
            ([k, v]) => [k, each(v, change)]));
};
const toBytes = (value) => each(value, (v) =>
    v && typeof v.hex === 'string' ? Buffer.from(v.hex, 'hex') : undefined);
const toHex = (value) => each(value, (v) =>
    v instanceof Uint8Array ? { hex: Buffer.from(v).toString('hex') } :
    undefined);
const tell = (what) => console.log(JSON.stringify(toHex(what)));

const socket = io(url, JSON.parse(options));
const manager = socket.io;

manager.on('open', () => {
    manager.engine.on('upgrade', (transport) => {
        tell({ told: 'upgrade', transport: transport.name });
    });
});
socket.on('connect', () => {
    tell({ told: 'connect', id: socket.id, recovered: !!socket.recovered });
});
socket.on('disconnect', (reason) => tell({ told: 'disconnect', reason }));
socket.on('connect_error', (error) => {
    tell({ told: 'connect_error', message: error.message });
});
manager.on('reconnect_failed', () => tell({ told: 'reconnect_failed' }));
if (socket.onAny) {
    socket.onAny((event, ...args) => tell({ event, args }));
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const word = JSON.parse(line);
    if (word.emit) {
        socket.emit(...toBytes(word.emit));
    } else if (word.ack) {
        socket.emit(...toBytes(word.ack), (...ack) => tell({ ack }));
    } else if (word.disconnect) {
        socket.disconnect();
    }
}).on('close', () => process.exit(0));

// The reference server of Socket.IO with the behaviour of modules/echo: the
// tests prove themselves against it (tests/live/socket_help.py), and the bench
// measures beside it.
//
//     NODE_PATH=build/clients/live/node_modules \
//         node tests/live/clients/peer.js '{"path": "/echo", "port": 0}'
//
// It prints the port that it listens on, and ends with its standard input.
// Beside path, port, and every (ms; an event "tick" to all, so often), the
// object has options of the server: pingInterval, pingTimeout, connectTimeout,
// maxHttpBufferSize, transports, cors, cookie, connectionStateRecovery.
//
// SPDX-License-Identifier: BSD-2-Clause

'use strict';

const http = require('http');
const { Server } = require('socket.io');
const { Server: Engine } = require('engine.io');

const { port = 0, path = '', every = 0, ...options } =
    JSON.parse(process.argv[2] || '{}');

const server = http.createServer((_, answer) => answer.writeHead(404).end());

// An engine of its own keeps other upgrades alive: those of the other engine.
const io = new Server({
    ...options, path: `${path}/socket.io/`, destroyUpgrade: false,
    serveClient: false,
});
const engine = new Engine({ ...options, destroyUpgrade: false });

io.attach(server, { ...options, path: `${path}/socket.io/`,
    destroyUpgrade: false });
engine.attach(server, { path: `${path}/engine.io/`, destroyUpgrade: false });

engine.on('connection', (session) => {
    session.on('message', (data) => session.send(data));
});

for (const name of ['/', '/custom']) {
    io.of(name).on('connection', (socket) => {
        socket.emit('auth', socket.handshake.auth);
        socket.on('message', (...args) => {
            socket.emit('message-back', ...args);
        });
        socket.on('message-with-ack', (...args) => {
            const ack = args.pop();
            ack(...args);
        });
    });
}

if (every > 0) {
    setInterval(() => io.emit('tick', Date.now()), every);
}

process.stdin.on('end', () => process.exit(0)).resume();
server.listen(port, '127.0.0.1', () => {
    console.log(server.address().port);
});

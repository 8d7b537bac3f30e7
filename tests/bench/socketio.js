/*
 * The usual server of Socket.IO, with the event that modules/echo has for the
 * bench.
 *
 *     node socketio.js FOLDER PORT    FOLDER: with node_modules
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
const { createRequire } = require('node:module');
const { createServer } = require('node:http');

const [, , folder, port] = process.argv;
const { Server } = createRequire(`${folder}/`)('socket.io');
const server = createServer();
const io = new Server(server, {
  path: '/io/socket.io/', transports: ['websocket'], perMessageDeflate: false,
});

io.on('connection', (socket) => {
  socket.on('broadcast', (...args) => io.emit('broadcast-back', ...args));
});
server.listen(Number(port), '127.0.0.1', 4096);

/*
 * Where this node is asked and how one publishes there, from what /stat/server
 * says of its listeners, applications and locations.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { at } from './base.js';

function bare(host) {
  return host.replace(/^\[|\]$/g, '');
}

/* "HOST:PORT" of a listener, as it is reached from where this page is. */
function reached(listener) {
  const [, host, port] = /^(.*):(\d+)$/.exec(listener.address) ?? [];
  if (!port || listener.proxy_protocol) {
    return null; // a unix socket; a balancer's
  }
  return `${listener.any ? location.hostname || 'localhost' : host}:${port}`;
}

/* Of those that can be reached: under the page's own host, without TLS. */
function best(listeners) {
  const cost = (l) => (l.tls ? 1 : 0) + (l.any ||
    bare(l.address.replace(/:\d+$/, '')) === bare(location.hostname) ? 0 : 2);
  return listeners.filter((l) => reached(l))
    .sort((a, b) => cost(a) - cost(b))[0];
}

/** { base: "rtmp://HOST:PORT", policy: "key" | "open" } of an application;
 *  null: nobody can publish there. */
export function rtmpOf(server, app) {
  for (const { listen, applications } of server?.rtmp ?? []) {
    const found = applications.find((a) => a.name === app);
    const listener = found && best(listen);
    if (listener) {
      return {
        base: `rtmp${listener.tls ? 's' : ''}://${reached(listener)}`,
        policy: found.publish,
      };
    }
  }
  return null;
}

/** Names of the applications, in the file's order. */
export function applications(server) {
  return (server?.rtmp ?? []).flatMap((s) => s.applications)
    .map((a) => a.name);
}

function relayPath({ locations }) {
  return locations.find((l) => l.path.startsWith('/') &&
    l.modules.includes('relay'))?.path.replace(/\/$/, '');
}

/** Where keys are made, { url }: with own on this page's own server, else on
 *  another one of the node; null: nowhere. */
export function keysOf(server) {
  const all = server?.http ?? [];
  const path = all[server?.here] && relayPath(all[server.here]);
  if (path) {
    return { own: true, url: at(path).href };
  }
  for (const other of all) {
    const listener = best(other.listen);
    if (listener && relayPath(other)) {
      const scheme = listener.tls ? 'https' : 'http';
      return { url: `${scheme}://${reached(listener)}${relayPath(other)}` };
    }
  }
  return null;
}

/** The address of a module's own page (tts, downloads) on this page's own
 *  server; null: there is none. */
export function pageOf(server, module) {
  const found = server?.http?.[server.here]?.locations
    .find((l) => l.path.startsWith('/') && l.modules.includes(module));
  return found ? at(`${found.path.replace(/\/$/, '')}/`).pathname : null;
}

/** Differs when any of the above may. */
export function placeMark(server) {
  return server ? JSON.stringify([server.rtmp, server.http, server.here]) : '';
}

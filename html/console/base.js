/*
 * Where the node is asked: below any path that leads to it.
 *
 * The page and the node's addresses (/stat, /APP/NAME.flv) may stand below a
 * path that a proxy in front takes away (/weir/stat), and the page may stand
 * below one of weir's own (/console) while /stat does not.  So the node is
 * looked for beside the page first, then in each folder above it; the feed
 * finds it (feed.js), and all others ask at().
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

/** The folder of index.html, from which this file is one further down. */
export const page = new URL('..', import.meta.url);

let root = page;

/** Where the node may be: where it was found last, then the page's folder, and
 *  those above it. */
export function folders() {
  const all = [root];
  for (let next = page, last; next.href !== last?.href;
    next = new URL('..', last)) {
    all.push(next);
    last = next;
  }
  return all.filter((one, n) => n === 0 || one.href !== root.href);
}

/** It is there. */
export function stand(folder) {
  root = folder;
}

/** The address of a path of the node, "/stat/server". */
export function at(path) {
  return new URL(`.${path}`, root);
}

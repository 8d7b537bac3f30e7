/*
 * Libraries of others (vendor/), fetched when they are needed first.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { el } from './dom.js';

const loaded = new Map(); // file: a promise of its global

/** What a script of vendor/ calls itself in window. */
export function library(file, name) {
  if (!loaded.has(file)) {
    loaded.set(file, new Promise((resolve, reject) => {
      const script = el('script', {
        src: new URL(`../vendor/${file}`, import.meta.url),
        onload: () => resolve(window[name]),
        onerror: () => {
          loaded.delete(file);
          script.remove();
          reject(new Error(`vendor/${file} could not be loaded`));
        },
      });
      document.head.append(script);
    }));
  }
  return loaded.get(file);
}

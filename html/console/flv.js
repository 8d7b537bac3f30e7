/*
 * Plays a live stream in a video element by HTTP-FLV, taken apart by
 * mpegts.js: with the least delay, for what that library reads.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { library } from './library.js';
import { flvUrl } from './lines.js';

const CONFIG = {
  enableWorker: false, // a worker from a blob: would need a laxer policy
  enableStashBuffer: false,
  lazyLoad: false,
  liveBufferLatencyChasing: true,
  liveBufferLatencyMaxLatency: 3,
  liveBufferLatencyMinRemain: 1,
  autoCleanupSourceBuffer: true,
  autoCleanupMaxBackwardDuration: 30,
  autoCleanupMinBackwardDuration: 15,
};

/* What mpegts.js takes out of FLV. */
const READ = ['H.264', 'HEVC', 'AV1', 'AAC', 'MP3', 'Opus', 'FLAC'];

export const flv = {
  name: 'FLV',

  reads: (codecs) => codecs.every((codec) => READ.includes(codec)),

  /** What hls.js's module does, too (hls.js). */
  async load() {
    const mpegts = await library('mpegts.js', 'mpegts');
    // What goes wrong is said in the page.
    mpegts.LoggingControl.enableAll = false;
    return mpegts.isSupported() && mpegts;
  },

  start(mpegts, video, key, { onEnd, onError }) {
    const player = mpegts.createPlayer({
      type: 'flv', isLive: true, url: flvUrl(key),
    }, CONFIG);
    player.on(mpegts.Events.ERROR, (type, detail, info) => onError({
      broken: type === 'NetworkError',
      status: detail === 'HttpStatusCodeInvalid' ? info?.code : undefined,
      detail,
    }));
    player.on(mpegts.Events.LOADING_COMPLETE, onEnd);
    player.attachMediaElement(video);
    player.load();
    player.play()?.catch?.(() => {}); // stopped before it began
    return () => player.destroy();
  },
};

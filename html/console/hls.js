/*
 * Plays a live stream in a video element by HLS: what the browser decodes but
 * mpegts.js does not read, and browsers without Media Source Extensions, which
 * play HLS themselves.  A playlist begins with the second key frame: until then
 * the server says 503, and is asked again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { library } from './library.js';
import { hlsUrl } from './lines.js';

const PATIENT = {
  maxTimeToFirstByteMs: 20000,
  maxLoadTimeMs: 30000,
  timeoutRetry: { maxNumRetry: 2, retryDelayMs: 0, maxRetryDelayMs: 0 },
  errorRetry: { maxNumRetry: 15, retryDelayMs: 1000, maxRetryDelayMs: 2000 },
};
const CONFIG = {
  enableWorker: false, // as in flv.js
  lowLatencyMode: true,
  maxLiveSyncPlaybackRate: 1.1, // back to the edge after a stall
  backBufferLength: 15,
  manifestLoadPolicy: { default: PATIENT },
  playlistLoadPolicy: { default: PATIENT },
};
const NATIVE = 'application/vnd.apple.mpegurl';

function startNative(video, url, { onEnd, onError }) {
  const over = new AbortController();
  const on = (name, what) =>
    video.addEventListener(name, what, { signal: over.signal });
  on('ended', onEnd);
  on('error', () => onError({
    broken: video.error?.code === MediaError.MEDIA_ERR_NETWORK,
    detail: video.error?.message || 'the browser does not say why',
  }));
  video.src = url;
  video.play().catch(() => {}); // stopped before it began
  return () => {
    over.abort();
    video.removeAttribute('src');
    video.load();
  };
}

function startLibrary(Hls, video, url, { onEnd, onError }) {
  const player = new Hls(CONFIG);
  player.on(Hls.Events.ERROR, (_, { fatal, type, details, response }) => {
    if (fatal) {
      onError({
        broken: type === Hls.ErrorTypes.NETWORK_ERROR,
        status: response?.code || undefined,
        detail: details,
      });
    }
  });
  player.on(Hls.Events.MANIFEST_PARSED, () => {
    video.play().catch(() => {});
  });
  video.addEventListener('ended', onEnd);
  player.loadSource(url);
  player.attachMedia(video);
  return () => {
    video.removeEventListener('ended', onEnd);
    player.destroy();
  };
}

export const hls = {
  name: 'HLS',

  /** A false value: this browser has no way. */
  async load() {
    const Hls = await library('hls.js', 'Hls');
    const native = document.createElement('video').canPlayType(NATIVE);
    return Hls.isSupported() ? Hls : native && 'native';
  },

  /** Returns what ends it.  onError({ broken, status, detail }): broken when
   *  the reason may be over soon. */
  start(how, video, key, handlers) {
    const url = hlsUrl(key);
    return how === 'native' ? startNative(video, url, handlers) :
      startLibrary(how, video, url, handlers);
  },
};

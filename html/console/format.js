/*
 * Numbers as people read them.  Rates and traffic count in thousands, memory
 * in 1024s.  What is unknown is a dash.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

export const NONE = '–';

function scaled(value, base, units) {
  let n = 0;
  while (Math.abs(value) >= base && n < units.length - 1) {
    value /= base;
    n++;
  }
  const digits = n === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[n]}`;
}

export function bitRate(value) {
  return value == null ? NONE :
    scaled(value, 1000, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s']);
}

export function traffic(bytes) {
  return bytes == null ? NONE :
    scaled(bytes, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']);
}

export function memory(bytes) {
  return bytes == null ? NONE :
    scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
}

export function count(value) {
  return value == null ? NONE : value.toLocaleString('en');
}

export function duration(ms) {
  if (ms == null) {
    return NONE;
  }
  const s = Math.floor(ms / 1000);
  const two = (n) => String(n).padStart(2, '0');
  const clock = `${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
  const hours = Math.floor(s / 3600);
  if (hours >= 24) {
    return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  }
  return hours > 0 ? `${hours}:${clock}` : clock;
}

/** Size and frames per second of a stream's picture. */
export function picture({ video, video_speed: speed }) {
  if (!video) {
    return speed > 0 ? NONE : 'no picture';
  }
  const size = video.width ? `${video.width}×${video.height}` : '';
  const rate = video.fps ? `${+video.fps.toFixed(2)} fps` : '';
  return [size, rate].filter(Boolean).join(' · ') || NONE;
}

export function codecs(stream) {
  return [stream.video?.codec, stream.audio?.codec].filter(Boolean)
    .join(' + ') || NONE;
}

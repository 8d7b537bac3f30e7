/*
 * One stream: its picture, its speeds over time, what it is made of, who
 * publishes and plays it, and the lines that do so.  It also stands for a
 * name that nothing is known of, which can be played all the same.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

import { Chart } from './chart.js';
import { el, facts, setAttribute, setText } from './dom.js';
import * as format from './format.js';
import { readHistory } from './history.js';
import { lineList, commands } from './lines.js';
import { stateOf } from './model.js';
import { placeMark } from './place.js';
import { Player } from './player.js';
import { SessionTable } from './sessions.js';

const SERIES = [
  { id: 'video', name: 'Video' },
  { id: 'audio', name: 'Audio' },
];

function videoText({ video }) {
  return video && [video.codec, video.profile, video.level,
    format.picture({ video })].filter(Boolean).join(' · ');
}

function audioText(audio) {
  return audio && [audio.codec, audio.profile,
    audio.sample_rate && `${audio.sample_rate / 1000} kHz`,
    audio.channels && `${audio.channels} ch`].filter(Boolean).join(' · ');
}

function gopText(video) {
  return video?.gop_ms ? `${(video.gop_ms / 1000).toFixed(2)} s` +
    (video.gop_frames ? ` · ${video.gop_frames} frames` : '') : null;
}

function publisherText(publisher) {
  return publisher ? `${publisher.address} · ${publisher.protocol}` :
    'none, players wait';
}

function details(stream) {
  return {
    Publisher: publisherText(stream.publisher),
    Video: videoText(stream),
    'Key frame every': gopText(stream.video),
    Audio: audioText(stream.audio),
    Players: format.count(stream.players),
    Up: format.duration(stream.uptime_ms),
    Received: `${format.traffic(stream.video_total_bytes)} video, ` +
      `${format.traffic(stream.audio_total_bytes)} audio`,
    Frames: `${format.count(stream.frames)}, ` +
      `${format.count(stream.dropped)} found no memory`,
    'Skipped for slow players': format.count(stream.skipped),
    Memory: format.memory(stream.memory_bytes),
  };
}

export class StreamView {
  constructor(model, key) {
    this.model = model;
    this.key = key;
    this.heading = el('h2', { tabindex: -1 }, key);
    this.state = el('span', { class: 'state' });
    this.player = new Player(key);
    this.chart = new Chart('Bit rate', SERIES);
    this.chart.onRange = () => this.update();
    this.facts = facts('facts');
    this.sessions = new SessionTable(model, `Sessions of ${key}`, false);
    this.sessionsPart = el('section', {}, el('h3', {}, 'Sessions'),
      this.sessions.node);
    this.lines = el('section', { class: 'use' }, el('h3', {}, 'Use it'));
    this.node = el('article', { class: 'stream', onkeydown: leave },
      el('header', {},
        el('a', { class: 'back', href: '#/streams',
          'aria-label': 'Back to all streams' }, '←'),
        this.heading, this.state),
      this.player.node, this.chart.node, this.facts.node,
      this.sessionsPart, this.lines);
    this.player.play();
  }

  focus() {
    this.heading.focus({ preventScroll: true });
    this.heading.scrollIntoView({ block: 'nearest' });
  }

  close() {
    this.player.stop();
  }

  update() {
    const stream = this.model.streams.get(this.key);
    const sessions = this.model.sessionsOf(this.key);
    this.#known(stream);
    this.sessionsPart.hidden = sessions.length === 0;
    this.sessions.update(sessions, this.model.sessionsLeftOut);
    const mark = placeMark(this.model.server);
    if (this.linesMark !== mark) {
      this.linesMark = mark;
      this.lines.replaceChildren(this.lines.firstChild,
        lineList(commands(this.key, this.model.server)));
    }
  }

  #known(stream) {
    this.chart.node.hidden = !stream;
    this.facts.node.hidden = !stream;
    this.state.hidden = !stream;
    if (!stream) {
      return;
    }
    setText(this.state, stateOf(stream));
    setAttribute(this.state, 'data-state', stream.state);
    readHistory(stream.history, this.chart.range, this.key);
    this.chart.update(stream.history.of(this.chart.range));
    if (this.model.stream?.key === this.key) {
      this.facts.set(details(this.model.stream));
    } else if (stream.ended) {
      this.facts.set({ Publisher: null, Up: null, Memory: null });
    }
    this.player.see({
      away: this.model.away, state: stream.state,
      size: stream.video?.width && `${stream.video.width}×` +
        stream.video.height,
      codecs: [stream.video?.codec, stream.audio?.codec].filter(Boolean),
    });
  }
}

function leave(event) {
  if (event.key === 'Escape' && !document.fullscreenElement) {
    location.hash = '#/streams';
  }
}

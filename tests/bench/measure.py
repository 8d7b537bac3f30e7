"""One measurement: a server, publishers and players, a window of time, and
what was used and seen in it."""

import json
import os
import select
import statistics
import subprocess
import time
from dataclasses import dataclass

from servers import Bare, Failure, busy_seconds, end_group, start


FIRST = 8  # seconds in which a server meets its streams


@dataclass
class Load:
    """What a server is put under."""
    players: int         # 0: publishers alone, from the first byte on
    streams: int = 1
    bitrate: str = '2500k'
    file: str = ''       # publish this FLV file; else a stream is made up
    flv: bool = False
    socket: bool = False  # FLV over WebSocket
    stall: int = 0       # percent of the players
    join_rate: int = 1000
    settle: float = 3    # seconds between the last join and the window
    hurry: bool = True   # a quick run may shorten that
    idle: bool = False   # nothing is published
    less_publishing: bool = False  # leave the publishers' cost out


@dataclass
class Window:
    """How long is measured."""
    seconds: float
    settling: float  # how much of the settling times is kept, 0 to 1


class Tool:
    """A running weir-load that is steered through its pipes."""

    def __init__(self, program, cpu, *arguments):
        self.process = start(
            [program, *arguments, '--control', '--json'], cpu,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.pending = b''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_group(self.process)
        for pipe in (self.process.stdin, self.process.stdout,
                     self.process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def line(self, limit):
        """The next line it prints."""
        end = time.monotonic() + limit
        fd = self.process.stdout.fileno()
        while b'\n' not in self.pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise Failure('weir-load does not answer')
            part = os.read(fd, 65536)
            if not part:
                why = self.process.stderr.read().decode(errors='replace')
                raise Failure(f'weir-load ended: {why.strip()[-300:]}')
            self.pending += part
        line, _, self.pending = self.pending.partition(b'\n')
        return line.decode()

    def order(self, word):
        self.process.stdin.write(word.encode() + b'\n')
        self.process.stdin.flush()

    def ready(self, limit=60):
        if self.line(limit) != 'ready':
            raise Failure('weir-load does not get ready')

    def result(self):
        self.order('stop')
        return json.loads(self.line(30))


class Bench:
    """Where measurements are made: programs, CPUs and the window."""

    def __init__(self, weir, load, server_cpu, load_cpu, window):
        self.weir = weir
        self.load = load
        self.server_cpu = server_cpu
        self.load_cpu = load_cpu
        self.window = window

    def tool(self, *arguments):
        return Tool(self.load, self.load_cpu, *map(str, arguments))

    def url(self, server, load):
        name = 's%d' if load.streams > 1 else 's'
        if load.flv:
            scheme = 'ws' if load.socket else 'http'
            return f'{scheme}://127.0.0.1:{server.http}/live/{name}.flv'
        return f'rtmp://127.0.0.1:{server.rtmp}/live/{name}'

    def publish(self, server, load):
        rtmp = Load(load.players, load.streams)
        return self.tool('publish', '--url', self.url(server, rtmp),
                         '--streams', load.streams,
                         *source(load))

    def play(self, server, load):
        return self.tool('idle' if load.idle else 'play',
                         '--url', self.url(server, load),
                         '--players', load.players,
                         '--streams', load.streams,
                         '--join-rate', load.join_rate,
                         *(('--stall', load.stall) if load.stall else ()))

    def spend(self, server, window=None):
        """CPU a second that the server, and anything else on its CPU, uses
        over a window, in seconds."""
        begin, cpu = time.monotonic(), server.cpu_seconds()
        busy = busy_seconds(self.server_cpu)
        time.sleep(window or self.window.seconds)
        used = server.cpu_seconds() - cpu
        busy = busy_seconds(self.server_cpu) - busy
        seconds = time.monotonic() - begin
        return used / seconds, max(busy - used, 0) / seconds

    def measure(self, server, load):
        """Puts one server under one load; figures by name."""
        with server:
            if load.idle:
                time.sleep(1)
                return self.with_players(server, load, 0)
            if isinstance(server, Bare):
                time.sleep(1)  # its own stream begins
                return self.with_players(server, load, 0)
            with self.publish(server, load) as publishers:
                if load.players == 0:
                    return self.ingest(server, load, publishers)
                publishers.ready()
                time.sleep(1)
                publishing = 0
                if load.less_publishing:
                    time.sleep(2 * self.window.settling)
                    publishing, _ = self.spend(server)
                figures = self.with_players(server, load, publishing)
                check_publishers(publishers.result())
                return figures

    def ingest(self, server, load, publishers):
        """Publishers alone, for FIRST seconds after load.settle."""
        time.sleep(load.settle)
        share, others = self.spend(server, FIRST)
        publishers.ready()
        memory = server.memory()
        seen = publishers.result()
        check_publishers(seen)
        rate = seen['bytes'] / seen['seconds'] / 1e9
        return {'cpu': share, 'others': others, 'memory': memory,
                'load_cpu': seen['cpu_seconds'] / seen['seconds'],
                'per_gb': share / rate, 'mb_s': rate * 1000,
                'lost': 0, 'why': ''}

    def with_players(self, server, load, publishing):
        memory = server.memory()
        with self.play(server, load) as players:
            players.ready(60 + load.players / max(load.join_rate, 1))
            time.sleep(load.settle *
                       (self.window.settling if load.hurry else 1))
            players.order('reset')
            share, others = self.spend(server)
            grown = server.memory() - memory
            total = server.memory()
            seen = players.result()
        server.alive()
        figures = {
            'cpu': max(share - publishing, 0),
            'publishing': publishing,
            'others': others,
            'memory': total,
            'player_memory': grown / load.players,
            'load_cpu': seen['cpu_seconds'] / seen['seconds'],
            'wrong': sum(seen[k] for k in ('corrupt', 'repeated', 'strayed',
                                           'foreign', 'off_key',
                                           'backwards')),
            'lost': seen['failed'] + (0 if load.stall else seen['closed']),
            'why': seen['why'],
        }
        for name in ('playing', 'stalled', 'dropped', 'failed', 'closed',
                     'waiting'):
            figures[name] = seen[name]
        rate = seen['bytes'] / seen['seconds'] / 1e9
        if rate > 0:
            figures['per_gb'] = figures['cpu'] / rate
            figures['both_per_gb'] = \
                (figures['cpu'] + figures['load_cpu']) / rate
            figures['mb_s'] = rate * 1000
        for name, key in (('video', 'video_latency_ms'),
                          ('audio', 'audio_latency_ms'),
                          ('join', 'join_play_ms'),
                          ('arrive', 'join_connect_ms')):
            if seen[key]['count'] > 0:
                figures[name + '50'] = seen[key]['p50']
                figures[name + '99'] = seen[key]['p99']
        return figures


def source(load):
    """What publishers and the bare loop are told to send."""
    return (('--file', load.file) if load.file
            else ('--bitrate', load.bitrate))


def check_publishers(result):
    if result['lost'] or result['left_out']:
        raise Failure(f'{result["lost"]} publishers lost, '
                      f'{result["left_out"]} messages not taken by the server')


def middle(runs, name):
    """The median of a figure over runs; None when none has it."""
    values = [r[name] for r in runs if r and r.get(name) is not None]
    return statistics.median(values) if values else None


def ratio(runs, other, name):
    """The median of the ratios run by run, which were made side by side."""
    values = [a[name] / b[name] for a, b in zip(runs, other)
              if a and b and a.get(name) is not None and b.get(name)]
    return statistics.median(values) if values else None

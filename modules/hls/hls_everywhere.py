"""Every output of one publisher at once, and what each got.

    outputs = Outputs(weir, "room")
    p = Obs(outputs.w.rtmp, "room", clips)
    outputs.begin(p)
    outputs.follow(p, 4)
    p.leave().come_back()
    outputs.follow(p, 4)
    p.end()
    outputs.check(p, tmp_path)
"""
# SPDX-License-Identifier: BSD-2-Clause

import subprocess
import threading
from collections import namedtuple

import flv
from encoders.base import Encoder
from enhanced_publisher import AUDIO, VIDEO, read_message
from flv_client import FlvPlayer
from hls_outputs import (DROPPED, Endless, Taker, WsPlayer, demuxed,
                         of_transport, read_fmp4, units, without,
                         without_lost)
from hls_play import AT
from http_client import get
from patience import busy
from rtmp_client import Closed, player
from weir import wait_for

EGRESS = 'egress = [ "allow loopback", "allow all" ];'
APP = ('segment = "1s"; max_segment = "2s"; part = "333ms"; '
       'push = ( "rtmp://127.0.0.1:%d/live" );')
PULL = 'pull = ( { name = "%s"; url = "%s"; } );'
LOCATIONS = AT % "" + '{ path = "/ts"; module = "hls"; format = "ts"; },'
STEP = 0.5
SOUND_SLACK = 0.2  # of programs, whose clock is the machine's
HeardTrack = namedtuple("HeardTrack", "kind number")


class Messages:
    """Sound and pictures that a player got: (kind, payload, stamp)."""

    def __init__(self, name, client, whole=True):
        self.name, self.client, self.whole = name, client, whole
        self.got = []
        self.told = 0  # of what was said

    def one(self):
        if hasattr(self.client, "tag"):
            return self.client.tag()
        return self.client.read(AUDIO, VIDEO)

    def catch_up(self, p):
        """Until it has what was said last."""
        last = p.said[-1][:2]
        said, self.told = len(p.said) - self.told, len(p.said)
        while said:
            m = self.one()
            assert m, f"{self.name} ended"
            if m.type in (AUDIO, VIDEO):
                self.got.append((m.type, m.payload, m.time))
                if self.got[-1][:2] == last:
                    return

    def read_on(self):
        """In a thread, until the stream is over."""
        self.thread = threading.Thread(target=self._read_on, daemon=True)
        self.thread.start()

    def _read_on(self):
        while True:
            try:
                m = self.one()
            except (Closed, OSError, AssertionError):
                return
            if m is None:
                return
            self.got += [(m.type, m.payload, m.time)] \
                if m.type in (AUDIO, VIDEO) else []

    def to_the_end(self):
        self.thread.join(busy(30))
        assert not self.thread.is_alive(), self.name
        return self.got

    def check(self, p):
        """All frames as they were said, or all from a key frame on; times go
        on."""
        if not isinstance(p, Heard):
            self.catch_up(p)  # with what it said when it went
        headers = {payload for _, _, payload in p.headers}
        frames = [m for m in self.got if m[1] not in headers]
        told = [m[:2] for m in p.frames()]
        assert [m[:2] for m in frames] == told[-len(frames):], self.name
        missing = len(told) - len(frames)
        assert missing == 0 or not self.whole and missing < 80, \
            f"{self.name}: {missing} of {len(told)}"
        for kind in (AUDIO, VIDEO) if p.ordered else ():
            times = [t for k, _, t in self.got if k == kind]
            back = [(a, b) for a, b in zip(times, times[1:]) if b < a]
            assert not back, (self.name, back[:3])

    def close(self):
        self.client.close()


class Heard:
    """What a publisher sent that is a program of others: as the first player
    got it."""

    def __init__(self, said):
        self.said, self.ordered, self.hls = said, True, True
        read = [read_message(kind, stamp, payload)
                for kind, payload, stamp in said]
        self.sent = [r for r in read if not r.header and r.data]
        self.headers = [(r.kind, r.track, payload) for r, (_, payload, _)
                        in zip(read, said) if r.header]
        self.tracks = [HeardTrack(kind, 0) for kind in (VIDEO, AUDIO)
                       if any(r.kind == kind for r in read)]

    frames = Encoder.frames


class Outputs:
    def __init__(self, weir, name, hold="3s"):
        self.name = name
        self.there = weir(top=EGRESS)
        self.w = weir(top=EGRESS, locations=LOCATIONS, hold=hold,
                      flv='flv_wait = "1h";', app=APP % self.there.rtmp)
        self.puller = weir(top=EGRESS,
                           app=PULL % (name, self.w.rtmp_url(name)))
        self.players = [
            Messages("RTMP", player(self.w.rtmp, "live", name)),
            Messages("FLV", FlvPlayer(self.w.http, name)),
            Messages("push", player(self.there.rtmp, "live", name), False),
            Messages("pull", player(self.puller.rtmp, "live", name), False)]
        self.takers = {}  # by location and rendition
        self.mp4 = None

    def join(self):
        """Those that come when it is published already."""
        self.players.append(Messages(
            "FLV over WebSocket", WsPlayer(self.w.http, self.name), False))
        self.w.wait_log(f"relay push live/{self.name}.*: running")
        self.puller.wait_log(f"relay pull live/{self.name}: running")

    def begin(self, p):
        """The others come when it publishes already.  That sound is alone is
        known after a while, here and there."""
        alone = p.tracks[0].clip.kind == AUDIO
        p.send(2 * STEP if alone else 0)
        while not alone and not any(s.key for s in p.sent):
            p.send(STEP / 5)
        self.join()
        p.send(2 * STEP if alone else 0)

    def follow(self, p, seconds):
        """So much of the stream; all players have it then."""
        done = 0
        while done < seconds:
            p.send(STEP)
            done += STEP
            for each in self.players:
                each.catch_up(p)
            if p.hls:
                self.look(p)

    def follow_tool(self, tool):
        """To its end."""
        if len(self.players) < 5:
            first = self.players[0]
            for each in self.players:
                each.read_on()
            wait_for(lambda: any(is_picture(*m) for m in first.got), 20,
                     tool.command)
            self.join()
            self.players[-1].read_on()
        wait_for(lambda: self.look() or not tool.running(), 60, tool.command)
        tool.wait()

    def look(self, p=None):
        self.mp4 = self.mp4 or Endless(self.w.http,
                                       f"/hls/live/{self.name}.mp4")
        self.taker("ts", None).look()
        for rendition in renditions(p) if p else [None]:
            self.taker("hls", rendition).look()

    def taker(self, place, rendition):
        target = f"/{place}/live/{self.name}.m3u8"
        return self.takers.setdefault((place, rendition), Taker(
            self.w.http, target, sound_slack=SOUND_SLACK,
            rendition=f"rendition={rendition}" if rendition else None))

    # ---- at the end ----

    def heard(self):
        """After the last follow_tool(): what its publisher sent."""
        for each in self.players:
            each.to_the_end()
        return Heard(self.players[0].got)

    def check(self, p, folder):
        for taker in self.takers.values():  # before the lists are gone
            taker.finish(() if p.ordered else ("dts",))
        for each in self.players:
            each.check(p)
            each.close()
        if all(is_legacy(*m[:2]) for m in p.said):
            check_decoded(self.flv_file(), p, folder / "rtmp.flv")
        if not p.hls:
            return self.check_refused()
        for (place, rendition), taker in self.takers.items():
            check = check_fragments if place == "hls" else check_transport
            check(taker, p, folder, rendition)
        check_endless(self.mp4.finish(), p, folder / "endless.mp4")
        return None

    def flv_file(self):
        tags = [flv.Tag(kind, stamp, payload) for kind, payload, stamp in
                self.players[0].got]
        return flv.file_of(tags)

    def check_refused(self):
        for path in ("hls", "ts"):
            a = get(self.w.http, f"/{path}/live/{self.name}.m3u8")
            assert a.status in (404, 415, 503), a.status


def decode(data, path):
    """Frames that ffmpeg decodes, by the number of the stream; it complains of
    nothing."""
    path.write_bytes(data)
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:v?",
         "-map", "0:a?", "-fps_mode", "passthrough", "-f", "framecrc", "-"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, \
        f"{path.name}: {done.stderr[-2000:]}"
    kinds, counts = {}, {VIDEO: 0, AUDIO: 0}
    for line in done.stdout.splitlines():
        if line.startswith("#media_type"):
            number, kind = line.split()[1:]
            kinds[number.rstrip(":")] = VIDEO if kind == "video" else AUDIO
        elif line[0] != "#":
            counts[kinds[line.split(",")[0].strip()]] += 1
    return counts


def is_picture(kind, payload, _):
    return kind == VIDEO and payload[1] == 1


def is_legacy(kind, payload):
    """Whether ffmpeg 5 takes it out of FLV."""
    first = payload[0]
    return first & 0x80 == 0 and first & 15 != 12 if kind == VIDEO else \
        first >> 4 != 9


def check_decoded(data, p, path):
    """All pictures can be seen; of sound, decoders leave out or add the frame
    that they begin with."""
    counts = decode(data, path)
    kinds = [kind for kind, payload, _ in p.frames() if len(payload) > 5]
    assert counts[VIDEO] == kinds.count(VIDEO)
    assert abs(counts[AUDIO] - kinds.count(AUDIO)) <= 2, \
        (counts, kinds.count(AUDIO))


# ---- HLS, by rendition ----

def kind_of(track):
    return track.kind if isinstance(track, HeardTrack) else track.clip.kind


def sounds(p):
    return [t.number for t in p.tracks if kind_of(t) == AUDIO]


def renditions(p):
    """None: all in one."""
    numbers = sounds(p)
    return [None] if len(numbers) < 2 else ["v"] + [f"a{n}" for n in numbers]


def told_of(p, kind, track=0):
    return [s for s in p.sent if s.kind == kind and s.track == track]


def same(kind, got, p, track):
    """The bytes of all pictures and, but for what stands around a return and in
    front of the first picture, of the sound."""
    told = told_of(p, kind, track)
    if kind == AUDIO:
        told = without_lost(got, told, 60)
    assert len(got) == len(told), (kind, track)
    assert [g.data for g in got] == [t.data for t in told], (kind, track)


def track_of(rendition):
    return int(rendition[1:]) if rendition and rendition[1:] else 0


def check_fragments(taker, p, folder, rendition):
    pictures, sound = [], []
    for n, (head, data) in enumerate(taker.files()):
        decode(head + data, folder / f"{rendition}{n}.mp4")
        first, others = read_fmp4(head, data, sound_slack=10 ** 9,
                                  slack=10 ** 9)
        pictures += first or []
        sound += others[0] if others else []
    has_pictures = any(kind_of(t) == VIDEO for t in p.tracks)
    if has_pictures and rendition in (None, "v"):
        same(VIDEO, pictures, p, 0)
    if sounds(p) and rendition != "v":
        same(AUDIO, sound, p, track_of(rendition))
    assert taker.parts_taken > 5


def check_transport(taker, p, folder, rendition):
    (_, data), = taker.files()
    decode(data, folder / f"{rendition}.ts")
    found = demuxed(data, folder / "demuxed.ts")
    assert found
    for kind, codec, frames in found:
        frames = of_transport(codec, frames)
        if kind == "audio":
            same(AUDIO, frames, p, track_of(rendition))
        else:
            assert [f.data for f in frames] == [
                without(codec, units(s.data), DROPPED[codec])
                for s in told_of(p, VIDEO)]


def check_endless(data, p, path):
    """It joined later, and has all from there on."""
    decode(data, path)
    numbers = iter(sounds(p))
    for kind, _, frames in demuxed(data, path):
        told = told_of(p, VIDEO) if kind == "video" else \
            told_of(p, AUDIO, next(numbers))
        if kind == "audio":
            told = without_lost(frames, told[-len(frames) - 50:], 100)
        assert [f.data for f in frames] == \
            [s.data for s in told][-len(frames):], kind
        assert len(frames) > len(told) / 3

"""An encoder as servers meet it: how it connects, what it calls, how it cuts
its messages into chunks, how it goes.

A family is a class with the habits that its sources tell of, and no others: it
changes attributes and steps of Encoder.  It publishes real pictures and sound,
and keeps the list of all frames (enhanced_publisher.py).
"""
# SPDX-License-Identifier: BSD-2-Clause

import collections

import amf0
from enhanced_publisher import MASK, EnhancedPublisher, Track
from rtmp_client import COMMAND, DATA, SET_CHUNK_SIZE, VIDEO, Rtmp

SMALL = {"size": "160x90"}
PICTURES = ("h264", "hevc", "flv1")

# Of a chunk stream: what the next header may leave out.
Head = collections.namedtuple("Head", "stamp delta kind length")


class Encoder(EnhancedPublisher):
    codecs = ("h264", "aac")
    handshake = "simple"
    chunk = 4096             # None: the 128 bytes of the beginning
    chunk_csid = 2
    app = "live"
    flash_ver = "FMLE/3.0 (compatible; FMSc/1.0)"
    kind = "live"            # of publish
    command_csid, publish_csid = 3, 4
    data_csid, audio_csid, video_csid = 4, 4, 6
    short_heads = False      # fmt 1 to 3, where the times allow it
    extended_in_3 = True     # extended timestamps stand in each chunk
    first_stamp = 0          # of a session
    ordered = True           # times of a track do not go back
    hls = True               # it has codecs that HLS carries
    stays = False            # the old connection is open when it is back

    def __init__(self, port, name, clips):
        self.port, self.name = port, name
        self.old = None
        self.said = []  # (kind, payload, stamp) of sound and pictures
        super().__init__(port, name, tracks=self.make_tracks(clips),
                         start_time=self.first_stamp, client=self.dial())

    def make_tracks(self, clips):
        return [Track(clips.make(c, seconds=2, **(
            SMALL if c in PICTURES else {}))) for c in self.codecs]

    # ---- until it publishes ----

    def dial(self):
        self.heads = {}
        self.c = Rtmp(self.port, handshake=self.handshake)
        self.say_connect()
        self.after_connect()
        self.say_create()
        self.say_publish()
        return self.c

    def command(self, name, *values, **more):
        csid = more.setdefault("csid", self.command_csid)
        self.heads.pop(csid, None)
        return self.c.command(name, *values, **more)

    def set_chunk_size(self):
        if self.chunk:
            self.c.send(SET_CHUNK_SIZE, self.chunk.to_bytes(4, "big"),
                        csid=self.chunk_csid)
            self.c.chunk_out = self.chunk

    def url(self):
        return f"rtmp://127.0.0.1:{self.port}/{self.app}"

    def connect_object(self):
        return {"app": self.app, "type": "nonprivate",
                "flashVer": self.flash_ver, "tcUrl": self.url()}

    def say_connect(self):
        self.c.answer(self.command("connect", self.connect_object()))

    def after_connect(self):
        self.set_chunk_size()

    def say_create(self):
        self.command("releaseStream", None, self.key())
        self.command("FCPublish", None, self.key())
        self.c.msid = self.create_stream()

    def create_stream(self, **more):
        number = self.command("createStream", None, **more)
        return int(self.c.answer(number)[-1])

    def key(self):
        return self.name

    def say_publish(self):
        self.command("publish", None, self.key(), self.kind,
                     msid=self.c.msid, csid=self.publish_csid)
        self.c.status("NetStream.Publish.Start")

    def hear(self, name):
        """Until that call of the server comes; its values."""
        while True:
            values = amf0.decode(self.c.read(COMMAND).payload)
            if values[0] == name:
                return values

    # ---- media ----

    def metadata(self):
        """Of onMetaData; None: there are none."""
        return amf0.Ecma({"width": 160.0, "height": 90.0, "framerate": 25.0,
                          "videocodecid": 7.0, "audiocodecid": 10.0})

    def say_metadata(self):
        values = self.metadata()
        if values is not None:
            self.put(DATA, amf0.encode("@setDataFrame", "onMetaData", values),
                     self.base & MASK, self.data_csid)

    def _announce(self):
        self.say_metadata()
        self._headers(self.tracks)

    def _message(self, kind, payload, stamp):
        self.put(kind, payload, stamp & MASK,
                 self.video_csid if kind == VIDEO else self.audio_csid)

    def put(self, kind, payload, stamp, csid):
        fmt, delta = self.fmt_of(kind, payload, stamp, self.heads.get(csid))
        self.c.send(kind, payload, stamp, self.c.msid, csid=csid, fmt=fmt,
                    delta=delta, extended_in_3=self.extended_in_3)
        self.heads[csid] = Head(stamp, delta, kind, len(payload))
        if kind != DATA:
            self.said.append((kind, payload, stamp))

    def frames(self):
        """What was said but for codec headers, from the first picture on."""
        headers = {payload for _, _, payload in self.headers}
        frames = [m for m in self.said if m[1] not in headers]
        kinds = [kind for kind, _, _ in frames]
        return frames[kinds.index(VIDEO) if VIDEO in kinds else 0:]

    def fmt_of(self, kind, payload, stamp, head):
        """The shortest header, and what its time field holds."""
        if not self.short_heads or head is None or stamp < head.stamp:
            return 0, None
        delta = stamp - head.stamp
        if (kind, len(payload)) != (head.kind, head.length):
            return 1, delta
        return 3 if delta == head.delta else 2, delta

    # ---- going and coming back ----

    def farewell(self):
        self.command("FCUnpublish", None, self.key())
        self.command("deleteStream", None, self.c.msid)

    def leave(self, how="close"):
        self.pause()
        if self.stays:
            self.old = self.c
        else:
            self.farewell()
            getattr(self.c, how)()
        return self

    def come_back(self, start_time=None, tracks=None):
        self.base = self.first_stamp if start_time is None else start_time
        self.c = self.dial()
        self.session += 1
        self._begin()
        if self.old:
            self.old.close()
            self.old = None
        return self

    def end(self):
        """For good."""
        self.stays = False
        self.leave()

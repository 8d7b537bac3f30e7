"""OBS Studio: its own librtmp and FLV.

obsproject/obs-studio, plugins/obs-outputs:
librtmp/rtmp.c   SetChunkSize 4096 in front of connect; "type" and swfUrl, which
                 is tcUrl, in connect; the calls behind it with fmt 1 headers;
                 publish, metadata, sound and pictures on chunk stream 4, with
                 the shortest headers; fmt 0 where the time is 0
rtmp-stream.c    codec headers of sound first, at time 0; at the end of HEVC and
                 AV1 the end of the sequence, at time 0; then FCUnpublish and
                 deleteStream
flv-mux.c        20 values of metadata in an ECMA array
"""
# SPDX-License-Identifier: BSD-2-Clause

import amf0
from encoders.base import Encoder
from enhanced_publisher import AUDIO, CODED, Track
from rtmp_client import COMMAND, VIDEO

SEQUENCE_END = b"\xa2hvc1"


class Obs(Encoder):
    data_csid = audio_csid = video_csid = 4
    short_heads = True
    codec = 7.0

    def connect_object(self):
        return {"app": self.app, "type": "nonprivate",
                "flashVer": self.flash_ver, "swfUrl": self.url(),
                "tcUrl": self.url()}

    def say_connect(self):
        self.set_chunk_size()
        super().say_connect()

    def after_connect(self):
        pass

    def command(self, name, *values, **more):
        if name in ("connect", "publish"):
            return super().command(name, *values, **more)
        self.c.tid += 1
        self.c.send(COMMAND, amf0.encode(name, self.c.tid, *values), csid=3,
                    fmt=1, delta=0)
        return self.c.tid

    def metadata(self):
        return amf0.Ecma({
            "duration": 0.0, "fileSize": 0.0, "width": 160.0, "height": 90.0,
            "videocodecid": self.codec, "videodatarate": 300.0,
            "framerate": 25.0, "audiocodecid": 10.0, "audiodatarate": 64.0,
            "audiosamplerate": 48000.0, "audiosamplesize": 16.0,
            "audiochannels": 2.0, "stereo": True, "2.1": False, "3.1": False,
            "4.0": False, "4.1": False, "5.1": False, "7.1": False,
            "encoder": "obs-output module (libobs version 31.0.0)"})

    def _headers(self, tracks):
        super()._headers(sorted(tracks, key=lambda t: t.clip.kind))

    def fmt_of(self, kind, payload, stamp, head):
        if stamp == 0:
            return 0, None
        return super().fmt_of(kind, payload, stamp, head)


class ObsHevc(Obs):
    """Enhanced RTMP; frames without a composition time are CodedFramesX."""
    codecs = ("hevc", "aac")
    codec = float(int.from_bytes(b"hvc1", "big"))

    def farewell(self):
        self.put(VIDEO, SEQUENCE_END, 0, 4)
        self.heard()
        super().farewell()


class ObsVodTrack(Obs):
    """A second track of sound (bluenviron/gortmplib, reader_test.go: "obs 31
    vod track"), in messages of one track each."""

    def make_tracks(self, clips):
        return [*super().make_tracks(clips), Track(clips.make(
            "aac", seconds=2, frequency=660), number=1)]


class ObsMultitrackVideo(Obs):
    """Smaller pictures as a second track, in messages of one track each
    (bluenviron/gortmplib, reader_test.go: "obs 31 multitrack video").  Players
    of HLS get the first one."""

    def make_tracks(self, clips):
        self.smaller = Track(clips.make("h264", seconds=2, size="80x46"))
        return super().make_tracks(clips)

    def track_message(self, packet, key, cts, body):
        timed = cts.to_bytes(3, "big", signed=True) if packet == CODED else b""
        return bytes([(0x90 if key else 0xa0) | 6, packet]) + b"avc1\1" + \
            timed + body

    def _headers(self, tracks):
        super()._headers(tracks)
        self.queued = self.smaller.frames()
        self.put(VIDEO, self.track_message(0, True, 0,
                                           self.smaller.clip.config), 0, 4)

    def _message(self, kind, payload, stamp):
        super()._message(kind, payload, stamp)
        if kind != AUDIO and payload[1] == CODED:
            _, _, cts, key, body = next(self.queued)
            self.put(kind, self.track_message(CODED, key, cts, body), stamp, 4)


FAMILIES = (Obs, ObsHevc, ObsVodTrack, ObsMultitrackVideo)

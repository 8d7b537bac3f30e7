"""Phones: apps, and the libraries in them."""
# SPDX-License-Identifier: BSD-2-Clause

import amf0
from encoders.base import Encoder
from rtmp_client import AUDIO


class Larix(Encoder):
    """NOALBS/nginx-obs-automatic-low-bitrate-switching, nginx.rs: flashVer.
    aileone/nginx-rtmp-module #1: HEVC with codec 12."""
    flash_ver = "FMLE/3.0 (compatible; Larix/null)"
    codecs = ("hevc", "aac")

    def make_tracks(self, clips):
        tracks = super().make_tracks(clips)
        tracks[0].legacy = True
        return tracks

    def metadata(self):
        return amf0.Ecma({**super().metadata(), "videocodecid": 12.0})


class StreamlabsMobile(Encoder):
    """bluenviron/mediamtx #2352 (with gortmplib, reader_test.go): metadata on
    chunk stream 8; they tell of sound that does not come."""
    codecs = ("h264",)
    data_csid = 8

    def metadata(self):
        return {"audiodatarate": 128.0, "framerate": 30.0,
                "videocodecid": 7.0, "videodatarate": 2500.0,
                "audiocodecid": 10.0, "height": 720.0, "width": 1280.0}


class PrismLive(Encoder):
    """bluenviron/mediamtx #3971: H.264, with 828601953 as its videocodecid."""

    def metadata(self):
        return amf0.Ecma({**super().metadata(), "videocodecid": 828601953.0})


class RootEncoder(Encoder):
    """pedroSG94/RootEncoder, rtmp/: CommandsManagerImp.kt, ChunkStreamId.kt,
    RtmpConfig.kt.  Chunks of 128 bytes; releaseStream, FCPublish and publish on
    chunk stream 5, pictures on 6, sound on 7; closeStream at the end.
    #1179: hours later, extended timestamps."""
    flash_ver = "FMLE/3.0 (compatible; Lavf57.56.101)"
    chunk = None
    publish_csid, data_csid, video_csid, audio_csid = 5, 3, 6, 7
    first_stamp = 0xfffffe - 2000  # crossed in the middle

    def connect_object(self):
        return {"app": self.app, "flashVer": self.flash_ver,
                "tcUrl": self.url(), "objectEncoding": 0.0}

    def say_create(self):
        self.command("releaseStream", None, self.key(), csid=5)
        self.command("FCPublish", None, self.key(), csid=5)
        self.c.msid = self.create_stream()

    def farewell(self):
        self.command("closeStream", None, msid=self.c.msid, csid=5)


class HaishinKit(Encoder):
    """HaishinKit/HaishinKit.swift, HaishinKit/Sources/RTMP:
    RTMPConnection.swift, RTMPStream.swift, RTMPChunk.swift.  Chunks of 8192
    bytes; publish has the number 0; sound on chunk stream 4, pictures on 5,
    data on 8; fmt 0 for the first of each, then fmt 1."""
    chunk = 8192
    publish_csid, audio_csid, video_csid, data_csid = 3, 4, 5, 8

    def connect_object(self):
        return {"app": self.app, "flashVer": self.flash_ver, "swfUrl": None,
                "tcUrl": self.url(), "fpad": False, "capabilities": 239.0,
                "audioCodecs": 1024.0, "videoCodecs": 128.0,
                "videoFunction": 1.0, "pageUrl": None,
                "fourCcList": ["hvc1", "Opus"], "objectEncoding": 0.0}

    def say_publish(self):
        self.command("publish", None, self.key(), self.kind,
                     msid=self.c.msid, tid=0)
        self.c.status("NetStream.Publish.Start")

    def fmt_of(self, kind, payload, stamp, head):
        return (0, None) if head is None else (1, stamp - head.stamp)


class StreamPack(Encoder):
    """apivideo/api.video-flutter-live-stream #9: sound is sent before pictures
    that are older."""

    def _order(self, frame):
        return frame[0] - (200 if frame[1].kind == AUDIO else 0)


FAMILIES = (Larix, StreamlabsMobile, PrismLive, RootEncoder, HaishinKit,
            StreamPack)

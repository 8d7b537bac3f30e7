"""Programs for computers, and libraries that they use."""
# SPDX-License-Identifier: BSD-2-Clause

import amf0
from encoders.base import Encoder
from rtmp_client import AUDIO, WINDOW


class XSplit(Encoder):
    """bluenviron/mediamtx #2232 (with gortmplib, reader_test.go): HEVC of
    Enhanced RTMP; videocodecid is the text "hvc1"; all on chunk stream 4."""
    codecs = ("hevc", "aac")
    data_csid = audio_csid = video_csid = 4

    def metadata(self):
        return {"videodatarate": 0.0, "videocodecid": "hvc1",
                "audiodatarate": 0.0, "audiocodecid": 0.0}


class VMix(Encoder):
    """WWBN/AVideo #250: vMix runs ffmpeg, and its users' keys stand in a query
    behind the application.  FFmpeg/FFmpeg, libavformat/rtmpproto.c: publish on
    chunk stream 8, chunks of 128 bytes, fmt 1 where it can be."""
    flash_ver = "FMLE/3.0 (compatible; Lavf57.82.101)"
    handshake = "digest1"
    chunk = None
    app = "live?p=22b949e14675dfb7"
    publish_csid, data_csid, audio_csid, video_csid = 8, 4, 4, 6
    short_heads = True


class FfmpegCopiedAac(Encoder):
    """bluenviron/mediamtx #3414, harlanc/xiu #110: ffmpeg that copies AAC of a
    file without headers sends an empty codec header first."""
    codecs = ("aac",)

    def metadata(self):
        return amf0.Ecma({"duration": 0.0, "audiodatarate": 64.0,
                          "audiosamplerate": 48000.0, "stereo": True,
                          "audiocodecid": 10.0, "filesize": 0.0})

    def _headers(self, tracks):
        self.headers.append((AUDIO, 0, b"\xaf\0"))
        self._message(AUDIO, b"\xaf\0", self.base)
        super()._headers(tracks)


class RogueAmoeba(Encoder):
    """bluenviron/mediamtx #386 (with gortmplib, reader_test.go): sound alone,
    without metadata."""
    codecs = ("aac",)

    def metadata(self):
        return None


class Neko(Encoder):
    """bluenviron/gortmplib, server_conn_test.go: tcUrl begins with a quote."""

    def url(self):
        return "'" + super().url()


class LibRtmp(Encoder):
    """KallDrexx/rust-media-libs #15, obsproject/obs-studio #10097: extended
    timestamps only in the first chunk of a message."""
    chunk = None
    publish_csid = data_csid = audio_csid = video_csid = 4
    short_heads = True
    extended_in_3 = False
    first_stamp = 0x1000000


class GStreamer(Encoder):
    """GStreamer/gst-plugins-bad, gst/rtmp2: rtmpclient.c, gstrtmp2sink.c.  The
    window of acknowledgements is asked for; commands but createStream and
    connect have the number 0; SetChunkSize 128 behind publish; metadata on
    chunk stream 4, sound on 5, pictures on 6; metadata come again and
    again."""
    chunk = 128
    publish_csid, data_csid, audio_csid, video_csid = 3, 4, 5, 6

    def after_connect(self):
        self.c.send(WINDOW, (2500000).to_bytes(4, "big"), csid=2)

    def say_create(self):
        self.command("releaseStream", None, self.key(), tid=0)
        self.command("FCPublish", None, self.key(), tid=0)
        self.c.msid = self.create_stream()

    def say_publish(self):
        self.command("publish", None, self.key(), self.kind,
                     msid=self.c.msid, tid=0)
        self.c.status("NetStream.Publish.Start")
        self.set_chunk_size()

    def send(self, seconds):
        self.say_metadata()
        return super().send(seconds)

    def metadata(self):
        return amf0.Ecma({**super().metadata(),
                          "audiodatarate": 64.0 + self.time})

    def farewell(self):
        self.command("FCUnpublish", None, self.key(), tid=0)
        self.command("deleteStream", None, self.c.msid, tid=0)


FAMILIES = (XSplit, VMix, FfmpegCopiedAac, RogueAmoeba, Neko, LibRtmp,
            GStreamer)

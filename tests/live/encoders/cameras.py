"""Cameras and recorders that stream by themselves."""
# SPDX-License-Identifier: BSD-2-Clause

import amf0
from encoders.base import Encoder


class PtzOptics(Encoder):
    """bluenviron/mediamtx #4807, #4909: what belongs on chunk stream 2 comes on
    4 (of others on 3, 5 and 6)."""
    chunk_csid = 4


class Dahua(Encoder):
    """bluenviron/mediamtx #769, #2289 (with gortmplib, reader_test.go):
    metadata without videocodecid; sound on chunk stream 20, pictures on 21."""
    audio_csid, video_csid = 20, 21

    def metadata(self):
        return {"width": 160.0, "height": 90.0, "framerate": 25.0,
                "audiocodecid": 10.0}


class DahuaSilent(Dahua):
    """bluenviron/mediamtx #769: without sound."""
    codecs = ("h264",)


class Panasonic(Encoder):
    """bluenviron/mediamtx #577: P2HD sends metadata among the frames."""

    def send(self, seconds):
        self.say_metadata()
        return super().send(seconds)

    def metadata(self):
        return amf0.Ecma({**super().metadata(), "creator": "P2HD",
                          "position": float(self.time)})


FAMILIES = (PtzOptics, Dahua, DahuaSilent, Panasonic)

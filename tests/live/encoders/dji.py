"""DJI: apps of drones, the service behind them, cameras."""
# SPDX-License-Identifier: BSD-2-Clause

from encoders.base import Encoder
from enhanced_publisher import Track


class DjiFly(Encoder):
    """bluenviron/mediamtx #928: no metadata at all; the header of sound comes
    first."""

    def metadata(self):
        return None

    def _headers(self, tracks):
        super()._headers(reversed(tracks))


class DjiFlightHub(Encoder):
    """bluenviron/mediamtx #3301 (with gortmplib, reader_test.go): metadata in
    an object, which name no track."""

    def metadata(self):
        return {"metadatacreator": "Agora.io SDK",
                "encoder": "Agora.io Encoder"}


class DjiOsmo(Encoder):
    """bluenviron/mediamtx #3802 (with gortmplib, reader_test.go): Osmo Action 4
    sends the header of its pictures twice.  eerimoq/moblin #57: pictures alone
    at first."""

    def make_tracks(self, clips):
        pictures, sound = super().make_tracks(clips)
        return [pictures, Track(sound.clip, begins=0.4)]

    def metadata(self):
        return {"videodatarate": 0.0, "videocodecid": 7.0,
                "audiodatarate": 0.0, "audiocodecid": 0.0}

    def _headers(self, tracks):
        for _ in range(2):
            super()._headers(tracks)


class DjiDrone(Encoder):
    """AlexxIT/go2rtc #1969: tells of sound and sends none; times of its
    pictures go back."""
    codecs = ("h264",)
    ordered = False

    def _stamp(self, kind, at):
        return super()._stamp(kind, at) - (60 if at % 400 == 360 else 0)


FAMILIES = (DjiFly, DjiFlightHub, DjiOsmo, DjiDrone)

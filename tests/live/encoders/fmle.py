"""Flash Media Live Encoder, and what does as it does.

sergey-dryabzhinsky/nginx-rtmp-module #19: "onFI" data messages with timestamps
illuspas/Node-Media-Server #221: the same, unknown to the server
KallDrexx/rust-media-libs #15: extended timestamps in each chunk
arut/nginx-rtmp-module #192, #272: after a loss of the network it is back while
the server still takes the old connection for a publisher
"""
# SPDX-License-Identifier: BSD-2-Clause

import amf0
from encoders.base import Encoder
from rtmp_client import DATA


class Fmle(Encoder):
    first_stamp = 0x1000000  # more than four hours and a half
    stays = True

    def say_create(self):
        self.command("releaseStream", None, self.key())
        self.command("FCPublish", None, self.key())
        self.hear("onFCPublish")
        self.c.msid = self.create_stream()

    def send(self, seconds):
        self.put(DATA, amf0.encode("onFI", {"sd": "30-11-2026",
                                            "st": "10:20:30.040"}),
                 self.base + self.time, self.data_csid)
        return super().send(seconds)


class LivestreamStudio(Encoder):
    """membraneframework/membrane_rtmp_plugin #115: Livestream Studio 6 and some
    hardware go on when onFCPublish has the number of their call."""

    def say_create(self):
        self.command("releaseStream", None, self.key())
        number = self.command("FCPublish", None, self.key())
        assert self.hear("onFCPublish")[1] == number
        self.c.msid = self.create_stream()


FAMILIES = (Fmle, LivestreamStudio)

"""Telestream Wirecast.

arut/nginx-rtmp-module #789: its user agent, its calls, and that it sends
nothing before a key frame; at the end it publishes a stream without a name
(also #538) where others call FCUnpublish and deleteStream
petetanton/nginx-streaming-rpm, HttpHandler.java: publishes as "LIVE"
livepeer/go-livepeer #452: crashes at a message of the server that comes in
several pieces
"""
# SPDX-License-Identifier: BSD-2-Clause

from encoders.base import Encoder


class Wirecast(Encoder):
    flash_ver = "Wirecast/FM 1.0 (compatible; FMSc/1.0)"
    kind = "LIVE"

    def say_connect(self):
        """What is there when the first byte is there is all of the answer."""
        number = self.command("connect", self.connect_object())
        self.c.need(1)
        whole = len(self.c.buffer)
        self.c.answer(number)
        assert self.c.received <= whole, "connect is answered in pieces"

    def farewell(self):
        self.command("publish", None, "", "", msid=self.c.msid,
                     csid=self.publish_csid)
        self.c.status("NetStream.Unpublish.Success")


FAMILIES = (Wirecast,)

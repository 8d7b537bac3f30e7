"""Hardware encoders and action cameras that are told a server's address."""
# SPDX-License-Identifier: BSD-2-Clause

from encoders.base import Encoder
from rtmp_client import Rtmp


class Haivision(Encoder):
    """ossrs/srs #844, and srs_protocol_rtmp_stack.cpp: connects three times at
    once and goes on with one; calls _checkbw, and goes on when that is
    answered; createStream before FCPublish, no releaseStream."""

    def say_connect(self):
        self.others = [Rtmp(self.port) for _ in range(2)]
        for c in self.others:
            c.answer(c.command("connect", self.connect_object()))
        super().say_connect()

    def after_connect(self):
        super().after_connect()
        for c in self.others:
            c.close()
        self.c.answer(self.command("_checkbw", None))

    def say_create(self):
        self.c.msid = self.create_stream()
        self.c.answer(self.command("FCPublish", None, self.key()))


class GoPro(Encoder):
    """arut/nginx-rtmp-module #1775: the stream is named in the application's
    place, what is published has an empty name; it is back while the server
    takes the old connection for a publisher."""
    stays = True

    def __init__(self, port, name, clips):
        self.app = f"live/{name}"
        super().__init__(port, name, clips)

    def key(self):
        return ""


FAMILIES = (Haivision, GoPro)

"""Flash Player in browsers."""
# SPDX-License-Identifier: BSD-2-Clause

from encoders.base import SMALL, Encoder
from enhanced_publisher import KEY, VIDEO, Track
from rtmp_client import COMMAND3


class FlashTrack(Track):
    """Sorenson H.263 and Nellymoser: a byte, then what the encoder made."""

    def message(self, clip, packet, key, body, cts=0):
        if clip.kind == VIDEO:
            return bytes([(KEY if key else 2) << 4 | 2]) + body
        return b"\x6a" + body  # 22 kHz, mono


class Flash(Encoder):
    """sergey-dryabzhinsky/nginx-rtmp-module #127: a publisher of Flash 21, its
    connect, in AMF3 but for that.  arut/nginx-rtmp-module #365: Sorenson and
    Nellymoser.  adobe.com/livedocs/flashmediaserver/3.0, NetStream.publish():
    with false for a name it ends what it publishes."""
    flash_ver = "WIN 21,0,0,213"
    handshake = "digest0"
    chunk = None
    hls = False
    publish_csid = 8

    def make_tracks(self, clips):
        return [FlashTrack(clips.make("flv1", seconds=2, **SMALL)),
                FlashTrack(clips.make("nellymoser", seconds=2, rate=22050,
                                      channels=1))]

    def connect_object(self):
        return {"app": self.app, "flashVer": self.flash_ver,
                "swfUrl": "http://192.168.10.1/RtmpPublisher.swf",
                "tcUrl": self.url(), "fpad": False, "capabilities": 239.0,
                "audioCodecs": 3575.0, "videoCodecs": 252.0,
                "videoFunction": 1.0,
                "pageUrl": "http://192.168.10.1/publisher.php",
                "objectEncoding": 3.0}

    def command(self, name, *values, **more):
        if name == "connect":
            return super().command(name, *values, **more)
        return super().command(name, *values, kind=COMMAND3, **more)

    def say_create(self):
        self.c.msid = self.create_stream()

    def say_publish(self):
        self.command("publish", None, self.key(), self.kind,
                     msid=self.c.msid, csid=self.publish_csid, tid=0)
        self.c.status("NetStream.Publish.Start")

    def farewell(self):
        self.command("publish", None, False, msid=self.c.msid,
                     csid=self.publish_csid, tid=0)
        self.c.status("NetStream.Unpublish.Success")


FAMILIES = (Flash,)

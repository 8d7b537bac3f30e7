"""The publishers' zoo: each family of encoders is seen and heard by every
output at once, and again when it is back (encoders/README.md)."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

import encoders
import media
from enhanced_publisher import Clips
from hls_everywhere import Outputs


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return Clips(tmp_path_factory.mktemp("clips"))


@pytest.mark.parametrize("family", encoders.FAMILIES,
                         ids=lambda family: family.__name__)
def test_every_output_plays_it(weir, clips, tmp_path, family):
    outputs = Outputs(weir, "room")
    p = family(outputs.w.rtmp, "room", clips)
    outputs.begin(p)
    outputs.follow(p, 4)
    p.leave().come_back()
    outputs.follow(p, 4)
    p.end()
    outputs.check(p, tmp_path)


GSTREAMER = (
    "gst-launch-1.0 -q -e videotestsrc num-buffers=100 is-live=true ! "
    "video/x-raw,width=160,height=90,framerate=25/1 ! x264enc key-int-max=25 "
    "tune=zerolatency speed-preset=ultrafast ! video/x-h264,profile=baseline ! "
    "mux. audiotestsrc num-buffers=170 is-live=true ! "
    "audio/x-raw,rate=44100 ! avenc_aac ! mux. "
    "flvmux name=mux streamable=true ! ")
PROGRAMS = {
    "ffmpeg": lambda url, sample: media.ffmpeg_publish(sample, url, 1.5),
    "rtmp2sink": lambda url, _: media.Tool(
        *GSTREAMER.split(), "rtmp2sink", f"location={url}"),
    # This one is librtmp.
    "rtmpsink": lambda url, _: media.Tool(
        *GSTREAMER.split(), "rtmpsink", f"location={url}"),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_output_plays_programs(weir, tool, sample, tmp_path, program):
    outputs = Outputs(weir, "room", hold="8s")
    for _ in range(2):
        outputs.follow_tool(tool(PROGRAMS[program](
            outputs.w.rtmp_url("room"), sample)))
    p = outputs.heard()
    assert len(p.sent) > 400 and sum(s.key for s in p.sent) >= 8
    outputs.check(p, tmp_path)

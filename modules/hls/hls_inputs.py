"""Rows of irregular inputs, and what players get of each: the table "Whatever a
publisher sends" of docs/hls.md.  Nothing that a row does not name is lost,
and the checker finds nothing."""
# SPDX-License-Identifier: BSD-2-Clause

from hls_inputs_sent import (Input, among, headers, late, leap, metadata,
                             shake, silent, wild)
from rtmp_client import AUDIO, VIDEO
from test_hls_strays import STRAYS

UNKNOWN = [(VIDEO, b"\x91zzzz" + bytes(30)), (AUDIO, b"\x91zzzz" + bytes(30)),
           (VIDEO, b"\x1f" + bytes(30)), (AUDIO, b"\xef" + bytes(30))]
HOUR = 3600 * 1000
EMPTY_SOUND, EMPTY_PICTURE = b"\xaf\1", b"\x27\1\0\0\0"


def cuts():
    """Scenes of 1.4 to 1.97 s, with a key frame after 2 s at the latest."""
    times, at = [0.0], 0.0
    for i in range(12):
        for after in (1.4 + 0.1 * (i % 6), 2.0):
            at += after
            times.append(at)
    return times


def steps(*steps_):
    return [(float(at), rate) for at, rate in steps_]


EVEN = [
    Input("even"),
    Input("pictures-alone", sound=None),
    Input("sound-alone", pictures=None, still=False, begins=0.6),
]

# ---- a track ----

TRACKS = [
    Input("sound-comes-late", sound={"begins": 6}, tags=1, maps=2, ends=1,
          lost=(0, 94)),
    Input("pictures-come-late", pictures={"begins": 6}, tags=1, maps=2,
          ends=1, begins=0.6),
    Input("sound-ends", sound={"ends": 9}, tags=1, maps=2, ends=1),
    Input("pictures-end", pictures={"ends": 9}, tags=1, maps=2, ends=1),
    Input("sound-pauses-1s", sound={"pauses": [(9, 10)]}, tags=1, keys=False,
          lost=(0, 3)),
    Input("sound-pauses-4s", sound={"pauses": [(7, 11)]}, tags=2, maps=3,
          ends=2, lost=(0, 48)),
    Input("pictures-pause-400ms", pictures={"pauses": [(9.1, 9.5)]}),
    Input("pictures-pause-1s", pictures={"pauses": [(9.1, 10.1)]},
          slack=1.1),
    Input("pictures-pause-4s", pictures={"pauses": [(7.1, 11.1)]}, tags=2,
          maps=3, ends=2),
    Input("pictures-alone-pause-300ms", sound=None,
          pictures={"pauses": [(9.2, 9.5)]}),
    Input("pictures-alone-pause-1s", sound=None,
          pictures={"pauses": [(9.1, 10.1)]}, tags=1, keys=False),
    # Where they arrive so late that the pause looks shorter, two frames are
    # placed by their neighbours.
    Input("both-pause-1s", pictures={"pauses": [(9.1, 10.1)]},
          sound={"pauses": [(9.1, 10.1)]}, tags=1, keys=False, lost=(0, 3),
          apart=1.1),
    Input("sound-of-another-codec", sound={"changes": [(9, "mp3")]}, tags=1,
          maps=2, ends=1, lost=(0, 45)),
    Input("sound-of-another-rate", sound={"changes": [(9, "aac", 44100)]},
          tags=1, maps=2, ends=1, lost=(0, 45)),
    Input("pictures-of-another-codec", pictures={
        "changes": [(10, "hevc")]}, tags=1, maps=2, ends=1),
    Input("pictures-of-another-size", pictures={
        "changes": [(10, "h264", "128x72")]}, tags=1, maps=2, ends=1),
    Input("sound-without-frames", edits=(silent(AUDIO),), without="sound"),
    Input("sound-of-empty-frames", edits=(silent(AUDIO, EMPTY_SOUND),),
          without="sound"),
    Input("pictures-without-frames", edits=(silent(VIDEO),), still=False,
          begins=2.1),
    Input("pictures-of-empty-frames", edits=(silent(VIDEO, EMPTY_PICTURE),),
          still=False, begins=2.1),
]

# ---- sound that is apart from its pictures ----

APART = [
    Input("sound-2s-ahead", edits=(leap(AUDIO, 0, 2500),), by="stamp",
          begins=4),
    Input("sound-6s-behind", edits=(leap(None, 0, 10000),
                                    leap(AUDIO, 0, -6000)), by="stamp"),
    Input("sound-30s-ahead", edits=(leap(AUDIO, 0, 30000, False),), begins=4),
    Input("sound-2h-ahead", edits=(leap(AUDIO, 0, 2 * HOUR, False),), begins=4),
    Input("sound-2h-behind", edits=(leap(VIDEO, 0, 2 * HOUR),)),
    Input("sound-is-sent-2s-late", edits=(late(AUDIO, 2),)),
]

# ---- clocks ----

JUMPS = [
    Input("wild-sound-ahead", edits=(wild(AUDIO, 9, HOUR),)),
    Input("wild-sound-back", edits=(leap(None, 0, 2 * HOUR),
                                    wild(AUDIO, 9, -HOUR))),
    Input("wild-picture-ahead", edits=(wild(VIDEO, 9, HOUR),)),
    Input("wild-picture-back", edits=(leap(None, 0, 2 * HOUR),
                                      wild(VIDEO, 9, -HOUR))),
    Input("difference-of-24-bits", edits=(leap(None, 9, 0xfffff6),)),
    Input("clock-back-to-0", edits=(leap(None, 9, -9000),), tags=1),
    Input("clock-5s-ahead", edits=(leap(None, 9, 5000),), tags=1, keys=False,
          lost=(0, 3)),
    Input("clock-1h-ahead", edits=(leap(None, 9, HOUR),), tags=1),
    Input("sound-leaps-150ms", edits=(leap(AUDIO, 9, 150),), tags=1,
          by="stamp", sound_slack=0.2, keys=False, lost=(0, 3)),
    Input("sound-leaps-60ms", edits=(leap(AUDIO, 9, 60),), by="stamp",
          sound_slack=0.1),
    Input("sound-leaps-back-150ms", edits=(leap(AUDIO, 9, -150),),
          by="stamp", sound_slack=0.2, lost=(0, 8), back=1),
    Input("pictures-leap-back-400ms", edits=(leap(VIDEO, 9, -400),),
          by="stamp", apart=0.45, back=1),
    Input("clock-400ms-back", edits=(leap(None, 9, -400),), by="stamp",
          apart=0.45, sound_slack=0.5, lost=(0, 20), back=2),
]

# ---- intervals ----

INTERVALS = [
    Input("jitter-12ms-at-30", edits=(shake(12),)),
    Input("jitter-15ms-at-25", pictures={"rates": steps((0, 25))},
          edits=(shake(15),)),
    Input("every-second-of-60-left-out", pictures={
        "rates": steps((0, 60)), "left_out": 2}),
    Input("every-third-of-30-left-out", pictures={"left_out": 3}),
    Input("both-120ms-late", edits=(leap(None, 9, 120),), tags=1, keys=False,
          sound_slack=0.2, lost=(0, 3), by="stamp"),
    Input("a-picture-120ms-late", pictures={"pauses": [(9.01, 9.12)]}),
    Input("pictures-120ms-late", edits=(leap(VIDEO, 9, 120),), by="stamp"),
    Input("25-50-12-fps", pictures={
        "rates": steps((0, 25), (7, 50), (13, 12)), "keys": 2.1},
          parts="some"),
    Input("12-fps", pictures={"rates": steps((0, 12))}, parts="none"),
]

# ---- key frames ----

KEYS = [
    Input("scene-cuts", pictures={"keys": cuts()}),
    Input("keys-each-9s", pictures={"keys": 9}, keys=False, length=32,
          long=True),
    Input("keys-each-30s", pictures={"keys": 30}, keys=False, length=34,
          long=True),
    Input("one-key", pictures={"keys": [0]}, keys=False),
]

# ---- messages ----

MESSAGES = [
    *(Input(f"strays-{name}", edits=(among(*messages),))
      for name, messages in STRAYS.items()),
    Input("strays-of-unknown-codecs", edits=(among(*UNKNOWN),)),
    Input("headers-again", edits=(headers(5.01, 6.5, 8.0, 11.2),)),
    Input("headers-again-at-0", edits=(headers(5.01, 6.5, 8.0, 11.2,
                                               stamp=0),)),
    Input("header-behind-its-key-frame", pictures={
        "changes": [(10, "h264", "128x72")], "header_late": 1}, tags=1, maps=2,
          ends=1),
    Input("header-in-the-group", pictures={
        "changes": [(10, "h264", "128x72")], "header_late": 20}, tags=1, maps=2,
          ends=1),
    Input("no-header-of-sound", sound={"announced": False}, without="sound"),
    Input("no-header-of-pictures", pictures={"announced": False},
          still=False, begins=3, without="pictures"),
    Input("metadata-again", edits=(metadata(5, 5.1, 7, 9, 13),)),
]

ROWS = EVEN + TRACKS + APART + JUMPS + INTERVALS + KEYS + MESSAGES
assert len({r.name for r in ROWS}) == len(ROWS)

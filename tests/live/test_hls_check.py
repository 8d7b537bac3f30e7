"""The checker of playlists: good ones pass, and each rule catches a bad one."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from hls_multivariant import Multivariant
from hls_playlist import RULES, Media, follows, merge, same

pytestmark = pytest.mark.once

HEAD = """\
#EXTM3U
#EXT-X-VERSION:9
#EXT-X-TARGETDURATION:2
#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12.000,\
HOLD-BACK=6.000,PART-HOLD-BACK=3.000
#EXT-X-PART-INF:PART-TARGET=1.000
"""


def segment(number, parts=False, whole=True, count=2):
    """Lines of a segment of 2 s; the list begins at number 100."""
    at = (number - 100) * 2
    lines = [f"#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:{at // 60:02d}:"
             f"{at % 60:02d}.500Z"]
    if parts:
        lines += [f'#EXT-X-PART:DURATION=1.000,URI="f/{number}.{i}.m4s"' +
                  ("" if i else ",INDEPENDENT=YES") for i in range(count)]
    if whole:
        lines += ["#EXTINF:2.000,", f"f/{number}.m4s"]
    return "\n".join(lines) + "\n"


def live(first=100, last=107, count=1, skipped=0, head=HEAD):
    """Segments first to last, the last one under way with so many parts."""
    text = head + f"#EXT-X-MEDIA-SEQUENCE:{first}\n" \
        "#EXT-X-DISCONTINUITY-SEQUENCE:0\n"
    text += f"#EXT-X-SKIP:SKIPPED-SEGMENTS={skipped}\n" if skipped else \
        '#EXT-X-MAP:URI="f/init-1.mp4"\n'
    for number in range(first + skipped, last):
        # Their ends are (last - 1 - number) * 2 + count seconds back.
        text += segment(number, (last - 1 - number) * 2 + count <= 6)
    text += segment(last, True, whole=False, count=count)
    return text + '#EXT-X-PRELOAD-HINT:TYPE=PART,' \
        f'URI="f/{last}.{count}.m4s"\n'


def plain(first=100, last=106, more=""):
    return f"#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n" \
        f"#EXT-X-MEDIA-SEQUENCE:{first}\n" \
        '#EXT-X-MAP:URI="f/init-1.mp4"\n' + \
        "".join(segment(n) for n in range(first, last + 1)) + more


MULTIVARIANT = """\
#EXTM3U
#EXT-X-VERSION:6
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="a",DEFAULT=YES,AUTOSELECT=YES,\
CHANNELS="2",URI="f.m3u8?rendition=a0"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="b",DEFAULT=NO,AUTOSELECT=NO,\
CHANNELS="6",URI="f.m3u8?rendition=a1"
#EXT-X-STREAM-INF:BANDWIDTH=600000,AVERAGE-BANDWIDTH=500000,\
CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=160x90,FRAME-RATE=25.000,\
VIDEO-RANGE=SDR,AUDIO="s"
f.m3u8?rendition=v
"""


def media(text):
    return Media(text.encode())


def test_good():
    for text in (live(), live(count=2), live(last=104), plain(),
                 plain(more="#EXT-X-ENDLIST\n")):
        assert not media(text).faults, media(text).faults.text()
    delta = media(live(last=109, skipped=2))
    assert not delta.faults and delta.skipped == 2
    many = Multivariant(MULTIVARIANT.encode())
    assert not many.faults, many.faults.text()
    assert len(many.variants) == 1 and len(many.renditions) == 2


def test_what_is_read():
    p = media(live())
    assert (p.version, p.target, p.part_target) == (9, 2, 1)
    assert p.newest() == (107, 0) and p.open.number == 107
    assert [s.number for s in p.segments] == list(range(100, 107))
    assert p.segments[3].uri == "f/103.m4s" and p.segments[3].duration == 2
    assert p.segments[3].map == "f/init-1.mp4"
    assert p.hints == ["f/107.1.m4s"]
    assert p.open.parts[0].independent
    assert not p.ended and media(plain(more="#EXT-X-ENDLIST\n")).ended


def swap(one, two, text=None, times=1):
    text = live() if text is None else text
    assert one in text, one
    return text.replace(one, two, times)


PART = '#EXT-X-PART:DURATION=1.000,URI="f/106.1.m4s"\n'
HINT = '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="f/107.1.m4s"\n'

BAD = {  # rule: playlists, each with that fault
    "text": [swap("f/103", "f/1\t3"), "\ufeff" + live()],
    "begins": [live()[8:], "\n" + live()],
    "ends": [live()[:-1]],
    "tag": [swap("#EXT-X-MAP", "#EXT-X-MAPS")],
    "once": [swap("#EXT-X-VERSION:9\n", "#EXT-X-VERSION:9\n" * 2),
             plain(more="#EXT-X-ENDLIST\n#EXT-X-ENDLIST\n")],
    "attributes": [
        swap("YES,CAN", "YES, CAN"), swap("YES,CAN", "YES,,CAN"),
        swap("12.000,HOLD", "12.000HOLD"),
        swap("3.000\n", "3.000,\n"), swap(HINT, HINT[:-2] + "\n"),
        swap("HOLD-BACK=6.000", "HOLD-BACK=6.000,HOLD-BACK=6.000"),
        swap("DURATION=1.000,", "")],
    "version": [swap("VERSION:6", "VERSION:5", plain()),
                swap("VERSION:9", "VERSION:8", live(last=109, skipped=2)),
                swap("#EXT-X-VERSION:6\n", "", plain())],
    "target": [swap("#EXT-X-TARGETDURATION:2\n", "", plain()),
               swap("DURATION:2\n", "DURATION:2.0\n", plain())],
    "extinf": [swap("#EXTINF:2.000,\n", ""), swap("EXTINF:2.000,", "EXTINF:2.000"),
               swap("EXTINF:2.000,", "EXTINF:2,"), live() + "#EXTINF:2.000,\n"],
    "extinf-target": [swap("EXTINF:2.000", "EXTINF:2.500", plain())],
    "mixed": [live() + MULTIVARIANT[26:]],
    "order": [swap("#EXT-X-MEDIA-SEQUENCE:100\n", "") +
              "#EXT-X-MEDIA-SEQUENCE:100\n"],
    "map-tag": [swap("#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:00:06.500Z\n",
                     '#EXT-X-MAP:URI="f/init-2.mp4"\n'
                     "#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:00:06.500Z\n")],
    "map": [swap('#EXT-X-MAP:URI="f/init-1.mp4"\n', "", plain())],
    "date": [swap(".500Z", ".5Z"), swap(".500Z", ".500")],
    "date-each": [swap("#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:00:00.500Z\n",
                       "")],
    "date-goes-on": [swap("03:00:04.500Z", "03:00:05.600Z"),
                     swap("03:00:04.500Z", "03:00:01.500Z")],
    "uri-once": [swap("f/103.m4s", "f/102.m4s"),
                 swap("f/106.1.m4s", "f/106.0.m4s")],
    "part-inf": [swap("#EXT-X-PART-INF:PART-TARGET=1.000\n", ""),
                 swap("TARGET=1.000", "TARGET=x")],
    "part-long": [swap("PART:DURATION=1.000", "PART:DURATION=1.001")],
    "part-short": [swap("PART:DURATION=1.000", "PART:DURATION=0.849")],
    "part-sum": [swap(PART, PART.replace("1.000", "0.990"))],
    "part-tags": [swap(PART, PART + "#EXT-X-DISCONTINUITY\n"),
                  swap(PART, PART + '#EXT-X-MAP:URI="x"\n')],
    "part-old": [swap(segment(103), segment(103, True))],
    "part-independent": [swap(",INDEPENDENT=YES", "", swap(
        "#EXT-X-PART-INF", "#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-PART-INF"))],
    "gap-independent": [
        swap(",INDEPENDENT=YES", ",INDEPENDENT=YES,GAP=YES")],
    "hold-back": [swap(",HOLD-BACK=6.000", ",HOLD-BACK=5.999")],
    "part-hold-back": [swap("PART-HOLD-BACK=3.000", "PART-HOLD-BACK=2.999"),
                       swap(",PART-HOLD-BACK=3.000", "")],
    "skip-until": [swap("UNTIL=12.000", "UNTIL=11.999")],
    "skip-near": [live(last=109, skipped=4),
                  swap("CAN-SKIP-UNTIL=12.000,", "",
                       live(last=109, skipped=2))],
    "hint": [swap(HINT, ""), swap(HINT, HINT * 2),
             swap("TYPE=PART", "TYPE=MAP")],
    "hint-listed": [swap("107.1.m4s", "107.0.m4s")],
    "hint-ended": [live() + "#EXT-X-ENDLIST\n"],
    "block-ended": [swap(HINT, "#EXT-X-ENDLIST\n")],
    "block-reload": [swap("CAN-BLOCK-RELOAD=YES,", "")],
    "report": [live() + '#EXT-X-RENDITION-REPORT:URI="/a",LAST-MSN=1\n',
               live() + '#EXT-X-RENDITION-REPORT:URI="a"\n',
               live() + '#EXT-X-RENDITION-REPORT:URI="a",LAST-MSN=1,'
               'LAST-PART=x\n'],
}

BAD_MULTIVARIANT = {
    "stream-inf": [swap("f.m3u8?rendition=v\n", "", MULTIVARIANT),
                   swap("BANDWIDTH=600000,", "", MULTIVARIANT),
                   MULTIVARIANT + "more\n"],
    "average": [swap("=500000", "=600001", MULTIVARIANT)],
    "codecs": [swap('CODECS="avc1.64001f,mp4a.40.2",', "", MULTIVARIANT)],
    "hev1": [swap("avc1.64001f", "hev1.1.6.L93.B0", MULTIVARIANT)],
    "resolution": [swap("RESOLUTION=160x90,", "", MULTIVARIANT)],
    "video-range": [swap("VIDEO-RANGE=SDR,", "", MULTIVARIANT)],
    "group": [swap('AUDIO="s"', 'AUDIO="t"', MULTIVARIANT)],
    "group-names": [swap('NAME="b"', 'NAME="a"', MULTIVARIANT)],
    "group-default": [swap("DEFAULT=NO,AUTOSELECT=NO",
                           "DEFAULT=YES,AUTOSELECT=YES", MULTIVARIANT)],
    "autoselect": [swap("DEFAULT=YES,AUTOSELECT=YES",
                        "DEFAULT=YES,AUTOSELECT=NO", MULTIVARIANT)],
    "channels": [swap('CHANNELS="6",', "", MULTIVARIANT)],
    "media": [swap('NAME="b",', "", MULTIVARIANT)],
    "mixed": [MULTIVARIANT + "#EXTINF:2.000,\n"],
    "tag": [MULTIVARIANT + "#EXT-X-OTHER\n"],
}

CUT = "#EXT-X-DISCONTINUITY\n#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:00:00"
ENDED = plain(more="#EXT-X-ENDLIST\n")

BAD_PAIRS = {  # rule: (the one before, the one after)
    "sequence-back": [(live(101, 108), live(100, 108))],
    "end-back": [(live(count=2), live()), (plain(), plain(last=105))],
    "target-changed": [(plain(), swap("DURATION:2", "DURATION:3", plain()))],
    "part-target-changed": [
        (live(), swap("TARGET=1.000", "TARGET=1.100"))],
    "segment-changed": [
        (live(), swap("#EXTINF:2.000", "#EXTINF:1.999")),
        (live(), swap("f/103.m4s", "g/103.m4s")),
        (live(), swap("03:00:06.500Z", "03:00:06.501Z")),
        (live(), swap("init-1", "init-2")),
        # What was said of the segment under way.
        (live(), swap("03:00:14.500Z", "03:00:14.501Z", live(count=2))),
        (live(), swap("#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:00:14",
                      CUT[:-2] + "14", live(count=2)))],
    "parts-changed": [
        # A whole segment gets no more of them, and none that it had not.
        (swap(PART, "", live()), live()),
        (swap(segment(106, True), segment(106), live()), live()),
        (live(), swap("106.1.m4s", "106.9.m4s")),
        (live(count=2), swap(
            "107.0.m4s", "107.9.m4s", live(last=108)))],
    "discontinuity-changed": [
        (live(), swap("SEQUENCE:0", "SEQUENCE:1", live(101, 108))),
        (swap("#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:00:00", CUT),
         live(101, 108))],
    "ended-changed": [(ENDED, plain()), (ENDED, plain(
        last=107, more="#EXT-X-ENDLIST\n"))],
    "part-missing": [(live(), swap(segment(104, True), segment(104)))],
    "unhinted": [
        (swap(HINT.replace("107.1", "107.0"), "", live(count=0)), live())],
    "too-short": [(plain(), plain(105, 106))],
    "gap": [(plain(), plain(108, 115))],
    "hint-kept": [
        (swap("TYPE=PART,URI=\"f/107.1", "TYPE=PART,URI=\"f/107.7"),
         live(count=2)),
        (swap(HINT, HINT.replace("107.1", "107.9")), live(last=108))],
}


def caught(judge, bad):
    for rule, examples in bad.items():
        for example in examples:
            faults = judge(example)
            assert rule in faults.rules(), \
                f"{rule} not in {faults.text()}\n{example}"


def test_each_rule_of_a_playlist_catches():
    caught(lambda text: media(text).faults, BAD)


def test_each_rule_of_multivariant_playlists_catches():
    caught(lambda text: Multivariant(text.encode()).faults, BAD_MULTIVARIANT)


def test_each_rule_of_what_follows_catches():
    caught(lambda pair: follows(media(pair[0]), media(pair[1])), BAD_PAIRS)


def test_no_rule_is_without_an_example():
    shown = set(BAD) | set(BAD_MULTIVARIANT) | set(BAD_PAIRS)
    assert set(RULES) - shown == {
        "skip-unknown", "delta-differs"}  # below


@pytest.mark.parametrize("steps", [
    [(100, 107, 1), (100, 107, 2), (100, 108, 1), (101, 108, 2)],
    [(100, 104, 1), (100, 106, 1), (103, 112, 1)],
])
def test_good_ones_follow(steps):
    for one, two in zip(steps, steps[1:]):
        faults = follows(media(live(*one)), media(live(*two)))
        assert not faults, faults.text()


def test_a_discontinuity_leaves_with_its_segment():
    old = swap("#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:00:00", CUT)
    new = swap("DISCONTINUITY-SEQUENCE:0", "DISCONTINUITY-SEQUENCE:1",
               live(101, 108))
    faults = follows(media(old), media(new))
    assert not faults, faults.text()
    assert media(old).segments[0].discontinuity == 1
    assert media(new).segments[0].discontinuity == 1


def test_a_segment_may_end_before_the_part_that_was_hinted():
    old, new = media(live(count=2)), media(live(last=108))
    assert old.hints == ["f/107.2.m4s"]
    assert not follows(old, new)


def without_parts(text, first, last):
    for number in range(first, last + 1):
        text = text.replace(segment(number, True), segment(number))
    return text


def test_segments_without_parts_are_good():
    """While one is under way those before it have theirs; when it is whole,
    they are listed no more."""
    hint = HINT.replace("107.1", "107.0")
    before = swap(hint, "", live(count=0))
    bare = swap(hint.replace("107", "108"), "", live(last=108, count=0))
    bare = without_parts(bare, 100, 107)
    after = without_parts(live(last=108), 100, 107)
    for text in (before, bare, after):
        assert not media(text).faults, media(text).faults.text()
    for old, new in ((before, bare), (bare, bare)):
        faults = follows(media(old), media(new))
        assert not faults, faults.text()
    assert "unhinted" in follows(media(bare), media(after)).rules()


def test_gaps_are_good():
    text = swap(",INDEPENDENT=YES", ",GAP=YES", swap(
        "#EXTINF:2.000,\nf/103", "#EXT-X-GAP\n#EXTINF:2.000,\nf/103"))
    assert not media(text).faults, media(text).faults.text()
    assert media(text).segments[3].gap and not media(text).segments[4].gap


def test_a_delta_update_merges():
    old = media(live())
    delta = media(live(last=109, skipped=2))
    whole = media(live(last=109))
    merged = merge(old, delta)
    assert not merged.faults and not same(whole, merged)
    assert not follows(old, merged)


def test_a_delta_update_of_the_unknown():
    delta = merge(media(live(102, 109)), media(live(last=109, skipped=2)))
    assert "skip-unknown" in delta.faults.rules()


def test_a_delta_update_that_differs():
    delta = media(swap("104.m4s", "204.m4s", live(last=109, skipped=2)))
    assert same(media(live(last=109)), merge(media(live()), delta)).rules() \
        == {"delta-differs"}

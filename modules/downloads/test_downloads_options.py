"""The words that weir makes of engine options, as yt-dlp understands them, and
the file of options of a running weir."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import re
import subprocess
from urllib.parse import urlsplit

import pytest

from downloads_help import downloads, media  # pylint: disable=W0611
from weir import read_text, wait_for

__all__ = ["downloads", "media"]  # fixtures
CASES = os.path.join(os.path.dirname(__file__), "fetcher/options_cases.json")
PYTHON = "/usr/bin/python3"  # that of the package yt-dlp

# Reads lists of words, writes what each of them means.
PARSE = """
import json, sys, yt_dlp
for line in sys.stdin:
    words = json.loads(line)
    try:
        opts = yt_dlp.parse_options(["--ignore-config", *words]).ydl_opts
    except SystemExit:
        opts = None
    print(json.dumps(opts, default=str))
"""


def understood(cases):
    lines = [json.dumps(c["words"] + c.get("secrets", [])) for c in cases]
    done = subprocess.run([PYTHON, "-c", PARSE], input="\n".join(lines),
                          capture_output=True, text=True, timeout=300,
                          check=False)
    if "No module named 'yt_dlp'" in done.stderr:
        pytest.skip("there is no yt-dlp")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(cases), done.stderr
    return found


def meaning(name, value):
    """What the command line makes of a member of the API."""
    if name in ("http_headers", "extractor_args", "postprocessors"):
        return None
    if name == "ratelimit" or isinstance(value, list):
        return value
    if name.endswith("retries"):
        return float(value) if value == "infinite" else int(value)
    if name == "match_filter":
        return None
    return value


def place(d, name, text):
    """Another file takes its place, as editors do it."""
    path = f"{d.weir.prefix}/run/{name}"
    with open(f"{path}.new", "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(f"{path}.new", 0o644)
    os.rename(f"{path}.new", path)


def put(d, ears, text):
    """The file of options has that text; what clients are told of it."""
    count = len(ears.all("engine_options_changed"))
    place(d, "engine.conf", text)
    ears.wait(lambda names: names.count("engine_options_changed") > count)
    return ears.all("engine_options_changed")[-1]


def test_the_next_run_has_them(downloads, media):
    d = downloads('engine_options_file = "run/engine.conf";')
    host = urlsplit(media.url("/")).hostname
    with d.listen(first="engine_options_changed") as ears:
        assert put(d, ears, "--user-agent first")["success"]
        d.added(media.file("/one.mp4"))
        d.wait_done(media.url("/one.mp4"))
        assert {a.agent for a in media.asked("/one.mp4")} == {"first"}

        place(d, "jar", "# Netscape HTTP Cookie File\n"
              f"{host}\tFALSE\t/\tFALSE\t0\tcrumb\tsweet\n")
        told = put(d, ears, json.dumps(
            {"cookiefile": "jar", "http_headers": {"User-Agent": "it's me"}}))
        assert told["success"], told
        url = media.file("/two.mp4", 400_000, hold=200_000)
        d.added(url)
        wait_for(lambda: media.asked("/two.mp4")[1:], 15, "the run")
        for pid in d.processes("yt-dlp") + d.processes("weir-supervisor"):
            assert "it's me" not in read_text(f"/proc/{pid}/cmdline")
        media.release("/two.mp4")
        d.wait_done(url)
        assert {(a.agent, a.cookie) for a in media.asked("/two.mp4")} == \
            {("it's me", "crumb=sweet")}
        assert d.files() == ["one.mp4", "two.mp4"]

        told = put(d, ears, "--user-agent third --exec id")
        assert not told["success"] and "exec" in told["msg"], told
        url = media.file("/three.mp4")
        d.added(url)
        d.wait_done(url)
        assert {a.agent for a in media.asked("/three.mp4")} == {"it's me"}

        os.unlink(f"{d.weir.prefix}/run/jar")
        assert "cookies" in d.refused(media.file("/four.mp4"))


def test_yt_dlp_takes_every_word():
    with open(CASES, encoding="utf-8") as f:
        cases = [c for c in json.load(f)
                 if "bad" not in c and "unasked" not in c]
    wrong = []
    for case, opts in zip(cases, understood(cases)):
        if opts is None:
            wrong.append(f"{case['words']}: refused")
            continue
        means = case.get("means")
        if means is None:
            means = {k: meaning(k, v)
                     for k, v in json.loads(case.get("json", "{}")).items()}
        for name, value in means.items():
            found = opts.get(name)
            if value is not None and (value or found) and \
                    found != value and str(found) != str(value):
                wrong.append(f"{case['words']}: {name} is {found}, "
                             f"not {value}")
    assert not wrong, "\n".join(wrong)


def test_the_manual_has_every_option():
    with open(os.path.join(os.path.dirname(CASES), "../downloads.7"),
              encoding="utf-8") as f:
        told = set(re.findall(r"[a-z][a-z-]+", f.read()))
    with open(CASES, encoding="utf-8") as f:
        words = {w.split("=")[0][2:] for c in json.load(f) if "bad" not in c
                 for w in c["words"] + c.get("secrets", [])}
    missing = [w for w in words if w not in told and
               re.sub("^no-", "", w) not in told]
    # The other words of these.
    assert sorted(missing) == ["abort-on-error",
                               "abort-on-unavailable-fragments",
                               "ignore-dynamic-mpd", "resize-buffer"]

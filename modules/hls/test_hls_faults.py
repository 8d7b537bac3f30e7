"""Streams whose publishers do everything wrong, by chance: what is listed can
be had and stays, and players of all kinds go on.

A seed that fails is repeated by

    FAULT_SEEDS="17 23" tests/live/run -n 0 modules/hls/test_hls_faults.py

"make check-long" does 1000 of them, 50 at a time (FAULT_RUNS)."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import shutil
import subprocess
import time

import pytest

from browser import AUTOPLAY, Browser
from hls_faults import FAULTS, HOLD, LENGTH, PICTURES, SOUNDS, Plan
from hls_faults_run import LOCATIONS
from hls_page import Page
from http_client import get
from patience import BUSY, busy
from weir import wait_for

AT = ('{ path = "/hls"; module = "hls"; },'
      '{ path = "/ts"; module = "hls"; format = "ts"; },'
      '{ path = "/apart"; module = "hls"; separate_audio = true; },')
PROGRAM = os.path.join(os.path.dirname(__file__), "hls_faults_run.py")
PROCESSES = 2
AT_ONCE = 50
# Of them in Chromium, of the first ten times AT_ONCE.
PAGES = int(os.environ.get("FAULT_PAGES", "5"))
MARGIN = 3     # s by which hls.js may stall longer than the source
AGAIN = "FAULT_SEEDS={} tests/live/run -n 0 modules/hls/test_hls_faults.py"


class Program:
    """Some seeds in a process of their own."""

    def __init__(self, w, folder, seeds):
        path = f"{os.path.dirname(PROGRAM)}:{os.environ['PYTHONPATH']}"
        self.process = subprocess.Popen(
            ["/usr/bin/python3", PROGRAM, str(w.rtmp), str(w.http),
             str(folder), *map(str, seeds)], stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, PYTHONPATH=path))

    def begun(self):
        """Waits until it publishes."""
        assert self.process.stdout.readline() == "made\n"

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def results(self):
        told = self.process.communicate()[0]
        return [json.loads(line) for line in told.splitlines()]


def play(w, seeds, until):
    """hls.js beside the other players; what it tells of each."""
    urls = [f"{LOCATIONS[Plan(s).format]}/live/f{s}.m3u8" for s in seeds]
    wait_for(lambda: all(get(w.http, u).status == 200 for u in urls), 20,
             "playlists")
    # A browser has six connections to a host; each has one of its own.
    plans = [{"url": f"http://f{s}.localhost:{w.http}{u}"}
             for s, u in zip(seeds, urls)]
    try:
        page = Page(w, plans, plays=LENGTH / BUSY)
    except AssertionError as e:  # not before the publishers have gone
        return {s: {"fatal": [str(e)], "most": 0, "idle": 0} for s in seeds}
    try:
        time.sleep(max(0, until - time.monotonic()))
        return dict(zip(seeds, page.told()))
    finally:
        page.quit()


def judge_page(told, result, margin):
    """A stall is no longer than what the source has, and a margin."""
    wrong = [f"hls.js: {fatal}" for fatal in told["fatal"][:3]]
    if max(told["most"], told["idle"]) > result["gap"] + margin:
        wrong.append(f"hls.js: stalls {told['stalls']}, then "
                     f"{told['idle']:.1f} s; the source: {result['gap']} s; "
                     f"{told['errors'][:5]}")
    return wrong


def run_all(w, folder, seeds, pages, margin):
    """The result of each seed."""
    if pages:
        Browser(AUTOPLAY).quit()  # it is there when it is wanted
    programs = [Program(w, folder / str(i), seeds[i::PROCESSES])
                for i in range(min(PROCESSES, len(seeds)))]
    try:
        return judge_all(w, programs, seeds, pages, margin)
    finally:
        for p in programs:
            p.end()


def judge_all(w, programs, seeds, pages, margin):
    for p in programs:
        p.begun()
    until = time.monotonic() + LENGTH - 1
    pages = [s for s in seeds if Plan(s).in_chromium()][:pages]
    told = play(w, pages, until) if pages else {}
    found = [r for p in programs for r in p.results()]
    assert len(found) == len(seeds)
    for r in found:
        if r["seed"] in told:
            r["hls.js"] = told[r["seed"]]
            r["findings"] += judge_page(told[r["seed"]], r, margin)
    out = os.environ.get("FAULT_OUT")
    if out:
        with open(out, "a", encoding="utf-8") as f:
            f.writelines(json.dumps(r) + "\n" for r in found)
    return found


def tell(results):
    """What failed, and how to see it again."""
    return "\n\n".join(
        "\n  ".join([r["plan"], *r["findings"][:12], AGAIN.format(r["seed"])])
        for r in results if r["findings"])


def endure(weir, folder, seeds, pages, margin):
    w = weir(locations=AT, hold=f"{HOLD:g}s", workers=2,
             http='hosts = [ "test", "*.localhost" ];')
    return tell(run_all(w, folder, seeds, pages, margin))


def seeds_asked():
    return [int(s) for s in os.environ.get("FAULT_SEEDS", "").split()]


def test_faults(weir, tmp_path):
    wrong = endure(weir, tmp_path, seeds_asked() or list(range(1, 21)), 2,
                   busy(MARGIN))
    assert not wrong, wrong


def test_plans_are_those_of_their_seeds():
    """Each fault and codec is drawn, and a seed always means the same."""
    plans = [Plan(seed) for seed in range(1, 301)]
    assert [p.text() for p in plans] == [Plan(p.seed).text() for p in plans]
    assert set().union(*(p.drawn for p in plans)) == set(FAULTS)
    assert set().union(*(p.codecs() for p in plans)) == \
        set(PICTURES) | set(SOUNDS)
    assert {p.format for p in plans} == set(LOCATIONS)
    assert any(p.pictures is None for p in plans)
    assert any(not p.sounds for p in plans)
    assert any(len(p.sounds) == 2 for p in plans)
    assert sum(p.in_chromium() for p in plans) >= 50


@pytest.mark.soak
def test_a_thousand_runs(weir, tmp_path):
    """All are run before one that failed is told."""
    count = int(os.environ.get("FAULT_RUNS", "1000"))
    first = int(os.environ.get("FAULT_FIRST", "1"))
    wrong = ""
    for begin in range(first, first + count, AT_ONCE):
        folder = tmp_path / str(begin)
        folder.mkdir()
        seeds = list(range(begin, min(begin + AT_ONCE, first + count)))
        pages = PAGES if (begin - first) < 10 * AT_ONCE else 0
        wrong += endure(weir, folder, seeds, pages, MARGIN)
        shutil.rmtree(folder)
    assert not wrong, wrong

"""Streams whose publishers do everything wrong, by chance: what is listed can
be had and stays, and players of all kinds go on.

A seed that fails is repeated by

    FAULT_SEEDS="17 23" tests/live/run -n 0 modules/hls/test_hls_faults.py

"make check-long" does 1000 of them, 50 at a time (FAULT_RUNS)."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import subprocess

import pytest

from hls_faults import HOLD

AT = ('{ path = "/hls"; module = "hls"; },'
      '{ path = "/ts"; module = "hls"; format = "ts"; },'
      '{ path = "/apart"; module = "hls"; separate_audio = true; },')
PROGRAM = os.path.join(os.path.dirname(__file__), "hls_faults_run.py")
PROCESSES = 2
AGAIN = "FAULT_SEEDS={} tests/live/run -n 0 modules/hls/test_hls_faults.py"


def started(w, folder, seeds):
    path = f"{os.path.dirname(PROGRAM)}:{os.environ['PYTHONPATH']}"
    return subprocess.Popen(
        ["/usr/bin/python3", PROGRAM, str(w.rtmp), str(w.http), str(folder),
         *map(str, seeds)], stdout=subprocess.PIPE, text=True,
        env=dict(os.environ, PYTHONPATH=path))


def run_all(w, folder, seeds):
    """The result of each seed."""
    programs = [started(w, folder / str(i), seeds[i::PROCESSES])
                for i in range(min(PROCESSES, len(seeds)))]
    found = []
    for p in programs:
        told = p.communicate()[0]
        found += [json.loads(line) for line in told.splitlines()
                  if line.startswith("{")]
    assert len(found) == len(seeds)
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


def endure(weir, folder, seeds):
    w = weir(locations=AT, hold=f"{HOLD:g}s", workers=2)
    results = run_all(w, folder, seeds)
    assert not tell(results), tell(results)


def seeds_asked():
    return [int(s) for s in os.environ.get("FAULT_SEEDS", "").split()]


def test_faults(weir, tmp_path):
    endure(weir, tmp_path, seeds_asked() or list(range(1, 21)))


@pytest.mark.soak
def test_a_thousand_runs(weir, tmp_path):
    count = int(os.environ.get("FAULT_RUNS", "1000"))
    for first in range(1, count + 1, 50):
        folder = tmp_path / str(first)
        folder.mkdir()
        endure(weir, folder, list(range(first, min(first + 50, count + 1))))

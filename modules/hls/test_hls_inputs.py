"""Whatever a publisher sends: rows of hls_inputs.py, and each output of them.

All rows are published at once, in real time; whichever test comes first does
that for all of them.  A row alone:

    INPUTS=scene-cuts tests/live/run -n 0 modules/hls/test_hls_inputs.py
"""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import pathlib
import subprocess

import pytest

from hls_inputs import ROWS
from weir import Weir

AT = ('{ path = "/hls"; module = "hls"; },'
      '{ path = "/ts"; module = "hls"; format = "ts"; },')
PROGRAM = os.path.join(os.path.dirname(__file__), "hls_inputs_run.py")
PROCESSES = 3
OUTPUTS = ["fmp4", "ts", "mp4", "still", "flv"]


def chosen():
    asked = os.environ.get("INPUTS", "").split()
    return [r for r in ROWS if r.name in asked or not asked and (
        not r.long or os.environ.get("WEIR_SOAK"))]


def programs(w, folder, names):
    path = f"{os.path.dirname(PROGRAM)}:{os.environ['PYTHONPATH']}"
    return [subprocess.Popen(
        ["/usr/bin/python3", PROGRAM, str(w.rtmp), str(w.http),
         f"{folder}/{i}", *names[i::PROCESSES]], stdout=subprocess.PIPE,
        text=True, env=dict(os.environ, PYTHONPATH=path))
        for i in range(min(PROCESSES, len(names)))]


def publish_all(w, folder):
    """A line of JSON for each row."""
    running = programs(w, folder, [r.name for r in chosen()])
    try:
        told = "".join(p.communicate()[0] for p in running)
    finally:
        for p in running:
            p.kill()
            p.wait()
    w.finish()
    return [line for line in told.splitlines() if line.startswith("{")]


def run_all(folder):
    """The path of a file with a line for each row, or with one for all that
    failed: that is not done again for each test."""
    folder = pathlib.Path(folder)
    folder.mkdir()
    w = Weir(folder / "weir", locations=AT, hold="2s", workers=2,
             flv='flv_wait = "1h";')
    try:
        lines = publish_all(w, folder)
    except BaseException as e:
        lines = [json.dumps({"name": "all", "failure": repr(e)})]
        w.finish(check=False)
    path = folder / "results"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def results(made_once):
    with open(made_once("hls-inputs", run_all), encoding="utf-8") as f:
        found = {r["name"]: r for r in map(json.loads, f)}
    assert "all" not in found, found["all"]
    return found


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", [r.name for r in chosen()])
def test_input(results, name, output):
    assert not results[name][output]["findings"], results[name][output]

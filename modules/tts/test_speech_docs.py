"""docs/speech.md: its lines hold for the shipped file, its pieces of weir.conf are
right.  Its commands are pasted by tests/live/test_pasted.py."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import subprocess

from patience import busy
from weir import place, run

with open("docs/speech.md", encoding="utf-8") as page:
    TEXT = page.read()


def blocks(text):
    """The pieces that are indented, by blank lines."""
    found = re.findall(r"(?<=\n\n)((?:    .*\n)+)", text)
    return [re.sub(r"^    ", "", b, flags=re.M).rstrip("\n") for b in found]


def pattern(answer):
    return ".*?".join(re.escape(p) for p in answer.split("..."))


def pasted(w, begin=""):
    """Runs each curl whose answer stands behind it; how many there were."""
    pieces, number = blocks(TEXT), 0
    for asked, said in zip(pieces, pieces[1:]):
        if not asked.startswith("curl ") or begin not in asked:
            continue
        script = asked.replace("127.0.0.1:8080", f"127.0.0.1:{w.http}")
        done = subprocess.run(
            ["sh", "-ec", script.replace("curl ", "curl -sS ")],
            cwd=w.prefix, capture_output=True, text=True, timeout=busy(20),
            check=False)
        assert done.returncode == 0 and not done.stderr, (asked, done.stderr)
        assert re.match(pattern(said), done.stdout, re.S), (asked, done.stdout)
        number += 1
    return number


def test_the_shipped_file_has_it(weir):
    """README.md's line, and those of the page."""
    with open("conf/weir.conf", encoding="utf-8") as f:
        conf = re.sub(r'^( *\{ listen = ")(127\.0\.0\.1:)?\d+"',
                      r'\g<1>127.0.0.1:0"', f.read(), flags=re.M)
    w = weir(conf)
    assert pasted(w, "hello.wav") == 3
    with open("README.md", encoding="utf-8") as f:
        line = [b for b in blocks(f.read()) if "/speech/ " in b]
    assert len(line) == 1
    subprocess.run(["sh", "-ec", line[0].replace(
        "curl ", "curl -sSf ").replace(":8080", f":{w.http}")],
        cwd=w.prefix, timeout=busy(20), check=True)
    with open(f"{w.prefix}/hello.wav", "rb") as f:
        assert f.read(4) == b"RIFF"


def test_a_build_without_speech_runs_the_shipped_file_without_it(tmp_path):
    """make run: the file that it makes names no module that is not there."""
    said = subprocess.run(["make", "-s", "-n", "run", "MODULES=flv"],
                          capture_output=True, text=True, check=True).stdout
    edit, start = said.splitlines()[-2:]
    assert "-c run/weir.conf " in start
    (tmp_path / "run").mkdir()
    subprocess.run(["sh", "-ec", edit.replace(
        "conf/weir.conf > run", f"{os.getcwd()}/conf/weir.conf > run")],
        cwd=tmp_path, check=True)
    left = (tmp_path / "run" / "weir.conf").read_text()
    assert not re.search(r"tts\b", left) and '"articles"' in left
    whole = open("conf/weir.conf", encoding="utf-8").read()
    assert [line for line in left.splitlines() if "module =" in line] == \
        [line for line in whole.splitlines()
         if "module =" in line and '"tts"' not in line and
         '"downloads"' not in line]


def test_pieces_of_weir_conf_are_good(tmp_path):
    pieces = [b for b in blocks(TEXT) if b.startswith("tts = ")]
    assert pieces
    for piece in pieces:
        place(tmp_path, re.sub(r'"\d+"', '"127.0.0.1:0"', piece))
        done = run("-t", "-c", "weir.conf", "-p", str(tmp_path),
                   prefix=tmp_path)
        assert done.returncode == 0, done.stderr

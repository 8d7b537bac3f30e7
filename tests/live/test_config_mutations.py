"""conf/weir.conf, broken at random: weir -t says where or takes it, and never
crashes.  WEIR_SEED repeats a run."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import random
import re

import pytest

from weir import place, read_text, run

SEED = int(os.environ.get("WEIR_SEED", "1"))
COUNT = 300
CHUNK = 50
PIECES = ['"', "'", "{", "}", "(", ")", "[", "]", ";", ",", "=", ":", "#",
          "//", "/*", "*/", "\\", "\n", "\0", "\xff", "@include \"x\"\n",
          "@include \"weir.conf\"\n", "0x", "99999999999999999999", "-1",
          "1e999", "true", "\"10s\"", "\"\\x00\"", "( )", "{ }", "[ ]",
          "layers", "module", "access = 5;", "servers = ( );", "L", "%s"]


def tokens(text):
    return re.findall(r'"[^"\n]*"|\w+|#.*|\s+|.', text)


def mutate(r, text):
    """Text with one to three changes."""
    for _ in range(r.randint(1, 3)):
        t = tokens(text) or [""]
        i, k = r.randrange(len(t)), r.randrange(len(t))
        kind = r.randrange(7)
        if kind == 0:
            t[i] = ""
        elif kind == 1:
            t[i], t[k] = t[k], t[i]
        elif kind == 2:
            t.insert(i, t[k])
        elif kind == 3:
            t.insert(i, r.choice(PIECES))
        elif kind == 4:
            t[i] = r.choice(PIECES)
        elif kind == 5:
            t = t[:i]
        else:
            t[i:i + r.randint(1, 30)] = []
        text = "".join(t)
    if r.random() < 0.2:
        at = r.randrange(len(text) + 1)
        text = text[:at] + chr(r.randrange(256)) + text[at + 1:]
    return text


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_mutations(tmp_path, first):
    with open("conf/weir.conf", encoding="utf-8") as f:
        good = f.read()
    place(tmp_path, good)
    assert run("-t", "-c", "weir.conf", prefix=tmp_path).returncode == 0
    for n in range(first, first + CHUNK):
        text = mutate(random.Random(f"{SEED}:{n}"), good)
        with open(tmp_path / "weir.conf", "wb") as f:
            f.write(text.encode("latin-1", "replace"))
        done = run("-t", "-c", "weir.conf", prefix=tmp_path)
        what = f"mutation {SEED}:{n} ({tmp_path}/weir.conf)"
        assert done.returncode in (0, 1), f"{what}: {done}"
        if done.returncode == 0:
            assert done.stderr == "", what
            continue
        assert done.stderr, what
        lines = text.count("\n") + 1
        for line in done.stderr.splitlines():
            match = re.fullmatch(r"(?:\S*/)?[\w.]+:(\d+): .+", line)
            assert match, f"{what}: not FILE:LINE: {line!r}"
            assert 1 <= int(match[1]) <= lines, f"{what}: {line!r}"
    assert not [name for name in os.listdir(tmp_path)
                if name.startswith("core")], read_text(tmp_path / "weir.conf")

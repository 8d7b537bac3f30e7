"""The terminal that pages are pasted into, and what is taken for a command."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re

import pytest

import tutorial

pytestmark = pytest.mark.once


@pytest.fixture
def terminal(tmp_path):
    t = tutorial.Terminal(tmp_path, {"PATH": os.environ["PATH"]})
    yield t
    t.close()


@pytest.mark.parametrize("commands, said, statuses", [
    (["echo one", "echo two"], "one\ntwo\n", [0, 0]),
    (["false", "# nothing", "echo $?"], "1\n", [1, 1, 0]),
    (["for i in 1 2; do\n  echo $i\ndone", "cat <<'END'\na\nEND"], "1\n2\na\n",
     [0, 0]),
    # A program that reads eats what is pasted behind it.
    (["head -n 1", "echo true"], "", None),
    (["printf '\\033[1mName\\033[0m: x\\n'"], "Name: x\n", [0]),
])
def test_pasting(terminal, commands, said, statuses):
    if statuses is None:
        with pytest.raises(AssertionError, match="reads what is pasted"):
            terminal.paste(commands, timeout=0.5)
    else:
        assert terminal.paste(commands) == (said, statuses)


PAGE = """# A page

    curl http://HOST/ \\
      -d x

    {"a":...}

Words.

    $ weirctl show x
    name
    here

    { path = "/"; }

    worker --> role
"""


def test_what_a_page_has(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text(PAGE)
    monkeypatch.chdir(tmp_path)
    found = tutorial.paragraphs("page.md")
    assert [p.kind for p in found] == \
        ["command", "answer", "command", "answer", "code", "other"]
    assert found[2].commands == ["weirctl show x"]
    assert found[0].commands == ["curl http://HOST/ \\\n  -d x"]


@pytest.mark.parametrize("answer, said, good", [
    ('{"a":1,...}', '{"a":1,"b":2}', True),
    ("name  state\n a     up", "name        state\n a    up\n", True),
    ("one\n...\nthree", "one\ntwo\nthree\n", True),
    ("one\nthree", "one\ntwo\nthree\n", False),
    ("200 audio/wav", "503 application/json", False),
])
def test_answers(answer, said, good):
    assert bool(re.match(tutorial.pattern(answer), said, re.S)) == good

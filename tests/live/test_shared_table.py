"""tests/lint/shared says what is wrong with the table of shared words."""
# SPDX-License-Identifier: BSD-2-Clause

import subprocess

import pytest

from patience import busy
from shared_table import BEGIN, END, differences, names_of, read_table

PAGE = "docs/security.md"
WORDS = {"a: s.one": True, "a: s.two.three": True, "b: cells": True,
         "c: m.x": False, "c: m.y": False}
TABLE = f"""
| `z: before.it` | who | what |
{BEGIN}

| words | writer | bound |
|---|---|---|
| `a: s.one` `two.three` | its process | `look()` |
| `b: cells` | any process | none |
| `c: m.*` | the master | |

{END}
"""


def problems(old, new, words=WORDS):
    assert old in TABLE
    return differences(read_table(TABLE.replace(old, new)), words)


def test_names_of_a_cell():
    assert names_of("`a: s.one` `two.three` and `b: cells` `c: t.x` `y`") == [
        "a: s.one", "a: s.two.three", "b: cells", "c: t.x", "c: t.y"]


def test_a_whole_table():
    assert problems("", "") == []


def test_a_word_without_a_row():
    found = problems("", "", {**WORDS, "a: s.new": True})
    assert len(found) == 1 and found[0].startswith(
        "`a: s.new` lies in shared memory and has no row: say there")
    assert len(problems(" `two.three`", "")) == 1


def test_a_row_without_its_word():
    assert problems("`b: cells`", "`b: cells` `b: gone`") == [
        "line 8: there is no `b: gone`: take it out"]
    assert problems("`c: m.*`", "`c: m.*` `c: other.*`") == [
        "line 9: there is no `c: other.*`: take it out"]


def test_a_word_with_two_rows():
    assert problems("`b: cells`", "`b: cells` `a: s.one`") == [
        "`a: s.one` has two rows: lines 7, 8"]


def test_only_the_masters_words_are_one():
    assert problems("`a: s.one` `two.three`", "`a: s.*`") == [
        "line 7: `a: s.*`: name the words"]


def test_the_writer_is_the_kernels_word():
    assert problems("| its process |", "| the master |") == [
        f"line 7: `{name}` is writable by children, the row says the master's"
        for name in ("a: s.one", "a: s.two.three")]
    assert len(problems("| the master |", "| any process |")) == 3


@pytest.mark.parametrize("old, new, said", [
    ("`slot: slot.turns`", "`slot: slot.turn`", (
        "`slot: slot.turns` lies in shared memory and has no row",
        "there is no `slot: slot.turn`: take it out")),
    ("| `exceptions: struck` | any process |",
     "| `exceptions: struck` | the master |", (
         "`exceptions: struck` is writable by children",))])
def test_the_lint_itself(tmp_path, old, new, said):
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    assert text.count(old) == 1
    page = tmp_path / "security.md"
    page.write_text(text.replace(old, new))
    done = subprocess.run(["tests/lint/shared", page], capture_output=True,
                          text=True, check=False, timeout=busy(60))
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == len(said), done.stdout
    for text in said:
        assert text in done.stdout

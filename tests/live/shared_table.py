"""The table of docs/security.md that tells of each word in the memory that
weir's processes share, and what it has to tell of.

A row is  | words | writer | bound |.  Words stand in backticks: the file of the
variable, the struct, the member: `slot: slot.turns`.  The words behind it in
the cell that have no file are of the same struct: `epoch_seen`.  "*" at the end
of one of memory that the master alone writes stands for all that begin so.
"""
# SPDX-License-Identifier: BSD-2-Clause

import re

BEGIN, END = "<!-- shared words -->", "<!-- end -->"
MASTER = "the master"


class Row:
    def __init__(self, line, words, writer):
        self.line, self.words, self.writer = line, words, writer


def names_of(cell):
    """["slot: slot.turns", ...]"""
    names, stem = [], ""
    for text in re.findall(r"`([^`]+)`", cell):
        if ": " in text:
            stem = re.match(r"\w+: (\w+\.)?", text)[0]
            names.append(text)
        else:
            names.append(stem + text)
    return names


def read_table(text):
    """Rows between the marks, numbered by their lines."""
    rows, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        inside = (inside or line == BEGIN) and line != END
        cells = [c.strip() for c in line.split("|")[1:-1]]
        if inside and len(cells) == 3 and "`" in cells[0]:
            rows.append(Row(number, names_of(cells[0]), cells[1]))
    return rows


def is_meant(told, name):
    return name.startswith(told[:-1]) if told.endswith("*") else told == name


def differences(rows, words):
    """What is wrong, a text each.  words: {name: whether children can write
    there}."""
    found = []
    for name, writable in words.items():
        told = [r for r in rows if any(is_meant(t, name) for t in r.words)]
        if not told:
            found.append(
                f"`{name}` lies in shared memory and has no row: say there who "
                "writes it and what a reader makes of a wrong one; write that "
                "reader and its test first")
        for r in told:
            if (r.writer == MASTER) == writable:
                found.append(f"line {r.line}: `{name}` is " + (
                    "writable by children, the row says the master's"
                    if writable else
                    f"the master's alone to write: say \"{MASTER}\""))
        if len(told) > 1:
            found.append(f"`{name}` has two rows: lines " +
                         ", ".join(str(r.line) for r in told))
    for r in rows:
        for t in r.words:
            if t.endswith("*") and r.writer != MASTER:
                found.append(f"line {r.line}: `{t}`: name the words")
            elif not any(is_meant(t, name) for name in words):
                found.append(f"line {r.line}: there is no `{t}`: take it out")
    return found

"""What a page of docs/ tells to paste is pasted, and the answers are those that
stand there.

A block of commands begins with one of COMMANDS; one that begins otherwise is
what the block before it says, where "..." is anything.  The blocks of a page
are run in one shell, one after the other."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import subprocess

from patience import busy

COMMANDS = ("curl ", "for ", "cursor=", "tag=", "weirctl ")


def blocks(text):
    """Those that are indented by four, without it; of lists and tables there
    are none in tutorials."""
    found = re.findall(r"(?<=\n\n)((?:    .*\n|\n(?=    ))+)", text)
    return [re.sub(r"^    ", "", b, flags=re.M).strip("\n")
            for group in found for b in re.split(r"\n\n+", group.strip("\n"))]


def written(block):
    """The files that a block makes by here documents."""
    return dict(re.findall(r"cat > (\S+) <<'END'\n(.*?\n)END\n", block, re.S))


def pattern(answer):
    """Of what has to be in the output, in this order."""
    parts = re.split(r"\n?\.\.\.\n?", answer)
    return ".*?".join(re.escape(p).replace(r"\n", r"\s*\n") for p in parts)


def pasted(text, folder, here):
    """Runs the commands of a page; how many there were, and how many answers
    were held against the page.  here() changes what it is given to fit this
    machine: ports, paths."""
    said, asked, compared = None, 0, 0
    for block in blocks(text):
        if block.startswith(COMMANDS):
            script = here(block).replace("curl ", "curl -sS ")
            done = subprocess.run(["bash", "-c", "touch state; . ./state; " +
                                   script + "\ndeclare -p tag cursor > state "
                                   "2>/dev/null; true"],
                                  cwd=folder, capture_output=True, text=True,
                                  timeout=busy(20), check=True)
            assert not done.stderr, (block, done.stderr)
            said, asked = done.stdout.replace("\r", ""), asked + 1
        elif said is not None and not block.startswith("npx "):
            assert re.match(pattern(here(block)), said, re.S), (block, said)
            said, compared = None, compared + 1
    return asked, compared

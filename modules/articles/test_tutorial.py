"""What docs/articles.md, docs/versions.md and README.md tell to paste is pasted,
and the answers are those that stand there.

A block of commands begins with one of COMMANDS; one that begins otherwise is
what the block before it says, where "..." is anything.  The blocks of a page
are run in one shell, one after the other."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import subprocess

import pytest

from patience import busy
from weir import HOSTS, TRACED

COMMANDS = ("curl ", "for ", "cursor=", "tag=")


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


def pasted(text, w, folder):
    """Runs the commands of a page; the number of answers that were held
    against the page."""
    said, asked, compared = None, 0, 0
    for block in blocks(text):
        if block.startswith(COMMANDS):
            script = block.replace("127.0.0.1:8080", f"127.0.0.1:{w.http}")
            script = script.replace("curl ", "curl -sS ")
            done = subprocess.run(["bash", "-c", ". ./state; " + script +
                                   "\ndeclare -p tag cursor > state "
                                   "2>/dev/null; true"],
                                  cwd=folder, capture_output=True, text=True,
                                  timeout=busy(20), check=True)
            assert not done.stderr, (block, done.stderr)
            said, asked = done.stdout.replace("\r", ""), asked + 1
        elif said is not None and not block.startswith("npx "):
            wanted = block.replace("127.0.0.1:8080", f"127.0.0.1:{w.http}")
            assert re.match(pattern(wanted), said, re.S), (wanted, said)
            said, compared = None, compared + 1
    return asked, compared


@pytest.mark.parametrize("page, number", [("articles", 10), ("versions", 7)])
def test_a_page(weir, tmp_path, page, number):
    with open(f"docs/{page}.md", encoding="utf-8") as f:
        text, _ = f.read().split("\n# How it works\n")
    files = {k: v for b in blocks(text) for k, v in written(b + "\n").items()}
    main = files.pop(f"{page}.conf")
    for name, inner in files.items():
        (tmp_path / name).write_text(inner)
        main = main.replace(f'@include "{name}"',
                            f'@include "{tmp_path}/{name}"')
    w = weir(main.replace(
        'listen = "127.0.0.1:8080";', f'listen = "127.0.0.1:0"; {HOSTS}') +
        f'stop_grace = "0"; {TRACED}\n')
    (tmp_path / "state").write_text("")
    asked, compared = pasted(text, w, tmp_path)
    assert asked >= number and compared >= number


def test_the_readme(weir, tmp_path):
    """On the shipped configuration, at other ports."""
    with open("conf/weir.conf", encoding="utf-8") as f:
        conf = re.sub(r'^( *\{ listen = ")(127\.0\.0\.1:)?\d+"',
                      r'\g<1>127.0.0.1:0"', f.read(), flags=re.M)
    w = weir(conf)
    with open("README.md", encoding="utf-8") as f:
        text = f.read()
    page = [b for b in blocks(text) if "/articles" in b and
            b.startswith("curl ")]
    assert len(page) == 1
    (tmp_path / "state").write_text("")
    asked, _ = pasted("\n\n    " + page[0].replace("\n", "\n    ") +
                      "\n\n    " + '{"id":1,"title":"one",...}\n'
                      '    [{"id":1,...}]\n    {"data":[{"id":1,...}],...}\n',
                      w, tmp_path)
    assert asked == 1

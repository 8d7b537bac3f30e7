"""What docs/articles.md, docs/versions.md and README.md tell to paste is pasted,
and the answers are those that stand there."""
# SPDX-License-Identifier: BSD-2-Clause

import re

import pytest

from tutorial import blocks, pasted, written
from weir import HOSTS, TRACED


def at(w):
    return lambda text: text.replace("127.0.0.1:8080", f"127.0.0.1:{w.http}")


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
    asked, compared = pasted(text, tmp_path, at(w))
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
    asked, _ = pasted("\n\n    " + page[0].replace("\n", "\n    ") +
                      "\n\n    " + '{"id":1,"title":"one",...}\n'
                      '    [{"id":1,...}]\n    {"data":[{"id":1,...}],...}\n',
                      tmp_path, at(w))
    assert asked == 1

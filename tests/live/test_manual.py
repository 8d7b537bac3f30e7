"""The examples of a manual page work when they are pasted: weir -t takes each
piece of weir.conf below EXAMPLES, and weir knows each command of weirctl there.

A piece of a literal block ends at an empty line.  It is a whole weir.conf when
it begins with a setting, and a server or locations when it begins with their
first setting; other pieces are commands."""
# SPDX-License-Identifier: BSD-2-Clause

import glob
import os
import re

import pytest

from tls_files import Certificates
from weir import place, run

PAGES = sorted(glob.glob("man/*.[1-8]") + glob.glob("modules/*/*.7"))
SERVER = 'http = { servers = ( %s ); };\n'
LOCATIONS = SERVER % '{ listen = "8080"; locations = ( %s ); }'


def examples(page):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    section = re.search(r"^\.Sh EXAMPLES\n(.*?)^\.Sh ", text, re.M | re.S)
    assert section, f"{page}: has no EXAMPLES"
    return section[1]


def pieces(page):
    section = examples(page)
    blocks = re.findall(r"^\.Bd.*?\n(.*?)^\.Ed", section, re.M | re.S)
    assert blocks or "\n.Dl " in section, f"{page}: EXAMPLES has no example"
    return [piece.replace(r"\e", "\\") for block in blocks
            for piece in block.strip("\n").split("\n\n")]


def whole(piece):
    """The weir.conf that a piece is, or is a part of; None: commands."""
    if re.match(r"\w+ = ", piece):
        return piece
    if piece.startswith("{ listen"):
        return SERVER % piece
    if piece.startswith("{ path"):
        return LOCATIONS % piece
    return None


EXAMPLES = [pytest.param(text, id=f"{os.path.basename(page)}-{number}")
            for page in PAGES for number, piece in enumerate(pieces(page), 1)
            if (text := whole(piece))]


def here(text, folder):
    """At ports that are free, with the files and folders that it names, and
    with hello where it names the module that its reader has made."""
    text = re.sub(r'"(?:127\.0\.0\.1:)?\d+"', '"127.0.0.1:0"', text)
    text = re.sub(r'(\$\{env:\w+_PORT:-)\d+\}', r'\g<1>127.0.0.1:0}', text)
    text = text.replace('module = "mine"', 'module = "hello"')
    if ".pem" in text:
        files = Certificates(folder / "tls")
        files.make("www", "media.example.org")
        text = re.sub(r'"/[^"]*/fullchain\.pem"', f'"{files.path("www.pem")}"',
                      text)
        text = re.sub(r'"/[^"]*/privkey\.pem"', f'"{files.path("www.key")}"',
                      text)
    for path in re.findall(r"\$\{file:([^}]*)\}", text):
        os.makedirs(f"{folder}/secrets", exist_ok=True)
        secret = f"{folder}/secrets/{os.path.basename(path)}"
        with open(secret, "w", encoding="ascii") as f:
            f.write("password=0123456789abcdef\n")
        os.chmod(secret, 0o640)
        text = text.replace(path, secret)
    for root in re.findall(r'\broot = "([^"]*)"', text):
        os.makedirs(f"{folder}/{root}", exist_ok=True)
    return text


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_a_good_configuration(text, tmp_path):
    place(tmp_path, here(text, tmp_path))
    done = run("-t", "-c", "weir.conf", "-p", str(tmp_path), prefix=tmp_path)
    assert done.returncode == 0, done.stderr


def test_weir_conf_has_an_example_of_each_kind():
    """So that none is taken for commands."""
    assert sum("weir.conf.5" in e.id for e in EXAMPLES) >= 7


def test_a_command_of_an_example_is_one():
    known = tuple(line.split("  ")[0] for line in run("-C").stdout.splitlines())
    commands = [command for page in PAGES for command in
                re.findall(r"^(?:\.Dl )?weirctl (?:--json )?(.*)",
                           examples(page), re.M)]
    assert len(commands) >= 4
    for command in commands:
        assert command.startswith(known), command

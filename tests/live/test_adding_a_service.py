"""The copy of a module that docs/adding-a-service.md makes is built, runs, passes
its tests and changes no file outside its folder.  The other commands of the page
are pasted by test_pasted.py."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import shutil
import subprocess

import pytest

import weir as weir_py
from control_client import ctl_json
from http_client import get, request
from module_tree import (ROOT, OUTPUT, VARIANT, configure, copy_tree, run_in,
                         run_tests)

pytestmark = pytest.mark.once

PAGE = f"{ROOT}/docs/adding-a-service.md"


def blocks():
    """The pieces of the page that are indented, by blank lines."""
    with open(PAGE, encoding="utf-8") as f:
        found = re.findall(r"(?<=\n\n)((?:    .*\n)+)", f.read())
    return [re.sub(r"^    ", "", b, flags=re.M) for b in found]


def block(begin):
    return [b for b in blocks() if b.startswith(begin)][0]


def make_clicks(tree):
    """A tree under git with the copy, built; its folder."""
    copy_tree(tree)
    for name in ("docs", "man", "tests"):
        shutil.copytree(f"{ROOT}/{name}", f"{tree}/{name}")
    for name in (".gitignore", ".clang-format"):
        shutil.copy2(f"{ROOT}/{name}", tree)
    run_in(tree, "sh", "-ec", "git init -q . && git add . && "
           "git -c user.name=t -c user.email=t@t commit -qm tree")
    copy, build = block("cp -r").split("./configure")
    assert "make" in build
    run_in(tree, "sh", "-ec", copy)
    configure(tree)
    run_in(tree, "make", f"VARIANT={VARIANT}", f"{OUTPUT}/weir")
    if OUTPUT != "build":
        os.symlink(f"{tree}/{OUTPUT}/weir", f"{tree}/build/weir")
    return tree


@pytest.fixture
def clicks(made_once):
    return made_once("clicks", make_clicks)


def test_the_copy_changes_no_file_outside_its_folder(clicks):
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=clicks,
                             capture_output=True, text=True, check=True).stdout
    assert changed == "?? modules/clicks/\n"
    run_in(clicks, "tests/lint/run", "layers", "pages", "manual", "metrics")
    run_in(clicks, "tests/lint/format", "modules/clicks")


def test_the_copy_passes_its_tests(clicks):
    run_tests(clicks, "clicks")


def test_the_copy_runs_beside_the_original(clicks, weir, monkeypatch):
    monkeypatch.setattr(weir_py, "BINARY", f"{clicks}/{OUTPUT}/weir")
    w = weir(top='visits = { name = "v"; }; clicks = { name = "c"; };',
             locations='{ path = "/v"; module = "visits"; },'
                       '{ path = "/c"; module = "clicks"; },', workers=2)
    for n in (1, 2):
        assert request(w.http, "POST", "/c/x").json() == {"room": "x",
                                                          "clicks": n}
    assert request(w.http, "POST", "/v/x").json()["visits"] == 1
    assert get(w.http, "/c").json()["instance"] == "c"
    assert ctl_json(w, "show", "clicks") == [
        {"name": "c", "rooms": 1, "clicks": 2}]
    assert "weir_clicks_counted_total 2" in get(
        w.http, "/metrics").body.decode()

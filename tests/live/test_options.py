"""Every program takes the long and the short spelling of help and version, and
says what is allowed where an option is wrong."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import subprocess

import pytest

from patience import busy
from weir import BINARY

PROGRAMS = ("weir", "weirctl", "weir-speaker", "weir-fetch", "weir-supervisor",
            "weir-load")
LONG = {
    "weir": ("config", "prefix", "test", "print", "signal", "keys", "metrics",
             "commands", "build"),
    "weirctl": ("socket", "config", "prefix", "timeout", "json"),
}


def asked(program, *arguments):
    path = f"{os.path.dirname(BINARY)}/{program}"
    if not os.path.exists(path):
        pytest.skip(f"{program} is not built")
    return subprocess.run([path, *arguments], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=busy(20),
                          check=False)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("option", ["-h", "--help", "-v", "--version"])
def test_help_and_version(program, option):
    done = asked(program, option)
    assert (done.returncode, done.stderr) == (0, "")
    words = "--version" if option in ("-h", "--help") else f"{program} 0."
    assert words in done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("option", ["--nonsense", "-~"])
def test_a_wrong_option(program, option):
    done = asked(program, option)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--help" in done.stderr


@pytest.mark.parametrize("program, name", [
    (program, name) for program, names in LONG.items() for name in names])
def test_a_long_spelling(program, name):
    assert f"--{name}" in asked(program, "--help").stdout
    assert "unrecognized" not in asked(program, f"--{name}", "--help").stderr


def test_long_spellings_do_the_same():
    for short, long in (("-K", "--keys"), ("-M", "--metrics"),
                        ("-C", "--commands"), ("-V", "--build")):
        one, other = asked("weir", short), asked("weir", long)
        assert one.stdout == other.stdout and one.returncode == 0

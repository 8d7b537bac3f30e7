"""Cgroups (version 2) of tests, where the kernel lets us make some."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re

import pytest

import weir as weir_py
from weir import read_text, wait_for

CONTROLLERS = ("cpu", "memory", "pids")


def own_cgroup():
    """The folder of the cgroup that weir will be in, as the kernel shows it
    to us; None: nothing can be made there."""
    own = re.search(r"^0::(/.*)$", read_text("/proc/self/cgroup"), re.M)
    for line in read_text("/proc/self/mountinfo").splitlines():
        fields = line.split()
        if fields[fields.index("-") + 1] == "cgroup2" and own:
            folder = os.path.normpath(
                f"{fields[4]}/{os.path.relpath(own[1], fields[3])}")
            try:
                os.mkdir(f"{folder}/weir-test.{os.getpid()}")
                os.rmdir(f"{folder}/weir-test.{os.getpid()}")
                return folder
            except OSError:
                return None
    return None


def cgroup_of(pid):
    return re.search(r"^0::(.*)$", read_text(f"/proc/{pid}/cgroup"), re.M)[1]


def controllers_of(folder):
    return read_text(f"{folder}/cgroup.controllers").split()


@pytest.fixture
def delegated(tmp_path, monkeypatch):
    """A cgroup to which controllers are delegated; each weir that starts is
    the only process in it, as a service manager would have it."""
    above = own_cgroup()
    if above is None or not set(CONTROLLERS) <= set(
            read_text(f"{above}/cgroup.subtree_control").split()):
        pytest.skip("no controllers of cgroups are delegated to the tests")
    folder = f"{above}/weir-test.{os.getpid()}"
    os.mkdir(folder)
    script = tmp_path / "weir-in-a-cgroup"
    script.write_text(f'#!/bin/sh\necho $$ > "{folder}/cgroup.procs"\n'
                      f'exec "{weir_py.BINARY}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setattr(weir_py, "BINARY", str(script))
    yield folder
    with open(f"{folder}/cgroup.kill", "w", encoding="ascii") as f:
        f.write("1")

    def removed():
        for path, folders, _ in os.walk(folder, topdown=False):
            for name in folders:
                os.rmdir(f"{path}/{name}")
        os.rmdir(folder)
        return True

    def gone():
        try:
            return removed()
        except OSError:
            return False
    wait_for(gone, 10, f"no {folder}")

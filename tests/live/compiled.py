"""Keeps the test files as pytest has compiled them, with its asserts, below
build/: to make them takes each process of the tests several seconds.

A plugin of pytest, loaded before the others.  The environment does not say it
(PYTHONPYCACHEPREFIX): the programs of the tests inherit that.
"""
# SPDX-License-Identifier: BSD-2-Clause

import fcntl
import gc
import os
import sys

import pytest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../build/pycache")

os.makedirs(FOLDER, exist_ok=True)
sys.pycache_prefix = os.path.abspath(FOLDER)
sys.dont_write_bytecode = False


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """The first process compiles; those that come meanwhile wait for it, and
    read then all at once.  What is collected stays, so no look for garbage goes
    through it."""
    folder = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(folder, fcntl.LOCK_SH)
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
    os.close(folder)

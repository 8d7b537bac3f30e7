"""Which build runs a test: one of both, in turns.

$TEST_TURN is a word that changes with each change ("make check": of the
commit).  With which build a test is run, the word says; the next word draws
anew.  Without one, each build runs all tests.
"""
# SPDX-License-Identifier: BSD-2-Clause

import hashlib
import os


def in_turn(name, sanitized):
    turn = os.environ.get("TEST_TURN")
    if not turn:
        return True
    drawn = hashlib.sha256(f"{turn} {name}".encode()).digest()[0]
    return drawn & 1 == sanitized

"""Which build runs a test: one of both, always."""
# SPDX-License-Identifier: BSD-2-Clause

from types import SimpleNamespace

import pytest

import weir as weir_py
from weir_fixtures import is_run

NAMES = [f"test_{number}" for number in range(100)]
PLAIN = SimpleNamespace()
ASKS = SimpleNamespace(SANITIZED=False)


def run_with(monkeypatch, sanitized, module=PLAIN):
    monkeypatch.setattr(weir_py, "SANITIZED", sanitized)
    return {name for name in NAMES if is_run(name, module)}


@pytest.mark.parametrize("turn", ["0", "c1a820ab", "93a4f124"])
def test_each_is_run_with_one(monkeypatch, turn):
    monkeypatch.setenv("TEST_TURN", turn)
    with_both = [run_with(monkeypatch, False), run_with(monkeypatch, True)]
    assert with_both[0] | with_both[1] == set(NAMES)
    assert not with_both[0] & with_both[1]
    assert all(len(half) > 20 for half in with_both)


def test_another_change_draws_anew(monkeypatch):
    monkeypatch.setenv("TEST_TURN", "c1a820ab")
    before = run_with(monkeypatch, True)
    monkeypatch.setenv("TEST_TURN", "93a4f124")
    assert run_with(monkeypatch, True) != before


@pytest.mark.parametrize("sanitized", [False, True])
def test_all_are_run_without_a_word(monkeypatch, sanitized):
    monkeypatch.delenv("TEST_TURN", raising=False)
    assert run_with(monkeypatch, sanitized) == set(NAMES)


@pytest.mark.parametrize("sanitized", [False, True])
def test_those_that_ask_for_the_build_are_run_with_both(monkeypatch, sanitized):
    monkeypatch.setenv("TEST_TURN", "c1a820ab")
    assert run_with(monkeypatch, sanitized, ASKS) == set(NAMES)

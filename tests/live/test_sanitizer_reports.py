"""What a live test takes for a report of the sanitizers."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from weir import Weir

FALL = """Tracer caught signal 11: addr=0x380 pc=0x445870 sp=0x6522eddeed10
==12==LeakSanitizer has encountered a fatal error.
==12==HINT: For debugging, try setting environment variable LSAN_OPTIONS
"""
ALERT = "[alert] 3 worker 0 (pid %d) ended with status %d"


def problems(tmp_path, monkeypatch, report, log):
    w = Weir.__new__(Weir)
    w.prefix, w.pid, w.allowed = str(tmp_path), 3, []
    w.children_may_crash = False
    monkeypatch.setattr(w, "log", lambda: log)
    (tmp_path / "sanitizer").mkdir()
    (tmp_path / "sanitizer" / "report.12").write_text(report)
    found = []
    w._check_logs(found)
    return found


def test_a_leak_checker_that_falls(tmp_path, monkeypatch):
    assert problems(tmp_path, monkeypatch, FALL, ALERT % (12, 1)) == []


@pytest.mark.parametrize("report, pid, status, count", [
    ("", 12, 1, 1), (FALL, 13, 1, 1), (FALL, 12, 2, 1),
    (FALL + "==12==ERROR: AddressSanitizer: heap-use-after-free", 12, 1, 2)])
def test_all_else_is_a_fault(tmp_path, monkeypatch, report, pid, status, count):
    log = ALERT % (pid, status)
    assert len(problems(tmp_path, monkeypatch, report, log)) == count

"""Fixtures of all live tests, those below modules/ included."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal

import pytest

import media
import tls_files
from weir import Weir

LIMIT = 1800  # seconds a test may take


def pytest_collection_modifyitems(config, items):
    """Soak tests run when they are asked for."""
    if os.environ.get("WEIR_SOAK"):
        return
    dropped = [i for i in items if i.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=dropped)
    items[:] = [i for i in items if i not in dropped]


class TooLong(BaseException):
    """Not an OSError, as TimeoutError is: tests expect some of those."""


@pytest.fixture(autouse=True)
def bounded(request):
    """No test hangs."""
    def late(_number, _frame):
        raise TooLong(f"the test took longer than {LIMIT} s")

    if request.node.get_closest_marker("soak"):
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Fixtures see whether the test failed; its weir's log is shown."""
    report = (yield).get_result()
    if report.when == "call":
        item.test_failed = report.failed
        for w in getattr(item, "weirs", ()) if report.failed else ():
            report.sections.append((f"log of {w.prefix}", w.log()[-6000:]))


@pytest.fixture
def weir(request, tmp_path):
    """Starts a weir; each is stopped and checked when the test is over."""
    started = request.node.weirs = []

    def start(text=None, **parts):
        folder = tmp_path / f"weir{len(started)}"
        folder.mkdir()
        started.append(Weir(folder, text, **parts))
        return started[-1]

    yield start
    for w in reversed(started):
        w.finish(check=not getattr(request.node, "test_failed", False))


@pytest.fixture
def tool():
    """Programs that are killed when the test is over: tool(media.Tool(..))."""
    running = []

    def keep(t):
        running.append(t)
        return t

    yield keep
    for t in running:
        t.kill()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """localhost.pem and its chain; the tests make others."""
    c = tls_files.Certificates(tmp_path_factory.mktemp("tls"))
    c.make("localhost", "localhost", "127.0.0.1")
    return c


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """Six seconds of H.264 and AAC as an FLV file."""
    return media.make_sample(tmp_path_factory.mktemp("media") / "sample.flv")

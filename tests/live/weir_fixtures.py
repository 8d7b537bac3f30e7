"""Fixtures of all live tests, those below modules/ included."""
# SPDX-License-Identifier: BSD-2-Clause

import fcntl
import itertools
import os
import signal
import socket
import sys
import uuid

import pytest

import database
import media
import tls_files
import weir as weir_py
from turns import in_turn
from weir import Weir

LIMIT = 600  # seconds a test may take
SILENCE = 120  # seconds that a connection of a test waits, if it does not say


def is_run(name, module):
    """Whether a test is run with this build.  Tests of a module that asks for
    the build (SANITIZED) look at other things with each, and are run with
    both."""
    return hasattr(module, "SANITIZED") or in_turn(name, weir_py.SANITIZED)


def pytest_collection_modifyitems(config, items):
    """Soak tests run when they are asked for, and some with one build only."""
    left_out = [] if os.environ.get("WEIR_SOAK") else ["soak"]
    left_out += ["once"] if weir_py.SANITIZED else []

    def left(item):
        return any(item.get_closest_marker(name) for name in left_out) or \
            not item.get_closest_marker("once") and \
            not is_run(item.nodeid, item.module)
    dropped = [i for i in items if left(i)]
    config.hook.pytest_deselected(items=dropped)
    items[:] = [i for i in items if i not in dropped]


create_connection = socket.create_connection


def connect_patiently(address, timeout=SILENCE, *more, **named):
    """No test waits for ever.  A default of all sockets would not do: with a
    timeout, a socket that has a path does not wait for a full queue."""
    return create_connection(address, timeout, *more, **named)


socket.create_connection = connect_patiently


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


def pytest_runtest_logreport(report):
    """Names what failed in the file $LIVE_FAILED, for tests/live/run."""
    path = os.environ.get("LIVE_FAILED")
    if report.failed and path:
        with open(path, "a", encoding="utf-8") as f:
            f.write(report.nodeid + "\n")


@pytest.fixture(params=weir_py.LANDLOCKS, ids=lambda v: f"landlock-{v}" if v
                else "newest")
def landlock_told(request, monkeypatch):
    """The test runs at several versions of Landlock, of which its weirs are
    told; None: they are not."""
    monkeypatch.setattr(weir_py, "BINARY", weir_py.at_version(
        weir_py.BINARY, request.param))
    return request.param


@pytest.fixture
def databases():
    """Those of the test; they go when its weirs are gone."""
    made = []
    yield made
    for d in made:
        d.drop()


@pytest.fixture
def weir(request, tmp_path, databases):
    """Starts a weir; each is stopped and checked when the test is over."""
    started = request.node.weirs = []
    numbers = itertools.count()

    def start(text=None, **parts):
        folder = tmp_path / f"weir{next(numbers)}"
        folder.mkdir()
        started.append(Weir(folder, text, **parts))
        return started[-1]

    yield start
    for w in reversed(started):
        w.finish(check=not getattr(request.node, "test_failed", False))


def session_folder(config):
    """One that all processes of the session know."""
    folder = config._tmp_path_factory.getbasetemp()
    return str(folder.parent if hasattr(config, "workerinput") else folder)


def pytest_unconfigure(config):
    """The last one out turns off the server."""
    if "browser" in sys.modules:
        sys.modules["browser"].quit_idle()
    if not hasattr(config, "workerinput"):
        database.end_common_server(session_folder(config))


@pytest.fixture
def postgres_server(request):
    """The server of all tests; who stops it needs one of its own:
    database.Server()."""
    return database.common_server(session_folder(request.config))


@pytest.fixture(scope="session")
def made_once(request):
    """made_once(name, make): what make(folder) returned, a path, to whoever
    came first of all processes of the session."""
    def get(name, make):
        folder = f"{session_folder(request.config)}/{name}"
        with open(folder + ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(folder + ".made"):
                with open(folder + ".path", "w", encoding="utf-8") as f:
                    f.write(make(folder))
                os.rename(folder + ".path", folder + ".made")
        with open(folder + ".made", encoding="utf-8") as f:
            return f.read()

    return get


@pytest.fixture(scope="session")
def binary_with(made_once):
    """binary_with("gate"): a weir that has modules/gate of tests/live as
    well."""
    from module_tree import build_with  # needs what we make here
    return lambda module: made_once(
        f"with-{module}", lambda tree: build_with(module, tree))


@pytest.fixture(scope="session")
def notes_binary(binary_with):
    """A weir that keeps notes in the store."""
    return binary_with("notes")


def use(monkeypatch, backend):
    monkeypatch.setitem(weir_py.DEFAULTS, "backend", backend.settings)
    return backend


@pytest.fixture
def postgres(request, monkeypatch, postgres_server, databases):
    """A database of the test's own, which all weirs of it use."""
    name = f"{request.node.name[:30]}_{uuid.uuid4().hex[:8]}"
    databases.append(database.Postgres(postgres_server, "t_" + name))
    return use(monkeypatch, databases[-1])


@pytest.fixture(params=["sqlite", "postgres"])
def store_backend(request, monkeypatch):
    """The test runs on both: its weirs keep their store there."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres")
    return use(monkeypatch, database.Sqlite())


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


@pytest.fixture
def echo(weir, tool):
    """A server of Engine.IO and Socket.IO that echoes: echo(ping_timeout=..)
    with the settings of socket_help."""
    from socket_help import Echo
    return lambda **settings: Echo(weir, tool, settings)


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

"""The store on a PostgreSQL server that is killed, stopped, away; several
weirs on one database.

What holds on both databases is in test_store.py."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import signal
import socket
import threading
import uuid
from contextlib import suppress

import pytest

import weir as weir_py
from database import Postgres, Server
from feed import Feed, read_until
from http_client import Http, get
from rtmp_client import player
from test_store import (LOCATION, Writers, ask, keeper, metric,
                        serves_without_store)
from weir import descendants, run, wait_for

SHORT = 'timeout = "500ms";'


@pytest.fixture
def notes(notes_binary, weir, monkeypatch):
    monkeypatch.setattr(weir_py, "BINARY", notes_binary)
    return lambda **parts: weir(locations=LOCATION, **parts)


@pytest.fixture(scope="module")
def server():
    """One that tests may stop and kill."""
    made = Server()
    yield made
    made.drop()


@pytest.fixture
def own(server, monkeypatch, databases):
    """A database on it, for all weirs of the test."""
    made = Postgres(server, f"own_{uuid.uuid4().hex[:8]}")
    databases.append(made)
    monkeypatch.setitem(weir_py.DEFAULTS, "backend", made.settings)
    yield made
    for pid in server.pids():
        with suppress(ProcessLookupError):  # a session that has just ended
            os.kill(pid, signal.SIGCONT)
    if not server.pids():
        server.start()


def names(database):
    return [n for n, in database.query(None, "SELECT name FROM note")]


def works_again(w, name):
    wait_for(lambda: ask(w, "add", name=name, text="x").status == 200, 20,
             "a write")


def start_without(notes, server, **parts):
    """A weir whose server comes later."""
    server.stop()
    w = notes(**parts)
    w.may_grow = True
    return w


# ---- the server goes and comes ----

def test_a_server_that_is_killed_again_and_again(notes, own):
    """Writers wait; nothing that was answered is lost, nothing done twice."""
    w = notes(workers=2, store='timeout = "30s";')
    writers = Writers(w, 16)
    for _ in range(2):
        writers.wait(50)
        own.server.kill()
        own.server.start()
    writers.wait(50)
    writers.end()
    assert not writers.others
    there = names(own)
    assert len(there) == len(set(there))
    assert not set(writers.answered) - set(there)
    assert len(set(there) - set(writers.answered)) == 0


def test_a_server_that_is_away(notes, own):
    w = notes(store=SHORT)
    assert ask(w, "add", name="a", text="x").status == 200
    own.server.stop()
    assert ask(w, "add", name="b", text="x").status == 503
    assert ask(w, "get", name="a").status == 503
    assert ask(w, "count").status == 503
    wait_for(lambda: get(w.http, "/readyz").status == 503, 10)
    assert get(w.http, "/readyz").body == b"the store does not answer\n"
    w.wait_log(r"\[error\].*the store's server cannot be used")
    assert get(w.http, "/healthz").status == 200
    own.server.start()
    works_again(w, "c")
    wait_for(lambda: get(w.http, "/readyz").status == 200, 10)
    assert ask(w, "get", name="a").body.startswith(b"x\n")
    w.wait_log(r"the store's server can be used again")
    assert metric(w, 'weir_store_connections_total{result="lost"}') >= 3
    assert "starts again" not in w.log()


def test_a_server_that_hangs_stalls_nobody(notes, own):
    """Players on the worker that waits for it go on."""
    w = notes(store=SHORT)
    feed = Feed(w.rtmp, "a").head().frames(2)
    with player(w.rtmp, "live", "a") as p:
        read_until(p, "video 1")
        for pid in own.server.pids():
            os.kill(pid, signal.SIGSTOP)
        with Http(w.http) as c:
            c.send("GET", "/notes/add?name=a&text=x")
            feed.frames(10)
            read_until(p, "video 11")
            assert c.answer().status == 503
        assert ask(w, "get", name="a").status == 503
        feed.frames(10)
        read_until(p, "video 21")
        wait_for(lambda: get(w.http, "/readyz").status == 503, 10)
        for pid in own.server.pids():
            os.kill(pid, signal.SIGCONT)
        works_again(w, "b")
    feed.stop()


def test_weir_starts_while_the_server_is_away(notes, own):
    w = start_without(notes, own.server, store=SHORT, workers=2)
    assert ask(w, "add", name="a", text="x").status == 503
    assert get(w.http, "/healthz").status == 200
    own.server.start()
    works_again(w, "a")
    w.wait_log(r"the keeper is ready: database own_.* on .*schema notes 1")
    assert names(own) == ["a"]


def test_all_connections_are_cut(notes, postgres):
    w = notes(workers=2)
    assert ask(w, "add", name="a", text="x").status == 200
    postgres.query(w, "SELECT pg_terminate_backend(pid) "
                      "FROM pg_stat_activity WHERE datname = "
                      f"'{postgres.database}' AND pid <> pg_backend_pid()")
    for i in range(8):
        assert ask(w, "add", name=f"n{i}", text="x").status == 200
        assert ask(w, "get", name=f"n{i}").body.startswith(b"x\n")


# ---- a connection that is cut at the worst moment ----

class Cutter:
    """Stands before the server.  When armed, it lets the next COMMIT through,
    waits for the answer to it and cuts the connection instead of passing it
    on."""

    def __init__(self, path):
        self.path = path
        self.armed = threading.Event()
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.path)
            state = {"commits": False}
            for ends in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._carry, args=(*ends, state),
                                 daemon=True).start()

    def _carry(self, source, sink, asks, state):
        while True:
            try:
                data = source.recv(65536)
                if asks and b"COMMIT\0" in data and self.armed.is_set():
                    self.armed.clear()
                    state["commits"] = True
                elif not asks and state["commits"]:
                    self.cuts += 1
                    data = b""
                if not data:
                    break
                sink.sendall(data)
            except OSError:
                break
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


@pytest.fixture
def cutter(postgres):
    made = Cutter(f"{postgres.server.folder}/.s.PGSQL.5432")
    yield made
    made.close()


def test_a_write_whose_answer_was_cut_off_is_not_done_again(notes, postgres,
                                                            cutter):
    backend = ('backend = "postgres"; conninfo = "' + postgres.conninfo(
        host="127.0.0.1", port=cutter.port, sslmode="disable") + '";')
    w = notes(backend=backend)
    for i in range(5):
        cutter.armed.set()
        done = ask(w, "add", name=f"n{i}", text="x")
        assert done.status == 200, done.body
        assert done.body == b"\n0 rows, 1 changed\n"
    assert cutter.cuts == 5
    assert metric(w, "weir_store_writes_replayed_total") == 5
    assert ask(w, "add", name="n0", text="x").status == 409
    assert sorted(names(postgres)) == [f"n{i}" for i in range(5)]


# ---- several weirs, several writers ----

def test_two_weirs_start_at_once_on_an_empty_database(notes, postgres):
    started = []
    threads = [threading.Thread(target=lambda: started.append(notes()))
               for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(started) == 3
    for i, w in enumerate(started):
        assert ask(w, "add", name=f"n{i}", text="x").status == 200
    for w in started:
        assert ask(w, "count").body.startswith(b"3 \n")
    made = [w.log().count("migration 1 of schema notes is made")
            for w in started]
    assert sorted(made) == [0, 0, 1]


def test_weirs_tell_each_other(notes, postgres):
    a, b = notes(), notes()
    for i in range(5):
        assert ask(a, "add", name=f"n{i}", text="x").status == 200
        assert ask(b, "get", name=f"n{i}").body.startswith(b"x\n")
    for w in (a, b):
        wait_for(lambda w=w: ask(w, "heard").body.split()[1:2] == [b"5"], 5)
        assert ask(w, "heard").body.split()[3] == b"n4"


def test_who_may_have_missed_something_is_told(notes, postgres):
    w = notes()
    missed = int(ask(w, "heard").body.split()[2])
    postgres.query(w, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                      "WHERE query LIKE '%LISTEN%' AND datname = "
                      f"'{postgres.database}' AND pid <> pg_backend_pid()")
    wait_for(lambda: int(ask(w, "heard").body.split()[2]) > missed, 10)


def test_one_title_many_writers(notes, postgres):
    """Of those who add one name at once exactly one does, on two weirs."""
    weirs = [notes(workers=2), notes(workers=2)]
    for i in range(5):
        clients = [Http(weirs[n % 2].http) for n in range(16)]
        for c in clients:
            c.send("GET", f"/notes/add?name=n{i}&text=x")
        answers = sorted(c.answer().status for c in clients)
        assert answers == [200] + [409] * 15
        for c in clients:
            c.close()


def test_workers_are_killed(notes, postgres):
    w = notes(workers=2)
    writers = Writers(w, 16)
    for i in range(2):
        writers.wait(30)
        victim = w.workers()[i]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: victim not in w.workers()
                 and len(w.workers()) == 2, 10, "two workers")
    writers.wait(30)
    writers.end()
    w.may_grow = True
    assert not writers.others
    there = names(postgres)
    assert len(there) == len(set(there))
    assert not set(writers.answered) - set(there)


def test_the_ledger_is_cleaned(notes, postgres):
    w = notes(workers=1, store="connections = 1;")
    with Http(w.http) as c:
        def add_some():
            for _ in range(100):
                add_some.count += 1
                c.send("GET", f"/notes/add?name=n{add_some.count}&text=x")
                assert c.answer().status == 200
            rows = postgres.query(w, "SELECT count(*) FROM store_ledger")
            return rows[0][0] < add_some.count
        add_some.count = 0
        wait_for(add_some, 20, "a ledger with less rows than writes")


def test_a_full_disk(notes, postgres):
    """The server says so by SQLSTATE 53100."""
    w = notes()
    postgres.query(w, "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN "
                      "RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END "
                      "$$ LANGUAGE plpgsql; CREATE TRIGGER full_disk BEFORE "
                      "INSERT ON note EXECUTE FUNCTION full_disk()")
    full = ask(w, "add", name="a", text="x")
    assert full.status == 507 and full.body == b"the store has no room left"
    postgres.query(w, "DROP TRIGGER full_disk ON note")
    assert ask(w, "add", name="a", text="x").status == 200


def test_nothing_is_refused_by_the_sandbox(notes, own):
    """Connections that are made within it, too."""
    w = notes(store=SHORT)
    own.server.stop()
    own.server.start()
    works_again(w, "a")
    assert metric(w, "weir_sandbox_refusals_total") == 0
    assert "sandbox refused" not in w.log()


def test_tls(notes, own):
    """What libpq reads for it can be read in the sandbox; a name that the
    certificate does not have is not taken."""
    start = dict(host="localhost", port=own.server.port, sslmode="verify-full")
    good = own.conninfo(**start,
                        sslrootcert=f"{own.server.folder}/server.crt")
    w = notes(backend=backend_of(good), store=SHORT)
    assert ask(w, "add", name="a", text="x").status == 200
    tls = ("SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity "
           f"USING (pid) WHERE datname = '{own.database}' AND "
           "application_name LIKE 'weir %'")
    assert own.query(w, tls) == [("t",)]
    own.server.stop()
    assert ask(w, "add", name="b", text="x").status == 503
    own.server.start()
    if own.server.port == start["port"]:
        works_again(w, "b")
        assert own.query(w, tls) == [("t",)]
    assert metric(w, "weir_sandbox_refusals_total") == 0
    w.set_config(locations=LOCATION,
                 backend=backend_of(own.conninfo(**start)))
    w.stop()
    w.status = None
    w.start()  # without a root nothing is taken: it starts all the same
    w.wait_log(r"the store's server cannot be used: .*root certificate")
    w.may_grow = True


# ---- who it is, and where ----

def backend_of(conninfo):
    return f'backend = "postgres"; conninfo = "{conninfo}";'


def test_hosts_are_tried_in_their_order(notes, postgres):
    port = postgres.server.port
    w = notes(backend=backend_of(
        f"postgresql://weir@127.0.0.1:1,localhost:{port}/{postgres.database}"
        "?sslmode=disable"))
    assert ask(w, "add", name="a", text="x").status == 200
    who = postgres.query(w, "SELECT DISTINCT application_name FROM "
                            "pg_stat_activity WHERE datname = "
                            f"'{postgres.database}' ORDER BY 1")
    assert {("weir keeper",), ("weir worker 0",)} <= set(who)


def start_with(notes, conninfo):
    w = notes(backend="", store="")  # a folder with a good configuration
    w.stop()
    w.set_config(locations=LOCATION, backend=backend_of(conninfo))
    w.start()
    w.status = None
    return w


def test_a_password(notes, postgres):
    postgres.query(None, f"GRANT ALL ON DATABASE {postgres.database} TO guarded;"
                         "GRANT ALL ON SCHEMA public TO guarded")
    right = postgres.conninfo(host="127.0.0.1", port=postgres.server.port,
                              user="guarded", password="s3cret pass")
    w = notes(backend=backend_of(right))
    assert ask(w, "add", name="a", text="x").status == 200
    assert "s3cret" not in w.log()
    shown = run("-T", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix).stdout
    assert 'conninfo = "***"' in shown and "s3cret" not in shown
    for pid in descendants(w.pid):
        assert "s3cret" not in weir_py.title(pid)


@pytest.mark.parametrize("more, words", [
    ({"user": "guarded", "password": "wr0ng one"},
     'password authentication failed for user "guarded"'),
    ({"dbname": "no_such_database"}, '"no_such_database" does not exist'),
    ({"user": "guarded", "password": "s3cret pass"},
     "permission denied for schema public"),
])
def test_who_is_not_let_in_serves_the_rest(notes, postgres, more, words):
    w = start_with(notes, postgres.conninfo(
        host="127.0.0.1", port=postgres.server.port, **more))
    serves_without_store(w, words)
    assert "s3cret" not in w.log() and "wr0ng" not in w.log()


@pytest.mark.parametrize("sql, words", [
    ("INSERT INTO store_migration (name, number, checksum) "
     "VALUES ('notes', 2, 'x')",
     "a newer weir made it: schema notes has migration 2, this weir knows 1"),
    ("UPDATE store_migration SET checksum = 'x' WHERE name = 'notes'",
     "migration 1 of schema notes is not the one"),
])
def test_a_database_it_cannot_use(notes, postgres, sql, words):
    w = notes()
    w.stop()
    postgres.query(w, sql)
    w.start()
    w.status = None
    serves_without_store(w, words)


@pytest.mark.parametrize("store, words", [
    ('backend = "postgres";', 'backend "postgres" needs conninfo'),
    ('conninfo = "host=a";', 'conninfo goes with backend "postgres"'),
    (backend_of("hots=a"), 'has an invalid connection option "hots"'),
    (backend_of("s3cret"), "must be \"host=... dbname=...\""),
    (backend_of("service=x"), 'must not have the option "service"'),
    (backend_of("host=a,b port=1,2,3"), "as many ports and addresses"),
])
def test_what_t_finds(weir, store, words):
    w = weir(backend="", store="")
    w.set_config(backend=store)
    told = run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
    assert told.returncode == 1
    assert re.search(r"weir\.conf:\d+: ", told.stderr) and words in told.stderr
    assert "s3cret" not in told.stderr


def test_a_keeper_that_is_killed_hurts_nobody(notes, postgres):
    w = notes()
    os.kill(keeper(w), signal.SIGKILL)
    assert ask(w, "add", name="a", text="x").status == 200
    assert get(w.http, "/readyz").status == 200
    w.wait_log(r"the keeper is ready", count=2)

"""The store under real writers, with the keeper killed, the disk full, the
configuration reloaded.

The module modules/notes of this folder keeps notes there."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import resource
import signal
import sqlite3
import stat
import threading
import time

import pytest

import weir as weir_py
from database import Sqlite
from http_client import Http, get
from weir import AS_STARTED, descendants, run, title, wait_for

LOCATION = '{ path = "/notes"; module = "notes"; },'
DATABASE = "run/weir.db"
# Nothing is given up because the machine is busy.
PATIENT = {"store": 'timeout = "60s";',
           "top": 'keepalive_min_timeout = "1h";'}
COMMITS = 'weir_store_commits_total{result="success"}'


class Notes:
    """Starts weirs with notes in a database; names() are what it has, to one
    who does not go through weir."""

    def __init__(self, backend, weir):
        self.backend, self.weir = backend, weir

    def __call__(self, **parts):
        return self.weir(locations=LOCATION, **parts)

    def names(self, w):
        return [n for n, in self.backend.query(w, "SELECT name FROM note")]


@pytest.fixture
def notes(store_backend, notes_binary, weir, monkeypatch):
    """On both databases."""
    monkeypatch.setattr(weir_py, "BINARY", notes_binary)
    return Notes(store_backend, weir)


@pytest.fixture
def sqlite_notes(notes_binary, weir, monkeypatch):
    """What is about the keeper's file."""
    monkeypatch.setattr(weir_py, "BINARY", notes_binary)
    return Notes(Sqlite(), weir)


def ask(w, what, **query):
    words = "&".join(f"{k}={v}" for k, v in query.items())
    return get(w.http, f"/notes/{what}?{words}")


def keepers(w):
    return [p for p in descendants(w.pid) if title(p) == "weir: keeper"]


def keeper(w):
    """Its pid, when it is there."""
    return wait_for(lambda: keepers(w), 5, "a keeper")[0]


def metric(w, name):
    text = get(w.http, "/metrics").body.decode()
    found = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.M)
    assert found, name
    return float(found[0])


def nothing_was_refused(w):
    return metric(w, "weir_sandbox_refusals_total") == 0


# ---- reading and writing ----

def test_writes_and_reads(notes):
    w = notes(workers=2)
    assert ask(w, "get", name="a").body == b"\n0 rows, 0 changed\n"
    assert ask(w, "add", name="a", text="one").status == 200
    assert ask(w, "get", name="a").body == b"one\n1 rows, 0 changed\n"
    again = ask(w, "add", name="a", text="two")
    assert again.status == 409 and again.body == b"it is there already"
    assert ask(w, "set", name="a", text="three").body == \
        b"\n0 rows, 1 changed\n"
    assert ask(w, "set", name="b", text="three").status == 404
    assert ask(w, "count").body.startswith(b"1 \n")
    assert nothing_was_refused(w)


def libraries(pid):
    """Names of those that a process has in its memory."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return set(re.findall(r"/(lib[a-z0-9_]+)[^/\n]*\.so", f.read()))


def test_libpq_is_loaded_where_it_is_wanted(notes):
    """And what it brings along."""
    w = notes(workers=2)
    assert ask(w, "add", name="a", text="one").status == 200
    wanted = not isinstance(notes.backend, Sqlite)
    pids = [w.pid, *descendants(w.pid)] if os.geteuid() == 0 else [w.pid]
    for pid in pids:
        here = libraries(pid)
        assert "libcrypto" in here
        for name in ("libpq", "libldap", "libgssapi_krb5"):
            assert (name in here) == wanted, (title(pid), name)


def test_all_steps_or_none(notes):
    w = notes()
    for name in ("a", "b"):
        ask(w, "add", name=name, text=name)
    assert ask(w, "move", **{"from": "a"}, name="b", text="x").status == 409
    assert ask(w, "move", **{"from": "c"}, name="d", text="x").status == 404
    assert sorted(notes.names(w)) == ["a", "b"]
    assert ask(w, "move", **{"from": "a"}, name="d", text="x").status == 200
    assert sorted(notes.names(w)) == ["b", "d"]


def test_a_wrong_statement_is_told_and_hurts_nobody(notes):
    w = notes()
    assert ask(w, "wrong", name="a", text="never").status == 500
    w.wait_log(r"\[error\].*statement add of schema notes: .*"
               "(?i:check constraint)")
    assert ask(w, "add", name="a", text="x").status == 200


def test_what_was_answered_is_seen_by_all_workers_at_once(notes):
    w = notes(workers=4)
    with Http(w.http) as writer:
        readers = [Http(w.http) for _ in range(16)]
        for i in range(20):
            writer.send("GET", f"/notes/add?name=n{i}&text=t{i}")
            assert writer.answer().status == 200
            for r in readers:
                r.send("GET", f"/notes/get?name=n{i}")
                assert r.answer().body.startswith(b"t%d\n" % i)
        for r in readers:
            r.close()


def test_all_workers_are_told(notes):
    w = notes(workers=3)
    for i in range(5):
        assert ask(w, "add", name=f"n{i}", text="x").status == 200
    heard = {}

    def all_heard():
        pid, count, _, last = ask(w, "heard").body.split()
        heard[pid] = (count, last)
        return len(heard) == 3 and set(heard.values()) == {(b"5", b"n4")}
    wait_for(all_heard, 5)


def test_a_long_read_does_not_hold_up_the_loop(notes):
    w = notes(store='timeout = "60s";')

    def quick_meanwhile():
        with Http(w.http) as slow:
            slow.send("GET", "/notes/long?steps=1000000")
            begin = time.monotonic()
            assert get(w.http, "/healthz").status == 200
            quick = time.monotonic() - begin
            answer = slow.answer()
            assert answer.status == 200 and answer.body.startswith(b"1000000 ")
            return quick < (time.monotonic() - begin) / 2
    # A busy machine may hold up the one that is quick, but not each time.
    assert any(quick_meanwhile() for _ in range(10))
    assert nothing_was_refused(w)


def test_a_read_without_an_end_is_given_up(notes):
    w = notes(store='timeout = "300ms";')

    def answers():
        return ask(w, "count").status == 200
    # A server that is slow to begin has not answered in time, either.
    wait_for(answers, 20, "the store")
    assert ask(w, "long", steps=900000000).status == 503
    assert answers()


def test_nobody_may_read_the_files(sqlite_notes):
    w = sqlite_notes()
    ask(w, "add", name="a", text="secret")
    for ending in ("", "-wal", "-shm"):
        mode = os.stat(f"{w.prefix}/{DATABASE}{ending}").st_mode
        assert stat.S_IMODE(mode) == 0o600


def test_a_user_that_may_not_write_to_the_folder(sqlite_notes):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    w = sqlite_notes(top='user = "nobody";', store='path = "data/weir.db";')
    assert ask(w, "add", name="a", text="x").status == 200
    assert os.stat(f"{w.prefix}/data").st_uid == 0
    assert {os.stat(f"{w.prefix}/data/{f}").st_uid
            for f in os.listdir(f"{w.prefix}/data")} == {65534}
    os.kill(keeper(w), signal.SIGKILL)
    w.wait_log(r"the keeper is ready", count=2)
    assert ask(w, "get", name="a").body.startswith(b"x\n")


# ---- many writers ----

class Writers:
    """Threads that add notes over connections of their own; answered is what
    was answered 200, others what came else."""

    def __init__(self, w, count):
        self.w, self.port = w, w.http
        self.answered, self.others = [], []
        self.going = True
        self.threads = [threading.Thread(target=self._run, args=(i,))
                        for i in range(count)]
        for t in self.threads:
            t.start()

    def _run(self, number):
        client, i = None, 0
        while self.going:
            name = f"w{number}-{i}"
            i += 1
            try:
                client = client or Http(self.port)
                client.send("GET", f"/notes/add?name={name}&text=x")
                answer = client.answer()
            except OSError:
                client = None
                continue
            except EOFError:
                client = None
                continue
            if answer.status == 200:
                self.answered.append(name)
            else:
                self.others.append((name, answer.status, answer.body))
            if answer.header("Connection") == "close":
                client.close()
                client = None

    def wait(self, more):
        wanted = len(self.answered) + more
        wait_for(lambda: len(self.answered) >= wanted, 30, "writes")

    def end(self):
        self.going = False
        for t in self.threads:
            t.join()


def check_all_there(notes, w, writers):
    names = notes.names(w)
    assert len(names) == len(set(names))
    lost = set(writers.answered) - set(names)
    assert not lost, sorted(lost)[:10]


def test_many_writers_share_a_commit(sqlite_notes):
    """64 at a time: 16 to a commit at least.  Where the machine is busy they
    may not come at a time: one of ten tries has to show it."""
    w = sqlite_notes(workers=2)
    rounds, count = 20, 64
    clients = [Http(w.http) for _ in range(count)]
    for tried in range(1, 11):
        before = metric(w, COMMITS)
        for r in range(rounds):
            for i, c in enumerate(clients):
                c.send("GET", f"/notes/add?name={tried}-{r}-{i}&text=x")
            assert all(c.answer().status == 200 for c in clients)
        commits = metric(w, COMMITS) - before
        assert len(sqlite_notes.names(w)) == tried * rounds * count
        assert rounds <= commits
        if commits <= rounds * count / 16:
            break
    for c in clients:
        c.close()
    assert commits <= rounds * count / 16


def test_a_writer_alone_does_not_wait_for_others(sqlite_notes):
    w = sqlite_notes()
    with Http(w.http) as c:
        for i in range(50):
            c.send("GET", f"/notes/add?name=n{i}&text=x")
            assert c.answer().status == 200
    assert metric(w, "weir_store_commit_writes_count") >= 50
    assert metric(w, 'weir_store_commit_writes_bucket{le="1"}') >= 50


def test_the_keeper_is_killed_again_and_again(notes):
    w = notes(workers=4, **PATIENT)
    writers = Writers(w, 64)
    for i in range(4):
        writers.wait(50)
        os.kill(keeper(w), signal.SIGKILL)
        w.wait_log(r"the keeper is ready", count=i + 2)
    writers.wait(50)
    writers.end()
    assert not writers.others  # no false conflict, nothing given up
    check_all_there(notes, w, writers)
    assert nothing_was_refused(w)


def test_a_keeper_that_is_away_is_told_to_balancers(sqlite_notes):
    w = sqlite_notes()
    assert get(w.http, "/readyz").status == 200

    def not_ready():
        """Each time it is killed it is away for longer, until it is known that
        it ends each time."""
        answer = get(w.http, "/readyz")
        if answer.body != b"ready\n":
            return answer.status, answer.body
        for pid in keepers(w):
            os.kill(pid, signal.SIGKILL)
        return None
    assert wait_for(not_ready, 5) in (
        (503, b"the store does not answer\n"),
        (200, b"degraded: keeper cannot start\n"))
    assert ask(w, "get", name="a").status == 200  # reads go on
    wait_for(lambda: get(w.http, "/readyz").status == 200, 5)


def test_reloads_while_writing(notes):
    w = notes(workers=2, **PATIENT)
    writers = Writers(w, 16)
    for _ in range(4):
        writers.wait(50)
        w.reload()
    writers.wait(50)
    writers.end()
    assert not writers.others
    check_all_there(notes, w, writers)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT,
                                    signal.SIGKILL])
def test_what_was_answered_outlives_the_end(notes, number):
    w = notes(workers=2)
    writers = Writers(w, 32)
    writers.wait(200)
    family = descendants(w.pid)
    w.kill(number)
    w.wait_exit()
    wait_for(lambda: not any(title(p) for p in family), 10, "the end of all")
    writers.end()
    check_all_there(notes, w, writers)
    w.status = None
    w.start()
    assert ask(w, "count").status == 200
    check_all_there(notes, w, writers)


# ---- the disk ----

def test_a_full_disk_and_room_again(sqlite_notes):
    w = sqlite_notes(workers=2, top=AS_STARTED)
    assert ask(w, "add", name="a", text="x").status == 200
    pid = keeper(w)
    limit = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    size = os.stat(f"{w.prefix}/{DATABASE}-wal").st_size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, limit[1]))
    for i in range(3):
        full = ask(w, "add", name=f"b{i}", text="x" * 3000)
        assert full.status == 507 and full.body == b"the store has no room left"
    assert metric(w, "weir_store_no_room") == 1
    assert ask(w, "get", name="a").body.startswith(b"x\n")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)
    assert ask(w, "add", name="c", text="x").status == 200
    assert sorted(sqlite_notes.names(w)) == ["a", "c"]
    assert keeper(w) == pid
    w.wait_log(r"the store writes again")
    assert len(re.findall(r"\[crit\].*the store cannot write", w.log())) == 1
    assert len(re.findall(r"the store writes again", w.log())) == 1


def test_the_log_stays_short_whatever_is_read(sqlite_notes):
    """There is always somebody in it; it is emptied all the same."""
    w = sqlite_notes(workers=2)
    whole = 'weir_store_checkpoints_total{result="whole"}'
    going = True

    def read_on():
        while going:
            assert ask(w, "long", steps=200000).status == 200
    readers = [threading.Thread(target=read_on) for _ in range(2)]
    for t in readers:
        t.start()
    biggest = count = 0
    while metric(w, whole) == 0 and count < 6000:
        with Http(w.http) as c:
            for _ in range(100):
                count += 1
                c.send("GET", f"/notes/add?name={count}&text=" + "x" * 7000)
                assert c.answer().status == 200
        size = os.stat(f"{w.prefix}/{DATABASE}-wal").st_size
        biggest = max(biggest, size)
    going = False
    for t in readers:
        t.join()
    assert metric(w, whole) > 0
    assert biggest < 100 << 20
    assert len(sqlite_notes.names(w)) == count


def test_a_database_that_is_gone_is_noticed(sqlite_notes):
    w = sqlite_notes()
    os.rename(f"{w.prefix}/{DATABASE}", f"{w.prefix}/{DATABASE}.old")
    assert ask(w, "add", name="a", text="x").status == 503
    w.wait_log(r"the store cannot write: its file was moved or removed")
    os.rename(f"{w.prefix}/{DATABASE}.old", f"{w.prefix}/{DATABASE}")
    assert ask(w, "add", name="a", text="x").status == 200


def test_a_database_that_is_gone_is_not_made_anew(sqlite_notes):
    """A new keeper does not begin with an empty one beside what the workers
    have open; it goes on when the file is back."""
    w = sqlite_notes(workers=1)
    path = f"{w.prefix}/{DATABASE}"
    assert ask(w, "add", name="a", text="x").status == 200
    os.rename(path, f"{path}.old")
    os.kill(keeper(w), signal.SIGKILL)
    w.wait_log(r"keeper.* cannot start: .*weir\.db")
    assert not os.path.exists(path)
    w.reload()
    assert not os.path.exists(path)
    os.rename(f"{path}.old", path)
    wait_for(lambda: ask(w, "add", name="b", text="x").status == 200, 10)
    assert sqlite_notes.names(w) == ["a", "b"]


# ---- what it does not start with ----

def serves_without_store(w, words):
    """Whatever else it has; it says which process cannot start, and why."""
    w.wait_log(rf"keeper cannot start: .*{re.escape(words)}.*; the rest serves")
    a = get(w.http, "/readyz")
    assert (a.status, a.body) == (200, b"degraded: keeper cannot start\n")
    assert ask(w, "add", name="a", text="x").status == 503


def statement(*sql):
    def prepare(path):
        with sqlite3.connect(path) as db:
            for text in sql:
                db.execute(text)
    return prepare


def spoil(path):
    for ending in ("-wal", "-shm"):
        os.unlink(path + ending)
    with open(path, "wb") as f:
        f.write(b"this is no database, whatever it is called " * 100)


@pytest.mark.parametrize("prepare, words", [
    (spoil, "cannot open run/weir.db: file is not a database"),
    (statement("INSERT INTO store_migration (name, number, checksum) "
               "VALUES ('notes', 2, 'x')"),
     "a newer weir made it: schema notes has migration 2, this weir knows 1"),
    (statement("UPDATE store_migration SET checksum = 'x' "
               "WHERE name = 'notes'"),
     "migration 1 of schema notes is not the one"),
    (statement("PRAGMA application_id = 1"), "of another program"),
    (statement("PRAGMA user_version = 7"), "a newer weir made it: format 7"),
])
def test_a_database_it_cannot_use(sqlite_notes, prepare, words):
    w = sqlite_notes()
    ask(w, "add", name="a", text="x")
    w.stop()
    prepare(f"{w.prefix}/{DATABASE}")
    w.start()
    w.status = None
    serves_without_store(w, words)


def test_a_folder_it_cannot_use(sqlite_notes):
    w = sqlite_notes()
    w.stop()
    w.set_config(locations=LOCATION, store='path = "no/no/weir.db";')
    ended = run("-t", "-c", f"{w.prefix}/weir.conf", "-p", w.prefix)
    assert ended.returncode == 1
    assert "store: cannot make the folder no/no: No such file" in ended.stderr
    w.start()
    w.status = None
    serves_without_store(w, "cannot open no/no/weir.db: No such file")


def test_it_is_not_moved_by_a_reload(sqlite_notes):
    w = sqlite_notes()
    w.set_config(locations=LOCATION, store='path = "run/b.db";')
    w.reload(good=False)
    w.wait_log(r"store\.path")

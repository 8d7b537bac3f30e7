"""Articles while many write, and while processes are killed."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time

import pytest

import articles_help as a_
from articles_help import JSON, body, error, ids_of, made, post, start, walk
from http_client import Http, get, request
from weir import descendants, title as title_of

pytestmark = pytest.mark.usefixtures("store_backend")
SQLITE = pytest.mark.parametrize("store_backend", ["sqlite"], indirect=True)
SOAK = bool(os.environ.get("WEIR_SOAK"))
COMMITS = 'weir_store_commits_total{result="success"}'


def metric(w, name):
    for line in get(w.http, "/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(name)


class Writers:
    """Threads that post articles until they are told to end.  keyed: one after
    the other, and what got no answer is sent again with its Idempotency-Key.
    Else nothing is ever sent twice, so that 409 or 404 could only be about
    itself; several at a time, so that the keeper is always at it; and some are
    deleted.  What got no answer may be done, or not."""

    def __init__(self, w, count, keyed=True):
        self.w, self.keyed, self.going = w, keyed, True
        self.made, self.gone, self.unknown = {}, set(), set()
        self.others, self.lock = [], threading.Lock()
        self.up = threading.Event()  # there is somebody to ask
        self.up.set()
        self.client = {}
        self.threads = [threading.Thread(target=self._run, args=(n,))
                        for n in range(count)]
        for t in self.threads:
            t.start()

    def _run(self, number):
        n = 0
        while self.going:
            titles = [f"w{number} {n + i}" for i in range(self._at_once())]
            self._post(titles)
            if not self.keyed:
                self._delete(titles[::3])
            n += len(titles)
        self._close()

    def _at_once(self):
        return 1 if self.keyed else 8

    def _close(self):
        client = self.client.pop(threading.get_ident(), None)
        if client:
            client.close()

    def _connection(self):
        """None: the end came before there was one."""
        me = threading.get_ident()
        while me not in self.client:
            try:
                self.client[me] = Http(self.w.http)
            except (OSError, IndexError):  # it is being started again
                self.up.wait()
                if not self.going:
                    return None
        return self.client[me]

    def _ask(self, requests):
        """Their answers, as many as came.  A connection that is to be closed
        has not looked at the requests behind."""
        answers = []
        client = self._connection()
        try:
            for method, path, *headers, sent in requests if client else ():
                client.send(method, path, *headers, body=sent)
            while client and len(answers) < len(requests):
                answers.append(client.answer())
                if answers[-1].header("connection") == "close":
                    self._close()
                    break
        except (OSError, EOFError):
            self._close()
        return answers

    def _post(self, titles):
        requests = [("POST", "/articles", JSON,
                     *([f"Idempotency-Key: {t}"] if self.keyed else []),
                     body(t)) for t in titles]
        answers = self._ask(requests)
        while self.keyed and self.going and not answers:
            answers = self._ask(requests)
        with self.lock:
            self.unknown |= set(titles[len(answers):])
            for title, a in zip(titles, answers):
                if a.status == 201:
                    self.made[title] = a.json()["id"]
                else:
                    self.others.append((title, a.status, a.body))
                    if a.status == 503:  # it may be done (store/store.h)
                        self.unknown.add(title)

    def _delete(self, titles):
        with self.lock:  # from here on they may be gone
            ids = {t: self.made.pop(t) for t in titles if t in self.made}
            self.unknown |= set(ids)
        answers = self._ask([("DELETE", f"/articles/{n}", b"")
                             for n in ids.values()])
        with self.lock:
            for title, a in zip(ids, answers):
                if a.status == 204:
                    self.unknown.remove(title)
                    self.gone.add(title)
                else:
                    self.others.append((title, a.status, a.body))

    def wait(self, more):
        def count():
            return len(self.made) + len(self.gone)
        wanted = count() + more
        a_.wait_for(lambda: count() >= wanted, 60, "articles")

    def end(self):
        self.going = False
        self.up.set()
        for t in self.threads:
            t.join()

    def check(self, there):
        """there: the id of each title."""
        for title, number in self.made.items():
            assert there.get(title) == number, title
        assert not self.gone & set(there)
        assert set(there) <= set(self.made) | self.unknown


# ---- at the same time ----

def test_one_of_many_gets_the_title(weir):
    w = start(weir, workers=4)
    for i in range(5):
        found = a_.at_once([lambda: post(w, f"n{i}").status
                            for _ in range(16)])
        assert sorted(found) == [201] + [409] * 15


def test_one_of_many_deletes_it(weir):
    w = start(weir, workers=4)
    for i in range(5):
        number = made(w, f"n{i}")["id"]
        found = a_.at_once([lambda: request(w.http, "DELETE",
                                            f"/articles/{number}").status
                            for _ in range(8)])
        assert sorted(found) == [204] + [404] * 7


def test_edits_without_conditions_all_succeed(weir):
    """16 clients, 20 patches each, of one article: each is merged into what
    the one before it left, and answered with what it left itself."""
    w = start(weir, "edit = true;", workers=4)
    path = f"/articles/{made(w, 'one')['id']}"
    tags = []
    # "*" is whichever article there is, so it has nothing to look at.
    headers = [JSON], [JSON, "If-Match: *"]

    def patch(n):
        with Http(w.http) as c:
            for i in range(20):
                said = {"title": f"{n} {i}"} if n % 2 else \
                    {"content": f"{n} {i}"}
                c.send("PATCH", path, *headers[i % 2],
                       body=json.dumps(said).encode())
                a = c.answer()
                assert a.status == 200, a.body
                assert said.items() <= a.json().items()
                tags.append(a.header("etag"))
        return True
    assert a_.at_once([lambda n=n: patch(n) for n in range(16)]) == [True] * 16
    assert len(set(tags)) == len(tags) == 320
    # They wait for each other at the server, and are not done again.
    assert metric(w, "weir_store_retries_total") == 0
    last = get(w.http, path)
    assert last.header("etag") in tags
    # Of each member the last word of somebody stands.
    for member, odd in (("title", 1), ("content", 0)):
        n, i = map(int, last.json()[member].split())
        assert (n % 2, i) == (odd, 19)


def test_walks_while_others_write(weir):
    """What is there from the first page to the last is shown once."""
    w = start(weir, workers=4)
    same = {"created_at": "2026-01-01T00:00:00Z"}
    stay = a_.make_many(w, 60, "stay", **same)
    go = a_.make_many(w, 20, "go", **same)
    going = threading.Event()

    def write():
        n = 0
        while not going.is_set():
            made(w, f"new {n}", **same)
            if go:
                request(w.http, "DELETE", f"/articles/{go.pop()}")
            n += 1
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for num in (1, 7, 25):
            seen = ids_of(walk(w, num))
            assert len(seen) == len(set(seen)) and seen == sorted(seen)
            assert set(stay) <= set(seen)
    finally:
        going.set()
        writer.join()


def test_what_was_answered_is_seen_by_all_workers(weir):
    """Kept answers too."""
    w = start(weir, "edit = true;", workers=4)
    number = made(w, "one")["id"]
    readers = [Http(w.http) for _ in range(12)]
    for i in range(15):
        text = f"content {i}"
        assert request(w.http, "PATCH", f"/articles/{number}", JSON,
                       body=b'{"content":"%s"}' % text.encode()).status == 200
        for r in readers:
            for path in (f"/articles/{number}", "/articles"):
                r.send("GET", path)
                said = r.answer().json()
                said = said if isinstance(said, dict) else said[0]
                assert said["content"] == text
    for r in readers:
        r.close()


@SQLITE  # the other server puts commits together itself
def test_many_writers_share_a_commit(weir):
    """64 at a time: 16 to a commit at least.  Where the machine is busy they
    may not come at a time: one of three tries has to show it."""
    w = start(weir)
    clients = [Http(w.http) for _ in range(64)]
    for tried in range(3):
        before = metric(w, COMMITS)
        for n in range(10):
            for i, c in enumerate(clients):
                c.send("POST", "/articles", JSON,
                       body=body(f"{tried} {n} {i}"))
            assert {c.answer().status for c in clients} == {201}
        commits = metric(w, COMMITS) - before
        if commits <= 640 / 16:
            break
    for c in clients:
        c.close()
    assert commits <= 640 / 16


# ---- killed ----

# A process of its own: threads of this one would make it late.
KILLER = """
import os, random, signal, sys, time
pid, log = int(sys.argv[1]), sys.argv[2]
def written():
    at = os.stat(log)
    return at.st_size, at.st_mtime_ns
before, end = written(), time.monotonic() + 1
while written() == before and time.monotonic() < end:
    pass
end = time.monotonic() + random.uniform(0, 0.0003)
while time.monotonic() < end:
    pass
os.kill(pid, signal.SIGKILL)
"""


def kill_keeper(w):
    """While it writes, if it has a file: what is in its log then is done,
    though nobody was answered yet."""
    pid, log = a_.keeper(w), f"{w.prefix}/run/weir.db-wal"
    if os.path.exists(log):
        subprocess.run([sys.executable, "-S", "-c", KILLER, str(pid), log],
                       check=True)
    else:
        os.kill(pid, signal.SIGKILL)


def kill_all(w, writers):
    """The master, and with it the others; then it is started again."""
    family = descendants(w.pid)
    writers.up.clear()
    w.kill(signal.SIGKILL)
    w.wait_exit()
    a_.wait_for(lambda: not any(title_of(p) for p in family), 10,
                "the end of all")
    w.status = None
    w.start()
    writers.up.set()


@pytest.mark.parametrize("keyed", [False, True])
def test_what_was_answered_outlives_kills(weir, keyed):
    w = start(weir, workers=3, store='timeout = "60s";')
    w.allowed = [r"worker", r"keeper", r"signal 9"]
    w.may_grow = True
    writers = Writers(w, 16, keyed)
    try:
        for _ in range(2 if not SOAK else 20):
            for i in range(3):
                writers.wait(30)
                kill_keeper(w)
                writers.wait(30)
                w.wait_log(r"the keeper is ready", 20, i + 2)
                os.kill(w.workers()[i % 3], signal.SIGKILL)
            writers.wait(30)
            kill_all(w, writers)
        writers.wait(30)
    finally:
        writers.end()
    assert not writers.others  # no 409 or 404 on itself
    pages = walk(w, 100)
    there = {a["title"]: a["id"] for p in pages for a in p}
    assert len(there) == len(ids_of(pages)) == len(set(ids_of(pages)))
    writers.check(there)
    assert keyed or writers.gone


@SQLITE  # no write of the other one needs the keeper
def test_a_keeper_that_is_away(weir):
    w = start(weir, store='timeout = "300ms";')
    number = made(w, "one")["id"]
    w.allowed = [r"keeper"]
    keeper = a_.keeper(w)
    os.kill(keeper, signal.SIGSTOP)
    try:
        a = post(w, "two")
        error(a, 503)
        assert int(a.header("retry-after")) >= 1
        assert get(w.http, f"/articles/{number}").status == 200
        assert get(w.http, "/articles?num=3").status == 200
    finally:
        os.kill(keeper, signal.SIGCONT)
    a_.wait_for(lambda: post(w, "three").status in (201, 409), 10)


# ---- very many ----

def fill(w, count):
    """Beside weir, in one transaction; SQLite alone."""
    with sqlite3.connect(f"{w.prefix}/run/weir.db", timeout=30) as db:
        db.execute("insert or ignore into article_authors values "
                   "(1, 'n', 0, 0, 1)")
        db.executemany(
            "insert into articles (title, author_id, created_at, updated_at, "
            "edition, bytes, content) values (?, 1, ?, 0, 1, 1, 'c')",
            ((f"t{n}", n // 5) for n in range(count)))
    db.close()


@SQLITE  # fills its file
def test_what_another_program_writes_is_seen(weir):
    w = start(weir, workers=1)
    for count in (1, 2):
        with sqlite3.connect(f"{w.prefix}/run/weir.db", timeout=30) as db:
            db.execute("insert or ignore into article_authors values "
                       "(1, 'n', 0, 0, 1)")
            db.execute("insert into articles (title, author_id, created_at, "
                       "updated_at, edition, bytes, content) values "
                       "(?, 1, 0, 0, 1, 1, 'c')", (f"t{count}",))
        db.close()
        for _ in range(3):
            assert len(get(w.http, "/articles").json()) == count


def test_clients_that_go_amid_their_answers(weir):
    """Answers are made where the store gives the rows: that a client has reset
    its connection by then, or asks on at once, is nothing special."""
    w = start(weir, 'cache = "0";', workers=1)
    ids = a_.make_many(w, 20, content="x" * 5000)
    reads = [f"/articles/{i}" for i in ids] + ["/articles?num=20"] * 5
    for _ in range(200):
        with Http(w.http) as c:
            for target in reads[:2] + reads[-2:]:
                c.send("GET", target)
            c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))
    with Http(w.http) as c:
        for target in reads:
            c.send("GET", target)
        for i in ids:
            assert c.answer().json()["id"] == i
        for _ in range(5):
            assert [a["id"] for a in c.answer().json()] == ids


@SQLITE  # fills its file
def test_no_page_costs_more_than_another(weir):
    """An index finds it: asked in steps of the database's own machine, which
    no load of this one changes."""
    count = 1000000 if SOAK else 20000
    w = start(weir, workers=1)
    fill(w, count)
    pages = [get(w.http, "/articles?num=100")]
    assert len(pages[0].json()) == 100
    with sqlite3.connect(f"{w.prefix}/run/weir.db") as db:
        for after in (0, count // 10, count // 5 - 30):
            steps = [0]

            def step():
                steps[0] += 1
                return 0
            db.set_progress_handler(step, 1)
            rows = db.execute(
                "select a.id, u.name from articles a join article_authors u "
                "on u.id = a.author_id where (a.created_at, a.id) > (?, 0) "
                "order by a.created_at, a.id limit 11", (after,)).fetchall()
            db.set_progress_handler(None, 0)
            assert len(rows) == 11 and steps[0] < 1000
    db.close()
    w.stop()
    begin = time.monotonic()
    w.start()
    assert get(w.http, "/articles?num=1").status == 200
    if SOAK:
        assert time.monotonic() - begin < 10

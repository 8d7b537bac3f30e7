"""Articles while many write, and while processes are killed."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal
import sqlite3
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
    """Threads that post articles, and delete some of them, until they are told
    to end.  keyed: what got no answer is sent again with its Idempotency-Key;
    else nothing is ever sent twice, so that 409 and 404 can only be about
    itself.  What got no answer may be done, or not."""

    def __init__(self, w, count, keyed=True):
        self.w, self.keyed, self.going = w, keyed, True
        self.made, self.gone, self.unknown = {}, set(), set()
        self.others, self.lock = [], threading.Lock()
        self.up = threading.Event()  # there is somebody to ask
        self.up.set()
        self.threads = [threading.Thread(target=self._run, args=(n,))
                        for n in range(count)]
        for t in self.threads:
            t.start()

    def _run(self, number):
        client, n = None, 0
        while self.going:
            client = self._post(client, f"w{number} {n}")
            n += 1
            if not self.keyed and n % 3 == 0:
                client = self._delete(client, f"w{number} {n - 1}")
        if client:
            client.close()

    def _ask(self, client, *sent, again=False, **more):
        """(client, answer); None instead of what is not there."""
        while True:
            try:
                client = client or Http(self.w.http)
            except (OSError, IndexError):  # it is being started again
                self.up.wait()
                if self.going:
                    continue
                return None, None
            try:
                client.send(*sent, **more)
                a = client.answer()
            except (OSError, EOFError):
                client.close()
                client = None
                if again and self.going:
                    continue
                return None, None
            if a.header("connection") == "close":
                client.close()
                client = None
            return client, a

    def _post(self, client, title):
        key = [f"Idempotency-Key: {title}"] if self.keyed else []
        client, a = self._ask(client, "POST", "/articles", JSON, *key,
                              body=body(title), again=self.keyed)
        with self.lock:
            if a is None:
                self.unknown.add(title)
            elif a.status == 201:
                self.made[title] = a.json()["id"]
            else:
                self.others.append((title, a.status, a.body))
        return client

    def _delete(self, client, title):
        number = self.made.get(title)
        if number is None:
            return client
        with self.lock:  # from here on it may be gone
            del self.made[title]
            self.unknown.add(title)
        client, a = self._ask(client, "DELETE", f"/articles/{number}")
        with self.lock:
            if a is not None and a.status == 204:
                self.unknown.remove(title)
                self.gone.add(title)
            elif a is not None:
                self.others.append((title, a.status, a.body))
        return client

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
        for _ in range(1 if not SOAK else 10):
            for i in range(3):
                writers.wait(30)
                os.kill(a_.keeper(w), signal.SIGKILL)
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

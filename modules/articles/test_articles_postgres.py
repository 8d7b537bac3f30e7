"""Articles in PostgreSQL: of several weirs, and while the server is away."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import signal

import articles_help as a_
from articles_help import error, ids_of, made, post, start, walk
from http_client import get, request
from test_articles_store import Writers
from test_store_postgres import own, server

__all__ = ["own", "server"]


def test_two_weirs_have_one_set_of_articles(postgres, weir):
    assert postgres
    a, b = start(weir, "edit = true;"), start(weir, "edit = true;")
    ids = [made(w, f"n{i}")["id"] for i, w in enumerate((a, b, a, b, a))]
    assert len(set(ids)) == 5
    assert ids_of(walk(a, 2)) == ids_of(walk(b, 2))
    # A page of one goes on at the other.
    seen, cursor, nodes = [], "", [a, b]
    while cursor is not None:
        page = get(nodes[0].http, f"/articles?num=1&cursor={cursor}")
        assert page.status == 200
        seen += [x["id"] for x in page.json()]
        cursor = page.header("x-cursor")
        nodes.reverse()
    assert sorted(seen) == sorted(ids) and len(seen) == 5
    # What one answered the other shows: nothing is kept of what it was.
    path = f"/articles/{ids[0]}"
    for i, (writer, reader) in enumerate([(a, b), (b, a)] * 3):
        tag = get(reader.http, path).header("etag")
        changed = request(writer.http, "PATCH", path, a_.JSON,
                          f"If-Match: {tag}", body=b'{"content":"%d"}' % i)
        assert changed.status == 200
        assert get(reader.http, path).body == changed.body
    assert request(b.http, "DELETE", path).status == 204
    error(get(a.http, path), 404)


def test_a_title_goes_to_one_of_two_weirs(postgres, weir):
    assert postgres
    a, b = start(weir), start(weir)
    for i in range(5):
        found = a_.at_once([lambda w=w: post(w, f"n{i}").status
                            for w in (a, b) * 8])
        assert sorted(found) == [201] + [409] * 15
    answers = a_.at_once([lambda w=w: post(w, "k", "Idempotency-Key: k")
                          for w in (a, b) * 8])
    assert {x.status for x in answers} == {201}
    assert len({x.body for x in answers}) == 1


def test_the_server_is_killed(own, weir):
    w = start(weir, workers=3)
    w.allowed = [r"store", r"keeper"]
    w.may_grow = True
    writers = Writers(w, 8)
    try:
        for _ in range(2):
            writers.wait(30)
            own.server.kill()
            own.server.start()
            writers.wait(30)
    finally:
        writers.end()
    # Who was refused was told so; nobody is in his own way.
    assert {status for _, status, _ in writers.others} <= {503}
    # Not through weir: some worker may not be connected again.
    writers.check(dict(own.query(w, "SELECT title, id FROM articles")))


def test_a_server_that_does_not_answer(own, weir):
    w = start(weir, store='timeout = "300ms";')
    w.allowed = [r"store", r"keeper"]
    number = made(w, "one")["id"]
    pids = own.server.pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        for a in (post(w, "two"), get(w.http, f"/articles/{number}"),
                  get(w.http, "/articles?num=3")):
            error(a, 503)
            assert int(a.header("retry-after")) >= 1
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    a_.wait_for(lambda: post(w, "three").status in (201, 409), 20)
    a_.wait_for(lambda: get(w.http, f"/articles/{number}").status == 200, 20)

"""Requests that were written to hurt, over HTTP: nothing of weir dies, sounds
have their longest, and weir-speaker opens voices alone."""
# SPDX-License-Identifier: BSD-2-Clause

import itertools
import os
import random
import threading
import time

import pytest

from http_client import Http
from hurtful_help import Hurtful, problem_of, problem_of_part
from opened_help import Opened, can_watch, use_own_mounts
from speech_help import engine, outcomes, say, speaking
from weir import SANITIZED, descendants, title
from zygote_help import DATA

MAX_AUDIO = 2
CLIENTS = 4
SEED = int(os.environ.get("WEIR_SEED", time.strftime("%Y%m%d")))


def chunks(http):
    while (size := int(http._until(b"\r\n"), 16)):
        yield http._exactly(size)
        http._exactly(2)
    http._exactly(2)


class Client(threading.Thread):
    """It asks on a connection that it keeps while it can."""

    def __init__(self, w, numbers):
        super().__init__()
        self.w, self.numbers, self.http = w, numbers, None
        self.statuses, self.wrong = [], []
        self.start()

    def run(self):
        for n in self.numbers:
            request = Hurtful(random.Random(SEED * 1000000 + n))
            try:
                self.look(n, request)
            except Exception as e:  # it must not end the others' work
                self.wrong.append((n, request.path, request.body[:200],
                                   repr(e)))
                self.close()
        self.close()

    def look(self, n, request):
        a, whole = self.ask(request)
        self.statuses.append(a.status if whole else "broken")
        problem = problem_of(request, a, MAX_AUDIO) if whole else \
            problem_of_part(a, MAX_AUDIO)
        if problem:
            self.wrong.append((n, request.path, request.body[:200], problem))

    def ask(self, request):
        """An answer, and whether its body is whole: that of a stream may be
        broken off."""
        self.http = self.http or Http(self.w.http)
        self.http.send(request.method, "/speech" + request.path,
                       body=request.body)
        a = self.http.head()
        if a.header("transfer-encoding") != "chunked":
            a.body = self.http._exactly(int(a.header("content-length")))
        else:
            try:
                for piece in chunks(self.http):
                    a.body += piece
            except (EOFError, ConnectionResetError):
                self.close()
                return a, False
        if a.header("connection") == "close":
            self.close()
        return a, True

    def close(self):
        if self.http:
            self.http.close()
        self.http = None


def family(w):
    """Processes that live as long as weir does."""
    lasting = {title(p): p for p in descendants(w.pid) if p not in engine(w)}
    lasting.pop("", None)  # a child that ends
    return {**lasting, "zygote": engine(w)[0], "master": w.pid}


def hurt(w, count):
    """How many answers there were of each kind."""
    numbers = iter(range(count))  # next() of it is one step
    clients = [Client(w, numbers) for _ in range(CLIENTS)]
    for c in clients:
        c.join()
    wrong = list(itertools.chain(*(c.wrong for c in clients)))
    assert not wrong, (len(wrong), wrong[:5])
    statuses = sorted(itertools.chain(*(c.statuses for c in clients)), key=str)
    assert len(statuses) == count
    return {s: len(list(all_)) for s, all_ in itertools.groupby(statuses)}


def hurtful_requests(w, count):
    before = family(w)
    with Opened(w, before.values()) as opened:
        found = hurt(w, count)
        assert family(w) == before
    print(found, "crashed:", outcomes(w, "crashed"),
          dict(opened.paths.most_common(5)))
    outside = [p for p in opened.paths if not p.startswith(DATA + "/")]
    assert not opened.lost and not outside, outside
    # Each that speaks opens something, but for the voice that is loaded.
    assert opened.paths.total() > found[200] > count / 10
    # The library's own crashes, which cost a child each.
    assert found.get(500, 0) <= outcomes(w, "crashed") <= count / 50
    assert say(w, "It still speaks.").status == 200


@pytest.fixture
def watched(weir, monkeypatch, tmp_path):
    use_own_mounts(monkeypatch, tmp_path)
    return speaking(weir, f'children = 2; cache = "0"; timeout = "1m"; '
                          f'max_audio = "{MAX_AUDIO}s";')


needs_kernel = pytest.mark.skipif(
    SANITIZED or not can_watch(),
    reason="fanotify is root's, or a sanitizer opens files of its own")


@needs_kernel
def test_hurtful_requests(watched):
    hurtful_requests(watched, 300)


@needs_kernel
@pytest.mark.soak
def test_hurtful_requests_long(watched):
    hurtful_requests(watched, int(os.environ.get("WEIR_REQUESTS", "50000")))

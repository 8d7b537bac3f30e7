"""Nobody keeps others from adding: what one address has of the fetcher."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import json
import os
import select
import signal

from downloads_help import downloads, media  # pylint: disable=W0611
from http_client import Http
from share_help import counted, row
from weir import descendants, title, wait_for

__all__ = ["downloads", "media"]  # fixtures

HOG, OTHER_HOG = "127.0.0.2", "127.0.0.3"
NOBODY_EXEMPT = 'limits = { exempt = "deny all"; ' \
                'incomplete_per_address = 0; };'


class Asking(contextlib.ExitStack):
    """Requests of one address that nobody reads the answers of."""

    def __init__(self, d, source):
        super().__init__()
        self.d, self.source, self.all = d, source, []

    def post(self, name, body):
        c = self.enter_context(Http(self.d.port, source=self.source))
        c.send("POST", f"{self.d.path}/{name}", body=json.dumps(body).encode())
        self.all.append(c)
        return c

    def add(self, url, count=1):
        return [self.post("add", {"url": url, "quality": "best"})
                for _ in range(count)]

    def answered(self):
        socks = {c.sock: c for c in self.all}
        return [socks[s] for s in select.select(list(socks), [], [], 0)[0]]


def refusal(c):
    """The text of an answer 503."""
    a = c.answer()
    assert a.status == 503, (a.status, a.body)
    assert int(a.header("retry-after")) >= 1
    return a.json()["msg"]


def extractions(d):
    return row(d.weir, "downloads.extractions")


def shared(downloads, settings):  # noqa: F811
    return downloads(settings + 'extract_timeout = "10m";',
                     top=NOBODY_EXEMPT)


def test_slow_adds_keep_nobody_waiting(downloads, media):  # noqa: F811
    d = shared(downloads, "max_extractions = 2;")
    slow = media.file("/slow.mp4", 1000, quiet=True)
    with Asking(d, HOG) as hog:
        hog.add(slow, 20)
        wait_for(lambda: extractions(d)["holds"] == 20 and
                 media.asked("/slow.mp4"), 15, "the engine")
        for n in range(2):
            url = media.file(f"/{n}.mp4", 1000)
            d.added(url)
            d.wait_done(url)
        assert hog.answered() == []
    wait_for(lambda: extractions(d)["used"] == 0, 15, "their end")


def test_an_address_has_half_of_the_extractions(downloads, media):  # noqa: F811
    d = shared(downloads, "max_extractions = 1;")
    slow = media.file("/slow.mp4", 1000, quiet=True)
    with Asking(d, HOG) as hog:
        hog.add(slow, 65)
        wait_for(lambda: extractions(d)["holds"] == 65, 15, "all")
        last, = hog.add(slow)
        assert "its share" in refusal(last)
        row = extractions(d)
        assert (row["limit"], row["used"], row["largest"]) == (130, 65, HOG)
        assert counted(d.weir, "weir_pool_refused_total",
                           'pool="downloads.extractions",reason="share"') == 1
        d.weir.wait_log(rf"downloads\.extractions: {HOG} is refused")
        d.added(media.file("/other.mp4", 1000))
        assert hog.answered() == []
    wait_for(lambda: extractions(d)["used"] == 0, 15, "their end")


def test_two_addresses_leave_a_place_for_others(downloads, media):  # noqa: F811
    d = shared(downloads, "max_extractions = 1;")
    slow = media.file("/slow.mp4", 1000, quiet=True)
    with Asking(d, HOG) as hog, Asking(d, OTHER_HOG) as second, \
            Asking(d, "127.0.0.4") as third:
        hog.add(slow, 65)
        wait_for(lambda: extractions(d)["holds"] == 65, 15, "the first")
        second.add(slow, 57)
        wait_for(lambda: extractions(d)["used"] == 122, 15, "the second")
        third.add(media.file("/third.mp4", 1000))
        wait_for(hog.answered, 15, "one that gives way")
        assert hog.answered() == hog.all[-1:]
        assert "its share" in refusal(hog.all[-1])
        assert third.answered() == second.answered() == []
        assert counted(d.weir, "weir_pool_gave_total",
                           'pool="downloads.extractions"') == 1


def test_orders_have_a_share(downloads, media):  # noqa: F811
    d = shared(downloads, "")
    url = media.file("/a.mp4", 1000)
    d.added(url, auto_start=False)
    keeper, = [p for p in descendants(d.weir.pid)
               if title(p) == "weir: keeper"]
    os.kill(keeper, signal.SIGSTOP)  # nothing is written meanwhile
    with Asking(d, HOG) as hog, Asking(d, OTHER_HOG) as other:
        order = {"ids": [url], "where": "queue"}
        for _ in range(32):
            hog.post("delete", order)
        wait_for(lambda: row(d.weir, "downloads.orders")["holds"] == 32, 15,
                 "all")
        assert "its share" in refusal(hog.post("delete", order))
        assert counted(d.weir, "weir_pool_refused_total",
                           'pool="downloads.orders",reason="share"') == 1
        c = other.post("start", {"ids": [url]})
        wait_for(lambda: row(d.weir, "downloads.orders")["used"] == 33, 15,
                 "another address")
        os.kill(keeper, signal.SIGCONT)
        assert c.answer().json()["status"] == "ok"
        assert {h.answer().status for h in hog.all[:32]} == {200}
    assert row(d.weir, "downloads.orders")["used"] == 0

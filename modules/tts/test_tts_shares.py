"""Nobody keeps others from speaking: what one address has of the speaker."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import json
import socket
import struct

import pytest

from control_client import ctl_json
from http_client import Http
from share_help import counted, row
from speech_help import LONG, SENTENCE, metric, say, speaking
from weir import wait_for
from wyoming_help import Wyoming

HOG, OTHER_HOG = "127.0.0.2", "127.0.0.3"
NOBODY_EXEMPT = 'limits = { exempt = "deny all"; ' \
                'connections_per_address = 0; ' \
                'incomplete_per_address = 0; };'
SLOW = 'buffer = "64M"; max_audio = "24h"; timeout = "1h"; cpu = 3600;'
TEXTS = 'max_text = "64K";'
# What no test waits for: something ends it before.
ENDLESS = (SENTENCE + " ") * 40
SLOWLY = {"format": "mp3", "length_scale": 10}
WYOMING = 'wyoming = { listen = "127.0.0.1:0"; };'


def shared(weir, tts, texts=TEXTS):
    return speaking(weir, tts + SLOW + texts, top=NOBODY_EXEMPT)


def shown(w):
    return ctl_json(w, "show", "speech")[0]


def wait_shown(w, **what):
    return wait_for(lambda: what.items() <= shown(w).items(), 10, what)


def leaves_at_once(s):
    """Its end is a reset: one that has only said its last word may still read
    its answer."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Asking(contextlib.ExitStack):
    """Requests of one address that nobody reads the answers of."""

    def __init__(self, w, source):
        super().__init__()
        self.w, self.source, self.all = w, source, []

    def ask(self, text, **fields):
        c = self.enter_context(Http(self.w.http, source=self.source))
        leaves_at_once(c.sock)
        c.send("POST", "/speech", body=json.dumps(
            {"text": text, **(fields or SLOWLY)}).encode())
        self.all.append(c)
        return c

    def many(self, count, text=ENDLESS, **fields):
        """Of different texts."""
        return [self.ask(f"{n}. {text}", **fields) for n in range(count)]

    def answered(self):
        """Those that have got an answer."""
        found = []
        for c in self.all:
            c.sock.setblocking(False)
            try:
                if c._more():
                    found.append(c)
            except BlockingIOError:
                pass
            c.sock.settimeout(10)
        return found


def refusal(c):
    """The text of an answer 503."""
    a = c.answer()
    assert a.status == 503, (a.status, a.body[:200])
    assert int(a.header("retry-after")) >= 1
    return a.json()["message"]


# ---- slots ----

@pytest.mark.parametrize("children", [1, 2])
def test_long_texts_keep_nobody_waiting(weir, children):
    w = shared(weir, f"children = {children};")
    with Asking(w, HOG) as hog:
        hog.many(30)
        wait_shown(w, running=children, queue=30 - children)
        for n in range(5):
            assert say(w, f"{n}. Hello.").status == 200
        assert hog.answered() == []
        wait_shown(w, running=children, queue=30 - children)


def test_long_texts_over_wyoming_keep_nobody_waiting(weir):
    w = shared(weir, WYOMING + "children = 1;")
    port = w.port("tts")
    with contextlib.ExitStack() as all_of_them:
        for n in range(4):
            c = all_of_them.enter_context(Wyoming(port, source=HOG))
            leaves_at_once(c.socket)
            c.send("synthesize", {"text": f"{n}. {ENDLESS}"})
        wait_for(lambda: row(w, "speech.queue")["holds"] == 4, 10,
                 "the hog's")
        assert row(w, "speech.queue")["largest"] == HOG
        assert say(w, "Hello.").status == 200
        with Wyoming(port) as c:
            c.send("synthesize", {"text": "Hello again."})
            assert c.sound()


# ---- the queue ----

def test_an_address_has_half_of_the_queue(weir):
    w = shared(weir, "children = 1; queue = 8; max_paused = 0;" + WYOMING)
    with Asking(w, HOG) as hog:
        hog.many(5)
        wait_shown(w, running=1, queue=4)
        assert "its share" in refusal(hog.ask(f"6. {ENDLESS}"))
        told = row(w, "speech.queue")
        assert (told["limit"], told["used"], told["largest"], told["holds"]) == \
            (10, 5, HOG, 5)
        assert counted(w, "weir_pool_refused_total",
                           'pool="speech.queue",reason="share"') == 1
        w.wait_log(rf"speech\.queue: {HOG} is refused")
        with Wyoming(w.port("tts"), source=HOG) as c:
            c.send("synthesize", {"text": "Hello."})
            e = c.expect("error")
            assert e.data["code"] == "busy" and "its share" in e.data["text"]
        assert say(w, "Hello.").status == 200
    wait_for(lambda: row(w, "speech.queue")["used"] == 0, 10, "an end")


def test_a_full_queue_takes_others(weir):
    """Who would be served last gives way."""
    w = shared(weir, "children = 1; queue = 3; max_paused = 64;")
    with Asking(w, HOG) as hog, Asking(w, OTHER_HOG) as second, \
            Asking(w, "127.0.0.4") as third:
        hog.many(4)
        wait_shown(w, running=1, queue=3)
        second.ask(f"a. {ENDLESS}")
        wait_shown(w, running=2, queue=3)
        third.ask(f"b. {ENDLESS}")
        assert "others go before" in refusal(hog.all[3])
        wait_shown(w, running=2, queue=3)
        assert counted(w, "weir_pool_gave_total", 'pool="speech.queue"') == 1
        refusal(hog.ask(f"c. {ENDLESS}"))
        assert second.answered() == third.answered() == []


def test_two_addresses_leave_a_place_for_others(weir):
    """Of the one that has most, the newest gives way."""
    w = shared(weir, "children = 1; queue = 16; max_paused = 0;")
    with Asking(w, HOG) as hog, Asking(w, OTHER_HOG) as second, \
            Asking(w, "127.0.0.4") as third:
        hog.many(9)
        wait_shown(w, running=1, queue=8)
        second.many(8, "x" + ENDLESS)
        wait_shown(w, running=2, queue=15)
        third.ask("Hello.")
        assert "others go before" in refusal(hog.all[8])
        wait_shown(w, running=2, queue=15)
        assert row(w, "speech.queue")["holds"] == 8
        assert third.answered() == []


def test_bytes_of_texts_have_a_share(weir):
    w = shared(weir, "children = 1; queue = 256;", 'max_text = "1M";')
    with Asking(w, HOG) as hog:
        hog.many(33, "word " * 200000)
        wait_shown(w, running=1, queue=32)
        assert "its share" in refusal(hog.ask("last " * 200000))
        assert say(w, "Hello.").status == 200


def test_equal_requests_have_shares_too(weir):
    w = shared(weir, "children = 1;")
    with Asking(w, HOG) as hog:
        for _ in range(513):
            hog.ask(ENDLESS)
        wait_for(lambda: row(w, "speech.followers")["holds"] == 512, 10,
                 "those that wait for the first")
        assert "its share" in refusal(hog.ask(ENDLESS))
        assert counted(w, "weir_pool_refused_total",
                           'pool="speech.followers",reason="share"') == 1
        assert say(w, "Hello.").status == 200
        hog.all[0].close()  # the next one takes its place
        wait_for(lambda: row(w, "speech.followers")["used"] == 511, 10,
                 "a new first")
        assert row(w, "speech.queue")["holds"] == 1
    wait_for(lambda: row(w, "speech.followers")["used"] == 0 and
             row(w, "speech.queue")["used"] == 0, 10, "their end")


def test_a_place_goes_on_for_another_address(weir):
    w = shared(weir, "children = 1;")
    with Asking(w, HOG) as hog, Asking(w, OTHER_HOG) as second:
        first = hog.ask(ENDLESS)
        wait_shown(w, running=1)
        second.ask(ENDLESS)
        wait_for(lambda: row(w, "speech.followers")["used"] == 1, 10, "it")
        first.close()
        wait_for(lambda: row(w, "speech.queue")["largest"] == OTHER_HOG, 10,
                 "the other")
        assert row(w, "speech.queue")["used"] == 1
        assert row(w, "speech.followers")["used"] == 0
        assert second.answered() == []


# ---- readers ----

def test_slow_readers_of_one_address_are_cut_first(weir):
    w = speaking(weir, "children = 1; max_paused = 2;", top=NOBODY_EXEMPT)
    with Asking(w, HOG) as hog, Http(w.http) as other:
        other.send("POST", "/speech",
                   body=json.dumps({"text": LONG}).encode())
        wait_shown(w, running=0, paused=1)  # it is the slowest from here on
        for n in range(2):
            hog.ask(f"{n}. {LONG}", format="wav")
            wait_shown(w, running=0, paused=2)
        wait_for(lambda: metric(w, "child_ends_total",
                                '{reason="paused"}') == 1, 10, "a cut")
        assert len(other.answer().body) > 1 << 20

"""The role speaker while its children, its zygote and itself are killed and
held, and while it is reloaded."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import random
import signal
import threading
import time

import pytest

from control_client import ctl_json
from http_client import Http, get
from patience import busy
from speech_help import (LONG, SENTENCE, Sound, begin, metric, outcomes,
                         program, say, speaking)
from weir import descendants, descriptors, stat_of, title, \
    wait_for

ONE = 'children = 1;'
# Whole answers that take a second or more to compute.
SLOW = 'buffer = "64M"; max_audio = "24h"; max_text = "64K"; timeout = "1h";'
BIG = (SENTENCE + " ") * 90
# What no test waits for: something ends it before.  As MP3 all of it is less than
# the buffer, so that no answer begins.
ENDED = BIG * 4


def shown(w):
    return ctl_json(w, "show", "speech")[0]


def errors(w):
    return [e["error"] for e in ctl_json(w, "show", "speech", "errors")]


def wait_shown(w, **what):
    """Until the instance has these numbers."""
    return wait_for(lambda: what.items() <= shown(w).items(), 10, what)


def speaker(w):
    return wait_for(lambda: [p for p in descendants(w.pid)
                             if title(p) == "weir: speaker"], 10,
                    "the speaker")[0]


def programs(w):
    return [p for p in descendants(w.pid)
            if program(p).startswith("weir-speaker")]


def zygotes(w):
    """Those whose parents are no weir-speaker."""
    stats = {p: stat_of(p) for p in programs(w)}
    return [p for p, s in stats.items() if s and s[0] not in stats]


def zygote(w):
    return wait_for(lambda: zygotes(w), 10, "a zygote")[0]


def children(w):
    stats = {p: stat_of(p) for p in programs(w)}
    return [p for p, s in stats.items() if s and s[0] in stats]


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def idle(w, pool=2):
    """Nothing runs, and as many children wait as there should be."""
    def look():
        now = shown(w)
        return now["state"] == "ready" and len(children(w)) == pool and \
            now["running"] + now["paused"] + now["resuming"] + \
            now["queue"] == 0
    wait_for(look, 10, "an idle speaker")


class Request(threading.Thread):
    """A request of its own thread; the answer, or what went wrong."""

    def __init__(self, w, text=SENTENCE, **fields):
        super().__init__()
        self.w, self.text, self.fields = w, text, fields
        self.answer = self.error = None
        self.start()

    def run(self):
        try:
            self.answer = say(self.w, self.text, **self.fields)
        except (EOFError, OSError) as e:
            self.error = e

    def end(self):
        self.join(busy(30))
        assert not self.is_alive(), "a request was never answered"
        return self


def rest(c):
    """The chunked body of a long answer."""
    parts = []
    while True:
        size = int(c._until(b"\r\n"), 16)
        parts.append(c._exactly(size))
        assert c._exactly(2) == b"\r\n"
        if size == 0:
            return b"".join(parts)


def stream(c):
    assert c.head().status == 200
    return rest(c)


def is_error(a, status):
    assert a.status == status, (a.status, a.body[:200])
    assert a.json()["message"] and a.json()["status"] == status
    return a.json()["message"]


# ---- children ----

def test_a_child_that_is_killed_costs_its_request_500(weir):
    w = speaking(weir, ONE + SLOW)
    r = Request(w, ENDED, format="mp3")
    wait_shown(w, running=1)
    for pid in children(w):
        kill(pid)
    message = is_error(r.end().answer, 500)
    assert "crashed" in message
    assert metric(w, "child_ends_total", '{reason="crashed"}') == 1
    assert "crashed" in errors(w)[0]
    assert say(w).status == 200
    idle(w, 1)


def test_a_child_that_is_killed_breaks_its_stream(weir):
    w = speaking(weir, ONE)
    with begin(w) as c:
        head = c.head()
        assert head.status == 200
        wait_shown(w, paused=1)
        for pid in children(w):
            kill(pid)
        with pytest.raises((EOFError, ConnectionResetError)):
            rest(c)
    assert say(w).status == 200
    idle(w, 1)


def test_a_request_that_no_child_has_begun_is_begun_by_another(weir):
    w = speaking(weir, ONE)
    idle(w, 1)
    held = children(w)
    for pid in held:
        kill(pid, signal.SIGSTOP)
    r = Request(w)
    wait_shown(w, running=1)
    for pid in held:
        kill(pid)
    assert r.end().answer.status == 200


def test_a_child_that_hangs_is_killed(weir):
    w = speaking(weir, ONE + SLOW.replace('"1h"', '"5s"'))
    r = Request(w, ENDED, format="mp3")
    wait_shown(w, running=1)
    for pid in children(w):
        kill(pid, signal.SIGSTOP)
    assert "timeout" in is_error(r.end().answer, 500)
    assert metric(w, "child_ends_total", '{reason="timeout"}') == 1
    idle(w, 1)


# ---- readers ----

def test_readers_that_wait_have_no_slot(weir):
    w = speaking(weir, ONE)
    slow = [begin(w, f"{n}. {LONG}") for n in range(3)]
    wait_shown(w, paused=3, running=0)
    assert say(w).status == 200
    whole = []
    for c in slow:
        whole.append(len(stream(c)))
        c.close()
    assert min(whole) > 1 << 20
    idle(w, 1)


def test_more_readers_that_wait_than_may_are_cut(weir):
    w = speaking(weir, ONE + "max_paused = 2;")
    slow = []
    for n in range(3):
        slow.append(begin(w, f"{n}. {LONG}"))
        wait_shown(w, running=0, paused=min(n + 1, 2))
    wait_for(lambda: metric(w, "child_ends_total", '{reason="paused"}') == 1,
             10, "the cut")
    ends = []
    for c in slow:
        try:
            stream(c)
            ends.append("whole")
        except (EOFError, ConnectionResetError):
            ends.append("broken")
        c.close()
    assert sorted(ends) == ["broken", "whole", "whole"]
    idle(w, 1)


def test_a_reader_below_min_rate_is_cut(weir):
    w = speaking(weir, ONE + "min_rate = 1024;")
    with begin(w) as c:
        wait_shown(w, paused=1)
        wait_for(lambda: metric(w, "child_ends_total", '{reason="slow"}'), 20,
                 "the cut")
        with pytest.raises((EOFError, ConnectionResetError)):
            stream(c)
    idle(w, 1)


def test_clients_that_go_leave_nothing(weir):
    w = speaking(weir, ONE)
    idle(w, 1)
    pid, before = speaker(w), len(descriptors(speaker(w)))
    gone = [begin(w, f"{n}. {LONG}") for n in range(5)]
    wait_shown(w, paused=5)
    for c in gone:
        c.close()
    idle(w, 1)
    wait_for(lambda: len(descriptors(pid)) <= before, 5, "descriptors")
    assert metric(w, "child_ends_total", '{reason="gone"}') == 5


def test_many_clients_go_at_once(weir):
    """More orders to kill than the zygote's socket holds: it lives on."""
    w = speaking(weir, 'max_paused = 400; queue = 400;')
    before = zygote(w)
    gone = [begin(w, f"{n}. {LONG}") for n in range(300)]
    wait_for(lambda: shown(w)["paused"] == 300, 60, "300 readers that wait")
    kill(before, signal.SIGSTOP)
    for c in gone:
        c.close()
    wait_for(lambda: shown(w)["paused"] == 0, 10, "no reader")
    kill(before, signal.SIGCONT)
    idle(w)
    assert zygotes(w) == [before]
    assert metric(w, "child_ends_total", '{reason="gone"}') == 300


def test_a_client_that_goes_while_it_computes(weir):
    w = speaking(weir, ONE + SLOW)
    with begin(w, ENDED):
        wait_shown(w, running=1)
    idle(w, 1)


def test_a_text_that_no_packet_has_room_for(weir):
    """It is longer than what a socket takes at once."""
    w = speaking(weir, ONE + 'max_text = "1M"; max_audio = "24h";')
    with begin(w, "a. " * 100000) as c:
        assert c.head().status == 200
    idle(w, 1)
    assert say(w, " " * 300000 + SENTENCE).body == say(w, SENTENCE).body


# ---- the queue and the cache ----

def test_a_full_queue(weir):
    w = speaking(weir, ONE + "queue = 1;" + SLOW)
    first = Request(w, "1. " + BIG)
    wait_shown(w, running=1)
    second = Request(w, "2. " + SENTENCE)
    wait_shown(w, running=1, queue=1)
    full = say(w, "3. " + SENTENCE)
    assert "queue" in is_error(full, 503)
    assert int(full.header("retry-after")) >= 1
    assert first.end().answer.status == second.end().answer.status == 200


def test_an_answer_is_kept(weir):
    w = speaking(weir)
    first, before = say(w), shown(w)
    again = say(w)
    assert again.body == first.body
    assert again.header("etag") == first.header("etag")
    now = shown(w)
    assert now["cache_hits"] == before["cache_hits"] + 1
    assert now["made"] == before["made"]
    assert metric(w, "cache_hits_total") >= 1
    other = say(w, volume=50)
    assert other.body != first.body
    assert shown(w)["made"] == now["made"] + 1


def test_the_cache_is_bounded(weir):
    w = speaking(weir, 'cache = "1M";')
    for n in range(12):
        assert say(w, f"{n}. {SENTENCE}").status == 200
        assert shown(w)["cache_bytes"] <= 1 << 20
    assert 0 < shown(w)["cache_entries"] < 12


def test_equal_requests_are_computed_once(weir):
    w = speaking(weir, ONE + SLOW + 'cache = 0;')
    made = shown(w)["made"]
    all_of_them = [Request(w, BIG) for _ in range(5)]
    bodies = {r.end().answer.body for r in all_of_them}
    assert len(bodies) == 1
    assert shown(w)["made"] - made < 5


def test_the_end_of_the_first_of_equal_requests(weir):
    """Its client goes: the others get their answers all the same."""
    w = speaking(weir, ONE + SLOW)
    with begin(w, BIG):
        wait_shown(w, running=1)
        others = [Request(w, BIG) for _ in range(3)]
        time.sleep(0.2)  # whether they came in time: the answer is the same
    for r in others:
        assert r.end().answer.status == 200


# ---- the zygote ----

def test_a_zygote_that_is_killed(weir):
    w = speaking(weir, ONE + SLOW)
    idle(w, 1)
    killed = 0
    for _ in range(30):
        r = Request(w, BIG + str(random.random()))
        wait_shown(w, running=1)
        kill(zygote(w))
        a = r.end().answer
        if a.status != 200:  # else it had all of its sound just before
            is_error(a, 500)
            killed += 1
        assert say(w, str(random.random())).status == 200
        if killed == 5:
            break
    assert killed == 5
    idle(w, 1)
    assert len(zygotes(w)) == 1


def test_a_zygote_that_hangs_is_replaced(weir):
    w = speaking(weir, ONE)
    idle(w, 1)
    for pid in [zygote(w)] + children(w):
        kill(pid, signal.SIGSTOP)
    assert Request(w).end().answer.status == 200
    idle(w, 1)


# ---- the speaker ----

def test_a_speaker_that_is_killed(weir):
    w = speaking(weir, ONE + SLOW)
    r = Request(w, ENDED, format="mp3")
    wait_shown(w, running=1)
    old = programs(w)
    kill(speaker(w))
    is_error(r.end().answer, 503)
    wait_for(lambda: say(w).status == 200, 10, "another speaker")
    assert not set(old) & set(programs(w))
    idle(w, 1)


def push_into_back_off(w):
    pattern = r"speaker starts again in 4000 ms"
    while pattern.split()[-2] not in w.log().split("speaker starts again")[-1]:
        kill(speaker(w))
        time.sleep(0.01)
    w.wait_log(pattern)


def test_a_speaker_in_back_off(weir):
    """The client learns when it will be there again."""
    w = speaking(weir, ONE)
    push_into_back_off(w)

    def told():  # a worker that has missed a death asks again first
        a = say(w)
        is_error(a, 503)
        return 2 <= int(a.header("retry-after")) <= 5
    wait_for(told, 3, "when it is there again")
    wait_for(lambda: say(w).status == 200, 20, "another speaker")


# ---- reloads ----

def conf(tts):
    return {"top": f'tts = ( {{ name = "main"; {tts} }} );',
            "locations": '{ path = "/speech"; module = "tts"; },'}


def test_a_reload_while_it_speaks(weir):
    w = speaking(weir, ONE)
    whole = stream(begin(w))
    pid, first = speaker(w), zygote(w)
    with begin(w) as c:
        wait_shown(w, paused=1)
        w.set_config(**conf("children = 2;"))
        w.reload()
        assert speaker(w) == pid
        wait_for(lambda: [z for z in zygotes(w) if z != first], 10, "a new one")
        assert say(w).status == 200
        assert stream(c) == whole
    wait_for(lambda: first not in zygotes(w), 10, "the old one's end")
    idle(w, 2)


def test_a_reload_that_changes_nothing_keeps_all(weir):
    w = speaking(weir, ONE)
    say(w)
    before, z = shown(w), zygote(w)
    w.reload()
    say(w)
    assert zygote(w) == z
    assert shown(w)["cache_hits"] == before["cache_hits"] + 1


def voice_folder(tmp_path, *names):
    folder = tmp_path / "data" / "voices"
    folder.mkdir(parents=True, exist_ok=True)
    for parent in (folder, folder.parent, tmp_path):
        os.chmod(parent, 0o755)
    for name in names:
        (folder / name).write_text(f"name {name}\nlanguage en-us\n"
                                   "pitch 70 90\n")
    return folder


def test_voices_come_and_go_with_reloads(weir, tmp_path):
    folder = voice_folder(tmp_path, "alice")
    tts = ONE + f'data_dir = [ "{folder.parent}" ];'
    w = speaking(weir, tts)
    assert say(w, voice="alice").header("x-voice") == "alice"
    (folder / "alice").unlink()
    voice_folder(tmp_path, "bob")
    w.reload()
    wait_for(lambda: say(w, voice="alice").status == 404, 10, "no alice")
    assert say(w, voice="bob").status == 200


def test_a_voice_whose_file_is_deleted(weir, tmp_path):
    """It is unknown at once, and says why."""
    folder = voice_folder(tmp_path, "alice")
    w = speaking(weir, ONE + f'data_dir = [ "{folder.parent}" ];')
    (folder / "alice").unlink()
    a = say(w, voice="alice")
    is_error(a, 404)
    assert a.json()["field"] == "voice"
    assert "the file of voice alice is gone; a reload" in a.json()["message"]
    assert not errors(w)
    assert say(w).status == 200


def test_the_list_of_voices_outlives_the_speaker(weir, tmp_path):
    """It is the newest, asked for before or not."""
    folder = voice_folder(tmp_path, "alice")
    w = speaking(weir, ONE + f'data_dir = [ "{folder.parent}" ];')
    (folder / "alice").unlink()
    voice_folder(tmp_path, "bob")
    w.reload()
    wait_for(lambda: say(w, voice="bob").status == 200, 10, "bob")
    push_into_back_off(w)
    assert say(w, voice="bob").status == 503
    a = get(w.http, "/speech/voices")
    assert a.status == 200
    assert "bob" in a.json() and "alice" not in a.json()
    assert get(w.http, "/speech/voices",
               f"If-None-Match: {a.header('etag')}").status == 304
    more = get(w.http, "/speech/v1/audio/voices")
    assert {"id": "bob", "name": "bob"} in more.json()["voices"]
    wait_for(lambda: say(w, voice="bob").status == 200, 20, "a speaker")
    assert get(w.http, "/speech/voices").header("etag") == a.header("etag")


def test_other_directories_start_the_speaker_again(weir, tmp_path):
    folder = voice_folder(tmp_path, "alice")
    w = speaking(weir, ONE)
    pid = speaker(w)
    w.set_config(**conf(ONE + f'data_dir = [ "{folder.parent}" ];'))
    w.reload()
    wait_for(lambda: say(w, voice="alice").status == 200, 10, "alice")
    assert speaker(w) != pid


def test_a_restart_for_other_directories_says_how_long(weir, tmp_path):
    folder = voice_folder(tmp_path, "alice")
    w = speaking(weir, ONE)
    with begin(w):  # is not read: the speaker waits for it
        wait_shown(w, paused=1)
        w.set_config(**conf(ONE + f'data_dir = [ "{folder.parent}" ];'))
        w.reload()
        a = wait_for(lambda: (got := say(w, "b")).status == 503 and got, 2,
                     "the restart")
        assert "starts again" in is_error(a, 503)
        assert 2 <= int(a.header("retry-after")) <= 4
        assert outcomes(w, "no_speaker") >= 1
        assert outcomes(w, "queue_full") == 0
        wait_for(lambda: say(w, voice="alice").status == 200, 10, "alice")


def test_instances_have_zygotes_of_their_own(weir):
    two = ('tts = ( { name = "a"; children = 1; }, '
           '{ name = "b"; children = 1; voice = "de"; } );')
    where = ('{ path = "/a"; module = "tts"; instance = "a"; },'
             '{ path = "/b"; module = "tts"; instance = "b"; },')
    w = weir(top=two, locations=where)
    wait_for(lambda: say(w, base="/a").status == 200, 10, "a")
    wait_for(lambda: say(w, base="/b").status == 200, 10, "b")
    assert say(w, base="/a").header("x-voice") == "en-US"
    assert say(w, base="/b").header("x-voice") == "de"
    wait_for(lambda: len(zygotes(w)) == 2, 10, "two zygotes")
    w.set_config(**conf(ONE))
    w.reload()
    wait_for(lambda: [i["instance"] for i in ctl_json(w, "show", "speech")] ==
             ["main"], 10, "the new instance alone")
    wait_for(lambda: len(zygotes(w)) == 1, 10, "one zygote")


# ---- kills under load ----

class Load:
    """Clients that ask without a pause; each answer is a good one, a clean
    error, or a body that is broken off."""

    def __init__(self, w, clients=4):
        self.w, self.stopped, self.wrong = w, False, []
        self.good = self.bad = self.broken = 0
        self.threads = [threading.Thread(target=self.run, args=(n,))
                        for n in range(clients)]
        for t in self.threads:
            t.start()

    def run(self, number):
        n = 0
        while not self.stopped:
            n += 1
            text = LONG if n % 7 == 0 else f"{number} {n}. {SENTENCE}"
            try:
                self.look(self.ask(text))
            except EOFError:
                self.wrong.append("an end without an answer")
            except OSError as e:
                self.wrong.append(repr(e))

    def ask(self, text):
        with Http(self.w.http) as c:
            c.send("POST", "/speech", body=json.dumps({"text": text}).encode())
            a = c.head()
            try:
                a.body = rest(c) if a.header("transfer-encoding") else \
                    c._exactly(int(a.header("content-length")))
            except (EOFError, ConnectionResetError):
                a.body = None
            return a

    def look(self, a):
        if a.body is None:
            self.broken += 1
            if a.header("content-length"):
                self.wrong.append("a whole answer is broken")
        elif a.status == 200:
            Sound(a.body)
            self.good += 1
        elif a.status in (500, 503) and a.json()["message"]:
            self.bad += 1
            if a.status == 503 and int(a.header("retry-after")) < 1:
                self.wrong.append("no time to retry after")
        else:
            self.wrong.append((a.status, a.body[:100]))

    def stop(self):
        self.stopped = True
        for t in self.threads:
            t.join(busy(30))
        assert not self.wrong, self.wrong[:5]
        assert self.good > 0


def served_soon(w):
    """The first answer that is good, after a moment."""
    time.sleep(0.2)
    wait_for(lambda: say(w, str(random.random())).status == 200, 1, "speech")


def kill_often(weir, count, victim, pause):
    w = speaking(weir, "children = 2;")
    idle(w)
    fds = len(descriptors(speaker(w)))
    load = Load(w)
    for _ in range(count):
        time.sleep(random.random() * pause)
        kill(victim(w))
        served_soon(w)
    load.stop()
    idle(w)
    assert len(zygotes(w)) == 1
    wait_for(lambda: len(descriptors(speaker(w))) <=
             fds + shown(w)["cache_entries"], 5, "descriptors given back")
    return w


def any_child(w):
    return random.choice(wait_for(lambda: children(w), 10, "children"))


def test_children_are_killed_under_load(weir):
    kill_often(weir, 20, any_child, 0.1)


def test_zygotes_are_killed_under_load(weir):
    kill_often(weir, 20, zygote, 0.1)


def test_the_speaker_is_killed_under_load(weir):
    w = kill_often(weir, 2, speaker, 0.5)
    assert len(zygotes(w)) == 1


@pytest.mark.soak
@pytest.mark.parametrize("victim", [any_child, zygote])
def test_kills_long(weir, victim):
    kill_often(weir, int(os.environ.get("WEIR_KILLS", "200")), victim, 0.2)


@pytest.mark.soak
def test_kills_of_the_speaker_long(weir):
    """Its back-off is forgiven after 10 s."""
    w = speaking(weir, "children = 2;")
    load = Load(w)
    for _ in range(int(os.environ.get("WEIR_KILLS", "200"))):
        time.sleep(11)
        kill(speaker(w))
        served_soon(w)
    load.stop()
    idle(w)

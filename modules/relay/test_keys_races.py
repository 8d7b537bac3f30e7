"""Stream keys when much happens at once and the keeper is killed."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import random
import signal

import pytest

from http_client import Http, request
from keys_help import keeper, key_of, refused, room_url, start_keyed
from patience import busy
from rtmp_client import Refused, publisher

CLIENTS = 200
ROOMS = 20


class Round:
    """Requests for several rooms, all under way at once."""

    def __init__(self, w, number, kill):
        self.w, self.kill = w, kill
        self.random = random.Random(number)
        self.rooms = [f"room{number}-{n}" for n in range(ROOMS)]
        self.calls = []     # (verb, room)
        self.answers = []   # (verb, room, status, body)

    def plan(self):
        """What the rooms are asked: get alone, with one reset, with several,
        with deletes."""
        mix = [["get"] * 10, ["get"] * 9 + ["reset"],
               ["get"] * 5 + ["reset"] * 5,
               ["get"] * 5 + ["reset"] * 3 + ["delete"] * 2]
        for n, room in enumerate(self.rooms):
            self.calls += [(verb, room) for verb in mix[n % 4]]
        self.random.shuffle(self.calls)
        assert len(self.calls) == CLIENTS
        return self

    def run(self, clients):
        half = self.random.randrange(CLIENTS)
        for n, (verb, room) in enumerate(self.calls):
            clients[n].send("GET", room_url(verb, room))
            if self.kill and n == half:
                os.kill(keeper(self.w), signal.SIGKILL)
        for n, (verb, room) in enumerate(self.calls):
            a = clients[n].answer()
            self.answers.append((verb, room, a.status, a.body.decode()))
        return self

    def keys(self, room, *verbs):
        return {body for verb, r, status, body in self.answers
                if r == room and status == 200 and verb in verbs}

    def failed(self):
        return [a for a in self.answers
                if a[2] != 200 and not (a[0] == "delete" and a[2] == 404)]

    def check(self):
        """Every key that was answered last is what a later get says."""
        assert {a[2] for a in self.failed()} <= ({503} if self.kill else set())
        unsure = {a[1] for a in self.failed() if a[0] != "get"}
        for n, room in enumerate(self.rooms):
            there = request(self.w.http, "HEAD", room_url("get", room)).status
            now = key_of(self.w, room)
            got, reset = self.keys(room, "get"), self.keys(room, "reset")
            if room in unsure:
                pass
            elif n % 4 == 0:
                assert got <= {now}, room
            elif n % 4 == 1:
                assert reset == {now} and len(got | reset) <= 2, room
            elif n % 4 == 2:
                assert len(reset) == 5 and now in reset, room
                assert len(got - reset) <= 1, room
            else:
                self.check_deleted(n, there, now, got, reset)
            assert key_of(self.w, room) == now

    def check_deleted(self, n, there, now, got, reset):
        """A room that was deleted meanwhile, and perhaps last of all."""
        ended = [a[2] for a in self.answers
                 if a[:2] == ("delete", self.rooms[n])].count(200)
        assert len(reset) == 3 and len(got - reset) <= 1 + ended
        if there == 200:
            assert now in got | reset
        else:
            assert there == 404 and ended > 0 and now not in got | reset
        old = sorted((got | reset) - {now})
        if n == 3:
            assert "no room" in refused(self.w, old[0])


def run_rounds(w, backend, count, kills):
    """How many requests could not be answered, in rounds with a kill."""
    clients = [Http(w.http, timeout=busy(30)) for _ in range(CLIENTS)]
    failures = 0
    for number in range(count):
        r = Round(w, number, number in kills).plan().run(clients)
        if r.kill:  # many deaths are a crash loop: the next may take seconds
            w.wait_log("the keeper is ready", 15, 2 + kills.index(number))
        r.check()
        failures += len(r.failed())
    for c in clients:
        c.close()
    rooms = [(count * ROOMS,)]
    assert backend.query(w, "select count(*) from relay_keys") == rooms
    assert backend.query(w, "select rooms from relay_count") == rooms
    return failures


# Nothing is given up because the machine is busy.
PATIENT = 'timeout = "60s";'


def test_much_at_once(store_backend, weir):
    w = start_keyed(weir, workers=4, store=PATIENT)
    assert run_rounds(w, store_backend, 2, kills=()) == 0


def test_much_at_once_and_the_keeper_killed(store_backend, weir):
    """What it had not done is done by the next keeper: nobody is told no."""
    w = start_keyed(weir, workers=4, store=PATIENT)
    assert run_rounds(w, store_backend, 3, kills=(0, 2)) == 0


@pytest.mark.soak
def test_twenty_rounds(store_backend, weir):
    w = start_keyed(weir, workers=4)
    run_rounds(w, store_backend, 20, kills=range(1, 20, 3))


def test_old_keys_get_in_nowhere(store_backend, weir):
    """Resets while publishers come by the key: none stays by an old one."""
    w = start_keyed(weir, workers=4, app='publish_conflict = "refuse";')
    old = [key_of(w, "movie")]
    came = []
    for n in range(12):
        with Http(w.http) as c:
            c.send("GET", room_url("reset", "movie"))
            for _ in range(2):  # while it is under way
                try:
                    came.append((old[-1], publisher(w.rtmp, "keyed",
                                                    old[-1])))
                except Refused as e:
                    assert "no room" in e.text or "publishe" in e.text
            old.append(c.answer().body.decode())
        with pytest.raises(Refused) as e:
            publisher(w.rtmp, "keyed", old[-2])
        assert "no room" in e.value.text
    for key, c in came:
        if key != old[-1]:
            c.wait_closed()
        c.close()

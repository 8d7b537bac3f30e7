"""What operators are told of players: those over HLS and of MP4 beside those
of every other protocol."""
# SPDX-License-Identifier: BSD-2-Clause

from control_client import Control
from flv_client import FlvPlayer
from hls_outputs import WsPlayer
from hls_play import AT, Player, end, publish
from http_client import Http
from rtmp_client import player
from stat_client import LOCATION, Events, rows
from test_metrics import Metrics
from weir import wait_for

PROTOCOLS = ["flv", "hls", "mp4", "rtmp", "ws"]


def endless(w):
    c = Http(w.http)
    c.send("GET", "/hls/live/room.mp4")
    assert c.head().status == 200
    return c


def changes(w):
    """Rows of players as /stat/events tells them first."""
    e = Events(w.http, "?changes=sessions")
    while (event := e.next())[0] != "sessions":
        pass
    e.close()
    assert event[1]["reset"]
    return [row for _, row in event[1]["rows"] if row["role"] == "player"]


def test_players_of_every_protocol(weir):
    w = weir(workers=2, locations=LOCATION + AT % "")
    p = publish(w)
    hls = Player(w).start()
    hls.list()
    others = [player(w.rtmp, "live", "room"), FlvPlayer(w.http, "room"),
              WsPlayer(w.http, "room"), endless(w)]

    def shown():
        hls.list()  # a viewer that asks for nothing has gone
        with Control(w) as c:
            return sorted(r["protocol"] for r in c.json("show sess")
                          if r["kind"] == "player")

    wait_for(lambda: shown() == PROTOCOLS, 10, "five players")
    for told in ([s for s in rows(w, "sessions") if s["role"] == "player"],
                 changes(w)):
        assert sorted(s["protocol"] for s in told) == PROTOCOLS
        for s in told:
            assert (s["process"] is None) == (s["protocol"] in ("hls", "mp4"))
            assert s["process"] is None or s["process"].startswith("worker ")
    hls.list()
    m = Metrics(w)
    for protocol in ("hls", "mp4"):
        assert m("weir_live_viewers", app="live", protocol=protocol) == 1
    assert m("weir_live_viewers", app="other") == 0
    for c in others:
        c.close()
    end(p)

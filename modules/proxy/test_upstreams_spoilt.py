"""What a worker that was taken over writes into the table of servers: the other
workers go on, and what is told stays what it can be."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

from chaos import Poker
from control_client import ctl, ctl_json
from http_client import get
from upstream_help import LOCATION, Upstream, item, shown, upstreams
from weir import wait_for

TABLE = "servers.servers"
FAR = 1 << 60
ROWS, COUNTS = 8, 26  # servers_impl.h


@pytest.fixture
def servers():
    made = [Upstream("a"), Upstream("b")]
    yield made
    for s in made:
        s.end()


def start(weir, servers, more=""):
    w = weir(top=upstreams([item(s, f'fail_timeout = "1s"; {more}')
                            for s in servers]),
             locations=LOCATION, workers=2)
    assert ask(w, 20) == {200}
    return w


def ask(w, count=1):
    return {get(w.http, "/api/x").status for _ in range(count)}


def serves(w):
    return ask(w) == {200}


def told(w):
    """{line without its value: value} of the proxy's metrics"""
    lines = [line.rsplit(" ", 1)
             for line in get(w.http, "/metrics").body.decode().splitlines()
             if line.startswith("weir_proxy_")]
    return {name: int(value) if value.isdigit() else float(value)
            for name, value in lines}


def test_servers_that_are_shut_for_ever(weir, servers):
    w = start(weir, servers)
    p = Poker(w)
    for place in range(2):
        assert p.write(f"{TABLE}.shared.states[{place}].until_ms", FAR)
    wait_for(lambda: serves(w), 3, "one is asked again")
    wait_for(lambda: serves(w) and {r["state"] for r in shown(w).values()} ==
             {"up"}, 3, "both are up")


def test_checks_that_nobody_has_made(weir, servers):
    w = start(weir, servers)
    p = Poker(w)
    for place in range(2):
        assert p.write(f"{TABLE}.shared.states[{place}].check", 2)
        assert p.write(f"{TABLE}.shared.states[{place}].check_until_ms", FAR)
    assert ask(w, 20) == {200}
    up = [v for name, v in told(w).items() if name.startswith("weir_proxy_up")]
    assert up == [1, 1]


def test_open_requests_that_nobody_has(weir, servers):
    w = start(weir, servers, "max_connections = 2;")
    slots = next(r["limit"] for r in ctl_json(w, "show", "limits")
                 if r["name"] == "processes")
    p = Poker(w)
    for place in range(2):
        p.write_all([f"{TABLE}.gauges[{place * slots + slot}]"
                     for slot in range(slots)], 1000)
    wait_for(lambda: serves(w), 3, "workers know what they have open")
    wait_for(lambda: all(r["open"] == 0 for r in shown(w).values()), 3,
             "nothing is open")
    assert ask(w, 20) == {200}


@pytest.mark.parametrize("value", [0, -1, 1 << 40, 1 << 62])
def test_counters_never_fall(weir, servers, value):
    w = start(weir, servers)
    p = Poker(w)
    seen = 'weir_proxy_requests_total{upstream="api",server="%s",class="2xx"}'
    names = [seen % s.address for s in servers]
    wait_for(lambda: sum(map(told(w).get, names)) == 20, 3, "all are counted")
    before = told(w)
    assert ctl(w, "show", "metrics").returncode == 0  # the master looks
    p.write_all([f"{TABLE}.shared.rows[{place}][{row}].counts[{which}]"
                 for place in range(2) for row in range(ROWS)
                 for which in range(COUNTS)], value)
    after = told(w)
    for name, was in before.items():
        if "_total" in name:
            assert was <= after[name] < 1e19, name

    def goes_on():  # from when the master has looked
        return ask(w) == {200} and (sum(map(told(w).get, names)) >=
                                    sum(map(after.get, names)) + 10)
    wait_for(goes_on, 5, "it goes on")


def test_the_master_looks_by_itself(weir, servers):
    """Nobody has asked it for numbers: they stand all the same."""
    w = start(weir, servers)
    p = Poker(w)
    seen = "servers.servers.cards.items[{}].told[2].least"
    wait_for(lambda: sum(p.read(seen.format(i)) for i in range(2)) == 20, 3,
             "it has looked")

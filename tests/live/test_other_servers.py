"""Settings of other servers: weir -t says what each is called here, and the pages
docs/from-*.md have samples that work.

A sample is a block of a page that begins with "# NAME.conf".  It is started,
published to and played as the page promises; hosts that it names are another
weir of the test.  The tables of the pages have lines of others on the left:
weir -t knows each name there.  On the right stand settings of weir."""
# SPDX-License-Identifier: BSD-2-Clause

import re

import pytest

from control_client import ctl
from http_client import get
from media import by_stream, ffmpeg_publish, ffmpeg_record, packets
from weir import TRACED, place, run, wait_for

PAGES = {"nginx-rtmp": "docs/from-nginx-rtmp.md", "SRS": "docs/from-srs.md",
         "MediaMTX": "docs/from-mediamtx.md"}


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


# ---- names ----

def names_of(server):
    part = text_of("tests/live/other_servers").split(f"\n= {server}\n")[1]
    return part.split("\n= ")[0].split()


def mistakes(folder, names, group):
    """{name: what weir -t says of it in a group that has no such setting}"""
    lines = "\n".join(f"{name} = 1;" for name in names)
    place(folder, f"{group} = {{\n{lines}\n}};\n")
    said = run("-t", "-c", "weir.conf", prefix=folder)
    assert said.returncode == 1
    return dict(re.findall(rf"^\S+: {group}\.(\w+) is unknown(.*)$",
                           said.stderr, re.M))


def keys():
    return {line.split()[0] for line in run("-K").stdout.splitlines()}


@pytest.mark.parametrize("server, group", [
    ("nginx-rtmp", "rtmp"), ("nginx", "http"), ("SRS", "rtmp"),
    ("MediaMTX", "rtmp")])
def test_each_name_is_answered(tmp_path, server, group):
    """With the server that has it, and never with a name that is like it."""
    names, known = names_of(server), keys()
    told = mistakes(tmp_path, names, group)
    assert len(names) > 100 and set(told) == set(names)
    for name, text in told.items():
        whose = re.findall(rf"; {name} of (.*?)(?: is |: )", text)
        assert server in " and ".join(whose).split(" and "), (name, text)
        for here in re.findall(r" is ([\w.\[\]]+) here", text):
            assert here in known, (name, here)


def test_a_name_of_ours_is_not_taken_for_one_of_others(tmp_path):
    """Where weir has no such thing, the name is none that it has elsewhere: it
    may be in the wrong group."""
    ours = {key.split(".")[-1] for key in keys()} - {"stream"}
    for server in ("nginx-rtmp", "nginx", "SRS", "MediaMTX"):
        told = mistakes(tmp_path, names_of(server), "rtmp")
        lacking = {name for name, text in told.items()
                   if " here" not in text}
        assert not lacking & ours, server


WHOLE = [
    ("nginx", "from-nginx-rtmp.md", "worker_processes  auto;\n"
     "events {\n  worker_connections  1024;\n}\nhttp {\n  log_format  main  "
     "'$remote_addr - \"$request\"';\n}\n"),
    ("nginx-rtmp", "from-nginx-rtmp.md", "rtmp {\n  server {\n"
     "    listen 1935;\n    application live {\n      live on;\n    }\n  }\n}\n"),
    ("SRS", "from-srs.md", "listen              1935;\n"
     "max_connections     1000;\ndaemon              off;\n"
     "vhost __defaultVhost__ {\n}\n"),
    ("MediaMTX", "from-mediamtx.md", "logLevel: info\nreadTimeout: 10s\n"
     "rtspTransports: [udp, tcp]\npaths:\n  all_others:\n"),
    ("MediaMTX", "from-mediamtx.md", "paths:\n  cam:\n"
     "    source: rtsp://10.0.0.1/stream\n    sourceOnDemand: yes\n"),
]


@pytest.mark.parametrize("server, page, text", WHOLE)
def test_a_whole_configuration_of_another_server(tmp_path, server, page, text):
    place(tmp_path, text)
    said = run("-t", "-c", "weir.conf", prefix=tmp_path)
    assert said.returncode == 1
    assert re.match(rf"weir\.conf:\d+: this looks like a configuration of "
                    rf"{server}; docs/{page} puts", said.stderr)
    assert len(said.stderr.splitlines()) == 2
    text_of(f"docs/{page}")


# ---- pages ----

def lines(page):
    """(left, right) of each line of its tables of settings."""
    tables = re.findall(r"^\| [^|\n]+ \| weir \|\n\|---\|---\|\n((?:\|.*\n)+)",
                        text_of(page), re.M)
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ", 1))
            for table in tables for line in table.splitlines()]


@pytest.mark.parametrize("server", PAGES)
def test_names_of_a_page(tmp_path, server):
    """Those on the left are known to be the server's, those on the right are
    settings of weir."""
    ours = {key.split(".")[-1] for key in keys()}
    form = r"^`(\w+):" if server == "MediaMTX" else r"(?:^`|[;{] )([a-z]\w+)"
    names, settings = set(), set()
    for left, right in lines(PAGES[server]):
        found = re.findall(form, left)
        assert found, left
        names.update(found)
        settings.update(re.findall(r"\b(\w+) = ", re.sub(r'"[^"]*"', "", right)))
    assert len(names) > 15 and len(settings) > 10
    assert settings <= ours
    told = mistakes(tmp_path, sorted(names), "relays")
    assert set(told) == names
    whose = "nginx" if server == "nginx-rtmp" else server
    for name, text in told.items():
        assert re.search(rf"; {name} of .*{whose}", text), (name, text)


def samples(page):
    """{"weir.conf": its text}"""
    blocks = re.findall(r"^    # (\w+\.conf)\n((?:    .*\n|\n(?=    ))+)",
                        text_of(page), re.M)
    assert blocks
    return {name: re.sub(r"^    ", "", text, flags=re.M)
            for name, text in blocks}


def here(text, remote=None, second=None):
    """At free ports; remote: the weir that stands for all hosts, but for the
    host of the name rtmp2."""
    if second is not None:
        text = re.sub(r"rtmp2[^/\"]+", f"127.0.0.1:{second.rtmp}", text)
    text = re.sub(r'listen = "(?:127\.0\.0\.1:)?\d+"',
                  'listen = "127.0.0.1:0"', text)
    if remote is not None:
        text = re.sub(r"rtmp://(?!127\.0\.0\.1:(?!19350))[^/\"]+",
                      f"rtmp://127.0.0.1:{remote.rtmp}", text)
    if "egress" not in text:
        text = 'egress = [ "allow loopback", "allow all" ];\n' + text
    return text + f'stop_grace = "0"; {TRACED}\n'


def url(w, stream):
    return f"rtmp://127.0.0.1:{w.rtmp}/{stream}"


@pytest.fixture
def publish(tool, sample):
    """Publishes a stream for as long as the test takes."""
    def start(w, stream):
        return tool(ffmpeg_publish(sample, url(w, stream), 1.0, for_ever=True))
    return start


def plays(tool, folder, address):
    """A second of it, pictures and sound."""
    path = folder / "played.flv"
    tool(ffmpeg_record(address, path, "-t", "1")).wait(40)
    rows = by_stream(packets(path))
    assert len(rows) == 2 and all(len(r) > 10 for r in rows.values())


def asked(port, path):
    """By the name that a listener at loopback has."""
    return get(port, path, host="127.0.0.1")


def plays_all(w, tool, folder, stream, port):
    """Over each protocol that the pages name."""
    plays(tool, folder, url(w, stream))
    plays(tool, folder, f"http://127.0.0.1:{port}/{stream}.flv")
    at = f"/{stream}.m3u8"
    wait_for(lambda: asked(port, at).status == 200, 40, at)
    plays(tool, folder, f"http://127.0.0.1:{port}{at}")


def wait_stream(w, stream):
    wait_for(lambda: stream in ctl(w, "show", "streams").stdout.split(), 30,
             stream)


def test_nginx_rtmp(weir, publish, tool, tmp_path):
    page = samples(PAGES["nginx-rtmp"])
    there = weir(apps=''.join(f', {{ name = "{n}"; publish = "open"; }}'
                              for n in ("mypush", "mystaticpull")))
    second = weir(apps=', { name = "mypush"; publish = "open"; }')
    publish(there, "mystaticpull/mystream")
    w = weir(here(page["weir.conf"], there, second))
    w.may_grow = True
    publish(w, "mytv/film")
    publish(w, "hls/movie")
    publish(w, "mypush/show")
    for stream in ("mytv/film", "hls/movie", "mystaticpull/mystream"):
        plays_all(w, tool, tmp_path, stream, w.http)
    wait_stream(second, "mypush/show")
    wait_stream(there, "mypush/show")
    plays(tool, tmp_path, url(there, "mypush/show"))
    assert b"film" in asked(w.http, "/stat/livestat").body
    assert ctl(w, "kick", "stream", "mytv/film").returncode == 0


def test_srs_alone(weir, publish, tool, tmp_path):
    w = weir(here(samples(PAGES["SRS"])["weir.conf"]))
    w.may_grow = True
    publish(w, "live/livestream")
    plays_all(w, tool, tmp_path, "live/livestream", w.http)
    assert b"livestream" in asked(w.http, "/stat/streams").body
    assert asked(w.http, "/metrics").status == 200


def test_srs_forward_and_edge(weir, publish, tool, tmp_path):
    page = samples(PAGES["SRS"])
    slave = weir(here(page["slave.conf"]))
    master = weir(here(page["master.conf"], slave))
    edge = weir(here(page["edge.conf"], slave))
    edge.may_grow = True
    publish(master, "live/livestream")
    plays(tool, tmp_path, url(slave, "live/livestream"))
    plays(tool, tmp_path, url(edge, "live/livestream"))
    plays(tool, tmp_path, edge.flv_url("livestream"))


def test_srs_realtime(weir, publish, tool, tmp_path):
    w = weir(here(samples(PAGES["SRS"])["realtime.conf"]))
    publish(w, "live/livestream")
    plays(tool, tmp_path, url(w, "live/livestream"))


def test_mediamtx(weir, publish, tool, tmp_path):
    w = weir(here(samples(PAGES["MediaMTX"])["weir.conf"]))
    w.may_grow = True
    media_port, numbers = w.port("http", 0), w.port("http", 1)
    publish(w, "live/mystream")
    plays_all(w, tool, tmp_path, "live/mystream", media_port)
    assert b"mystream" in asked(numbers, "/stat/streams").body
    assert asked(numbers, "/metrics").status == 200


def test_mediamtx_relays(weir, publish, tool, tmp_path):
    there = weir()
    publish(there, "live/cam1")
    w = weir(here(samples(PAGES["MediaMTX"])["relays.conf"], there))
    w.may_grow = True
    plays_all(w, tool, tmp_path, "cameras/cam1", w.http)
    publish(w, "live/mystream")
    wait_stream(there, "live/mystream")
    plays(tool, tmp_path, url(there, "live/mystream"))


def test_every_sample_is_used():
    """A page has no sample that these tests do not know."""
    assert {server: set(samples(page)) for server, page in PAGES.items()} == {
        "nginx-rtmp": {"weir.conf"}, "MediaMTX": {"weir.conf", "relays.conf"},
        "SRS": {"weir.conf", "master.conf", "slave.conf", "edge.conf",
                "realtime.conf"}}

"""A reload reads certificates again: new connections see them, old ones go
on, tickets stay good, and a bad file changes nothing."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import shutil
import signal
import socket

from feed import Feed, read_until
from patience import busy
from rtmp_client import Rtmp
from tls_files import connect, context, listen
from weir import wait_for


def place(certificates, folder, name):
    """What the configuration names is now the pair of that name."""
    for end in ("key", "pem"):
        new = f"{folder}/new.{end}"
        shutil.copy2(certificates.path(f"{name}.{end}"), new)
        os.replace(new, f"{folder}/live.{end}")


def configured(folder):
    return (f'tls = {{ certificate = "{folder}/live.pem"; '
            f'certificate_key = "{folder}/live.key"; }};')


def shown(w, certificates):
    """The common name that a new connection is shown."""
    with connect(w.port("https"), certificates.root) as s:
        subject = dict(row[0] for row in s.getpeercert()["subject"])
        return subject["commonName"].split()[-1]


def ask(s):
    s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return s.recv(1000)


def test_a_new_certificate_without_a_lost_connection(weir, certificates,
                                                     tmp_path):
    certificates.make("before", "localhost")
    certificates.make("after", "localhost")
    place(certificates, tmp_path, "before")
    group = listen(configured(tmp_path))
    w = weir(workers=2, http_listen=group,
             rtmp_listen=listen(configured(tmp_path), "127.0.0.1:0"))
    assert shown(w, certificates) == "before"
    c = context(certificates.root)
    player = Rtmp(w.port("rtmps"), tls=c)
    player.connect("live")
    player.play("room", wait=False)
    f = Feed(w.rtmp).head().frames(2)
    read_until(player, "video 1")
    raw = socket.create_connection(("127.0.0.1", w.port("https")), busy(10))
    with c.wrap_socket(raw, server_hostname="localhost") as s:
        assert ask(s).startswith(b"HTTP/1.1 200")
        ticket = s.session

    place(certificates, tmp_path, "after")
    w.kill(signal.SIGHUP)
    wait_for(lambda: shown(w, certificates) == "after", 20,
             "the new certificate")
    f.frames(2)
    read_until(player, "video 3")
    raw = socket.create_connection(("127.0.0.1", w.port("https")), busy(10))
    with c.wrap_socket(raw, server_hostname="localhost", session=ticket) as s:
        assert s.session_reused, "a ticket from before is not taken any more"
        assert ask(s).startswith(b"HTTP/1.1 200")
    player.close()
    f.stop()


def test_a_key_that_does_not_fit_changes_nothing(weir, certificates, tmp_path):
    certificates.make("before", "localhost")
    certificates.make("other", "localhost")
    place(certificates, tmp_path, "before")
    w = weir(http_listen=listen(configured(tmp_path)))
    shutil.copy2(certificates.path("other.key"), f"{tmp_path}/live.key")
    w.kill(signal.SIGHUP)
    w.wait_log(r"weir\.conf:\d+: .*live\.key is not the key of")
    assert shown(w, certificates) == "before"
    place(certificates, tmp_path, "other")
    w.kill(signal.SIGHUP)
    wait_for(lambda: shown(w, certificates) == "other", 20,
             "the new certificate")


def test_tls_comes_and_goes_on_an_address(weir, certificates):
    w = weir(http_listen='"127.0.0.1:0"')
    text = w.config
    with open(f"{w.prefix}/weir.conf", "w", encoding="utf-8") as f:
        f.write(text.replace(
            'listen = ( "127.0.0.1:0" ); access_log',
            f'listen = ( {listen(certificates.group("localhost"))} ); '
            'access_log'))
    port = w.http
    w.kill(signal.SIGHUP)

    def secure():
        try:
            with connect(port, certificates.root) as s:
                return ask(s).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    wait_for(secure, 20, "https on the same port")

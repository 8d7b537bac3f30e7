"""A small RTMP server that relays meet: it keeps what it was told, wants a
login if it shall, and plays a made-up stream (feed.py) to who asks.

    with Server(auth="adobe", password="pw") as s:
        s.url("a"), s.connects, s.wishes
"""
# SPDX-License-Identifier: BSD-2-Clause

import base64
import hashlib
import os
import socket
import threading
import time

import amf0
from feed import Feed
from rtmp_client import COMMAND, SET_CHUNK_SIZE, VIDEO, Closed, Rtmp

USER, SALT, OPAQUE, NONCE = "us", "c2FsdA==", "b3BhcXVl", "bm9uY2U="
QUESTIONS = {
    "adobe": f"user={USER}&salt={SALT}&challenge={OPAQUE}&opaque={OPAQUE}",
    "llnw": f"user={USER}&nonce={NONCE}"}


def md5(text):
    return hashlib.md5(text.encode()).digest()


def b64(text):
    return base64.b64encode(md5(text)).decode()


def response(auth, app, password, q):
    """What who knows the password answers."""
    if auth == "adobe":
        return b64(b64(USER + SALT + password) + OPAQUE + q["challenge"])
    secret = md5(f"{USER}:live:{password}").hex()
    what = md5(f"publish:/{app}/_definst_").hex()
    return md5(
        f"{secret}:{NONCE}:{q['nc']}:{q['cnonce']}:auth:{what}").hex()


class Server:
    def __init__(self, auth=None, password="", host="127.0.0.1", pongs=True):
        self.auth, self.password, self.pongs = auth, password, pongs
        self.connects = []     # command objects of connect
        self.times = []        # of these, seconds
        self.wishes = []       # (command, name)
        self.chunk_sizes = []  # as they were told
        self.frames = 0        # video messages
        self.reads = threading.Event()
        self.reads.set()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.create_server((host, 0), family=family)
        self.port = self.socket.getsockname()[1]
        self.accepted, self.feeds = [], []
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path, login=""):
        return f"rtmp://{login}127.0.0.1:{self.port}/{path}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.reads.set()
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for f in self.feeds:
            f.stop()
        for s in self.accepted:
            s.close()

    def _accept(self):
        while True:
            try:
                s = self.socket.accept()[0]
            except OSError:
                return
            self.accepted.append(s)
            threading.Thread(target=self._serve, args=(s,),
                             daemon=True).start()

    def _serve(self, sock):
        c = Rtmp(accepted=sock, timeout=100)
        c.answer_pings = self.pongs
        try:
            c1 = c.take(1537)[1:]
            c.raw(b"\x03" + bytes(8) + os.urandom(1528) + c1)
            c.take(1536)
            while self._step(c):
                self.reads.wait()
        except (Closed, OSError):
            pass
        sock.close()

    def _step(self, c):
        m = c.read()
        if m.type == SET_CHUNK_SIZE:
            self.chunk_sizes.append(c.chunk_in)
        self.frames += m.type == VIDEO
        if m.type != COMMAND:
            return True
        name, tid, *args = amf0.decode(m.payload)
        if name == "connect":
            return self._connect(c, tid, args[0])
        if name == "createStream":
            c.command("_result", None, 1, tid=tid)
        elif name in ("publish", "play"):
            self.wishes.append((name, args[1]))
            self._status(c, name)
        return True

    def _status(self, c, name):
        c.command("onStatus", None, {
            "level": "status", "code": f"NetStream.{name.title()}.Start"},
            msid=1, tid=0)
        if name == "play":
            c.msid = 1
            self.feeds.append(Feed(0, client=c).head().run())

    def _connect(self, c, tid, wish):
        self.connects.append(wish)
        self.times.append(time.monotonic())
        why = self.auth and self._refusal(wish["app"])
        if why:
            c.command("_error", None, {
                "level": "error", "code": "NetConnection.Connect.Rejected",
                "description": "[ AccessManager.Reject ] : " + why}, tid=tid)
            return False
        c.command("_result", {}, {
            "level": "status", "code": "NetConnection.Connect.Success"},
            tid=tid)
        return True

    def _refusal(self, app):
        """None: the login is good."""
        app, _, query = app.partition("?")
        q = dict(part.split("=", 1) for part in query.split("&") if part)
        mod = f"authmod={self.auth}"
        if q.get("authmod") != self.auth:
            return f"[ code=403 need auth; {mod} ] : "
        if q.get("user") != USER:
            return f"[ {mod} ] : ?reason=nosuchuser"
        if "response" not in q:
            return f"[ {mod} ] : ?reason=needauth&{QUESTIONS[self.auth]}"
        if q["response"] != response(self.auth, app, self.password, q):
            return f"[ {mod} ] : ?reason=authfailed"
        return None

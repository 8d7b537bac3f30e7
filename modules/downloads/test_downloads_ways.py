"""An engine that looks for ways around connect() and bind(): calls that open
a connection by sending, and a server that was bound to nothing.

The engine tries to read a stream key from weir's own control location."""
# SPDX-License-Identifier: BSD-2-Clause

import glob
import platform
import re
import socket
import threading

import pytest

import weir as weir_py
from downloads_help import downloads  # noqa: F401: a fixture
from http_client import get
from test_downloads_programs import ENGINE, engine, result  # noqa: F401
from patience import busy
from test_store import metric
from weir import SANITIZED, read_text

CONTROL = '{ path = "/control"; module = "relay"; },'

TRIES = r"""
import ctypes, errno, platform, socket, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
there = ("127.0.0.1", %d)
FASTOPEN, FASTOPEN_CONNECT, ULP = 0x20000000, 30, 31
SAY = b"GET /control/get?room=a HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"
out = open("media.txt", "w")
proxy = int(os.environ["http_proxy"].rsplit(":", 1)[1])

def attempt(what, f):
    try:
        came = f() or "done"
    except OSError as e:
        came = errno.errorcode.get(e.errno, str(e))
    print(what + ":", str(came).replace("\n", " "), file=out, flush=True)

def call(f, *a):
    if f(*a) == -1:
        raise OSError(ctypes.get_errno(), "")

def stream(protocol=0):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    s.settimeout(20)
    s.setblocking(True)
    return s

def heard(s):
    text = b""
    while piece := s.recv(4096):
        text += piece
    return text.decode()

def by_connect():
    s = stream()
    s.connect(there)
    s.sendall(SAY)
    return heard(s)

def by_sendto():
    s = stream()
    s.sendto(SAY, FASTOPEN, there)
    return heard(s)

def by_sendmsg():
    s = stream()
    s.sendmsg([SAY], [], FASTOPEN, there)
    return heard(s)

class Piece(ctypes.Structure):
    _fields_ = [("at", ctypes.c_char_p), ("size", ctypes.c_size_t)]

class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("name_size", ctypes.c_uint),
                ("pieces", ctypes.POINTER(Piece)), ("count", ctypes.c_size_t),
                ("more", ctypes.c_void_p), ("more_size", ctypes.c_size_t),
                ("flags", ctypes.c_int), ("sent", ctypes.c_uint)]

def messages(flags, own_flags):
    s = stream()
    name = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(there[1]),
                       socket.inet_aton(there[0]))
    piece = Piece(SAY, len(SAY))
    m = Message(name, len(name), ctypes.pointer(piece), 1, None, 0, own_flags)
    call(libc.sendmmsg, s.fileno(), ctypes.byref(m), 1, flags)
    return heard(s)

def by_sendmmsg():
    return messages(FASTOPEN, 0)

def by_flags_of_the_message():  # which no kernel looks at
    return messages(0, FASTOPEN)

def by_option():
    s = stream()
    s.setsockopt(socket.IPPROTO_TCP, FASTOPEN_CONNECT, 1)
    s.connect(there)
    s.sendall(SAY)
    return heard(s)

def by_option_and_sendto():
    s = stream()
    s.setsockopt(socket.IPPROTO_TCP, FASTOPEN_CONNECT, 1)
    s.sendto(SAY, 0, there)
    return heard(s)

def by_another_protocol(number):
    def f():
        s = stream(number)
        s.connect(there)
        s.sendall(SAY)
        return heard(s)
    return f

def serve():
    s = stream()
    s.listen(1)
    print("listens:", s.getsockname()[1], file=out, flush=True)

def serve_v6():
    socket.socket(socket.AF_INET6).listen(1)

def take():
    s = stream()
    s.accept()

def take_old():  # accept() itself: Python calls accept4()
    s = stream()
    call(libc.accept, s.fileno(), None, None)

def layer():
    s = stream()
    s.connect(("127.0.0.1", proxy))
    s.setsockopt(socket.IPPROTO_TCP, ULP, b"tls")

def ring():
    call(libc.syscall, 425, 4, ctypes.create_string_buffer(120))

def other_numbers():  # of x32
    if platform.machine() != "x86_64":
        return "ENOSYS"
    call(libc.syscall, 0x40000000 + 50, stream().fileno(), 1)

def pair():
    a, b = socket.socketpair()
    a.sendmsg([b"x"])
    return b.recv(1) == b"x" and "done"

for name, f in list(globals().items()):
    if name.startswith("by_") and name != "by_another_protocol":
        attempt(name[3:], f)
attempt("many paths", by_another_protocol(262))
attempt("smc", by_another_protocol(256))
attempt("listen", serve)
attempt("listen v6", serve_v6)
attempt("accept4", take)
attempt("accept", take_old)
attempt("layer", layer)
attempt("ring", ring)
attempt("other numbers", other_numbers)
attempt("pair", pair)
out.close()
print("F|media.txt")
"""
REFUSED = {"connect", "sendto", "sendmsg", "sendmmsg", "option", "many paths",
           "smc", "layer"}
UNKNOWN = {"listen", "listen v6", "accept", "accept4", "ring", "other numbers"}
# These are sends on a socket that is not connected.
NOT_CONNECTED = {"flags_of_the_message", "option_and_sendto"}


def tries(engine, tmp_path, top=""):  # noqa: F811
    """What came of each; and the key that is the treasure."""
    d = engine("", locations=CONTROL, top=top)
    key = get(d.port, "/control/get?room=a").body.decode().strip()
    assert len(key) > 8
    (tmp_path / "engine").write_text(
        ENGINE % ("/usr/bin/python3", TRIES % d.port))
    text = result(d)
    return d, key, text, dict(re.findall(r"^([^:\n]+): (.*)$", text, re.M))


@pytest.mark.skipif(SANITIZED, reason="its sandbox is wide")
@pytest.mark.parametrize("seccomp", ["enforce", "off"])
@pytest.mark.usefixtures("landlock_told")
def test_no_way_around(engine, tmp_path, monkeypatch, seccomp):  # noqa: F811
    """The supervisor's own filter is enough, whichever Landlock there is."""
    monkeypatch.setattr(weir_py, "TRACED", "")  # it is in top
    top = f'sandbox = {{ seccomp = "{seccomp}"; core_dumps = true; }};'
    d, key, text, came = tries(engine, tmp_path, top)
    assert key not in text
    told = re.findall(r"\[warn\] \d+ an engine of downloads has made system "
                      r"call (\d+), which", d.weir.log())
    assert len(told) == len(set(told)) == metric(
        d.weir, "weir_sandbox_unknown_calls_total")
    assert len(told) == (5 if platform.machine() == "x86_64" else 4)
    assert came.pop("pair") == "done"
    for what in NOT_CONNECTED:
        # Below Landlock 4 a socket is connected to the proxy from the first.
        assert re.match("EPIPE|ENOTCONN|EPERM|EACCES|HTTP/1.1 407 Proxy",
                        came.pop(what)), what
    for what in UNKNOWN:
        assert came.pop(what) == "ENOSYS", what
    assert set(came) == REFUSED
    assert set(came.values()) <= {"EPERM", "EACCES"}, came


SERVES = r"""
import errno, socket
s = socket.socket()
s.settimeout(20)
try:
    s.listen(1)
    open("new", "w").write(str(s.getsockname()[1]))
    os.rename("new", "port")
    s.accept()[0].sendall(b"hello")
    came = "served"
except OSError as e:
    came = errno.errorcode.get(e.errno)
open("media.txt", "w").write(str(came))
print("F|media.txt")
"""


@pytest.mark.skipif(SANITIZED, reason="its sandbox is wide")
@pytest.mark.usefixtures("landlock_told")
def test_no_stranger_is_served(engine):  # noqa: F811
    """listen() binds a socket that is bound to nothing."""
    d = engine(SERVES)
    came = []
    thread = threading.Thread(target=lambda: came.append(result(d)))
    thread.start()
    while thread.is_alive():
        for path in glob.glob(f"{d.directory}/.weir/*/port"):
            with socket.create_connection(
                    ("127.0.0.1", int(read_text(path))), busy(5)) as s:
                assert s.recv(16) == b"hello"
        thread.join(0.02)
    assert came == ["ENOSYS"]

"""What the hostile program of tests/live/ways shall not get at, and the program
itself: its settings stand in the binary.

    outside = Outside(folder, uid)
    program(compiled, path, {"port": outside.port})
    assert outside.problems() == []
"""
# SPDX-License-Identifier: BSD-2-Clause

import ctypes
import glob
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys

from weir import (as_user, give_all, open_way, read_text, stat_of, title,
                  wait_for)

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ways")
MARK = b"THE SETTINGS OF THE TEST:\n"
SECRET = "s3cret"
LETTERS = {"p": "EPERM", "a": "EACCES", "s": "ENOSYS", "n": "EAFNOSUPPORT",
           "q": "EPROTONOSUPPORT", "i": "EINVAL", "b": "EBADF", "x": "EXDEV",
           "f": "ENOENT", "c": "EISCONN", "o": "EOPNOTSUPP", "d": "ENOTCONN",
           "r": "ESRCH", "t": "EFAULT", "e": "EEXIST", "y": "ENOTTY", "u": "EPIPE",
           "v": "EBUSY", "w": "refused by the proxy",
           "z": "not here", "0": "OUT", "k": "killed", "h": "hangs"}
SYSV = {"shm": "-M", "msg": "-Q", "sem": "-S"}
COMMAND = f"{sys.executable} -I -S -c"  # of what counts signals
libc = ctypes.CDLL(None, use_errno=True)


# ---- the program ----

def compile_ways(folder):
    os.mkdir(folder)
    path = f"{folder}/ways"
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-o", path,
                    *sorted(glob.glob(f"{SOURCES}/*.c"))], check=True)
    return path


def program(compiled, path, settings):
    """A copy with these settings takes that name, as packages do it."""
    with open(compiled, "rb") as f:
        data = f.read()
    text = MARK + "".join(f"{k}={v}\n" for k, v in settings.items()).encode()
    at = data.index(MARK)
    with open(f"{path}.new", "wb") as f:
        f.write(data[:at] + text + data[at + len(text):])
    os.chmod(f"{path}.new", 0o755)
    os.rename(f"{path}.new", path)


def names_of(compiled):
    return subprocess.run([compiled, "--names"], capture_output=True,
                          text=True, check=True).stdout.split()


def tagged(tag):
    """Processes that the program of that tag has left."""
    pids = [path.split("/")[2] for path in glob.glob("/proc/[0-9]*/comm")
            if read_text(path).strip() == tag]
    return [int(pid) for pid in pids if stat_of(pid)]


def strays(uid):
    """Processes of that user which are not weir's."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            own = os.stat(path).st_uid == uid
        except FileNotFoundError:
            continue
        said = title(path[6:]) if own else ""
        if own and said and not said.startswith(("weir", COMMAND)):
            found.append(said)
    return found


def kill_tagged(tag):
    while found := tagged(tag):
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


# ---- the world around it ----

COUNTS = """
import os, signal, sys
got = 0
def count(*_):
    global got
    got += 1
    os.pwrite(1, b"%d" % got, 0)
signal.signal(signal.SIGURG, count)
os.pwrite(1, b"0", 0)
while True:
    signal.pause()
"""


class Outside:
    """Files that are the program's user's, a process of that user which counts
    its signals, and servers that nobody reaches."""

    def __init__(self, folder, uid):
        self.folder, self.uid = f"{folder}/outside", uid
        self.number = random.randrange(1 << 20, 1 << 30)
        self.name = f"weir-ways-{self.number}"
        self._make_files()
        self._make_servers()
        self._make_target()

    def _make_files(self):
        os.makedirs(f"{self.folder}/empty")
        for name in ("options", "voices/lang"):
            os.makedirs(f"{self.folder}/{name}")
        for name in ("file", "victim", "secret", "options/options.json",
                     "voices/notes"):
            with open(f"{self.folder}/{name}", "w", encoding="utf-8") as f:
                f.write("{}" if name.endswith("json") else SECRET)
        shutil.copy("/bin/true", f"{self.folder}/program")
        give_all(self.folder, self.uid)
        os.chmod(self.folder, 0o777)
        open_way(self.folder)
        self.before = self._facts()

    def _facts(self):
        found = {}
        for path in glob.glob(f"{self.folder}/**", recursive=True):
            st = os.stat(path)
            is_file = os.path.isfile(path)
            found[path] = (st.st_mode, st.st_uid, is_file and st.st_size,
                           is_file and os.listxattr(path))
        return {k: v for k, v in found.items()
                if not k.rsplit("/", 1)[1].startswith("sock-")}

    def _make_servers(self):
        def server(family, kind, address):
            s = socket.socket(family, kind)
            s.bind(address)
            if kind == socket.SOCK_STREAM:
                s.listen()
            s.setblocking(False)
            return s

        inet, unix = socket.AF_INET, socket.AF_UNIX
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        first = server(inet, stream, ("127.0.0.1", 0))
        self.port = first.getsockname()[1]
        self.paths = {"path": f"{self.folder}/sock-s",
                      "dpath": f"{self.folder}/sock-d"}
        self.servers = {
            "TCP": first, "UDP": server(inet, datagram,
                                        ("127.0.0.1", self.port)),
            "TCP of IPv6": server(socket.AF_INET6, stream,
                                  ("::1", self.port)),
            "a path": server(unix, stream, self.paths["path"]),
            "datagrams at a path": server(unix, datagram,
                                          self.paths["dpath"]),
            "an abstract name": server(unix, stream, f"\0{self.name}"),
            "datagrams at an abstract name": server(
                unix, datagram, f"\0{self.name}-d")}
        for path in self.paths.values():
            os.chmod(path, 0o777)

    def _make_target(self):
        self.counter = f"{self.folder}.count"
        with open(self.counter, "wb") as f:
            self.target = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", COUNTS],
                stdin=subprocess.DEVNULL, stdout=f, env={"SECRET": SECRET},
                start_new_session=True, **as_user(self.uid))
        wait_for(self._count, what="a process that counts")

    def _count(self):
        return read_text(self.counter)

    @property
    def signals(self):
        return int(self._count())

    def settings(self):
        return {"port": self.port, **self.paths, "abstract": f"@{self.name}",
                "dabstract": f"@{self.name}-d", "mine": f"@{self.name}-m",
                "short": f"@w{self.number % 10 ** 8:08}",
                "outside": self.folder, "secret": f"{self.folder}/secret",
                "tmp": f"/tmp/{self.name}", "shm": f"/dev/shm/{self.name}-s",
                "key": self.number, "name": f"/{self.name}",
                "target": self.target.pid}

    # ---- what became of it ----

    def _reached(self):
        for what, s in self.servers.items():
            try:
                if s.type == socket.SOCK_STREAM:
                    s.accept()[0].close()
                else:
                    s.recv(1)
                yield f"{what} was reached"
            except BlockingIOError:
                pass

    def _left(self):
        for kind, how in SYSV.items():
            if re.search(rf"^ *{self.number} ",
                         read_text(f"/proc/sysvipc/{kind}"), re.M):
                yield f"System V: {kind}"
                subprocess.run(["ipcrm", how, hex(self.number)], check=True)
        if libc.mq_unlink(f"/{self.name}".encode()) == 0:
            yield "a POSIX queue"
        for path in (f"/dev/shm/{self.name}", f"/dev/shm/sem.{self.name}",
                     f"/dev/shm/{self.name}-s", f"/tmp/{self.name}"):
            if os.path.exists(path):
                yield path
                os.unlink(path)

    def problems(self):
        """What was reached, changed or left; it is looked at once."""
        now = self._facts()
        changed = {os.path.relpath(path, self.folder)
                   for path in {*now, *self.before}
                   if now.get(path) != self.before.get(path)}
        return [*self._reached(), *self._left(),
                *(f"changed: {name}" for name in sorted(changed))]

    def close(self):
        self.target.kill()
        self.target.wait()
        for s in self.servers.values():
            s.close()
        list(self._left())

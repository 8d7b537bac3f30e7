"""The databases that weir keeps its store in: SQLite, and a PostgreSQL server
that is started once for all tests.

    def test_something(store_backend, weir):   # runs on both
        w = weir(store='timeout = "1s";')      # more for the "store" block
        store_backend.query(w, "SELECT name FROM note")
"""
# SPDX-License-Identifier: BSD-2-Clause

import fcntl
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile

from weir import wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "postgres")
FILE = "run/weir.db"


def server_do(what, folder, *more):
    done = subprocess.run([SCRIPT, what, folder, *more], timeout=90,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Server:
    """A server in a folder of its own; of the test, or of all."""

    def __init__(self, folder=None):
        self.folder = folder or tempfile.mkdtemp(prefix="weir-postgres-",
                                                 dir="/tmp")
        if folder is None:
            server_do("make", self.folder)
            self.start()

    def start(self):
        server_do("start", self.folder)

    def stop(self, mode="immediate"):
        server_do("stop", self.folder, mode)

    def kill(self):
        """All of it at once, as when the machine fails."""
        for pid in self.pids()[:1]:
            os.kill(pid, signal.SIGSTOP)  # it makes no more sessions
        pids = self.pids()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        server_do("gone", self.folder)
        # What is left of them would keep the next one from starting.
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}/exe")
                                 for pid in pids), 30, "sessions that ended")

    def drop(self):
        server_do("drop", self.folder)

    @property
    def port(self):
        with open(f"{self.folder}/port", encoding="ascii") as f:
            return int(f.read())

    def pids(self):
        """Of the server and all its sessions; none if it does not run."""
        try:
            with open(f"{self.folder}/data/postmaster.pid",
                      encoding="ascii") as f:
                main = int(f.readline())
        except FileNotFoundError:
            return []
        children = subprocess.run(["pgrep", "-P", str(main)], text=True,
                                  capture_output=True, check=False).stdout
        return [main, *map(int, children.split())]

    def psql(self, database, sql):
        """What psql prints: a line for each row, "|" between columns."""
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-h", self.folder, "-U", "weir",
             "-d", database, "-v", "ON_ERROR_STOP=1", "-f", "-"],
            input=sql, capture_output=True, text=True, timeout=60,
            check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


def common_server(root):
    """The one of this session: whoever comes first starts it.  root: a folder
    that all processes of the session know."""
    place = os.path.join(root, "postgres")
    with open(place + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(place):
            made = Server()
            made.psql("postgres",
                      "CREATE USER guarded PASSWORD 's3cret pass'")
            os.symlink(made.folder, place)
        return Server(os.readlink(place))


def end_common_server(root):
    place = os.path.join(root, "postgres")
    if os.path.islink(place):
        folder = os.readlink(place)
        os.unlink(place)
        try:
            server_do("drop", folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Sqlite:
    """A file of each weir."""
    name = "sqlite"
    settings = 'backend = "sqlite";'

    @staticmethod
    def query(w, sql):
        """Rows of texts and numbers, not through weir."""
        with sqlite3.connect(f"{w.prefix}/{FILE}") as db:
            return [tuple(row) for row in db.execute(sql)]


class Postgres:
    """A database of the test, of all its weirs."""
    name = "postgres"

    def __init__(self, server, name):
        self.server = server
        self.database = re.sub(r"\W", "_", name.lower())
        server.psql("postgres", f"CREATE DATABASE {self.database}")

    @property
    def settings(self):
        return f'backend = "postgres"; conninfo = "{self.conninfo()}";'

    def conninfo(self, **more):
        parts = {"host": self.server.folder, "user": "weir",
                 "dbname": self.database, **more}
        return " ".join(f"{k}='{v}'" for k, v in parts.items())

    def query(self, _w, sql):
        """Rows of texts and numbers, not through weir."""
        return [tuple(int(v) if re.fullmatch(r"-?\d+", v) else v
                      for v in line.split("|"))
                for line in self.server.psql(self.database, sql)]

    def drop(self):
        self.server.psql("postgres",
                         f"DROP DATABASE {self.database} WITH (FORCE)")

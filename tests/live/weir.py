"""Starts the real weir on free ports with a configuration of the test, looks
at its processes, and checks at the end that it left nothing behind.

    def test_something(weir):
        w = weir(workers=2, app='publish_conflict = "refuse";')
        Rtmp(w.rtmp)
"""
# SPDX-License-Identifier: BSD-2-Clause

import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import time

from patience import busy

BINARY = os.path.abspath(os.environ.get("WEIR", "build/weir"))
SANITIZED = "sanitize" in BINARY  # several times slower
KEPT_MB = 32  # of freed memory, in which AddressSanitizer sees uses
FELL = "LeakSanitizer has encountered a fatal error"
# Versions of Landlock that tests run at (make landlock); None: the kernel's.
LANDLOCKS = (None,) if SANITIZED else (2, 4, None)

CONFIG = """
worker_processes = {workers};
{generations}
{grace}
pid = "run/weir.pid";
error_log = {{ file = "{log}"; level = "info"; }};
store = {{ {backend} {store} }};
{top}
live = {{ hold = "{hold}"; {live} }};
rtmp = {{ servers = (
  {{ listen = ( {rtmp_listen} ); {rtmp}
    applications = (
      {{ name = "live"; publish = "open"; {app} }}
      {apps} ); }} ); }};
http = {{ {http_block} servers = (
  {{ listen = ( {http_listen} ); access_log = "run/access.log"; {http}
    locations = (
      {locations}
      {{ path = "/"; layers = (
          {{ module = "status"; }}, {{ module = "flv"; {flv} }},
          {{ module = "static"; root = "html"; }} ); }} ); }} ); }};
"""

# Each generation more has 64 workers' slots, three descriptors each, which
# every process has open and every test looks at.
DEFAULTS = {
    "workers": 1, "generations": "max_generations = 3;",
    "grace": 'stop_grace = "0";', "log": "stderr", "top": "",
    "backend": "", "store": "",
    "hold": "2s", "live": "",
    "rtmp": "", "rtmp_listen": '"127.0.0.1:0"', "app": "", "apps": "",
    "http": "", "http_block": "", "http_listen": '"127.0.0.1:0"', "locations": "", "flv": "",
}


# Who is not root may not look at descriptors of what cannot be traced.
TRACED = "" if os.geteuid() == 0 else "sandbox = { core_dumps = true; };"


# Times that a client of ours may miss when the machine is busy: an hour each,
# unless the test says something of them.
UNHURRIED = {"http": ("client_header_timeout", "keepalive_timeout",
                      "send_timeout"),
             "rtmp": ("handshake_timeout", "connect_timeout", "ping_interval",
                      "send_timeout"),
             "app": ("idle_timeout",)}


# What tests call the server; it listens at a loopback address.
HOSTS = ('hosts = [ "a", "b", "h", "other", "t", "test", "u", "x", '
         '"*.example.org", "web.test" ]; ')


def configuration(**parts):
    parts = {**DEFAULTS, **parts}
    if "max_generations" in parts["top"]:
        parts["generations"] = ""
    if "hosts =" not in parts["http"]:
        second = '{ listen = "127.0.0.1:0";'
        parts["http"] = HOSTS + parts["http"].replace(second, second + HOSTS)
    for part, names in UNHURRIED.items():
        for name in names:
            if name not in parts[part]:
                parts[part] = f'{name} = "1h"; ' + parts[part]
    return TRACED + CONFIG.format(**parts)


# For tests that look into processes as only their own user may.
AS_STARTED = 'user = "root";' if os.geteuid() == 0 else ""


def at_version(binary, version):
    """The same weir, told that the kernel's Landlock is no newer."""
    if version is None:
        return binary
    told = f"{os.path.dirname(binary)}/landlock-{version}/weir"
    assert os.path.exists(told), "make landlock"
    return told


def open_way(folder):
    """Root's weir has workers of another user; our temporary folders are
    closed to everybody else."""
    folder = os.path.abspath(folder)
    while folder.startswith(tempfile.gettempdir() + "/"):
        mode = os.stat(folder).st_mode
        if mode & 0o011 != 0o011 and os.stat(folder).st_uid == os.geteuid():
            os.chmod(folder, mode & 0o7777 | 0o011)
        folder = os.path.dirname(folder)


def place(prefix, text):
    """weir.conf and the folders it names."""
    for folder in ("run", "html", "sanitizer"):
        os.makedirs(f"{prefix}/{folder}", exist_ok=True)
    open_way(prefix)
    # Reports are the workers', whoever these run as.
    os.chmod(f"{prefix}/sanitizer", 0o1777)
    with open(f"{prefix}/weir.conf", "w", encoding="utf-8") as f:
        f.write(text)


def give_all(folder, uid):
    """It and all below are that user's."""
    for path, folders, files in os.walk(folder):
        for name in [".", *folders, *files]:
            os.lchown(f"{path}/{name}", uid, uid)


def as_user(uid):
    """For Popen: a process of that user, and of no groups but its own."""
    return {} if uid is None else {"user": uid, "group": uid,
                                   "extra_groups": []}


def wait_for(condition, timeout=5, what="condition"):
    """Polls, the more seldom the longer it takes; the condition's true value.
    timeout: on an idle machine."""
    began = time.monotonic()
    end = began + busy(timeout)
    while True:
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"{what}: not within {busy(timeout)} s")
        time.sleep(min(max(0.005, (now - began) / 4), 0.03))


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def run(*arguments, prefix=None, timeout=30):
    """weir with arguments, to its end."""
    return subprocess.run([BINARY, *arguments], cwd=prefix,
                          timeout=busy(timeout),
                          capture_output=True, text=True, errors="replace",
                          check=False)


def free_port():
    """Not one of those that the system gives out: another test or anybody's
    connection would get it while nobody listens."""
    while True:
        with socket.socket() as s:
            port = random.randrange(15000, 32000)
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


# ---- processes ----

def stat_of(pid):
    """(parent, start time) or None.  Without a file object: each look at a
    family reads those of all processes."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        text = os.read(fd, 4096)
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)
    fields = text[text.rindex(b")") + 2:].split(None, 20)
    if fields[0] == b"Z":
        return None
    return int(fields[1]), int(fields[19])


def descendants(pid):
    parents = {}
    for name in os.listdir("/proc"):
        stat = stat_of(name) if name.isdigit() else None
        if stat:
            parents.setdefault(stat[0], []).append(int(name))
    found, todo = [], [pid]
    while todo:
        todo = [child for p in todo for child in parents.get(p, ())]
        found += todo
    return found


def title(pid):
    return read_text(f"/proc/{pid}/cmdline").replace("\0", " ").strip()


def descriptors(pid):
    """{number: what it is}; those that go while one looks are left out."""
    found = {}
    try:
        folder = os.open(f"/proc/{pid}/fd", os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, ProcessLookupError):
        return found
    try:
        for fd in os.listdir(folder):
            try:
                found[fd] = os.readlink(fd, dir_fd=folder)
            except FileNotFoundError:
                pass
    except (FileNotFoundError, ProcessLookupError):
        pass
    finally:
        os.close(folder)
    return found


def count_open(pid):
    """How many descriptors it has; 0: it is gone."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def resident(pid):
    """Bytes of memory of its own: the arena is not counted."""
    for line in read_text(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no process {pid}")


def inodes_of(ends):
    """Of the connected sockets with these pairs of ports (own, peer's); None:
    it is not there."""
    found = {}
    for line in read_text("/proc/net/tcp").splitlines()[1:]:
        fields = line.split(None, 10)
        ports = tuple(int(end.split(":")[1], 16) for end in fields[1:3])
        if fields[9] != "0":
            found[ports] = fields[9]
    return [found.get(pair) for pair in ends]


class Weir:
    """user: the number of the ordinary user who starts it, to whom its folder
    is given; only root can do that for another."""

    def __init__(self, prefix, text=None, arguments=(), user=None, **parts):
        self.prefix, self.user = str(prefix), user
        self.config = text if text is not None else configuration(**parts)
        self.arguments = list(arguments)
        self.allowed = []  # what an [alert] line may say
        self.status = None
        self.may_grow = False
        self.children_may_crash = False  # a master with a report ends
        self.place()
        try:
            self.start()
        except BaseException:
            self.end_all()
            raise

    def place(self):
        place(self.prefix, self.config)
        if self.user is not None:
            give_all(self.prefix, self.user)

    def start(self):
        env = dict(os.environ)
        asan = f"log_path={self.prefix}/sanitizer/report"
        env["ASAN_OPTIONS"] = f"{asan}:quarantine_size_mb={KEPT_MB}"
        env["UBSAN_OPTIONS"] = asan + ":print_stacktrace=1"
        self.stderr = f"{self.prefix}/stderr.log"
        with open(self.stderr, "wb") as log:
            self.process = subprocess.Popen(
                [BINARY, "-c", f"{self.prefix}/weir.conf", "-p", self.prefix,
                 *self.arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                start_new_session=True, **as_user(self.user))
        self.pid = self.process.pid
        self._wait_ready()

    def _wait_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError("weir did not start:\n" + self.log())
            return re.search(r"\[notice\].* ready: \d+ worker", self.log())
        wait_for(ready, 20, "ready")
        self.at_start = {pid: count_open(pid) for pid in self.workers()}

    # ---- looking ----

    def log(self):
        return read_text(self.stderr) + read_text(
            f"{self.prefix}/run/error.log")

    def access_log(self):
        return read_text(f"{self.prefix}/run/access.log")

    def wait_log(self, pattern, timeout=10, count=1):
        """The count-th match of pattern in the error log."""
        def look():
            found = list(re.finditer(pattern, self.log()))
            return len(found) >= count and found[count - 1]
        return wait_for(look, timeout, f"log line {pattern!r}")

    def wait_access_log(self, pattern, timeout=10):
        """The first match of pattern in the access log."""
        return wait_for(lambda: re.search(pattern, self.access_log()),
                        timeout, f"access log line {pattern!r}")

    def listening(self, proto):
        """What is listened on, as the log says it: ["127.0.0.1:4001"]."""
        return re.findall(rf"listening on {proto} (\S+)", self.log())

    def port(self, proto, number=0):
        return int(self.listening(proto)[number].rsplit(":", 1)[1])

    @property
    def rtmp(self):
        return self.port("rtmp")

    @property
    def http(self):
        return self.port("http")

    def rtmp_url(self, name, app="live"):
        return f"rtmp://127.0.0.1:{self.rtmp}/{app}/{name}"

    def http_url(self, path):
        return f"http://127.0.0.1:{self.http}{path}"

    def flv_url(self, name, app="live"):
        return self.http_url(f"/{app}/{name}.flv")

    def master(self):
        return self.pid

    def workers(self):
        """Pids of the workers that serve, by number.  Two may have one number:
        one that a reload replaces, until it has heard of that, and the new
        one."""
        found = []
        for pid in descendants(self.pid):
            match = re.fullmatch(r"weir: worker (\d+)", title(pid))
            if match:
                found.append((int(match[1]), pid))
        return [pid for _, pid in sorted(found)]

    def old_workers(self):
        """Pids of the workers that a reload has replaced.  A title may be
        read while it is written: any that goes on is theirs."""
        return [pid for pid in descendants(self.pid)
                if re.match(r"weir: worker \d+ ", title(pid))]

    def set_config(self, text=None, **parts):
        """What the next reload will find."""
        with open(f"{self.prefix}/weir.conf", "w", encoding="utf-8") as f:
            f.write(text if text is not None else configuration(**parts))

    def reload(self, good=True, timeout=20):
        """HUP, until it is over; the generation in force."""
        word = r"generation (\d+) is in force" if good else "reload failed"
        count = len(re.findall(word, self.log()))
        before = set(self.workers()) if good else set()
        self.kill(signal.SIGHUP)
        match = self.wait_log(word, timeout, count + 1)
        # One that has not yet heard of it would still accept.
        wait_for(lambda: not before & set(self.workers()),
                 what="old workers that drain")
        return match

    def worker_of(self, sock):
        """The worker that has the other end of a connected socket."""
        return self.workers_of([sock])[0]

    def workers_of(self, socks):
        """Those of several sockets, looked at once."""
        ends = [(s.getpeername()[1], s.getsockname()[1]) for s in socks]
        return wait_for(lambda: self._owners(ends), 3,
                        "workers that have the connections")

    def _owners(self, ends):
        owners = {what: pid for pid in self.workers()
                  for what in descriptors(pid).values()}
        inodes = inodes_of(ends)
        found = [owners.get(f"socket:[{n}]") for n in inodes]
        return None if None in found else found

    def settled(self):
        """True when no worker has more descriptors than at the start."""
        return all(count_open(pid) <= self.at_start.get(pid, 0)
                   for pid in self.workers() if pid in self.at_start)

    # ---- ending ----

    def kill(self, number):
        os.kill(self.pid, number)

    def wait_exit(self, timeout=15):
        self.status = self.process.wait(busy(timeout))
        return self.status

    def stop(self, number=signal.SIGTERM, timeout=15):
        self.kill(number)
        return self.wait_exit(timeout)

    def finish(self, check=True):
        """What every test checks when it is over."""
        try:
            if check:
                self._check()
        finally:
            self.end_all()

    def end_all(self):
        """Kills all at once: the master starts nobody in between.  One that
        has ended has no children, and its number may be another's."""
        if self.process.poll() is not None:
            return
        os.kill(self.pid, signal.SIGSTOP)
        for pid in descendants(self.pid) + [self.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def _check(self):
        problems = []
        if self.status is None:
            self._check_idle(problems)
            self._check_kept(problems)
            family = {p: stat_of(p) for p in descendants(self.pid)}
            self.stop()
            self._check_children(family, problems)
        if self.status != 0 and \
                (self.status, self.pid) not in [(1, p) for p in self._fallen()]:
            problems.append(f"exit status {self.status}")
        self._check_logs(problems)
        assert not problems, "\n".join(problems) + "\n" + self.log()[-6000:]

    def _check_idle(self, problems):
        if self.may_grow:
            return
        try:
            wait_for(self.settled, 5)
        except AssertionError:
            now = {pid: descriptors(pid) for pid in self.workers()}
            problems.append(f"descriptors at start: {self.at_start}, "
                            f"at the end: {now}")

    def _check_kept(self, problems):
        """Each process has open what it may have (kept.py)."""
        from kept import descriptor_problems  # needs what we make here
        try:
            wait_for(lambda: not descriptor_problems(self.pid), 5)
        except AssertionError:
            problems += descriptor_problems(self.pid)

    @staticmethod
    def _check_children(family, problems):
        def gone():
            return not [p for p, s in family.items()
                        if s and stat_of(p) and stat_of(p)[1] == s[1]]
        try:
            wait_for(gone, 3)
        except AssertionError:
            problems.append("children outlive the master")

    def _sanitizer_report(self, name):
        """The leak checker of a child misses the master's log thread, which
        a fork does not copy, and threads that are killed under its hands, and
        may fall over them: that is no report."""
        no_report = ("was not suspended. False leaks",
                     "Unable to get registers from thread",
                     "Tracer caught signal", FELL, "==HINT: ")
        lines = [line for line in
                 read_text(f"{self.prefix}/sanitizer/{name}").splitlines()
                 if not any(words in line for words in no_report)]
        return ["\n".join(lines)[:6000]] if lines else []

    def _fallen(self):
        """Processes whose leak checker fell at their end, over a thread that
        began or ended just then, and that have no other report: their exit
        status 1 is the checker's."""
        folder = f"{self.prefix}/sanitizer"
        return [int(name.rsplit(".", 1)[1]) for name in os.listdir(folder)
                if FELL in read_text(f"{folder}/{name}") and
                not self._sanitizer_report(name)]

    def _check_logs(self, problems):
        allowed = self.allowed + [rf"\(pid {pid}\) ended with status 1$"
                                  for pid in self._fallen()]
        for line in self.log().splitlines():
            if "[alert]" in line and \
                    not any(re.search(a, line) for a in allowed):
                problems.append(line)
        for name in os.listdir(f"{self.prefix}/sanitizer"):
            if not self.children_may_crash or name.endswith(f".{self.pid}"):
                problems += self._sanitizer_report(name)
        if not self.children_may_crash and (
                "Sanitizer" in self.log() or "runtime error" in self.log()):
            problems.append("a sanitizer report is in the log")

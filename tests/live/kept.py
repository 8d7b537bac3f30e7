"""What each process of a weir may have open: every child is compared with the
list of what it keeps, at the end of every test.

A role keeps no listening socket, but that it may have opened one for its
programs, and a worker its own ones only; the master's files, its memory's
descriptors, its control socket and its clients are in nobody's hands but its
own.
"""
# SPDX-License-Identifier: BSD-2-Clause

import re
from collections import Counter
from itertools import chain

from weir import descendants, descriptors, read_text, stat_of, title

EXTRA_EVENTS = 4  # eventfds of a child beside those of the slots
UNIX_ROW = re.compile(r"^\S+ \S+ \S+ (\S+) (\S+) \S+ +(\d+)(.*)$", re.M)
TCP_ROW = re.compile(r"^ *\d+: \S+ \S+ (\S+)(?: +\S+){3} +\d+ +\d+ (\d+)",
                     re.M)
ONE = ("anon_inode:[eventpoll]", "anon_inode:[signalfd]", "pipe")


def sockets(wanted):
    """What is behind each of these "socket:[INODE]": "tcp", "tcp listens",
    "unix", "unix listens", "control listens", "mailbox".  The tables have
    those of the whole machine: no more is made of them than is asked for."""
    left = {w[8:-1] for w in wanted if w.startswith("socket:")}
    found = {}
    for flags, kind, inode, path in UNIX_ROW.findall(
            read_text("/proc/net/unix")):
        if inode in left:
            kind = "mailbox" if kind == "0005" else \
                "control" if "control" in path else "unix"
            listens = int(flags, 16) & 0x10000
            found[f"socket:[{inode}]"] = kind + " listens" * bool(listens)
            left.discard(inode)
    for name in ("tcp", "tcp6"):
        text = read_text(f"/proc/net/{name}") if left else ""
        for state, inode in TCP_ROW.findall(text):
            if inode in left:
                found[f"socket:[{inode}]"] = \
                    "tcp listens" if state == "0A" else "tcp"
                left.discard(inode)
    return found


def opened(pid):
    """Those that are not standard input, output and error."""
    return [what for fd, what in descriptors(pid).items() if int(fd) > 2]


def kind_of(what, known):
    if what.startswith("socket:"):
        return known.get(what, "socket")
    if what.startswith("pipe:"):
        return "pipe"
    return "memfd" if what.startswith("/memfd:") else what


class Family:
    """The processes of a weir, looked at once."""

    def __init__(self, master):
        self.master = opened(master)
        self.titles = {pid: title(pid) for pid in descendants(master)}
        # Starters cannot be looked at, and their programs are others.
        self.children = {pid: opened(pid) for pid, name in self.titles.items()
                         if name.startswith("weir: ")}
        self.known = sockets(chain(self.master, *self.children.values()))
        self.masters = self.count(self.master)
        self.master = set(self.master)

    def listening(self, of, kind):
        return {w for w in of if self.known.get(w) == kind}

    def count(self, of):
        return Counter(kind_of(what, self.known) for what in of)

    def problems(self):
        found = []
        for pid, has in self.children.items():
            if re.match(r"weir: (?!master)", self.titles[pid]) and \
                    stat_of(pid):
                found += [f"{self.titles[pid]}: {p}"
                          for p in self._problems_of(pid, has)]
        return found + self._shared_sockets()

    def _has_starter(self, pid):
        """Their socket looks as a mailbox does, and those of programs may;
        their pipes and memory are what the role makes them."""
        return any(t.startswith("weir starter: ") and
                   (stat_of(p) or [0])[0] == pid
                   for p, t in self.titles.items())

    def _problems_of(self, pid, has):
        mine, masters = self.count(has), self.masters
        starter = self._has_starter(pid)
        for kind in ONE:
            if mine[kind] != 1 and not (starter and kind == "pipe"):
                yield f"{mine[kind]} of {kind}"
        more = mine["mailbox"] - masters["mailbox"] // 2 - 1 - starter
        if more < 0 or (more > 0 and not starter):
            yield f"{mine['mailbox']} ends of mailboxes"
        events = mine["anon_inode:[eventfd]"]
        if not 0 <= events - masters["anon_inode:[eventfd]"] <= EXTRA_EVENTS:
            yield f"{events} eventfds"
        for what in set(has):
            own = starter and what not in self.master
            if what.startswith("/memfd:") and not own or self._is_masters(what):
                yield f"{what} is open"
        yield from self._listens(pid, has)

    def _is_masters(self, what):
        """Whether that file or connection is open in the master too."""
        kind = kind_of(what, self.known)
        return what in self.master and not what.startswith("anon_inode:") \
            and kind not in ("pipe", "mailbox", "tcp listens", "unix listens")

    def _listens(self, pid, has):
        serves = re.fullmatch(r"weir: worker \d+", self.titles[pid])
        for kind in ("tcp listens", "unix listens"):
            strange = self.listening(has, kind)
            if serves:
                strange -= self.listening(self.master, kind)
            elif self._has_starter(pid):  # for its programs
                strange &= self.master
            for what in strange:
                yield f"{what} {kind}"

    def _shared_sockets(self):
        """TCP sockets that two workers accept on."""
        workers = [has for pid, has in self.children.items()
                   if re.fullmatch(r"weir: worker \d+", self.titles[pid])]
        owners = Counter(w for has in workers for w in
                         self.listening(has, "tcp listens"))
        return [f"{what} is in {n} workers" for what, n in owners.items()
                if n > 1]


def descriptor_problems(master):
    """What the children of this master have open that is not on their list,
    told for the test's report; empty: nothing."""
    return Family(master).problems()

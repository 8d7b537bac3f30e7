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
# Nearly all Unix sockets of the machine are ends of mailboxes.
MAILBOX = r"00000000 0005 \d\d +"
MAILBOX_ROW = re.compile(MAILBOX + r"(\d+)$", re.M)
UNIX_ROW = re.compile(r"^\S+ \S+ \S+ (?!" + MAILBOX +
                      r"\d+$)(\S+) \S+ \S+ +(\d+)(.*)$", re.M)
TCP_ROW = re.compile(r"^ *\d+: \S+ \S+ (\S+)(?: +\S+){3} +\d+ +\d+ (\d+)",
                     re.M)
ONE = ("anon_inode:[eventpoll]", "anon_inode:[signalfd]", "pipe")


def sockets(wanted):
    """What is behind each of these "socket:[INODE]": "tcp", "tcp listens",
    "unix", "unix listens", "control listens", "mailbox".  The tables have
    those of the whole machine: no more is made of them than is asked for."""
    left = {w[8:-1] for w in wanted if w.startswith("socket:")}
    text = read_text("/proc/net/unix")
    mailboxes = left.intersection(MAILBOX_ROW.findall(text))
    left -= mailboxes
    found = {f"socket:[{inode}]": "mailbox" for inode in mailboxes}
    for flags, inode, path in UNIX_ROW.findall(text):
        if inode in left:
            kind = "control" if "control" in path else "unix"
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


def kind_of(what):
    """Of what is no socket that sockets() found."""
    if what.startswith("socket:"):
        return "socket"
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
        every = set(chain(self.master, *self.children.values()))
        self.kinds = sockets(every)
        self.kinds |= {what: kind_of(what) for what in every
                       if what not in self.kinds}
        self.masters = self.count(self.master)
        self.master = set(self.master)
        self.masters_own = {what for what in self.master
                            if self._is_masters_own(what)}

    def those(self, kind, of):
        """Those of that kind."""
        return {w for w, k in self.kinds.items() if k == kind}.intersection(of)

    def _is_masters_own(self, what):
        """Whether no child may have that file or connection."""
        return not what.startswith("anon_inode:") and self.kinds[what] not in (
            "pipe", "mailbox", "tcp listens", "unix listens")

    def count(self, of):
        return Counter(map(self.kinds.get, of))

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
        memory = self.those("memfd", has)
        if starter:
            memory &= self.master
        for what in memory | self.masters_own.intersection(has):
            yield f"{what} is open"
        yield from self._listens(pid, has)

    def _listens(self, pid, has):
        serves = re.fullmatch(r"weir: worker \d+", self.titles[pid])
        for kind in ("tcp listens", "unix listens"):
            strange = self.those(kind, has)
            if serves:
                strange -= self.those(kind, self.master)
            elif self._has_starter(pid):  # for its programs
                strange &= self.master
            for what in strange:
                yield f"{what} {kind}"

    def _shared_sockets(self):
        """TCP sockets that two workers accept on."""
        workers = [has for pid, has in self.children.items()
                   if re.fullmatch(r"weir: worker \d+", self.titles[pid])]
        owners = Counter(w for has in workers for w in
                         self.those("tcp listens", has))
        return [f"{what} is in {n} workers" for what, n in owners.items()
                if n > 1]


def descriptor_problems(master):
    """What the children of this master have open that is not on their list,
    told for the test's report; empty: nothing."""
    return Family(master).problems()

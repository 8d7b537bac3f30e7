"""The commands of README.md, of the pages of docs/ and below EXAMPLES of the
manual, and a terminal that they are pasted into as a reader does it.

A paragraph of what is indented (of a literal block, in the manual) is commands
when its first word is one of WORDS.  The paragraph behind it is what they answer,
unless it is code or configuration; "..." in it is anything.  tests/lint/pasted
sees to it that each command is pasted or listed in tests/live/not_pasted."""
# SPDX-License-Identifier: BSD-2-Clause

import fcntl
import functools
import glob
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import textwrap
import time
from dataclasses import dataclass, field

from patience import busy

WORDS = ("curl", "for", "while", "until", "cursor=", "tag=", "KEY=", "PATH=",
         "weirctl", "weir", "build/weir", "build/weirctl", "ffmpeg", "ffplay",
         "cat", "mkdir", "cp", "cd", "sed", "npx", "./configure", "make",
         "printf", "chmod", "openssl", "vlc", "ssh", "git", "apt", "systemctl",
         "docker", "wget", "sudo", "kill", "node", "python3", "tail", "man")
COMMAND = re.compile(r"(?:\$ )?(?:%s)(?=[ '\"$\n]|$)" % "|".join(
    re.escape(w) if not w.endswith("=") else re.escape(w) + r"\S*"
    for w in WORDS))
CODE = re.compile(r"(\{ *(path|listen|name) =|[\w.]+ = [(\[{\"]|//|#|const |"
                  r"import |socket|<video|map |@sio|mpegts|option |histogram)")
LISTED = "tests/live/not_pasted"


@dataclass
class Paragraph:
    text: str
    line: int
    kind: str = "other"  # command, answer, code, other

    commands: list = field(default_factory=list)


def pages():
    return ["README.md", *sorted(glob.glob("docs/*.md")),
            *sorted(glob.glob("man/*.[1-8]")),
            *sorted(glob.glob("modules/*/*.7"))]


def literal_lines(page):
    """(line number, text) of what is shown literally; None: a gap."""
    with open(page, encoding="utf-8") as f:
        lines = f.read().splitlines()
    if page.endswith(".md"):
        blank = True
        for n, line in enumerate(lines, 1):
            if line.startswith("    ") and blank is not None:
                yield n, line
                continue
            yield n, None
            blank = True if not line.strip() else None
        return
    inside, examples = False, False
    for n, line in enumerate(lines, 1):
        if line.startswith(".Sh "):
            examples = line == ".Sh EXAMPLES"
        elif not examples:
            continue
        elif line.startswith((".Bd", ".Ed")):
            inside = line.startswith(".Bd")
            yield n, None
        elif line.startswith(".Dl "):
            yield n, None
            yield n, plain(line[4:])
            yield n, None
        else:
            yield n, plain(line) if inside and line else None


def plain(line):
    return line.replace(r"\e", "\\").replace(r"\&", "")


def paragraphs(page):
    found, lines, begin = [], [], 0
    for n, line in [*literal_lines(page), (0, None)]:
        if line is not None:
            begin = begin if lines else n
            lines.append(line)
        elif lines:
            text = textwrap.dedent("\n".join(lines))
            shown = re.match(r"((?:\$ [^\n]*\n)+)(.+)", text, re.S)
            for part in shown.groups() if shown else [text]:
                found.append(Paragraph(part.strip("\n"), begin))
            lines = []
    before = None
    for p in found:
        if COMMAND.match(p.text):
            p.kind = "command"
            p.text = re.sub(r"^\$ ", "", p.text, flags=re.M)
            p.commands = split(p.text)
        elif CODE.match(p.text):
            p.kind = "code"
        elif before == "command":
            p.kind = "answer"
        before = p.kind
    return found


@functools.lru_cache(maxsize=None)
def is_whole(text):
    """Whether a shell waits for no more of it."""
    done = subprocess.run(["bash", "-n"], input=text + "\n", text=True,
                          capture_output=True, check=False)
    return done.returncode == 0 and "here-document" not in done.stderr and \
        not text.endswith("\\")


def split(text):
    """The commands of a paragraph, each with its lines."""
    found, lines = [], []
    for line in text.split("\n"):
        lines.append(line)
        if is_whole("\n".join(lines)):
            found.append("\n".join(lines))
            lines = []
    assert not lines, text
    return found


# ---- what is not pasted ----

def listed():
    """[(page, beginning of a command, reason)]"""
    with open(LISTED, encoding="utf-8") as f:
        lines = [line.rstrip("\n") for line in f if line.strip() and
                 not line.startswith("#")]
    return [tuple(part.strip() for part in line.split("|")) for line in lines]


def is_listed(page, command, rows):
    return any(page == row[0] and command.startswith(row[1]) for row in rows)


# ---- a terminal ----

class Terminal:
    """A shell at a terminal of its own.  Its prompt is the status of the command
    before it, between two control characters."""

    SETUP = ("stty -echo; PS1= PS2= HISTFILE= "
             "PROMPT_COMMAND='printf \"\\036%s\\037\" $?'\n")
    PROMPT = re.compile("\036(\\d+)\037")
    # Of letters in bold, of colours and of links.
    DRESS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;.*?\x1b\\")

    def __init__(self, folder, environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 50, 500, 0, 0))
        self.shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "--noediting", "-i"],
            cwd=folder, env=environment, stdin=slave, stdout=slave,
            stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave = slave  # open, to see what nobody has read yet
        os.set_blocking(self.master, False)
        self.said, self.waiting = "", b""
        self.type(self.SETUP)
        self.wait(lambda: self.statuses() and self.is_idle(), 30, "a prompt")
        self.said = ""

    def type(self, text):
        self.waiting += text.encode()
        self.look()

    def statuses(self):
        """Of the commands that are over."""
        return [int(n) for n in self.PROMPT.findall(self.said)]

    def paste(self, commands, timeout=60, watch=lambda: None):
        """Types all of them at once and waits until each is over; what they said
        and their statuses.  watch() is called meanwhile."""
        self.said = ""
        self.type("\n".join(commands) + "\n")

        def over():
            watch()
            return len(self.statuses()) >= len(commands) and self.is_idle()
        self.wait(over, timeout, "a prompt behind each command of "
                  f"{commands}, unless one reads what is pasted behind it")
        said = re.sub("\036\\d+\037", "", self.said)
        return self.DRESS.sub("", said), self.statuses()

    def look(self, timeout=0.0):
        """Gives the terminal what it takes and takes what it shows."""
        ready = select.select([self.master], [self.master] if self.waiting
                              else [], [], timeout)
        if ready[1]:
            self.waiting = self.waiting[os.write(self.master,
                                                 self.waiting[:256]):]
        if ready[0]:
            try:
                self.said += os.read(self.master, 65536).decode(
                    errors="replace").replace("\r\n", "\n")
            except BlockingIOError:
                pass
        return bool(ready[0] or ready[1])

    def foreground(self):
        return os.tcgetpgrp(self.master)

    def is_idle(self):
        """The shell waits for a line, and none is there."""
        unread = struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD,
                                                b"\0" * 4))[0]
        if self.waiting or unread or self.foreground() != self.shell.pid:
            return False
        with open(f"/proc/{self.shell.pid}/syscall", encoding="ascii") as f:
            return f.read().split()[:2] == ["0", "0x0"]  # read(0, ...)

    def wait(self, condition, timeout, what):
        end = time.monotonic() + busy(timeout)
        while True:
            while self.look():
                pass
            if condition():
                return
            assert time.monotonic() < end, \
                f"{what}: not within {busy(timeout)} s; it says:\n{self.said}"
            self.look(0.02)

    def wait_said(self, pattern, timeout=30):
        self.wait(lambda: re.search(pattern, self.said), timeout,
                  f"{pattern!r} at the terminal")

    def end_command(self, number=signal.SIGTERM):
        """As its window is closed."""
        group = self.foreground()
        if group != self.shell.pid:
            os.killpg(group, number)

    def close(self):
        """Its programs end before it."""
        self.end_command()
        try:
            self.wait(self.is_idle, 20, "the end of what runs")
        finally:
            for child in children(self.shell.pid):
                os.kill(child, signal.SIGKILL)
            self.shell.kill()
            self.shell.wait()
            os.close(self.slave)
            os.close(self.master)


def children(pid):
    path = f"/proc/{pid}/task/{pid}/children"
    with open(path, encoding="ascii") as f:
        return [int(n) for n in f.read().split()]


# ---- answers ----

def pattern(answer):
    """Of what has to be said, in this order; columns may be wider."""
    parts = re.split(r"\n?\.\.\.\n?", answer)
    return r"\s*" + ".*?".join(
        re.sub(r"(\\ )+", " +", re.escape(p)).replace("\\\n", r"\s*\n *")
        for p in parts)

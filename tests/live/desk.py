"""A desk for tutorial.py: a folder with what a page takes for granted, a terminal
for its commands and one for each weir that it starts."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import shutil
from dataclasses import dataclass, field
from typing import Callable

import tutorial
from tutorial import Terminal
from weir import BINARY, free_port, open_way

PORTS = (1935, 8080, 8090, 8443, 9001, 9002, 10200, 10201)
SERVER = 'http = { servers = ( %s ); };\n'
LOCATIONS = SERVER % '{ listen = "127.0.0.1:8080"; locations = ( %s ); }'
STARTS = re.compile(r"^(build/)?weir -c ", re.M)


@dataclass
class Sheet:
    """What a page needs beside its text."""
    conf: str = ""  # weir.conf that runs: "shipped", its text, or none
    before: Callable = lambda desk: None  # makes files, publishes
    fills: dict = field(default_factory=dict)  # pattern: what stands for it
    # Commands that go on until somebody ends them: the beginning of each, and
    # what it shows when it does what it should.
    ends: dict = field(default_factory=dict)
    # A piece of configuration is weir.conf for the commands behind it.
    pieces: bool = False
    # Commands that go on in a terminal of their own, and what each shows first:
    # those of the page that begin so, and others when weir runs.
    stays: dict = field(default_factory=dict)
    beside: dict = field(default_factory=dict)
    # Commands that are refused, since nothing here is as they want it.
    refused: dict = field(default_factory=dict)


class Desk:
    def __init__(self, folder, sheet):
        self.folder, self.sheet = str(folder), sheet
        self.ports = {p: free_port() for p in PORTS}
        self.terminals, self.servers = [], []
        self.piece = None
        self.pasted = self.compared = 0
        for name in ("run", "html", "bin"):
            os.makedirs(f"{self.folder}/{name}")
        os.symlink(os.path.dirname(BINARY), f"{self.folder}/build")
        open_way(self.folder)
        self.environment = {
            "HOME": self.folder, "CURL_HOME": self.folder, "LANG": "C.UTF-8",
            "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb",
            "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy",
            "XDG_RUNTIME_DIR": self.folder,
            **{k: v for k, v in os.environ.items() if k.endswith("_OPTIONS")}}
        # Nobody prints how far curl has got.
        self.write(".curlrc", "no-progress-meter\n")
        sheet.before(self)

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)

    def install(self):
        """weir and weirctl are found by their names."""
        for name in ("weir", "weirctl"):
            os.symlink(f"{self.folder}/build/{name}",
                       f"{self.folder}/bin/{name}")
        self.environment["PATH"] = f"{self.folder}/bin:" + \
            self.environment["PATH"]

    def here(self, text):
        """With the ports of this desk, on loopback, and the sheet's fills."""
        for old, new in self.sheet.fills.items():
            text = re.sub(old, new, text)
        text = text.replace("HOST", "127.0.0.1")
        text = re.sub(r"(rtmp://(?:127\.0\.0\.1|localhost))/", r"\1:1935/", text)
        text = re.sub(r'(listen = \(? ?|address = )"(\d+)"',
                      r'\1"127.0.0.1:\2"', text)
        return re.sub(r"(?<![\d.])(%s)(?!\d)" % "|".join(map(str, PORTS)),
                      lambda m: str(self.ports[int(m[1])]), text)

    def open(self):
        self.terminals.append(Terminal(self.folder, self.environment))
        return self.terminals[-1]

    def start(self, command):
        """A weir, in a terminal of its own."""
        self.servers.append(self.leave(command, r"ready: \d+ worker"))

    def leave(self, command, shown):
        """It goes on in a terminal of its own."""
        terminal = self.open()
        terminal.type(command + "\n")
        terminal.wait_said(shown)
        return terminal

    def start_conf(self, text):
        if text == "shipped":
            with open("conf/weir.conf", encoding="utf-8") as f:
                text = f.read()
            shutil.copytree("html", f"{self.folder}/html", dirs_exist_ok=True)
        self.write("weir.conf", 'stop_grace = "0";\n' + self.here(text).replace(
            'stop_grace = "5s";', ""))
        self.start("build/weir -c weir.conf -p .")
        for command, shown in self.sheet.beside.items():
            self.leave(self.here(command), shown)

    def prepare(self):
        """The weir that a command asks."""
        if self.piece is not None:
            self.pieces(self.piece)
            self.piece = None
        elif self.sheet.conf and all(s.is_idle() for s in self.servers):
            self.start_conf(self.sheet.conf)

    def paste(self, terminal, commands):
        """What they say; (command, status) of those that failed."""
        ended = set()

        def watch():
            """Ends a command that has shown what it should."""
            number = len(terminal.statuses())
            said = terminal.PROMPT.split(terminal.said)[-1]
            for begin, shown in self.sheet.ends.items():
                if number < len(commands) and number not in ended and \
                        commands[number].startswith(begin) and \
                        re.search(shown, said, re.S):
                    terminal.end_command()
                    ended.add(number)
        said, statuses = terminal.paste(commands, watch=watch)
        if any(" quit" in c for c in commands):
            for server in self.servers:
                server.wait(server.is_idle, 20, "the end of weir")
        self.pasted += len(commands)
        return said, [(c, s) for n, (c, s) in enumerate(zip(
            commands, statuses)) if s and n not in ended and
            not self.is_refused(c, said)]

    def is_refused(self, command, said):
        return any(command.startswith(begin) and why in said
                   for begin, why in self.sheet.refused.items())

    def paste_page(self, page, left_out):
        """left_out(command): it is not pasted."""
        terminal = said = None
        for p in tutorial.paragraphs(page):
            if p.kind == "code" and self.sheet.pieces:
                self.piece = p.text
            elif p.kind == "answer" and said is not None:
                assert re.match(tutorial.pattern(self.here(p.text)), said,
                                re.S), f"{page}:{p.line}: {p.text}\nsaid:\n" + \
                    said
                self.compared += 1
                said = None
            elif p.kind == "command":
                said = None
                commands = [self.here(c) for c in p.commands
                            if not left_out(c)]
                if STARTS.search(p.text):
                    self.start("\n".join(commands))
                    self.pasted += len(commands)
                elif commands:
                    self.prepare()
                    if terminal not in self.terminals:
                        terminal = self.open()
                    stay = [c for c in commands if self.shown_by(c)]
                    said, failed = self.paste(terminal, [
                        c for c in commands if c not in stay])
                    assert not failed, f"{page}:{p.line}: {failed}:\n{said}"
                    for command in stay:
                        self.leave(command, self.shown_by(command))
                        self.pasted += 1

    def shown_by(self, command):
        """Of one that stays; None: it does not."""
        return next((s for b, s in self.sheet.stays.items()
                     if command.startswith(b)), None)

    def pieces(self, text):
        """A piece is weir.conf, a server or locations, as its first word
        shows; the weir of the piece before it ends."""
        if text.startswith("{ listen"):
            text = SERVER % text
        elif text.startswith("{ path"):
            text = LOCATIONS % text
        elif not re.match(r"\w+ = ", text):
            return
        for root in re.findall(r'\broot = "([^"/][^"]*)"', text):
            os.makedirs(f"{self.folder}/{root}", exist_ok=True)
        self.close()
        self.start_conf(text)

    def close(self):
        """Each weir ends as it should: with status 0."""
        while self.terminals:
            terminal = self.terminals.pop()
            terminal.close()
            if terminal in self.servers:
                assert terminal.statuses()[-1:] == [0], terminal.said
        self.servers = []

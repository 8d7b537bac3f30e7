"""weir -m VOICE for tests: a weir without a file, and folders of voices."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import subprocess

from http_client import Http
from weir import BINARY, Weir, wait_for

SYSTEM = "espeak-ng-data"


class Alone(Weir):
    """It runs in `prefix`, which it shall leave as it is."""

    def __init__(self, prefix, *arguments):
        super().__init__(prefix, "", arguments)

    def start(self):
        asan = f"log_path={self.prefix}/sanitizer/report"
        env = dict(os.environ, ASAN_OPTIONS=asan,
                   UBSAN_OPTIONS=asan + ":print_stacktrace=1")
        self.stderr = f"{self.prefix}/stderr.log"
        with open(self.stderr, "wb") as log:
            self.process = subprocess.Popen(
                [BINARY, *self.arguments], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=env, cwd=self.prefix,
                start_new_session=True)
        self.pid = self.process.pid
        self._wait_ready()

    def ask(self, method, target, *headers, **more):
        """An answer; 503 while the speaker starts is no answer."""
        def answer():
            with Http(self.http) as h:
                h.send(method, target, *headers, host="localhost", **more)
                a = h.answer(method)
            return a if a.status != 503 else None
        return wait_for(answer, 10, f"{method} {target}")

    def say(self, body):
        return self.ask("POST", "/", "Content-Type: application/json",
                        body=body.encode())

    def voices(self):
        return self.ask("GET", "/voices").json()


def voice(folder, name, display, language="x-mine"):
    """A voice that speaks English below a folder of data."""
    os.makedirs(f"{folder}/voices", exist_ok=True)
    with open(f"{folder}/voices/{name}", "w", encoding="utf-8") as f:
        f.write(f"name {display}\nlanguage {language} 9\n"
                "dictionary en\nphonemes en-us\n")


def setting(text, name):
    """Of what weir -T prints: the first of that name."""
    return re.search(rf"^ *{name} = (.*);$", text, re.M)[1]

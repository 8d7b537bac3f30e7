"""A hostile program in the place of each that weir ships or starts: an engine of
downloads, weir-fetch, weir-speaker.  It has more than 300 ways out, gets out by
none, and nothing of it is left a second after its run.

A way, in C of tests/live/ways, says which errno refused it."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

import weir as weir_py
from hostile_ways import (LETTERS, Outside, compile_ways, kill_tagged,
                          names_of, program, strays, tagged)
from http_client import get, request
from patience import busy
from test_rights import landlock
from weir import (SANITIZED, as_user, descendants, free_port, open_way, title,
                  wait_for)

ROOT = os.geteuid() == 0
URL = "http://127.0.0.1/film"
PLACES = ("speaker", "engine", "fetch")
PARTS = 4  # lines in which weir-speaker tells it
HOLDS_SIGNALS = 6  # the version of Landlock

TOP = """{users}
egress = [ "deny all" ];
downloads = (
  {{ name = "engine"; directory = "run/engine"; min_free = "0";
     engine = "yt-dlp"; engine_path = "{folder}/engine";
     engine_options_file = "{outside}/options/options.json"; }},
  {{ name = "fetch"; directory = "run/fetch"; min_free = "0";
     engine = "direct"; }} );
tts = ( {speakers} );
"""
SPEAKER = '{{ name = "s{0}"; children = {0}; data_dir = [ "{1}/voices" ]; }}'
LOCATIONS = '{ path = "/control"; module = "relay"; },' + "".join(
    f'{{ path = "/{name}"; layers = ( {{ module = "downloads"; '
    f'instance = "{name}"; }} ); }},' for name in ("engine", "fetch")) + \
    '{ path = "/speech"; module = "tts"; instance = "s1"; },'


# ---- what is expected ----

REFUSED = {"EPERM", "EACCES", "ENOSYS"}
# What the kernel says itself, where a call is for something else as well.
BY_THE_KERNEL = {
    "pair_stream": "EISCONN", "pair_packet": "EISCONN",  # to its other end
    "fast_flags": "EPIPE ENOTCONN", "send_unconnected": "EPIPE ENOTCONN",
    "calls_of_32_bits": "killed", "many_calls_of_32_bits": "killed",
    "own_listener": "EBUSY",  # weir's is there
    "filtered_less": "EINVAL",
    "read_disk": "ENOENT", "write_trigger": "ENOENT",  # machines without it
    "link_in": "EXDEV",
    "rename_out": "ENOENT", "exchange": "ENOENT",  # it has made no such file
    "size_of_open": "EINVAL", "hole_in_open": "EBADF",
    "lock_to_write": "EBADF",  # it was opened to be read
    "descriptors": "EBADF",  # there are none
    "move_parent": "ESRCH", "timer_of_another": "EINVAL",
}

# What works.  Names and facts of files are seen, as docs/security.md says; what
# stays is there, and ends with the run.
HAS = {"look", "read_readable", *(f"stays_{how}" for how in (
    "silent", "loud", "orphaned", "stopped", "another", "persistent",
    "beside", "thread"))}
# An engine writes in its folder.  It may change times of files that its user
# owns, as docs/security.md says: weir-fetch does.
ENGINE_HAS = {"write_inside", "times_of_open"}
SPEAKER_LACKS = {"connect_beside_proxy", "connect_beside_proxy_v6",
                 "by_the_proxy"}


def executes_memory():
    """Before Linux 6.3, as docs/security.md says."""
    try:
        os.close(os.memfd_create("weir", 8))
        return False
    except OSError:
        return True


def expected(place, version):
    """{name: what may come of it}, of those that are not just refused."""
    found = {name: set(said.split()) | REFUSED
             for name, said in BY_THE_KERNEL.items()}
    has = HAS | (set() if place == "speaker" else ENGINE_HAS)
    found.update({name: {"OUT"} for name in has})
    if place == "speaker":
        found.update({name: {"not here"} for name in SPEAKER_LACKS})
        if version >= HOLDS_SIGNALS:
            found["signal_all"] = {"OUT"}  # all is its own run
        if executes_memory():
            found.update({name: {"OUT"} for name in
                          ("memory", "memory_to_execute", "memory_sealed")})
    else:
        found["by_the_proxy"] = {"refused by the proxy"}
    return found


# ---- a weir with three of them ----

class Hostile:
    def __init__(self, weir, folder, compiled, outside, root):
        self.compiled, self.folder = compiled, f"{folder}/bin"
        self.outside, self.tag = outside, f"w{random.randrange(10 ** 9)}"
        os.mkdir(self.folder)
        open_way(self.folder)
        for name in ("weir", "weir-supervisor"):
            shutil.copy(f"{os.path.dirname(weir_py.BINARY)}/{name}",
                        self.folder)
        for name in ("engine", "weir-fetch", "weir-speaker"):
            program(compiled, f"{self.folder}/{name}", {})
        weir_py.BINARY = f"{self.folder}/weir"
        self.control = free_port()
        user = f'program_user = "{outside.uid}";' if root else ""
        self.weir = weir(
            top=TOP.format(users=user, folder=self.folder,
                           outside=outside.folder, speakers=", ".join(
                               SPEAKER.format(n + 1, outside.folder)
                               for n in range(PARTS))),
            http_listen=f'"127.0.0.1:{self.control}"', locations=LOCATIONS,
            user=outside.uid if ROOT and not root else None)
        for name in ("engine", "fetch"):
            wait_for(lambda n=name: self.ask(n, "history").status == 200, 10,
                     "the queue")

    def ask(self, place, what):
        return get(self.control, f"/{place}/{what}")

    def find(self, name):
        return wait_for(lambda: [p for p in descendants(self.weir.pid)
                                 if title(p).startswith(name)], 10, name)

    def arm(self, place, name, role, readable):
        """The program gets its settings."""
        w = self.weir
        mine = f"{w.prefix}/run/{place}"
        self.aims = {"role": self.find(f"weir: {role}")[0],
                     "starter": self.find(f"weir starter: {role}")[0]}
        program(self.compiled, f"{self.folder}/{name}", {
            **self.outside.settings(), "place": place, "tag": self.tag,
            "readable": f"{self.outside.folder}/{readable}",
            "control": self.control, "store": f"{w.prefix}/run/weir.db",
            "conf": f"{w.prefix}/weir.conf", "log": w.stderr,
            "beside": f"{mine if os.path.exists(mine) else w.prefix}/stolen",
            "program": f"{self.folder}/{name}", "weir": f"{self.folder}/weir",
            "master": w.pid, "worker": w.workers()[0], **self.aims})

    # ---- what they report ----

    def engine(self, place, name):
        self.arm(place, name, "fetcher", "options/options.json")
        body = json.dumps({"url": URL, "quality": "best"}).encode()
        answer = request(self.control, "POST", f"/{place}/add", body=body)
        assert answer.json()["status"] == "ok", answer.body
        entry = wait_for(
            lambda: (done := self.ask(place, "history").json()["done"]) and
            done[0], 30, f"the end of {name}")
        assert entry["status"] == "finished", entry
        said = self.ask(place, f"download/{entry['filename']}").body.decode()
        return re.fullmatch(r"all (\S+) end\n", said)[1]

    def speaker(self):
        self.arm("speaker", "weir-speaker", "speaker", "voices/notes")
        for pid in self.find("weir-speaker"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        parts = [self.weir.wait_log(rf"has ended: part {n + 1} (\S*) end", 30)
                 for n in range(PARTS)]
        program(self.compiled, f"{self.folder}/weir-speaker", {})
        return "".join(m[1] for m in parts)

    def report(self, place):
        tell = {"engine": lambda: self.engine("engine", "engine"),
                "fetch": lambda: self.engine("fetch", "weir-fetch"),
                "speaker": self.speaker}[place]
        letters = tell()
        while not set(self.aims.values()) <= set(descendants(self.weir.pid)):
            letters = tell()  # it signalled a process that had ended
        names = names_of(self.compiled)
        assert len(letters) == len(names)
        return {name: LETTERS.get(letter, letter)
                for name, letter in zip(names, letters)}

    # ---- what is left ----

    def run_folders(self):
        return [f"{place}: {name}" for place in ("engine", "fetch")
                for name in os.listdir(f"{self.weir.prefix}/run/{place}/.weir")]

    def left(self):
        return [*map(title, tagged(self.tag)), *strays(self.outside.uid),
                *self.run_folders()]

    def wait_left(self):
        """What is left a second after its run."""
        end = time.monotonic() + busy(1)
        while (left := self.left()) and time.monotonic() < end:
            time.sleep(0.02)
        return left


@pytest.fixture(name="compiled")
def fixture_compiled(made_once):
    return made_once("ways", compile_ways)


@pytest.fixture(name="outside")
def fixture_outside(tmp_path):
    made = Outside(tmp_path, random.randrange(100000, 2 ** 30)
                   if ROOT else os.geteuid())
    yield made
    made.close()


@pytest.fixture(name="hostile")
def fixture_hostile(weir, tmp_path, compiled, outside, monkeypatch):
    started = []

    def start(root):
        if root and not ROOT:
            pytest.skip("root does not start it")
        monkeypatch.setattr(weir_py, "BINARY", weir_py.BINARY)  # it changes
        started.append(Hostile(weir, tmp_path, compiled, outside, root))
        return started[-1]

    yield start
    for h in started:
        kill_tagged(h.tag)


# ---- tests ----

def wrong_of(came, may):
    return {name: said for name, said in came.items()
            if said not in may.get(name, REFUSED)}


@pytest.mark.skipif(SANITIZED, reason="its sandbox is wide")
@pytest.mark.parametrize("root", [True, False], ids=["root", "ordinary"])
@pytest.mark.usefixtures("landlock_told")
def test_no_way_out(hostile, outside, root):
    h = hostile(root)
    version = landlock(h.weir)
    if version == 0:
        pytest.skip("needs Landlock")
    wrong = {}
    for place in PLACES:
        came = h.report(place)
        left = h.wait_left()
        assert len(came) >= 300
        wrong[place] = (wrong_of(came, expected(place, version)), left,
                        outside.problems())
    assert wrong == {place: ({}, [], []) for place in PLACES}
    assert outside.signals == 0


@pytest.mark.skipif(SANITIZED, reason="it is about ways, not about weir")
def test_they_are_ways(compiled, outside, tmp_path):
    """Of a process in no sandbox, which is not root's: so what refuses them is
    the sandbox."""
    folder, tag = tmp_path / "mine", f"w{random.randrange(10 ** 9)}"
    folder.mkdir()
    open_way(str(folder))
    program(compiled, f"{folder}/ways", {
        **outside.settings(), "place": "engine", "tag": tag, "late": 1,
        "readable": f"{outside.folder}/voices/notes", "control": outside.port,
        "program": f"{folder}/ways", "beside": f"{outside.folder}/stolen",
        **dict.fromkeys(("master", "worker", "role", "starter"),
                        outside.target.pid)})
    if ROOT:
        os.chown(folder, outside.uid, outside.uid)
    try:
        subprocess.run([f"{folder}/ways"], cwd=folder, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=busy(60),
                       **(as_user(outside.uid) if ROOT else {}))
        stay = tagged(tag)
    finally:
        kill_tagged(tag)
    letters = re.search(r"all (\S+) end", (folder / "media.txt").read_text())
    came = {name for name, letter in zip(names_of(compiled), letters[1])
            if letter == "0"}
    assert len(came - HAS - ENGINE_HAS) > 100, sorted(came)
    assert len(stay) >= 7
    assert outside.signals > 0
    assert len(outside.problems()) > 15

"""The list of all control words in the memory that weir's processes share.

Nothing of it is written by hand: each variable of the master that points into
shared memory is looked at, and what it points at is read from the debugging
information of the binary (chaos_types.py).  A word is a whole number, truth
value or enum of any struct there; of arrays some places stand for all.

    words = Words(w.pid)
    word = words.list[0]  # slot.table.slots[few].epoch_seen
    address = word.place(random.Random(1), Pages(pid, words.regions))
"""
# SPDX-License-Identifier: BSD-2-Clause

import array
import bisect
import functools
import hashlib
import json
import os
import re
import struct
import subprocess

from weir import BINARY, read_text

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = f"{HERE}/../../build/types"
PAGE = 4096
LOOKED = 4096  # bytes of a variable in which pointers are looked for
POINTERS = 16  # of an array

# What no type tells, by the variable that points there: behind one of it lie
# others at a fixed distance, or bytes that are one of several structs.
LOG_RING = int(re.search(r"LOGRING_SIZE (\d+)", read_text(
    f"{HERE}/../../src/proc/logring.h"))[1])
BEHIND = {"logring.logs.memory": ("struct slot_ring", LOG_RING)}
OVERLAID = {"arena.arena.segments":
            (("struct index_segment", "struct prologue", "struct cut_page"),
             65536)}


# ---- memory of a process ----

class Region:
    def __init__(self, begin, end, name, writable):
        self.begin, self.end, self.name = begin, end, name
        self.writable = writable  # by that process


def regions(pid):
    """What it shares with others by mmap()."""
    found = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        for line in f:
            fields = line.split(maxsplit=5)
            name = fields[5].strip() if len(fields) > 5 else ""
            shared = name.startswith(("/memfd:", "/dev/zero"))
            if fields[1][3] == "s" and shared:
                begin, end = (int(n, 16) for n in fields[0].split("-"))
                name = name.replace("/memfd:", "").replace(" (deleted)", "")
                found.append(Region(begin, end, name, fields[1][1] == "w"))
    return join(found)


def join(found):
    """Parts with other rights count as one."""
    joined = []
    for r in sorted(found, key=lambda r: r.begin):
        last = joined[-1] if joined else None
        if last and last.end == r.begin and last.name == r.name:
            last.end = r.end
        else:
            joined.append(r)
    return joined


def program_base(pid):
    """What its symbols are away from their places; 0 where it is linked at
    fixed ones (e_type of its ELF header, ET_EXEC)."""
    program = os.path.realpath(f"/proc/{pid}/exe")
    with open(program, "rb") as f:
        if f.read(18)[16] == 2:
            return 0
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        for line in f:
            if line.rstrip().endswith(program):
                return int(line.split("-")[0], 16)
    raise AssertionError(f"{program} is not mapped")


def numbers(memory, address, size):
    """Aligned 8-byte words; none where nothing can be read."""
    try:
        data = os.pread(memory, size & ~7, address)
    except (OSError, OverflowError):
        return ()
    return struct.unpack(f"<{len(data) // 8}Q", data[:len(data) & ~7])


class Pages:
    """Which pages of the regions a process has touched."""

    def __init__(self, pid, where):
        self.by_region = []
        try:
            with open(f"/proc/{pid}/pagemap", "rb") as f:
                for r in where:
                    f.seek(r.begin // PAGE * 8)
                    flags = array.array("Q", f.read((r.end - r.begin)
                                                    // PAGE * 8))
                    self.by_region.append([r.begin + i * PAGE for i, flag
                                           in enumerate(flags) if flag >> 62])
        except (OSError, ValueError):
            self.by_region = [[r.begin] for r in where]
        self.all = sorted(p for pages in self.by_region for p in pages)

    def within(self, begin, end):
        return self.all[bisect.bisect_left(self.all, begin & ~(PAGE - 1)):
                        bisect.bisect_left(self.all, end)]


# ---- words ----

class Step:
    """One array on the way to a word."""

    def __init__(self, stride, count, choice):
        self.stride, self.count, self.choice = stride, count, choice

    def index(self, rng, pages, begin):
        some = rng.random()
        if isinstance(self.choice, int):
            return self.choice
        if self.choice == "few":
            return min(2 + int(some * 6), self.count - 1)
        if self.choice == "used":
            used = pages.within(begin, begin + self.stride * self.count)
            at = used[int(some * len(used))] if used else begin
            return max(at - begin, 0) // self.stride
        return int(some * self.count)


def without_places(path):
    return re.sub(r"\[\w+\]", "[]", path)


def choices(stride, count, depth):
    if count <= 4:
        return range(count)
    if stride >= PAGE:
        return (0, 1, "used", count - 1)
    if depth:
        return (0, "any", count - 1)
    return (0, 1, "few", "any", count - 1)


class Word:
    """name: what all its places have in common, "slot: slot.epoch_seen"."""

    def __init__(self, path, address, steps, offset, width):
        self.path, self.address = path, address
        self.steps, self.offset, self.width = steps, offset, width
        self.name = None

    def place(self, rng, pages):
        at = self.address
        for offset, step in self.steps:
            at += offset
            at += step.stride * step.index(rng, pages, at)
        return at + self.offset


class Walk:
    """Collects the words of a value of a type."""

    def __init__(self, structs, address, end):
        self.structs, self.address, self.end = structs, address, end
        self.words, self.texts = [], []

    def walk(self, kind, path, steps, offset, room):
        """offset: behind the last step's array, room: up to the next thing."""
        if kind[0] == "int":
            self.words.append(Word(path, self.address, steps, offset,
                                   kind[1]))
        elif kind[0] == "text":
            self.texts.append(Word(path, self.address, steps, offset,
                                   kind[1]))
        elif kind[0] == "struct":
            for name, at, inner in kind[2]:
                self.walk(inner, f"{path}.{name}" if name else path, steps,
                          offset + at, room - at)
        elif kind[0] == "array":
            self.spread(kind[2], kind[1], path, steps, offset, room)

    def spread(self, kind, count, path, steps, offset, room, stride=0):
        stride = stride or size_of(kind)
        if stride == 0:
            return
        count = count or room // stride  # [] at the end of a struct
        for choice in choices(stride, count, len(steps)):
            step = Step(stride, count, choice)
            self.walk(kind, f"{path}[{choice}]", steps + [(offset, step)], 0,
                      stride)


def size_of(kind):
    if kind[0] == "array":
        return kind[1] * size_of(kind[2])
    return 8 if kind[0] == "pointer" else kind[1]


class Root:
    """A pointer into shared memory, and what it points at."""

    def __init__(self, address, kind, path, tag):
        self.address, self.kind, self.path = address, kind, path
        self.tag = tag  # of the struct; None: it is none
        self.end = 0

    def name(self, path):
        """Of a word: the file, the struct or variable, members.  Numbers of
        places are left out."""
        stem, _, variable = self.path.partition(".")
        rest = path[len(self.path):]
        tag = self.tag or variable.split(".")[-1]
        if rest.startswith(":"):  # one of several structs
            tag, _, rest = rest[1:].partition("[")
            rest = "[" + rest
        return f"{stem}: {tag}" + re.sub(r"\[\w+\]", "", rest)


class Words:
    """list: words.  texts: arrays of bytes, which lie between them."""

    def __init__(self, pid):
        self.regions = regions(pid)
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        try:
            self.list = self._make(program_base(pid))
        finally:
            os.close(self.memory)
        self.named = {without_places(w.path): w for w in reversed(self.list)}

    def region_of(self, address):
        for r in self.regions:
            if r.begin <= address < r.end:
                return r
        return None

    def at(self, path):
        """The word of a path with its own numbers: "slot.table.slots[3].pid".
        """
        numbers_of = [int(n) for n in re.findall(r"\[(\d+)\]", path)]
        w = self.named[without_places(path)]
        steps = [(offset, Step(step.stride, step.count, n)) for
                 (offset, step), n in zip(w.steps, numbers_of)]
        return Word(path, w.address, steps, w.offset, w.width)

    # ---- from variables to roots ----

    def _make(self, base):
        names = sorted(set(self._pointing(base)))
        types = debug_types(names)
        self.structs = types["structs"]
        self.extra = dict(zip(EXTRA, types["extra"]))
        self.texts = []
        found = []
        for v in types["variables"]:
            stem = os.path.splitext(os.path.basename(v["file"]))[0]
            found += self._roots(v["type"], base + v["address"],
                                 f"{stem}.{v['name']}", 0)
        return [word for root in self._bound(found)
                for word in self._words(root)]

    def _pointing(self, base):
        """Variables that hold an address of shared memory, or of something
        that holds one."""
        for name, address, size in data_symbols():
            for value in numbers(self.memory, base + address,
                                 min(size, LOOKED)):
                if value > 65536 and (self.region_of(value) or any(
                        self.region_of(inner) for inner in
                        numbers(self.memory, value, 64))):
                    yield name
                    break

    def _roots(self, kind, address, path, depth):
        if kind[0] == "struct":
            return [r for name, at, inner in kind[2]
                    for r in self._roots(inner, address + at,
                                         f"{path}.{name}", depth)]
        if kind[0] == "array" and kind[2][0] == "pointer":
            return [r for i in range(min(kind[1], POINTERS))
                    for r in self._roots(kind[2], address + 8 * i, path,
                                         depth)]
        if kind[0] != "pointer":
            return []
        value = (numbers(self.memory, address, 8) or (0,))[0]
        target = self.structs.get(kind[1])
        if self.region_of(value):
            tag = re.match(r"struct (\w+)/", kind[1] or "")
            return [Root(value, target, path, tag and tag[1])] if target \
                else []
        if target and target[0] == "struct" and depth == 0 and value > 65536:
            return self._roots(target, value, path, 1)
        return []

    def _bound(self, found):
        """Each reaches to the next one of its region."""
        bound = []
        for root in sorted(found, key=lambda r: (r.address, -size_of(r.kind),
                                                 r.path)):
            last = bound[-1] if bound else None
            root.end = self.region_of(root.address).end
            if last and last.end == root.end:
                within = root.kind == last.kind and root.kind[0] != "int"
                if within or root.address == last.address:
                    continue  # a place within, or another name
                last.end = root.address
            bound.append(root)
        return bound

    # ---- from roots to words ----

    def _words(self, root):
        walk = Walk(self.structs, root.address, root.end)
        room = root.end - root.address
        size = size_of(root.kind)
        if root.path in OVERLAID:
            names, stride = OVERLAID[root.path]
            for name in names:
                kind = self.structs[self.extra[name]]
                walk.spread(kind, room // stride, f"{root.path}:{name[7:]}",
                            [], 0, room, stride)
        elif root.path in BEHIND:
            name, stride = BEHIND[root.path]
            walk.walk(root.kind, root.path, [], 0, size)
            walk.spread(self.structs[self.extra[name]],
                        (room - size) // stride, f"{root.path}:{name[7:]}",
                        [], size, room, stride)
        elif room >= 2 * size and not grows(root.kind):
            walk.spread(root.kind, room // size, root.path, [], 0, room)
        else:
            walk.walk(root.kind, root.path, [], 0, room)
        for word in walk.words + walk.texts:
            word.name = root.name(word.path)
        self.texts += walk.texts
        return walk.words


def grows(kind):
    """Whether it ends in an array of no declared length."""
    return kind[0] == "struct" and kind[2] and \
        kind[2][-1][2][:2] == ["array", 0]


EXTRA = sorted({name for name, _ in BEHIND.values()} |
               {name for names, _ in OVERLAID.values() for name in names})


# ---- the binary ----

def kept(look):
    """What look(*arguments) has found in this binary is kept below build/ for
    other processes and tests: gdb takes most of a second."""
    @functools.wraps(look)
    def found(*arguments):
        state = os.stat(BINARY)
        of = json.dumps([BINARY, state.st_mtime_ns, state.st_size, arguments,
                         look.__name__, read_text(__file__),
                         read_text(f"{HERE}/chaos_types.py")])
        path = f"{KEPT}/{hashlib.sha256(of.encode()).hexdigest()[:24]}.json"
        if not os.path.exists(path):
            os.makedirs(KEPT, exist_ok=True)
            with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
                json.dump(look(*arguments), file)
            os.rename(file.name, path)
        return json.loads(read_text(path))
    return found


@kept
def data_symbols():
    """[name, address, size] of variables."""
    out = subprocess.run(["nm", "-S", BINARY], capture_output=True, text=True,
                         check=True).stdout
    return [[name, int(place, 16), int(size, 16)]
            for place, size, kind, name in
            (line.split() for line in out.splitlines()
             if len(line.split()) == 4)
            if kind in "bBdD" and int(size, 16) > 7]


@kept
def debug_types(names):
    """What they are; chaos_types.py."""
    env = dict(os.environ, CHAOS_NAMES=json.dumps(names),
               CHAOS_TYPES=json.dumps(EXTRA))
    out = subprocess.run(
        ["gdb", "-nx", "-batch", "-x", f"{HERE}/chaos_types.py", BINARY],
        capture_output=True, text=True, check=False, env=env)
    assert out.stdout.startswith("{"), out.stdout + out.stderr
    return json.loads(out.stdout)

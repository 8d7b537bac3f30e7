"""Rows of cases.json as requests, and how each is judged."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import re
import threading

import articles_help as help_
from http_client import Http

FILE = os.path.join(os.path.dirname(__file__), "cases.json")
NEW = "2020-01-01T00:00:{:02}Z"


def rows():
    with open(FILE, encoding="utf-8") as f:
        return json.load(f)


def seed_size(seed):
    return seed if isinstance(seed, int) else seed["n"]


class Board:
    """A weir that is brought into the state a row begins with."""

    def __init__(self, w):
        self.w = w
        self.seed = None
        self.ids = []  # those that the row calls 1, 2, ...

    def prepare(self, seed):
        for number in help_.ids_of(help_.walk(self.w, 100)):
            self.send("DELETE", f"/articles/{number}")
        self.ids = []
        for i in range(seed_size(seed)):
            same = isinstance(seed, dict) and seed.get("same_ts")
            at = NEW.format(0 if same else i)
            self.ids.append(help_.made(self.w, f"seed {i + 1}", created_at=at,
                                       updated_at=at)["id"])
        self.seed = seed

    def path(self, text):
        """/articles/2 of a row is the second of its seed."""
        match = re.match(r"/articles/(\d+)(?=$|\?)", text)
        if match and 1 <= int(match[1]) <= len(self.ids) and \
                match[1][0] != "0":
            return f"/articles/{self.ids[int(match[1]) - 1]}" + \
                text[match.end():]
        return text

    def send(self, method, path, headers=(), body=b""):
        head = [f"{method} {path} HTTP/1.1", "Host: test"]
        head += [f"{k}: {v}" for k, v in headers]
        names = {k.lower() for k, _ in headers}
        if "transfer-encoding" in names:
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        elif body or method == "POST":
            head.append(f"Content-Length: {len(body)}")
        with Http(self.w.http) as c:
            c.raw("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)
            a = c.answer(method)
            return c.answer(method) if a.status == 100 else a

    def ask(self, q, last=None):
        path = q.get("path")
        if "path_gen" in q:
            g = q["path_gen"]
            path = g["prefix"] + g["fill"] * g["count"]
        if last and "{id}" in path:
            path = path.replace("{id}", str(last))
        return self.send(q["method"], self.path(path),
                         list(q["headers"].items()), body_of(q))


def body_of(q):
    g = q.get("body_gen")
    if g is None:
        return (q.get("body") or "").encode()
    if "repeat" in g:
        return (g["repeat"] * g["count"]).encode()
    return g["template"].replace("@@", g["fill"] * g["count"]).encode()


# ---- kinds of rows ----

def run_walk(board, row):
    q, expected = row["request"], row["expect"]
    nums = q.get("nums", [q["walk"]["num"]])
    pages, cursor = [], None
    while True:
        num = nums[min(len(pages), len(nums) - 1)]
        a = board.send("GET", f"/articles?num={num}" +
                       (f"&cursor={cursor}" if cursor else ""))
        if a.status != 200:
            return f"status {a.status}"
        pages.append([x["id"] for x in a.json()])
        cursor = a.header("x-cursor")
        if cursor is None:
            break
        if q.get("between") == "delete_last_returned":
            board.send("DELETE", f"/articles/{pages[-1][-1]}")
    ids = [i for p in pages for i in p]
    if ids != board.ids or len(set(ids)) != expected["unique_ids"]:
        return f"{len(set(ids))} of {len(ids)} ids"
    sizes = [len(p) for p in pages]
    if sizes != expected.get("pages", sizes):
        return f"pages {sizes}"
    return None


def run_tampered(board, row):
    num = row["request"]["num"]
    cursor = board.send("GET", f"/articles?num={num}").header("x-cursor")
    for i, c in enumerate(cursor):
        other = "A" if c != "A" else "B"
        changed = cursor[:i] + other + cursor[i + 1:]
        a = board.send("GET", f"/articles?num={num}&cursor={changed}")
        if a.status != 400:
            return f"byte {i}: {a.status}"
    return None


def run_parallel(board, row):
    q = row["request"]
    found = []
    gate = threading.Barrier(q["parallel"])

    def one(number):
        each = json.loads(json.dumps(q["request"]).replace("{n}", str(number)))
        gate.wait()
        found.append(board.ask(each).status)
    threads = [threading.Thread(target=one, args=(i,))
               for i in range(q["parallel"])]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    counts = {str(s): found.count(s) for s in found}
    wanted = row["expect"]["status_counts"]
    return None if counts == wanted else f"{counts}, not {wanted}"


def run_steps(board, row):
    expected, last, statuses = row["expect"], None, []
    for q in row["request"]["steps"]:
        a = board.ask(q, last)
        statuses.append(a.status)
        if a.status == 201:
            last = a.json()["id"]
    wanted = [expected["statuses"]] if "statuses" in expected \
        else expected["statuses_any"]
    if statuses not in wanted:
        return f"statuses {statuses}, not one of {wanted}"
    rest = {k: v for k, v in expected.items() if not k.startswith("status")}
    return judge(board, rest, a) if rest else None


# ---- one answer ----

def member(value, path):
    for name in path.split("."):
        value = value[name]
    return value


def judge_headers(board, wanted, a):
    for name, value in wanted.items():
        got = a.header(name)
        if value.startswith("contains "):
            if value[9:].lower() not in (got or "").lower():
                return f"{name}: {got}"
            continue
        value = value.replace("{base_url}", "http://test")
        if "{id}" in value:
            value = value.replace("{id}", str(a.json()["id"]))
        if got != value:
            return f"{name}: {got}, not {value}"
    return None


def judge_json(expected, said):
    if expected.get("json") == "array" and not isinstance(said, list):
        return "no list"
    if isinstance(expected.get("json"), dict) and \
            not expected["json"].items() <= said.items():
        return f"{said} has not {expected['json']}"
    if "items" in expected and len(said) != expected["items"]:
        return f"{len(said)} items, not {expected['items']}"
    if isinstance(said, list):
        return None
    if expected.get("json_message") and "status" in said and \
            not isinstance(said["message"], str):
        return "no message"
    if "message" in expected and said["message"] != expected["message"]:
        return f"message {said['message']}"
    if expected.get("id") == "integer" and not isinstance(said["id"], int):
        return "id"
    if "author_keys" in expected and \
            list(said["author"]) != expected["author_keys"]:
        return f"author has {list(said['author'])}"
    if "timestamps" in expected:
        for name in ("created_at", "updated_at"):
            if not re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ",
                                said[name]):
                return f"{name} {said[name]}"
    return None


def judge(board, expected, a):
    if "status" in expected and a.status != expected["status"]:
        return f"status {a.status}, not {expected['status']}: {a.body[:200]}"
    if "status_any" in expected and a.status not in expected["status_any"]:
        return f"status {a.status}: {a.body[:200]}"
    if expected.get("body_empty") and a.body:
        return "a body"
    if "allow" in expected:
        allow = {m.strip() for m in a.header("allow").split(",")}
        if allow != set(expected["allow"]):
            return f"Allow: {allow}"
    if "x_cursor" in expected and \
            (expected["x_cursor"] == "present") != bool(a.header("x-cursor")):
        return f"X-Cursor: {a.header('x-cursor')}"
    why = judge_headers(board, expected.get("headers", {}), a)
    other = "json" not in (a.header("content-type") or "json")
    said = None if other or not a.body else a.json()
    if why is None and a.status >= 400 and said and "message" not in said:
        why = f"no message: {said}"
    if why is None and said is not None:
        why = judge_json(expected, said)
    if why is None and a.status < 300:
        for path, value in expected.get("json_has", {}).items():
            if path == "id":  # of the seed
                value = board.ids[value - 1]
            if member(said, path) != value:
                why = f"{path} is {member(said, path)}, not {value}"
    return why


def wrong(board, row):
    """What differs from what the row says, or None."""
    q = row["request"]
    if "walk" in q:
        return run_walk(board, row)
    if "tamper" in q:
        return run_tampered(board, row)
    if "parallel" in q:
        return run_parallel(board, row)
    if "steps" in q:
        return run_steps(board, row)
    return judge(board, row["expect"], board.ask(q))


def changes(row):
    """Whether the state is another one after it."""
    text = json.dumps(row["request"])
    return "POST" in text or "DELETE" in text or "between" in text

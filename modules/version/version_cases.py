"""Rows of cases.json as configuration and requests: how each is decided."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os

from http_client import Http

FILE = os.path.join(os.path.dirname(__file__), "cases.json")


def rows(slash=False):
    """With slash, the path of each request ends in one; to OPTIONS that no unit
    answers, the file server below "/" answers as for a folder."""
    with open(FILE, encoding="utf-8") as f:
        found = json.load(f)
    if slash:
        found = [r for r in found if r["request"]["method"] != "OPTIONS" or
                 r["weir"]["status"] != 404]
        for row in found:
            row["request"]["path"] = row["request"]["path"].rstrip("/") + "/"
    return found


def text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[ " + ", ".join(text(v) for v in value) + " ]"
    return json.dumps(value)


def settings(values):
    return " ".join(f"{k} = {text(v)};" for k, v in values.items())


def echo(name, routes, prefix="", **more):
    """prefix is what paths may have in front of those of the routes, behind a
    unit: nothing."""
    del prefix
    return ("{ module = \"echo\"; " +
            settings({"name": name, "routes": routes, **more}) + " }")


def unit(u, inherited=None, front=""):
    """A unit of a row; inherited are the versions of units without any, front
    is the prefix of those around it."""
    options = {("strategy" if k == "using" else k): v
               for k, v in u.get("options", {}).items()}
    versions = u["versions"] or inherited
    if versions:
        options["versions"] = versions
    prefix = u.get("mount_path", "").strip("/") + "/" + u.get("prefix", "")
    if prefix.strip("/"):
        options["prefix"] = prefix.strip("/")
    front += "/" + options["prefix"] if "prefix" in options else ""
    nested = [unit(n, front=front) for n in u.get("nested", [])]
    inner = f"units = ( {', '.join(nested)} );" if nested else ""
    return (f"{{ {settings(options)} layers = ( "
            f"{echo(u['unit'], u['routes'], front)} ); {inner} }}")


def layer(strategy, options, units):
    return (f"{{ module = \"version\"; strategy = \"{strategy}\"; "
            f"{settings(options)} units = ( {', '.join(units)} ); }}")


def location(row):
    primary = row["primary"] or {}
    options = dict(row["options"])
    if primary.get("api_cascade") is False:
        options["cascade"] = False
    units = [unit(u, primary.get("versions")) for u in row["units"]]
    layers = [layer(row["strategy"], options, units)]
    if primary.get("catch_all"):
        layers.append(echo("CATCHALL", ["* /*"]))
    return f"{{ path = \"/{row['id']}\"; layers = ( {', '.join(layers)} ); }},"


def ask(port, row):
    """The answer to the row's request."""
    q = row["request"]
    target = f"/{row['id']}{q['path']}"
    if q["query"]:
        target += "?" + q["query"]
    head = [f"{q['method']} {target} HTTP/1.1", "Host: test"]
    head += [f"{k}: {v}" for k, v in q["headers"].items()]
    body = (q["body"] or "").encode()
    if body:
        head.append(f"Content-Length: {len(body)}")
    with Http(port) as c:
        c.raw("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)
        return c.answer(q["method"])


def words(value):
    return {w.strip() for w in (value or "").split(",") if w.strip()}


def wrong(row, answer):
    """What differs from what the row says, or None."""
    expected = row["weir"]
    if answer.status != expected["status"]:
        return f"status {answer.status}, not {expected['status']}"
    if "allow" in expected and expected["allow"] is not None:
        if words(answer.header("allow")) != set(expected["allow"]):
            return f"Allow: {answer.header('allow')}"
    if row["request"]["method"] == "HEAD" or answer.status not in (200, 201):
        return None
    served = answer.json()
    for key, name in (("served_unit", "unit"), ("served_version", "version")):
        if served[name] != expected.get(key):
            return f"{name} {served[name]}, not {expected.get(key)}"
    return None

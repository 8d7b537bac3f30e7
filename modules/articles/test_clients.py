"""Clients that generators make from /openapi.json work as they are made, with
each way to name a version: they get that version, and cannot forget to ask
for it."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import shutil
import subprocess

import pytest

from articles_help import start
from http_client import get
from patience import busy

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.abspath("build/clients/articles/node_modules")

# Mount: its strategy with what that needs, what fetches its document, header
# and query of each request.
MOUNTS = {
    "path": ('"path"', "/{v}", {}, {}),
    "header": ('"header"; vendor = "weir"; strict = true', "",
               {"Accept": "application/vnd.weir-{v}+json"}, {}),
    "version": ('"accept_version_header"; strict = true', "",
                {"Accept-Version": "{v}"}, {}),
    "param": ('"param"; parameter = "ver"', "", {}, {"ver": "{v}"}),
}
SHAPES = {"v1": ("T", "x"), "v2": ("{ data: T }", "x.data")}


def location(name):
    return (f'{{ path = "/{name}"; client_max_body_size = "3M"; layers = ( '
            f'{{ module = "version"; strategy = {MOUNTS[name][0]}; units = ( '
            '{ versions = [ "v2" ]; layers = ( { module = "articles"; '
            'envelope = true; edit = true; } ); }, '
            '{ versions = [ "v1" ]; deprecated = "2026-01-02"; '
            'sunset = "2099-01-01"; layers = ( { module = "articles"; '
            'edit = true; } ); } ); } ); },')


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          timeout=busy(60), check=False)
    assert done.returncode == 0, (command, done.stdout, done.stderr)


def filled(members, version):
    return {k: v.format(v=version) for k, v in members.items()}


def prepare(w, folder, name, version):
    """The document, and what the programs need to know of its mount."""
    _, path, headers, query = MOUNTS[name]
    headers, query = filled(headers, version), filled(query, version)
    base = f"/{name}" + path.format(v=version)
    target = base + "/openapi.json" + "".join(
        f"?{k}={v}" for k, v in query.items())
    a = get(w.http, target, *(f"{k}: {v}" for k, v in headers.items()))
    assert a.status == 200
    o = a.json()["paths"]["/articles"]["get"]
    assert o.get("deprecated", False) == (version == "v1")
    mine = folder / f"{version}-{name}"
    mine.mkdir()
    (folder / f"{version}-{name}.json").write_bytes(a.body)
    # query: an operation that has no parameters there takes no {}.
    (mine / "mount.ts").write_text(
        f'export const version = "{version}";\n'
        f"export const header = {json.dumps(headers)} as const;\n"
        f"export const search = {json.dumps(query)} as const;\n"
        f"export const query = {'search' if query else 'undefined'};\n"
        f"export type Shape<T> = {SHAPES[version][0]};\n"
        f"export const of = <T>(x: Shape<T>): T => {SHAPES[version][1]};\n")
    for file in ("fetch.ts", "hey.ts") + (("required.ts",) if headers or query
                                          else ()):
        shutil.copy(f"{HERE}/clients/{file}", mine)
    return f"{version}-{name}", base


@pytest.mark.once
def test_generated_clients(weir, tmp_path):
    w = start(weir, before="".join(map(location, MOUNTS)))
    (tmp_path / "node_modules").symlink_to(PACKAGES)
    (tmp_path / "common").mkdir()
    shutil.copy(f"{HERE}/clients/cases.ts", tmp_path / "common")
    for file in ("generate.mjs", "tsconfig.json"):
        shutil.copy(f"{HERE}/clients/{file}", tmp_path)
    clients = [prepare(w, tmp_path, name, version)
               for name in MOUNTS for version in SHAPES]
    run(tmp_path, "node", "generate.mjs")
    run(tmp_path, "node", "node_modules/typescript/bin/tsc", "-p", ".")
    for mount, base in clients:
        for program in "fetch", "hey":
            run(tmp_path, "node", f"out/{mount}/{program}.js",
                f"http://127.0.0.1:{w.http}{base}")

"""Values that weir.conf takes from the environment and from files, and
includes by pattern: at start, shown, and at a reload."""
# SPDX-License-Identifier: BSD-2-Clause

import os

import pytest

from control_client import ctl
from http_client import get
from weir import configuration, place, run

LOCATIONS = """
{ path = "/g"; module = "hello"; greeting = "${env:GREETING:-hello}"; },
{ path = "/f"; module = "hello"; greeting = "${file:run/greeting}"; },
{ path = "/i"; module = "${env:MODULE}"; instance = "${env:WHO:-main}"; },
{ path = "/plain"; module = "hello"; greeting = "$${env:X} ${x}"; },
{ path = "/s"; module = "hello";
  auth = { type = "bearer"; tokens = [ "${file:run/token}",
                                       "${env:TOKEN:-never-to-be-seen-1}" ]; }; },
"""
INSTANCES = 'hello = ( { name = "main"; signature = "${env:SIGNED}"; } );\n'
TOKENS = ("first-token-of-the-test", "second-token-of-the-test")


def write(path, text, mode=0o640):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def fill(folder, greeting="from a file", token=TOKENS[0]):
    write(f"{folder}/run/greeting", greeting + "\n", 0o644)
    write(f"{folder}/run/token", token + "\n")


@pytest.fixture(name="text")
def fixture_text(monkeypatch):
    monkeypatch.setenv("MODULE", "hello")
    monkeypatch.setenv("SIGNED", "a variable")
    return INSTANCES + configuration(locations=LOCATIONS)


@pytest.fixture(name="start")
def fixture_start(weir, folder):
    """Starts a weir with the files of folder."""
    def start(text):
        return weir(text.replace("${file:", f"${{file:{folder}/"))
    return start


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    os.makedirs(tmp_path / "run")
    fill(tmp_path)
    return tmp_path


def said(w, path):
    return get(w.http, path + "/hello").body.decode()


def let_in(w, token):
    return get(w.http, "/s/hello",
               f"Authorization: Bearer {token}").status == 200


def test_values_are_in_force(start, text):
    w = start(text)
    assert said(w, "/g") == "hello\na variable\n"
    assert said(w, "/f") == "from a file\na variable\n"
    assert said(w, "/i") == "hello\na variable\n"
    assert said(w, "/plain") == "${env:X} ${x}\na variable\n"
    assert let_in(w, TOKENS[0]) and let_in(w, "never-to-be-seen-1")
    assert not let_in(w, TOKENS[1])


def test_a_reload_reads_files_again_and_the_environment_of_the_start(
        start, text, folder, monkeypatch):
    w = start(text)
    monkeypatch.setenv("SIGNED", "another")
    fill(folder, "changed", TOKENS[1])
    assert said(w, "/f") == "from a file\na variable\n"
    w.reload()
    assert said(w, "/f") == "changed\na variable\n"
    assert let_in(w, TOKENS[1]) and not let_in(w, TOKENS[0])


def test_a_reload_refuses_what_is_missing_or_open_to_all(start, text, folder):
    w = start(text)
    os.chmod(f"{folder}/run/token", 0o644)
    os.unlink(f"{folder}/run/greeting")
    w.reload(good=False)
    log = w.log()
    assert f"greeting: ${{file:{folder}/run/greeting}}: cannot open: No such " \
        "file or directory" in log
    assert f"tokens: ${{file:{folder}/run/token}}: everybody can read or " \
        "write it" in log
    assert "chmod o= it" in log
    assert let_in(w, TOKENS[0])
    fill(folder)
    w.reload()


def test_what_only_a_restart_changes_is_refused_when_its_file_changed(
        start, folder):
    write(f"{folder}/run/pidname", "weir.pid\n")
    w = start(configuration().replace('"run/weir.pid"',
                                     '"run/${file:run/pidname}"'))
    write(f"{folder}/run/pidname", "other.pid\n")
    w.reload(good=False)
    assert 'pid (from "run/weir.pid" to "run/other.pid")' in w.log()
    write(f"{folder}/run/pidname", "weir.pid\n")
    w.reload()


def check_shown(text):
    assert 'signature = "a variable"; # from ${env:SIGNED}\n' in text
    assert 'greeting = "hello"; # from ${env:GREETING:-hello}\n' in text
    assert 'greeting = "from a file"; # from ${file:run/greeting}\n' in text
    assert 'module = "hello"; # from ${env:MODULE}\n' in text
    assert 'instance = "main"; # from ${env:WHO:-main}\n' in text
    assert 'greeting = "$${env:X} ${x}";\n' in text
    assert 'tokens = [ "***", "***" ]; # from ${file:run/token}, ' \
        '${env:TOKEN:-***}\n' in text
    assert "first-token" not in text and "never-to-be-seen" not in text


def test_shown_with_its_source_and_secrets_masked(start, text, folder):
    place(folder, text)
    done = run("-T", "-c", "weir.conf", "-p", str(folder))
    assert done.returncode == 0, done.stderr
    check_shown(done.stdout)
    w = start(text)
    shown = ctl(w, "show", "config").stdout
    check_shown(shown.replace(f"${{file:{folder}/", "${file:"))


def test_every_mistake_is_told_with_its_line(text, folder, monkeypatch):
    monkeypatch.delenv("MODULE")
    monkeypatch.setenv("MODUL", "hello")
    monkeypatch.setenv("WHO", "mani")
    monkeypatch.setenv("WORKERS", "many")
    os.chmod(f"{folder}/run/token", 0o604)
    os.unlink(f"{folder}/run/greeting")
    place(folder, 'worker_connections = "${env:WORKERS}";\n' + text)
    done = run("-t", "-c", "weir.conf", "-p", str(folder))
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert all(line.startswith("weir.conf:") for line in lines), lines
    for words in ('worker_connections must be a whole number',
                  '${env:MODULE}: there is no such variable in the '
                  'environment; did you mean "MODUL"?',
                  "${file:run/greeting}: cannot open",
                  "${file:run/token}: everybody can read"):
        assert any(words in line for line in lines), (words, lines)


def test_weirctl_finds_the_socket_that_a_variable_names(
        start, monkeypatch):
    monkeypatch.setenv("SOCKET", "run/control.sock")
    w = start('control = { socket = "${env:SOCKET}"; };\n' + configuration())
    done = ctl(w, "-c", "weir.conf", "show", "info")
    assert done.returncode == 0, done.stderr
    monkeypatch.delenv("SOCKET")
    done = ctl(w, "-c", "weir.conf", "show", "info")
    assert done.returncode != 0
    assert "weir.conf:1: control.socket: ${env:SOCKET}: there is no such " \
        "variable" in done.stderr


def test_a_reload_finds_new_files_of_a_pattern(weir):
    w = weir(configuration(locations='\n@include "sites/*.conf"\n'))
    assert get(w.http, "/new/hello").status == 404
    os.makedirs(f"{w.prefix}/sites")
    site = f"{w.prefix}/sites/new.conf"
    write(site, '{ path = "/new"; module = "helo"; },\n')
    w.reload(good=False)
    assert "sites/new.conf:1: " in w.log()
    write(site, '{ path = "/new"; module = "hello"; },\n')
    w.reload()
    assert get(w.http, "/new/hello").status == 200
    os.rename(site, f"{w.prefix}/sites/.new.conf")
    w.reload()
    assert get(w.http, "/new/hello").status == 404

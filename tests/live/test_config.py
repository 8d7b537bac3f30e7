"""weir.conf: every class of mistake, with its line; -t -T -K -V -v -h."""
# SPDX-License-Identifier: BSD-2-Clause

import os
import re
import shutil

import pytest

from http_client import get
from weir import HOSTS, configuration, place, run

GOOD = """\
worker_processes = 2;
pid = "run/weir.pid";
error_log = { file = "stderr"; level = "info"; };
live = { hold = "2s"; };
rtmp = { servers = (
  { listen = ( "127.0.0.1:0" );
    applications = (
      { name = "live"; publish = "open"; } ); } ); };
http = { servers = (
  { listen = ( "127.0.0.1:0" );
    locations = (
      { path = "/"; module = "status"; } ); } ); };
"""


def check(tmp_path, text, option="-t"):
    place(tmp_path, text)
    return run(option, "-c", "weir.conf", "-p", str(tmp_path),
               prefix=tmp_path)


def mistakes(tmp_path, text):
    """[(line, words)]; all of them in the form FILE:LINE: words."""
    done = check(tmp_path, text)
    assert done.returncode == 1, done.stdout + done.stderr
    rows = []
    for line in done.stderr.splitlines():
        match = re.fullmatch(r"(?:\S*/)?([\w.]+):(\d+): (.+)", line)
        assert match, f"not FILE:LINE: {line!r}"
        rows.append((int(match[2]), match[3]))
    assert rows, "wrong, but no word about it"
    return rows


def line_of(text, mark):
    return text[:text.index(mark)].count("\n") + 1


def test_good(tmp_path):
    done = check(tmp_path, GOOD)
    assert done.returncode == 0, done.stderr
    assert "ok" in done.stdout
    assert done.stderr == ""


# (what replaces what in GOOD, words that must be in the message)
MISTAKES = {
    "egress rule": ('pid = "run/weir.pid"',
                    'egress = [ "allow example.org" ]; pid = "run/weir.pid"',
                    ["egress", "example.org", "must be"]),
    "egress rule for unix sockets": (
        'pid = "run/weir.pid"', 'egress = "deny unix:"; pid = "run/weir.pid"',
        ["egress", "deny unix:", "must be"]),
    "a node's name": ('pid = "run/weir.pid"',
                      'pid = "run/weir.pid"; store = { node = "a b"; }',
                      ["store.node", "printable ASCII"]),
    "unknown key, near": ('pid = "run/weir.pid"', 'pit = "run/weir.pid"',
                          ["pit", '"?pid']),
    "unknown key, far": ("worker_processes = 2", "xyzzy = 2", ["xyzzy"]),
    "unknown key in a group": ('hold = "2s"', 'holdd = "2s"',
                               ["live.holdd", "hold"]),
    "unknown key in a list": ('publish = "open"', 'publsh = "open"',
                              ["publsh", "publish"]),
    "int: a string": ("worker_processes = 2", 'worker_processes = "two"',
                      ["worker_processes", "two"]),
    "int: too small": ("worker_processes = 2", "worker_processes = 0",
                       ["worker_processes", "1", "0"]),
    "int: too large": ("worker_processes = 2", "worker_processes = 9999",
                       ["worker_processes", "9999"]),
    "int: negative": ("worker_processes = 2", "worker_processes = -1",
                      ["worker_processes", "-1"]),
    "int: a fraction": ("worker_processes = 2", "worker_processes = 2.5",
                        ["worker_processes"]),
    "int: a group": ("worker_processes = 2", "worker_processes = { }",
                     ["worker_processes"]),
    "int: above 2^31": ("worker_processes = 2",
                        "worker_processes = 4294967298", ["L|32 bit|large"]),
    "int: above 2^63": ("worker_processes = 2",
                        "worker_processes = 99999999999999999999",
                        ["large"]),
    "bool: a string": ('hold = "2s"; };', 'hold = "2s"; }; daemon = "yes";',
                       ["daemon"]),
    "string: a number": ('pid = "run/weir.pid"', "pid = 5", ["pid"]),
    "string: empty": ('file = "stderr"', 'file = ""', ["error_log.file"]),
    "two strings side by side": ('"run/weir.pid"', '"run/" "weir.pid"',
                                 ["string"]),
    "time: no unit": ('hold = "2s"', 'hold = "2"', ["live.hold", "10s"]),
    "time: a number": ('hold = "2s"', "hold = 2", ["live.hold"]),
    "time: unknown unit": ('hold = "2s"', 'hold = "2 weeks"',
                           ["live.hold", "2 weeks"]),
    "time: too long": ('hold = "2s"', 'hold = "9999d"', ["live.hold"]),
    "time: overflow": ('hold = "2s"', 'hold = "99999999999999999999s"',
                       ["live.hold"]),
    "size: no size": ('hold = "2s"', 'memory = "much"',
                      ["live.memory", "much"]),
    "size: too small": ('hold = "2s"', 'memory = "1k"', ["live.memory"]),
    "size: overflow": ('hold = "2s"', 'memory = "99999999999999999g"',
                       ["live.memory"]),
    "enum: unknown word": ('level = "info"', 'level = "loud"',
                           ["error_log.level", "loud", "notice"]),
    "enum: a number": ('level = "info"', "level = 5", ["error_log.level"]),
    "group: a string": ('live = { hold = "2s"; }', 'live = "x"', ["live"]),
    "list of groups: a number inside": ('{ name = "live"; publish = "open"; }',
                                        "5", ["applications"]),
    "required key missing": ('name = "live"; ', "", ["name"]),
    "listen missing": ('listen = ( "127.0.0.1:0" );\n    applications',
                       "\n    applications", ["listen"]),
    "listen: no port": ('( "127.0.0.1:0" );\n    loc',
                        '( "127.0.0.1" );\n    loc', ["listen"]),
    "listen: a name": ('( "127.0.0.1:0" );\n    loc',
                       '( "localhost:80" );\n    loc',
                       ["listen", "localhost"]),
    "listen: port too large": ('( "127.0.0.1:0" );\n    loc',
                               '( "127.0.0.1:70000" );\n    loc',
                               ["listen", "70000"]),
    "listen: one address twice": (
        '( "127.0.0.1:0" );\n    loc',
        '( "127.0.0.1:81", "127.0.0.1:81" );\n    loc', ["81"]),
    "listen: path too long": ('( "127.0.0.1:0" );\n    loc',
                              '( "unix:/' + "x" * 200 + '" );\n    loc',
                              ["listen"]),
    "access: no rule": ('publish = "open"', 'publish = "open";'
                        ' play_access = [ "alow all" ]',
                        ["play_access", "alow"]),
    "access: no address": ('publish = "open"', 'publish = "open";'
                           ' play_access = [ "allow 1.2.3" ]',
                           ["play_access", "1.2.3"]),
    "access: prefix too long": ('publish = "open"', 'publish = "open";'
                                ' play_access = [ "allow 10.0.0.0/33" ]',
                                ["play_access", "33"]),
    "application name with a slash": ('name = "live"', 'name = "a/b"',
                                      ["name", "a/b"]),
    "application twice": ('{ name = "live"; publish = "open"; }',
                          '{ name = "a"; }, { name = "a"; }', ['"a"']),
    "no application": ('{ name = "live"; publish = "open"; }', "",
                       ["application"]),
    "location without a slash": ('path = "/"', 'path = "x"', ["path"]),
    "location with one at the end": ('path = "/"', 'path = "/x/"',
                                     ["path", "/x/"]),
    "location twice": ('{ path = "/"; module = "status"; }',
                       '{ path = "/"; module = "status"; },'
                       '{ path = "/"; module = "status"; }', ['"/"']),
    "location without a module": (' module = "status";', "", ["module"]),
    "module unknown": ('module = "status"', 'module = "statuss"',
                       ["statuss", '"status"']),
    "module and layers": ('module = "status";', 'module = "status";'
                          ' layers = ( { module = "status"; } );',
                          ["module", "layers"]),
    "key of another module": ('module = "status";',
                              'module = "status"; root = "x";', ["root"]),
    "static without a root": ('module = "status"', 'module = "static"',
                              ["root"]),
    "max_stream_memory above memory": ('hold = "2s"', 'memory = "8M";'
                                       ' max_stream_memory = "16M"',
                                       ["max_stream_memory", "memory"]),
    "gather above window": ('hold = "2s"', 'gather = "9s"; window = "8s"',
                            ["gather", "window"]),
    "key set twice": ('pid = "run/weir.pid";',
                      'pid = "a"; pid = "b";', ["pid"]),
    "include of nothing": ("worker_processes = 2;",
                           '@include "nothing.conf"', ["nothing.conf"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(tmp_path, name):
    old, new, words = MISTAKES[name]
    assert old in GOOD
    text = GOOD.replace(old, new)
    rows = mistakes(tmp_path, text)
    where = line_of(GOOD, old)
    fitting = [words_of for line, words_of in rows
               if all(re.search(w, words_of) for w in words)]
    assert fitting, f"{rows} does not say {words}"
    # What is wrong with a group as a whole is told where it opens.
    assert any(where - 2 <= line <= where + 1 for line, _ in rows), \
        f"{rows}: not near line {where}"


def test_all_mistakes_at_once(tmp_path):
    text = GOOD
    wrong = [('pid = "run/weir.pid"', "pid = 5"),
             ('hold = "2s"', 'hold = "2"; memroy = "1G"'),
             ('publish = "open"', 'publish = "opn"'),
             ('module = "status"', 'module = "nothing"')]
    for old, new in wrong:
        text = text.replace(old, new)
    rows = mistakes(tmp_path, text)
    lines = {line for line, _ in rows}
    for _, new in wrong:
        assert line_of(text, new) in lines, rows
    assert len(rows) >= 5
    assert [line for line, _ in rows] == sorted(line for line, _ in rows)


SYNTAX = {
    "no semicolon is fine, no value is not": ("pid = ;", "pid"),
    "brace never closed": ("live = { hold = \"2s\";", "live"),
    "string never closed": ('pid = "run', "pid"),
    "words": ("hello world", "hello"),
    "comment never closed": ("/* pid", "pid"),
    "assignment without name": ("= 5;", "= 5"),
}


@pytest.mark.parametrize("name", SYNTAX)
def test_syntax_error(tmp_path, name):
    bad, _ = SYNTAX[name]
    rows = mistakes(tmp_path, "worker_processes = 1;\n\n" + bad + "\n")
    assert rows[0][0] in (3, 4), rows


def test_bytes_that_are_no_configuration(tmp_path):
    for data in (b"\0", b"\xff\xfe" * 50, os.urandom(3000), b"(" * 100_000,
                 b"{" * 100_000, b"a={" * 50_000, b"a=(" * 50_000):
        with open(tmp_path / "weir.conf", "wb") as f:
            f.write(data)
        done = run("-t", "-c", "weir.conf", "-p", str(tmp_path))
        assert done.returncode == 1
        assert len(done.stderr) < 100_000


def test_unreadable_files(tmp_path):
    done = run("-t", "-c", "none.conf", "-p", str(tmp_path))
    assert done.returncode == 1
    assert "none.conf" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = run("-t", "-c", ".", "-p", str(tmp_path))
    assert done.returncode == 1


def test_include(tmp_path):
    os.makedirs(tmp_path / "parts")
    with open(tmp_path / "parts" / "live.conf", "w", encoding="utf-8") as f:
        f.write('\nlive = {\n  hold = "never";\n};\n@include "more.conf"\n')
    with open(tmp_path / "parts" / "more.conf", "w", encoding="utf-8") as f:
        f.write('pidd = "x";\n')
    text = GOOD.replace('live = { hold = "2s"; };',
                        '@include "parts/live.conf"')
    done = check(tmp_path, text)
    assert done.returncode == 1
    assert re.search(r"live\.conf:3: .*live\.hold", done.stderr)
    assert re.search(r"more\.conf:1: .*pidd", done.stderr)


def test_include_of_itself(tmp_path):
    rows = mistakes(tmp_path, '@include "weir.conf"\n' + GOOD)
    assert rows[0][0] == 1


def test_lists_in_three_ways(tmp_path):
    for way in ('"127.0.0.1:0"', '[ "127.0.0.1:0" ]', '( "127.0.0.1:0" )'):
        text = GOOD.replace('( "127.0.0.1:0" )', way)
        assert check(tmp_path, text).returncode == 0


def test_print_in_force_round_trip(tmp_path):
    done = check(tmp_path, GOOD, "-T")
    assert done.returncode == 0
    assert re.search(r'hold = "2s"', done.stdout)
    assert "max_streams" in done.stdout  # a default
    again = check(tmp_path, done.stdout, "-T")
    assert again.returncode == 0, again.stderr
    assert again.stdout == done.stdout


def test_what_minus_T_prints_runs(tmp_path, weir):
    text = configuration(locations='{ path = "/h"; module = "hello"; },')
    printed = check(tmp_path, text, "-T")
    assert printed.returncode == 0, printed.stderr
    w = weir(printed.stdout)
    assert get(w.http, "/h/hello").status == 200


def test_keys_are_listed_one_a_line():
    done = run("-K")
    assert done.returncode == 0
    names = [line.split("  ")[0] for line in done.stdout.splitlines()]
    for name in ("worker_processes", "live.memory", "live.gather",
                 "rtmp.servers.chunk_size",
                 "rtmp.servers.applications.publish",
                 "http.servers.locations.access",
                 "http.servers.locations[static].root", "hello.signature",
                 "http.servers.locations[hello].greeting"):
        assert name in names
    assert not any(name.startswith("hello.greeting") for name in names)
    assert len(names) == len(set(names))
    for line in done.stdout.splitlines():
        fields = line.split("  ")
        assert len(fields) >= 6, line
        assert fields[4] in ("reload", "restart"), line
        assert fields[5], f"no help: {line}"


def test_version_build_help():
    assert re.fullmatch(r"weir \d+\.\d+\.\d+\n", run("-v").stdout)
    build = run("-V").stdout
    for word in ("weir ", "gcc", "hello", "flv"):
        assert word in build
    done = run("-h")
    assert done.returncode == 0
    for option in ("-c", "-p", "-t", "-T", "-s", "-K", "-V", "-v", "-h"):
        assert option in done.stdout


def test_wrong_arguments():
    for arguments in (("-x",), ("-c",), ("extra",), ("-t", "-K"),
                      ("-s", "jump", "-c", "x")):
        done = run(*arguments)
        assert done.returncode == 2, arguments
        assert done.stderr


def test_start_with_a_wrong_file_is_status_1(tmp_path):
    place(tmp_path, GOOD.replace("pid", "pit"))
    done = run("-c", "weir.conf", "-p", str(tmp_path))
    assert done.returncode == 1
    assert re.search(r"weir\.conf:2: ", done.stderr)


def test_shipped_configuration_is_good():
    done = run("-t", "-c", os.path.abspath("conf/weir.conf"))
    assert done.returncode == 0, done.stderr


def test_shipped_configuration_names_only_what_exists(tmp_path, weir):
    """It runs, on other ports."""
    with open("conf/weir.conf", encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r'listen = \(? *"[^"]*" *\)?', 'listen = "127.0.0.1:0"',
                  text)
    text = text.replace(" gzip = true;", f" {HOSTS} gzip = true;")
    w = weir(text)
    shutil.copytree("html", f"{w.prefix}/html", dirs_exist_ok=True)
    a = get(w.http, "/")
    assert a.status == 200
    assert a.header("content-type").startswith("text/html")
    assert get(w.http, "/healthz").status == 200
    for number in range(2):     # the console and what it shows
        port = w.port("http", number)
        assert get(port, "/console/main.js").status == 200
        assert get(port, "/stat/livestat").status == 200


def test_sample_of_each_module_is_a_good_layer(tmp_path):
    for name in sorted(os.listdir("modules")):
        with open(f"modules/{name}/{name}.conf", encoding="utf-8") as f:
            sample = f.read()
        text = GOOD.replace('{ path = "/"; module = "status"; }',
                            f'{{ path = "/"; layers = ( {sample} ); }}')
        text += "".join(re.findall("^# At the root: (.*\n)", sample, re.M))
        done = check(tmp_path, text)
        assert done.returncode == 0, f"{name}: {done.stderr}"

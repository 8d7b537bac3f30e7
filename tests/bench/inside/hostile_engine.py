#!/usr/bin/python3 -IS
"""An engine that takes what it can, called as yt-dlp is (engine_path), for
benches: http://fake.test/KIND/NUMBER says of what.  It ends by itself after a
minute, and makes 400 processes at most."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os
import signal
import sys
import time

MOST, SECONDS = 400, 60
LEFT = os.pipe()


def fork():
    """As long as there are some left."""
    try:
        os.read(LEFT[0], 1)
        pid = os.fork()
    except OSError:
        time.sleep(SECONDS)
        os._exit(0)
    if pid == 0:
        signal.alarm(SECONDS)
    return pid


def leave():
    """Its session, where it may."""
    try:
        os.setsid()
    except OSError:
        os.setpgid(0, 0)


def forks():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        if fork() == 0:
            leave()


def processors():
    for _ in range(40):
        if fork() == 0:
            leave()
            break
    while True:
        pass


def memory():
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 16) * 64))


def files():
    n = 0
    while True:
        open(f"f{n}", "w", encoding="ascii").close()
        n += 1


def disk():
    """Not more than a quarter of a GB."""
    while True:
        with open("f", "wb") as f:
            for _ in range(64):
                f.write(bytes(4 << 20))


def main():
    url = sys.argv[-1]
    if "--version" in sys.argv:
        print("1.0")
    elif "--dump-single-json" in sys.argv:
        print(json.dumps({"id": "x", "title": url.replace("/", "_"),
                          "webpage_url": url, "ext": "bin"}))
    else:
        signal.alarm(SECONDS)
        os.write(LEFT[1], bytes(MOST))
        os.set_blocking(LEFT[0], False)
        globals()[url.split("/")[3]]()


main()

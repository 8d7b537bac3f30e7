#!/usr/bin/python3 -IS
"""An engine that fetches nothing, called as yt-dlp is (engine_path): for tests
and benches with many entries.

    http://fake.test/list/3000/100   a list of 3000, whose titles have 100 letters
    http://fake.test/list/30/1/xyz   a list of 30, whose addresses end with /xyz
    http://fake.test/titles/%5B%22a%22%5D  a list with these titles, of JSON
    http://fake.test/tick            goes on for ever: once a second its speed
                                     is the time (CLOCK_MONOTONIC, ns)

Anything else is a file that has its address as content."""
# SPDX-License-Identifier: BSD-2-Clause

import json
import sys
import time
from urllib.parse import unquote

HOST = "http://fake.test"


def playlist(url, name, ends, titles):
    entries = [{"_type": "url", "id": f"e{n}", "url": f"{HOST}/{n}/{ends}",
                "title": title} for n, title in enumerate(titles)]
    return {"_type": "playlist", "id": "list", "title": name,
            "webpage_url": url, "entries": entries}


def extract(url):
    what = url.split("/")[3:]
    if what[0] == "titles":
        return playlist(url, "../../list", "titles",
                        json.loads(unquote(what[1])))
    if what[0] != "list":
        return {"id": what[0], "title": what[0], "webpage_url": url,
                "ext": "bin"}
    count, letters = int(what[1]), int(what[2])
    return playlist(url, "list", "/".join(what[1:2] + what[3:]),
                    [str(n).rjust(letters, "x") for n in range(count)])


def say(kind, **what):
    print(f"{kind}|{json.dumps(what)}", flush=True)


def download(url):
    print("B|", flush=True)
    while url.endswith("/tick"):
        say("P", status="downloading", downloaded_bytes=1,
            total_bytes=1 << 30, speed=time.monotonic_ns())
        time.sleep(1)
    with open("media.bin", "wb") as f:
        f.write(url.encode())
    print("F|media.bin", flush=True)


def main():
    url = sys.argv[-1]
    if "--version" in sys.argv:
        print("2026.01.01")
    elif "--dump-single-json" in sys.argv:
        print(json.dumps(extract(url)))
    else:
        download(url)


if __name__ == "__main__":
    main()

"""ffmpeg and friends: a small real stream, publishers and players."""
# SPDX-License-Identifier: BSD-2-Clause

import subprocess

from patience import busy

BOTH = ["-map", "0:v?", "-map", "0:a?"]
QUIET = ["-hide_banner", "-loglevel", "error", "-nostdin"]


def check(command, timeout=60):
    done = subprocess.run(command, capture_output=True, timeout=busy(timeout),
                          check=False)
    assert done.returncode == 0, \
        f"{command}: {done.returncode}\n{done.stderr.decode()[-3000:]}"
    return done.stdout.decode()


def make_sample(path, seconds=6, video=True, audio=True):
    """H.264 with a key frame each second, and AAC."""
    command = ["ffmpeg", *QUIET, "-y"]
    if video:
        command += ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25"]
    if audio:
        command += ["-f", "lavfi", "-i", "sine=frequency=440"]
    if video:
        command += ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25",
                    "-bf", "2", "-pix_fmt", "yuv420p", "-b:v", "300k"]
    if audio:
        command += ["-c:a", "aac", "-b:a", "64k"]
    check([*command, "-t", str(seconds), "-f", "flv", str(path)])
    return str(path)


def packets(path):
    """What a file holds, packet for packet: (stream, pts, size, hash)."""
    text = check(["ffmpeg", *QUIET, "-i", str(path), *BOTH,
                  "-c", "copy", "-copyts", "-f", "framemd5", "-"])
    rows = [line.replace(" ", "").split(",")
            for line in text.splitlines() if not line.startswith("#")]
    return [(int(r[0]), int(r[2]), int(r[4]), r[5]) for r in rows]


def by_stream(rows):
    """{stream: [(pts from the first, size, hash)]}"""
    result = {}
    for stream, pts, size, md5 in rows:
        result.setdefault(stream, []).append((pts, size, md5))
    first = min(rows[0][0] for rows in result.values())
    return {s: [(pts - first, size, md5) for pts, size, md5 in rows]
            for s, rows in result.items()}


class Tool:
    """A program that runs beside the test; killed at the end."""

    def __init__(self, *command):
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.text = ""

    def wait(self, timeout=30, expect=0):
        self.text = self.process.communicate(timeout=busy(timeout))[0].decode(
            errors="replace")
        if expect is not None:
            assert self.process.returncode == expect, \
                f"{self.command}: {self.process.returncode}\n{self.text}"
        return self.process.returncode

    def running(self):
        return self.process.poll() is None

    def kill(self):
        if self.running():
            self.process.kill()
        if not self.process.stdout.closed:
            self.process.communicate()


def ffmpeg_publish(source, url, rate=3.0, *more, for_ever=False):
    again = ["-stream_loop", "-1"] if for_ever else []
    return Tool("ffmpeg", *QUIET, "-readrate", str(rate), *again, "-i", source,
                "-c", "copy", *more, "-f", "flv", url)


def ffmpeg_record(url, path, *more):
    return Tool("ffmpeg", *QUIET, "-y", *more, "-i", url, *BOTH,
                "-c", "copy", "-f", "flv", str(path))

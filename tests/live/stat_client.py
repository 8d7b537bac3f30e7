"""What module stat of a weir says; /stat is where the tests have it."""
# SPDX-License-Identifier: BSD-2-Clause

import json

from http_client import Http, get

LOCATION = '{ path = "/stat"; module = "stat"; },'

# Names and types of the interface, for publishers and players alike.
FIELDS = {"key": str, "url": str, "stream_id": int,
          "video_total_bytes": int, "video_speed": int,
          "audio_total_bytes": int, "audio_speed": int}


def check_livestat(answer):
    """The object, after a look at its shape."""
    assert answer.status == 200, answer.body
    assert answer.header("content-type") == "application/json"
    assert answer.header("cache-control") == "no-store"
    told = answer.json()
    assert list(told) == ["publishers", "players"]
    for row in told["publishers"] + told["players"]:
        assert list(row) == list(FIELDS)
        for name, kind in FIELDS.items():
            assert type(row[name]) is kind, row
    return told


def livestat(w, query=""):
    return check_livestat(get(w.http, "/stat/livestat" + query))


def rows(w, what):
    """/stat/streams or /stat/sessions."""
    a = get(w.http, "/stat/" + what)
    assert a.status == 200 and a.header("cache-control") == "no-store"
    return a.json()[what]


def only(found):
    assert len(found) == 1, found
    return found[0]


class Events:
    """A subscriber of /stat/events."""

    def __init__(self, port, query="", **more):
        self.http = Http(port, **more)
        self.http.send("GET", "/stat/events" + query)
        self.head = self.http.head()
        self.text = b""

    def _block(self):
        """The next block of lines; None at the end of the answer."""
        while b"\n\n" not in self.text:
            size = int(self.http._until(b"\r\n"), 16)
            self.text += self.http._exactly(size)
            assert self.http._exactly(2) == b"\r\n"
            if size == 0:
                return None
        block, _, self.text = self.text.partition(b"\n\n")
        return block.decode()

    def next(self):
        """(name, data); ("retry", ms); None at the end."""
        block = self._block()
        if block is None:
            return None
        if block.startswith("retry: "):
            return "retry", int(block[7:])
        event, data = block.split("\n")
        assert event.startswith("event: ") and data.startswith("data: ")
        return event[7:], json.loads(data[6:])

    def close(self):
        self.http.close()


class Changes(Events):
    """One that puts together what differs: self.server, self.rows["streams"]
    and ["sessions"], self.stream."""

    def __init__(self, port, query):
        super().__init__(port, "?changes=" + query)
        assert self.next() == ("retry", 1000)
        self.rows, self.server, self.stream = {}, None, None

    def _apply(self, name, told):
        rows = self.rows.setdefault(name, {})
        if told.get("reset"):
            rows.clear()
        for number in told.get("gone", ()):
            del rows[number]
        for number, change in told["rows"]:
            assert change
            rows.setdefault(number, {}).update(change)
        assert told["more"] >= 0

    def round(self):
        """Reads to the end of a round; the events, by name."""
        events = {}
        while "server" not in events:
            name, told = self.next()
            events[name] = told
            if name == "stream":
                self.stream = told
            else:
                self._apply(name, told)
        self.server = only(list(self.rows["server"].values()))
        return events

    def keys(self):
        return sorted(row["key"] for row in self.rows["streams"].values())

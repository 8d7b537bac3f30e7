"""One address that takes all it can get, for tests of shares: what others get
meanwhile, and what is told of it."""
# SPDX-License-Identifier: BSD-2-Clause

import re
import threading
import time

from control_client import Control
from http_client import Http, get

NOBODY_EXEMPT = 'limits = { exempt = "deny all"; };'
HOG = "127.0.0.2"
AGAIN_S = 0.02  # it asks again so long after a refusal


def row(w, pool):
    """What `show limits` tells of a pool."""
    with Control(w) as c:
        return {r["name"]: r for r in c.json("show limits")}[pool]


def counted(w, metric, labels):
    found = re.search(r"%s\{%s\} (\d+)" % (metric, re.escape(labels)),
                      get(w.http, "/metrics").body.decode())
    return int(found[1]) if found else 0


def refusals(w, pool, reason="share"):
    return counted(w, "weir_pool_refused_total",
                   f'pool="{pool}",reason="{reason}"')


def gave(w, pool):
    """Things of a pool that gave way to others."""
    return counted(w, "weir_pool_gave_total", f'pool="{pool}"')


class Hog:
    """Connections of an address, each of which asks as soon as it is answered.

        with Hog(w, 32, "/slow") as hog:
            wait_for(lambda: hog.refused(), 10, "it has its share")
    """

    def __init__(self, w, count, target, *headers, source=HOG, method="GET"):
        self.w, self.source = w, source
        self.asks = (method, target, *headers)
        self.ends = threading.Event()
        self.lock = threading.Lock()
        self.answers = []  # that refuse
        self.open = []
        self.threads = [threading.Thread(target=self._work)
                        for _ in range(count)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        with self.lock:
            for h in self.open:
                h.sock.close() if h.sock.fileno() == -1 else \
                    h.sock.shutdown(2)
        for t in self.threads:
            t.join()

    def refused(self):
        """Answers 503 so far."""
        with self.lock:
            return [a for a in self.answers if a.status == 503]

    def _work(self):
        while not self.ends.is_set():
            try:
                with Http(self.w.http, source=self.source) as h:
                    with self.lock:
                        self.open.append(h)
                    try:
                        self._ask(h)
                    finally:
                        with self.lock:
                            self.open.remove(h)
            except (OSError, EOFError):
                time.sleep(AGAIN_S)

    def _ask(self, h):
        while not self.ends.is_set():
            h.send(*self.asks)
            a = h.answer()
            if a.status >= 400:
                with self.lock:
                    self.answers.append(a)
                time.sleep(AGAIN_S)

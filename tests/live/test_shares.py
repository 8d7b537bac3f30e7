"""Nobody keeps others out: what one address may hold of each pool."""
# SPDX-License-Identifier: BSD-2-Clause

import contextlib
import socket

import pytest

from control_client import Control
from feed import Feed
from http_client import Http
from patience import busy
from rtmp_client import Rtmp
from socket_help import Place, location
from weir import wait_for

NOBODY_EXEMPT = 'limits = { exempt = "deny all"; };'
HOG = "127.0.0.2"


def rows(w):
    """What `show limits` tells, by name."""
    with Control(w) as c:
        return {r["name"]: r for r in c.json("show limits")}

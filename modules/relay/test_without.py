"""weir without modules/relay: what was its own is unknown, and said so."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

import weir as weir_py
from module_tree import build_without
from rtmp_client import Refused, Rtmp, publisher

REFUSED = [
    ({"apps": ', { name = "k"; publish = "key"; }'},
     r'applications\.publish must be "open", not "key"'),
    ({"apps": ', { name = "k"; push = "rtmp://a.example/b"; }'},
     r"applications\.push is unknown"),
    ({"top": "relays = { max = 1; };"}, "relays is unknown"),
    ({"locations": '{ path = "/c"; module = "relay"; },'},
     'there is no module "relay"'),
]


def test_nothing_else_needs_it(weir, tmp_path_factory, monkeypatch):
    tree = str(tmp_path_factory.mktemp("without"))
    monkeypatch.setattr(weir_py, "BINARY", build_without("relay", tree))
    for parts, told in REFUSED:
        with pytest.raises(AssertionError,
                           match=r"weir\.conf:\d+: .*" + told):
            weir(**parts)
    w = weir(apps=', { name = "closed"; }')
    publisher(w.rtmp, "live", "a").close()
    with Rtmp(w.rtmp) as c:
        c.connect("closed")
        with pytest.raises(Refused, match="nobody may publish"):
            c.publish("a" * 48)

"""docs/proxy.md is pasted: the answers are those that stand there."""
# SPDX-License-Identifier: BSD-2-Clause

from control_client import WEIRCTL
from http_client import get
from tutorial import blocks, pasted, written
from weir import TRACED, free_port, wait_for


def test_the_page(weir, tmp_path):
    with open("docs/proxy.md", encoding="utf-8") as f:
        text, _ = f.read().split("\n## Upstreams\n")
    ports = {n: free_port() for n in (8080, 9001, 9002)}

    def here(part):
        for there, port in ports.items():
            part = part.replace(f"127.0.0.1:{there}", f"127.0.0.1:{port}")
        return part.replace("weirctl -s control.sock",
                            f"{WEIRCTL} -s {tmp_path}/control.sock")

    conf = written("\n\n".join(blocks(text)) + "\n")["proxy.conf"]
    w = weir(here(conf).replace("control.sock", f"{tmp_path}/control.sock") +
             f'stop_grace = "0"; {TRACED}\n')
    w.may_grow = True  # it keeps connections to itself
    wait_for(lambda: get(ports[8080], "/shop/x", host="127.0.0.1").status ==
             200, 10)
    asked, compared = pasted(text, tmp_path, here)
    assert asked >= 10 and compared >= 8
    assert w.process.poll() is None

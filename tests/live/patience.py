"""How long a test waits, and what it may say about time.

Tests say in seconds what an idle machine needs; the machine may be many times
slower, and several tests run at once.  So:

  * what shall come is waited for (wait_for(), w.wait_log(), read_until()...):
    their times are multiplied by BUSY;
  * what shall not take long is compared with busy(seconds), and what happens
    if weir is wrong takes longer than that: "1h" instead of "10s";
  * what shall take at least so long may be compared as it is;
  * that something does not come is shown by what comes after it, where there
    is an order, and not by a pause.
"""
# SPDX-License-Identifier: BSD-2-Clause

BUSY = 10


def busy(seconds):
    """What that may take on a machine with much else to do."""
    return seconds * BUSY

"""The directory of an instance, as a start finds it."""
# SPDX-License-Identifier: BSD-2-Clause

import os

from downloads_help import (downloads, media)  # pylint: disable=W0611

__all__ = ["downloads", "media"]  # fixtures


def test_it_is_made_for_its_user(downloads, media):
    """Beside weir.conf, where weir's user may write nothing when root starts
    it."""
    d = downloads(directory="new")
    url = media.file("/a.mp4", 1000)
    d.added(url)
    d.wait_done(url)
    assert "a.mp4" in os.listdir(d.directory)
    fetcher, = d.processes("weir: fetcher")
    assert os.stat(d.directory).st_uid == os.stat(f"/proc/{fetcher}").st_uid

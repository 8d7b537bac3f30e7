"""Every row of cases.json, against one weir that is brought into the state
each begins with."""
# SPDX-License-Identifier: BSD-2-Clause

import articles_cases as cases
from articles_help import start


def test_rows(store_backend, weir):
    assert store_backend
    board = cases.Board(start(weir))
    rows = cases.rows()
    assert len(rows) > 100
    # Those that change nothing can have what the last one had.
    rows.sort(key=lambda r: (str(r["seed"]), cases.changes(r)))
    bad = []
    changed = True
    for row in rows:
        if changed or row["seed"] != board.seed:
            board.prepare(row["seed"])
        why = cases.wrong(board, row)
        changed = cases.changes(row)
        if why:
            bad.append(f"{row['id']}: {why}")
    assert not bad, f"{len(bad)} of {len(rows)} rows\n" + "\n".join(bad)

"""Every row of cases.json, against one weir with a location for each."""
# SPDX-License-Identifier: BSD-2-Clause

import pytest

import version_cases as cases


def vary(answer):
    return {w.lower() for n, v in answer.headers if n == "vary"
            for w in cases.words(v)}


def strategies(row):
    found = set()

    def look(u, outer):
        mine = u.get("options", {}).get("using", outer)
        found.add(mine)
        for n in u.get("nested", []):
            look(n, mine)
    for u in row["units"]:
        look(u, row["strategy"])
    return found


@pytest.mark.parametrize("slash", [False, True])
def test_rows(weir, slash):
    """Also with a slash at the end of each path, which means nothing."""
    rows = cases.rows(slash)
    assert len(rows) > 250
    w = weir(locations="\n".join(cases.location(r) for r in rows))
    bad = []
    for row in rows:
        answer = cases.ask(w.http, row)
        why = cases.wrong(row, answer)
        fields = {"header": "accept",
                  "accept_version_header": "accept-version"}
        wanted = {fields[s] for s in strategies(row) if s in fields}
        if not wanted <= vary(answer):
            why = f"Vary {vary(answer)}, not {wanted}"
        if why:
            bad.append(f"{row['id']}: {why}")
    assert not bad, f"{len(bad)} of {len(rows)} rows\n" + "\n".join(bad)

"""Runs inside gdb: what the variables named in $CHAOS_NAMES are, as JSON.

    CHAOS_NAMES='["table", "arena"]' gdb -nx -batch -x chaos_types.py weir

A type is ["int", bytes], ["text", bytes], ["pointer", target's name or null],
["array", count, of] or ["struct", bytes, [[member, offset, type], ...]].
A struct that a pointer names stands once, in "structs".
"""
# SPDX-License-Identifier: BSD-2-Clause

import json
import os

import gdb

INTEGERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL)
structs = {}


def bare(t):
    return t.strip_typedefs().unqualified()


def pointer(target):
    """["pointer", name]; the name is also that of an integer's type."""
    target = bare(target)
    if target.code not in INTEGERS + (gdb.TYPE_CODE_STRUCT,):
        return ["pointer", None]
    # The same name may be another struct in another file.
    name = f"{target}/{target.sizeof}/{len(target.fields())}" \
        if target.code == gdb.TYPE_CODE_STRUCT else str(target)
    if name not in structs:
        structs[name] = None
        structs[name] = describe(target)
    return ["pointer", name]


def array(t):
    of = bare(t.target())
    low, high = t.range()
    count = high - low + 1 if t.sizeof else 0  # [] at the end of a struct
    if of.code == gdb.TYPE_CODE_INT and of.sizeof == 1:
        return ["text", count]
    return ["array", count, describe(of)]


def describe(t):
    t = bare(t)
    if t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return ["struct", t.sizeof,
                [[f.name or "", f.bitpos // 8, describe(f.type)]
                 for f in t.fields() if not f.bitsize]]
    if t.code == gdb.TYPE_CODE_ARRAY:
        return array(t)
    if t.code == gdb.TYPE_CODE_PTR:
        return pointer(t.target())
    return ["int" if t.code in INTEGERS else "other", t.sizeof]


def symbols(name):
    found = list(gdb.lookup_static_symbols(name))
    external = gdb.lookup_global_symbol(name)
    return found + ([external] if external else [])


def variables():
    for name in json.loads(os.environ["CHAOS_NAMES"]):
        for s in symbols(name):
            if s.is_variable:
                yield {"name": name, "file": s.symtab.filename,
                       "address": int(s.value().address),
                       "type": describe(s.type)}


found = list(variables())
extra = [pointer(gdb.lookup_type(name))[1]
         for name in json.loads(os.environ.get("CHAOS_TYPES", "[]"))]
print(json.dumps({"variables": found, "structs": structs, "extra": extra}))

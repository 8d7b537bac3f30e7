"""An OpenAPI document: whether it is one, and whether answers are as it
says."""
# SPDX-License-Identifier: BSD-2-Clause

import copy
import json
import os
import re
import xml.etree.ElementTree as et

import jsonschema

# Of the OpenAPI Initiative, Apache License 2.0, as it was published.
FILE = os.path.join(os.path.dirname(__file__), "openapi-3.1.schema.json")
METHODS = ("get", "put", "post", "delete", "patch")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
Validator = jsonschema.Draft202012Validator


def closed(schema):
    """A copy in which objects have no members but those that are told."""
    found = copy.deepcopy(schema)

    def walk(s):
        if isinstance(s, dict):
            if s.get("type") == "object" and "properties" in s:
                s["additionalProperties"] = False
            for v in s.values():
                walk(v)
        elif isinstance(s, list):
            for v in s:
                walk(v)
    walk(found)
    return found


class Document:
    def __init__(self, document):
        self.document = document
        self.components = closed(document["components"])

    def resolve(self, thing):
        while isinstance(thing, dict) and "$ref" in thing:
            target = self.document
            assert thing["$ref"].startswith("#/"), thing
            for part in thing["$ref"][2:].split("/"):
                target = target[part]
            thing = target
        return thing

    def operations(self):
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield path, method, item[method]

    # ---- is it one? ----

    def check(self):
        with open(FILE, encoding="utf-8") as f:
            Validator(json.load(f)).validate(self.document)
        for schema in self.document["components"]["schemas"].values():
            Validator.check_schema(schema)
        self._check_references(self.document)
        self._check_operations()
        self._check_all_used()

    def _check_references(self, thing):
        if isinstance(thing, dict):
            if "$ref" in thing:
                assert self.resolve(thing) is not None
            for v in thing.values():
                self._check_references(v)
        elif isinstance(thing, list):
            for v in thing:
                self._check_references(v)

    def _check_operations(self):
        ids = []
        for path, method, o in self.operations():
            ids.append(o["operationId"])
            parameters = [self.resolve(p) for p in o["parameters"]]
            names = [(p["in"], p["name"]) for p in parameters]
            assert len(set(names)) == len(names), (path, method)
            in_path = {n for where, n in names if where == "path"}
            assert in_path == set(re.findall(r"{(\w+)}", path)), path
            assert o["responses"], (path, method)
        assert len(set(ids)) == len(ids)

    def _check_all_used(self):
        """Components that nothing names are mistakes."""
        text = json.dumps(self.document)
        for kind, members in self.document["components"].items():
            for name in members if kind != "securitySchemes" else ():
                used = f'"#/components/{kind}/{name}"' in text
                assert used or name in self.may_be_unused(), (kind, name)

    def may_be_unused(self):
        # What only PATCH has is there without it too.
        return {"UnsupportedPatch", "Accept-Patch", "IfMatch", "Forbidden"}

    # ---- is an answer as it says? ----

    def check_answer(self, path, method, answer):
        """Returns the status as the document has it."""
        o = self.document["paths"][path][method]
        status = str(answer.status)
        if status not in o["responses"]:
            status = "default"
        said = self.resolve(o["responses"][status])
        for name, value in answer.headers:
            if name.lower() in {h.lower() for h in said.get("headers", {})}:
                self.check_header(said, name, value)
        kind = (answer.header("content-type") or "").split(";")[0]
        if "content" not in said:
            assert answer.body == b"", (path, method, status)
            return status
        assert kind in said["content"], (path, method, status, kind)
        schema = said["content"][kind].get("schema")
        if schema is not None:
            value = self.from_xml(answer.body, schema) \
                if kind.endswith("xml") else json.loads(answer.body)
            self.validate(value, schema)
        return status

    def check_header(self, said, name, value):
        for h, what in said["headers"].items():
            if h.lower() == name.lower():
                schema = self.resolve(what)["schema"]
                if schema["type"] == "integer":
                    value = int(value)
                self.validate(value, schema)

    def validate(self, value, schema):
        Validator({**schema, "components": self.components}).validate(value)
        self._check_times(value)

    def _check_times(self, value):
        if isinstance(value, dict):
            for k, v in value.items():
                if k.endswith("_at"):
                    assert TIME.fullmatch(v), (k, v)
                self._check_times(v)
        elif isinstance(value, list):
            for v in value:
                self._check_times(v)

    # ---- XML as its "xml" members say ----

    def from_xml(self, text, schema):
        root = et.fromstring(text)
        schema = self.resolve(schema)
        assert root.tag == self.element(schema), root.tag
        return self._value(root, schema)

    def element(self, schema, otherwise=None):
        x = schema.get("xml", {})
        name = x.get("name", otherwise)
        return f"{{{x['namespace']}}}{name}" if "namespace" in x else name

    def _value(self, e, schema):
        kind = schema["type"]
        if kind == "object":
            return self._object(e, schema)
        if kind == "array":
            items = self.resolve(schema["items"])
            assert all(c.tag == self.element(items) for c in e)
            return [self._value(c, items) for c in e]
        assert len(e) == 0
        return int(e.text) if kind == "integer" else e.text or ""

    def _object(self, e, schema):
        space = e.tag[:e.tag.index("}") + 1] if "}" in e.tag else ""
        found = {}
        assert not (e.text or "").strip()
        for name, s in schema["properties"].items():
            s = self.resolve(s)
            tag = space + self.element(s, name)
            inner = e.findall(tag)
            assert len(inner) <= 1, tag
            if inner:
                found[name] = self._value(inner[0], s)
            elif isinstance(s["type"], list) and "null" in s["type"]:
                found[name] = None
        assert len(found) - sum(v is None for v in found.values()) == len(e), \
            [c.tag for c in e]
        return found

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents for programs against their schemas, and the schemas against their documentation.

schema.py validate SCHEMA [FILE]     does the document (stdin) follow the schema?
schema.py check SCHEMA               is it a schema that leaves nothing open and explains each field?
schema.py names SCHEMA... PAGE.md    has the page every field of the schemas, and no others?
"""
import json
import pathlib
import re
import sys

import jsonschema


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def validate(schema, path="/dev/stdin"):
    root = load(schema)
    # one schema may point at another beside it
    resolver = jsonschema.RefResolver(pathlib.Path(schema).resolve().as_uri(), root)
    validator = jsonschema.Draft202012Validator(root, resolver=resolver)
    errors = list(validator.iter_errors(load(path)))
    return [f"{error.json_path}: {error.message}"[:600] for error in errors[:10]]


def walk(node, where="#"):
    """Each schema object below, with its place."""
    if isinstance(node, dict):
        yield where, node
        for key, value in node.items():
            yield from walk(value, f"{where}/{key}")
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from walk(value, f"{where}/{i}")


def check(path):
    schema = load(path)
    jsonschema.Draft202012Validator.check_schema(schema)
    wrong = []
    for where, node in walk(schema):
        if not isinstance(node.get("properties"), dict):
            continue
        if node.get("additionalProperties") is not False:
            wrong.append(f"{where}: open to other fields")
        wrong += [f"{where}: requires {name}, which is none of its fields"
                  for name in node.get("required", []) if name not in node["properties"]]
        wrong += [f"{where}/{name}: not explained" for name, field in node["properties"].items()
                  if len(field.get("description", "")) < 5]
    return wrong


def fields(schema):
    return {name for _, node in walk(schema) if isinstance(node.get("properties"), dict)
            for name in node["properties"]}


def told(page):
    """All words in backticks, and those of the first column of tables of fields."""
    every, listed, table = set(), set(), False
    for line in page.splitlines():
        words = {part for word in re.findall(r"`([^`]+)`", line) for part in word.split(".")}
        every |= words
        table = (table or line.startswith("| field |")) and line.startswith("|")
        if table:
            listed |= {part for word in re.findall(r"`([^`]+)`", line.split("|")[1])
                       for part in word.split(".")}
    return every, listed


def names(*paths):
    known = set().union(*(fields(load(path)) for path in paths[:-1]))
    with open(paths[-1], encoding="utf-8") as file:
        every, listed = told(file.read())
    return ([f"{name}: in no table or text of {paths[-1]}" for name in sorted(known - every)] +
            [f"{name}: in {paths[-1]}, but in no schema" for name in sorted(listed - known)])


def main():
    wrong = {"validate": validate, "check": check, "names": names}[sys.argv[1]](*sys.argv[2:])
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())

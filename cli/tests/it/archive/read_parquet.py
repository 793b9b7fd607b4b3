"""Compares tables that `larder export --format parquet` wrote, as pyarrow reads them, with CSV and JSON Lines of the same records.

Standard input has a job a line: the files, and the names of database and object store. A line is printed for each difference, and at
the end one of what was compared. Types are worked out here anew, by the words of docs/format/table.md.
"""

import base64
import csv
import json
import struct
import sys

import pyarrow as pa
import pyarrow.parquet as pq

SAFE = 2**53 - 1
csv.field_size_limit(1 << 30)
sys.setrecursionlimit(100_000)


class Pairs(list):
    """Members of an object in their order."""


def parse(text):
    return json.loads(text, object_pairs_hook=Pairs)


def tagged(value, tag):
    """The value of an object with this one member."""
    if isinstance(value, Pairs) and len(value) == 1 and value[0][0] == tag:
        return value[0][1]
    return None


def properties(value):
    """Names and values of an object's properties; None for anything else."""
    if not isinstance(value, Pairs):
        return None
    members = value[1:] if value and value[0][0] == "$id" else list(value)
    if len(members) == 1 and members[0][0] == "$object" and isinstance(members[0][1], list):
        return members[0][1]
    if members and members[0][0].startswith("$"):
        return None
    return members


def name_of(name):
    if isinstance(name, str):
        return name
    return json.dumps(dict(name), separators=(",", ":"))


def undefined(value):
    return tagged(value, "$undefined") is not None


def iso(milliseconds):
    """`toISOString`, by the calendar of 400 years (146097 days)."""
    days, rest = divmod(milliseconds, 86_400_000)
    shifted = days + 719_468
    era, day = divmod(shifted, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day = day - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year = year + era * 400 + (month <= 2)
    year = f"{year:04}" if 0 <= year <= 9999 else f"{'-' if year < 0 else '+'}{abs(year):06}"
    seconds, ms = divmod(rest, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{year}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z"


def content(value):
    """Type and content of a value, as a column has it."""
    if isinstance(value, bool):
        return "boolean", value
    number = tagged(value, "$number")
    if isinstance(value, (int, float)) or number is not None:
        number = float(value if number is None else number)
        is_safe = number == int(number) and abs(number) <= SAFE if abs(number) < 1e300 else False
        if is_safe and struct.pack(">d", number) != struct.pack(">d", -0.0):
            return "integer", int(number)
        return "double", number
    if isinstance(value, str):
        return "string", value
    units = tagged(value, "$utf16")
    if units is not None:
        return "string", json.dumps({"$utf16": units}, separators=(",", ":"))
    date = tagged(value, "$date")
    if isinstance(date, str):
        return "date", date
    digits = tagged(value, "$bigint")
    if digits is not None and "x" not in digits and -(2**63) <= int(digits) < 2**63:
        return "bigint", int(digits)
    binary = tagged(value, "$binary")
    if binary is not None:
        return "binary", bytes.fromhex(binary)
    buffer = tagged(value, "$arraybuffer")
    if buffer is not None:
        return "ArrayBuffer", base64.b64decode(buffer, validate=True)
    if isinstance(value, Pairs) and [name for name, _ in value] == ["$view", "byteOffset", "byteLength", "buffer"]:
        (_, kind), (_, at), (_, size), (_, inner) = value
        buffer = tagged(inner, "$arraybuffer")
        if buffer is not None:
            return kind, base64.b64decode(buffer, validate=True)[at : at + size]
    return "text", None


def expected(records):
    """Names of the columns, and for each its type, what null says, and each row's content: None, or what a text cell leaves to the CSV."""
    names, rows = [], []
    for key, value in records:
        own = properties(value)
        cells = {name_of(name): cell for name, cell in own} if own is not None else {"$value": value}
        for name in cells:
            if name not in names:
                names.append(name)
        rows.append((key, cells))
    columns = []
    for at, name in enumerate([None, *names]):
        cells = [key if at == 0 else cells.get(name) if name in cells else Pairs([("$undefined", True)]) for key, cells in rows]
        missing = [undefined(cell) for cell in cells]
        kinds = {content(cell)[0] for cell, gone in zip(cells, missing) if not gone and cell is not None}
        nulls = any(cell is None for cell in cells)
        if nulls and any(missing):
            kind = "text"
        elif kinds == {"integer", "double"}:
            kind = "double"
        else:
            kind = kinds.pop() if len(kinds) == 1 else "string" if not kinds else "text"
        null = "null" if nulls and kind != "text" else "missing"
        columns.append((kind, null, cells, missing))
    return names, columns


PHYSICAL = {
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "date": pa.timestamp("ms", tz="UTC"),
    "string": pa.string(),
    "text": pa.string(),
}


def same(kind, found, cell, gone, words):
    """Whether a cell of the file is what the record and the CSV have."""
    if gone or (cell is None and kind != "text"):
        return found is None and words == ("" if gone else "null")
    if kind == "text":
        return found == words
    value = content(cell)[1]
    if kind == "boolean":
        return found is value and words == ("true" if value else "false")
    if kind in ("integer", "bigint"):
        # Beyond 10^21 JavaScript writes powers; no such number is an integer here.
        return found == value and words == str(value)
    if kind == "double":
        bits = [struct.pack(">d", float(number)) for number in (found, value, words)]
        return found != found and value != value and words == "NaN" or bits[0] == bits[1] == bits[2]
    if kind == "date":
        return iso(found) == value == words
    if kind == "string":
        return found == value == words
    return found == value


def compare(job, seen):
    with open(job["csv"], newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    records = []
    with open(job["jsonl"], encoding="utf-8") as file:
        for line in file:
            line = dict(parse(line))
            of = [dict(line[name])["utf16"] if isinstance(line[name], list) else line[name] for name in ("database", "store")]
            if "value" in line and of == [job["database"], job["store"]]:
                records.append((line["key"], line["value"]))
    file = pq.ParquetFile(job["parquet"])
    table = file.read()
    seen["row groups"] = max(seen["row groups"], file.num_row_groups)
    names, columns = expected(records)
    notes = json.loads(file.metadata.metadata[b"larder.columns"])
    if table.num_rows != len(records) or len(lines) != len(records):
        return f"{table.num_rows} rows, {len(lines)} lines, {len(records)} records"
    if [note.get("property", note["name"]) for note in notes] != ["$key", *names] or head != ["$key", *names]:
        return f"columns {notes}, {head}, {names}"
    if len(set(table.column_names)) != len(table.column_names) or table.column_names != [note["name"] for note in notes]:
        return f"names {table.column_names}"
    for at, (kind, null, cells, missing) in enumerate(columns):
        note, field = notes[at], table.schema.field(at)
        if (note["type"], note["null"]) != (kind, null) or field.type != PHYSICAL.get(kind, pa.binary()):
            return f"column {note}: {field.type}, {kind}, {null}"
        column = table.column(at)
        found = (column.cast(pa.int64()) if kind == "date" else column).to_pylist()
        for row, (one, cell, gone) in enumerate(zip(found, cells, missing)):
            if not same(kind, one, cell, gone, lines[row][at]):
                return f"column {note}, row {row}: {one!r}, {cell!r}, {lines[row][at]!r}"
        seen["cells"] += len(cells)
        seen[kind if kind in PHYSICAL else "bytes"] = seen.get(kind if kind in PHYSICAL else "bytes", 0) + 1
    return None


def main():
    seen = {"tables": 0, "cells": 0, "row groups": 0}
    for line in sys.stdin:
        job = json.loads(line)
        difference = compare(job, seen)
        seen["tables"] += 1
        if difference is not None:
            print(f"DIFFERS: {job['parquet']}: {job['database']}, {job['store']}: {difference}")
    print(json.dumps(seen))


main()

#!/usr/bin/env python3
"""Prints what Python's plistlib finds in property lists, one line of JSON for each path on standard input.

Types stay apart: {"uid": n}, {"data": hex}, {"date": microseconds since 2001}, {"real": hex of the eight bytes},
{"dict": [[key, value], ...]}; integers, strings, booleans, null and arrays are themselves. A file that plistlib refuses
gives {"error": kind of the error}.
"""
import datetime
import json
import plistlib
import struct
import sys

EPOCH = datetime.datetime(2001, 1, 1)


def plain(value, is_xml):
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"real": struct.pack(">d", value).hex()}
    if isinstance(value, plistlib.UID):
        return {"uid": value.data}
    if isinstance(value, bytes):
        return {"data": value.hex()}
    if isinstance(value, datetime.datetime):
        return {"date": (value - EPOCH) // datetime.timedelta(microseconds=1)}
    if isinstance(value, list):
        return [plain(element, is_xml) for element in value]
    if isinstance(value, dict):
        # plistlib leaves the numbers of keyed archives in XML as the dictionaries that they are written as.
        number = value.get("CF$UID")
        if is_xml and len(value) == 1 and type(number) is int and number >= 0:
            return {"uid": number}
        return {"dict": [[plain(key, is_xml), plain(element, is_xml)] for key, element in value.items()]}
    raise TypeError(type(value).__name__)


def line(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return plain(plistlib.loads(data), not data.startswith(b"bplist"))
    except Exception as error:
        return {"error": type(error).__name__}


def main():
    for path in sys.stdin.read().splitlines():
        print(json.dumps(line(path)))


main()

#!/usr/bin/env python3
"""Opens every archive of a folder with tools that are independent of this library, and compares the results.

Usage: check.py [FOLDER]      (Fixtures/ of this repository unless given)

For each *.strata: `gunzip -t`; the reader beside this file, which was written from Docs/Format.md; Python's gzip; and
cbor2, where that is installed (pip install cbor2, or the Debian package python3-cbor2). Exit code 1 where anything
fails or no archive was found.
"""
import datetime
import decimal
import gzip
import math
import struct
import subprocess
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from read_archive import Elements, Invalid, Pairs, Record, Tagged, members  # noqa: E402

try:
    import cbor2
except ImportError:
    cbor2 = None

EPOCH = 978307200.0
RECORDS = range(57344, 57600)


class NotComparable(Exception):
    """A valid value that cbor2 cannot represent as a Python type."""


# Both sides are converted to nested tuples, with the information that both have: cbor2 has one type for Float and Double,
# returns dates as datetimes, and does not keep the order of sets and maps.

def number(value):
    return ("float", "nan" if math.isnan(value) else struct.pack(">d", value))


def moment(seconds_since_2001):
    seconds = seconds_since_2001 + EPOCH
    if not math.isfinite(seconds) or struct.pack(">d", seconds - EPOCH) != struct.pack(">d", seconds_since_2001):
        return ("date 2001", number(seconds_since_2001))
    try:
        return when(datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc))
    except (OverflowError, ValueError, OSError):
        raise NotComparable("a date that datetime does not hold")


def when(value):
    # cbor2 keeps microseconds, and its versions round them differently.
    return ("date", (value - datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(seconds=1))


def decimal_parts(mantissa, exponent):
    while mantissa and mantissa % 10 == 0:
        mantissa, exponent = mantissa // 10, exponent + 1
    return ("decimal", mantissa, exponent if mantissa else 0)


def from_own(value):
    if isinstance(value, Record):
        return ("record", value.mark(), tuple((name, from_own(field)) for name, field in value.fields))
    if isinstance(value, Elements):
        return ("set", frozenset(from_own(element) for element in value))
    if isinstance(value, Pairs):
        return ("map", frozenset((from_own(k), from_own(v)) for k, v in value))
    if isinstance(value, list):
        return ("array",) + tuple(from_own(element) for element in value)
    if isinstance(value, float):
        return number(value)
    if not isinstance(value, Tagged):
        return (type(value).__name__, value)
    content = value.content
    if value.kind == "Graph":
        return ("graph", tuple(from_own(item) for item in content[0]), from_own(content[1]))
    if value.kind == "Float":
        return number(content[0])
    if value.kind == "Date":
        return moment(content[0])
    if value.kind == "Decimal":
        return ("decimal", "nan") if content[0] is None else decimal_parts(content[1], content[0])
    return (value.kind,) + content


class FromCBOR2:
    def __init__(self, root):
        # Sets lose their order in Python, so definitions are collected before any reference is resolved.
        self.definitions, self.ambiguous = {}, set()
        # cbor2 replaces tag 29 by the object itself, so references are recognized by the identity of objects.
        self.numbers = {}
        self.collect(root)
        self.form = self.convert(root)

    def collect(self, value):
        if isinstance(value, cbor2.CBORTag):
            if value.tag == 57343:
                tag, keys = value.value[0], tuple(value.value[1])
                if self.definitions.setdefault(tag, keys) != keys:
                    self.ambiguous.add(tag)
            self.collect(value.value)
        elif hasattr(value, "items"):
            for k, v in value.items():
                self.collect(k)
                self.collect(v)
        elif isinstance(value, (list, tuple, set, frozenset)):
            for element in value:
                self.collect(element)

    def convert(self, value):
        if id(value) in self.numbers:
            return ("Reference", self.numbers[id(value)])
        if isinstance(value, cbor2.CBORTag):
            return self.tagged(value.tag, value.value)
        if hasattr(value, "items"):
            return ("map", frozenset((self.convert(k), self.convert(v)) for k, v in value.items()))
        if isinstance(value, (set, frozenset)):
            return ("set", frozenset(self.convert(element) for element in value))
        if isinstance(value, (list, tuple)):
            return ("array",) + tuple(self.convert(element) for element in value)
        if isinstance(value, float):
            return number(value)
        if isinstance(value, datetime.datetime):
            return when(value)
        if isinstance(value, uuid.UUID):
            return ("UUID", value.bytes)
        if isinstance(value, decimal.Decimal):
            sign, digits, exponent = value.as_tuple()
            mantissa = int("".join(map(str, digits)))
            return decimal_parts(-mantissa if sign else mantissa, exponent)
        return (type(value).__name__, value)

    def tagged(self, tag, content):
        if tag == 57343:
            return self.record(content[1], content[2:])
        if tag in RECORDS:
            if tag in self.ambiguous:
                raise NotComparable("a number of a definition that is used again")
            return self.record(self.definitions[tag], content)
        if tag == 32:
            return ("URL", content)
        if tag == 27 and content[0] == "Date.2001":
            return ("date 2001", number(content[1]))
        if tag == 27 and content[0] == "URL":
            return ("URL",) + tuple(content[1:])
        if tag == 27 and content[0] == "Decimal.NaN":
            return ("decimal", "nan")
        if tag == 27 and content[0] == "graph":
            for item in content[1]:
                self.numbers[id(item)] = len(self.numbers)
            return ("graph", tuple(self.tagged(item.tag, item.value) for item in content[1]), self.convert(content[2]))
        if tag == 27 and content[0] == "later":
            return ("Reference", content[1])
        if tag == 27 and content[0] == "number":
            return ("Number", content[1])
        raise Invalid("cbor2 found the tag %d" % tag)

    def record(self, keys, values):
        if len(values) != len(keys) - 1:
            raise Invalid("cbor2 found a record with %d values for %d keys" % (len(values), len(keys) - 1))
        return ("record", keys[-1], tuple((k, self.convert(v)) for k, v in zip(keys, values)))


def compare(value, body):
    """A note about cbor2. Raises Invalid if it decodes something else."""
    if cbor2 is None:
        return "cbor2 skipped"
    try:
        own = from_own(value)
        other = FromCBOR2(cbor2.loads(body)).form
    except NotComparable as reason:
        return "cbor2 not comparable: %s" % reason
    except TypeError as error:
        if "unhashable" in str(error):
            return "cbor2 not comparable: it has no sets of arrays and records"
        raise Invalid("cbor2 fails: %s" % error)
    except cbor2.CBORDecodeError as error:
        raise Invalid("cbor2 fails: %s" % error)
    if own != other:
        raise Invalid("cbor2 reads another value")
    return "cbor2 agrees"


def check(path):
    """A short description of the archive. Raises Invalid."""
    tested = subprocess.run(["gunzip", "-t"], stdin=path.open("rb"), stderr=subprocess.PIPE, check=False)
    if tested.returncode != 0:
        raise Invalid("gunzip -t: %s" % tested.stderr.decode(errors="replace").strip())
    data = path.read_bytes()
    found = list(members(data))
    if gzip.decompress(data) != b"".join(bytes(body) for _, _, body in found):
        raise Invalid("Python's gzip inflates something else")
    notes = {compare(value, bytes(body)) for stamp, value, body in found if stamp.kind != 2}
    first = found[0][0]
    version = "" if first.version == -1 else "@%d" % first.version
    members_text = "" if first.kind == 0 else "a stream of %d, " % len(found)
    return "%s%s, %s%s" % (first.name, version, members_text, ", ".join(sorted(notes)) or "no values")


def main(arguments):
    sys.setrecursionlimit(20000)
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2] / "Fixtures"
    files = sorted(folder.rglob("*.strata"))
    if cbor2 is None:
        print("cbor2 is not installed: its comparison is skipped (pip install cbor2, or apt install python3-cbor2)")
    failures = 0
    for path in files:
        try:
            print("ok    %s: %s" % (path.relative_to(folder), check(path)))
        except (Invalid, OSError, EOFError) as error:
            print("FAIL  %s: %s" % (path.relative_to(folder), error))
            failures += 1
    if not files:
        print("FAIL  no archives in %s" % folder)
        return 1
    print("%d archives, %d failures" % (len(files), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

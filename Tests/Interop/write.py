#!/usr/bin/env python3
"""Writes the bodies of archives a second time, from Docs/Format.md alone, and compares them byte for byte.

Usage: write.py [FOLDER]                         each *.strata of a folder (Fixtures/archives of this repository unless given)
       write.py --encode STRATA LEAST FOLDER     each JSON document of a folder, against what the program `STRATA encode`
                                                 makes of it; what that refuses is passed over
       write.py --made STRATA                    documents made here, which fill the table of strings

Exit code 1 where a body differs, or where fewer than LEAST (else 1) were compared. Needs Python 3.9 and its standard
library.
"""
import json
import math
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from read_archive import Elements, Invalid, Pairs, Record, Tagged, members  # noqa: E402

EPOCH = 978307200.0
WORD = (1 << 64) - 1
LARGEST_MANTISSA = (1 << 128) - 1
# What an archive does not say: which fields of the fixtures' models refer to an object without bringing it in.
CONDITIONAL = {("Child", "parent"), ("Member", "club")}


# ---- strings (section 5) ------------------------------------------------------------------------------------------

def mixed(left, right):
    product = left * right
    return product >> 64 ^ product & WORD


def string_hash(major, content):
    length = len(content)

    def word(offset):
        return int.from_bytes(content[offset:offset + 8], "little")

    state = major ^ length * 0x9E3779B97F4A7C15 & WORD
    if length >= 16:
        for offset in list(range(0, length - 16, 16)) + [length - 16]:
            state = mixed(word(offset) ^ state, word(offset + 8) ^ 0xD6E8FEB86659FD93)
    elif length >= 8:
        state = mixed(word(0) ^ state, word(length - 8) ^ 0xD6E8FEB86659FD93)
    else:
        state = (state ^ int.from_bytes(content, "big")) * 0xD6E8FEB86659FD93 & WORD
    return (state ^ state >> 29) & 0xFFFFFFFF


class Refused(Exception):
    """The document is none that the program reads."""


class StringTable:
    def __init__(self):
        self.slots, self.used, self.next = [None] * 64, 0, 0

    def find(self, major, content):
        """The number to refer to; None where the string is to be written in full."""
        least = 3 if self.next < 24 else 4 if self.next < 256 else 5 if self.next < 65536 else 7
        if len(content) < least:
            return None
        hashed = string_hash(major, content)
        free = None
        for step in range(16):
            place = (hashed + step) % len(self.slots)
            if self.slots[place] is None:
                free = place
                break
            if self.slots[place][2:] == (major, content):
                return self.slots[place][1]
        number, self.next = self.next, self.next + 1
        if free is not None and len(content) <= 65535:
            self.slots[free] = (hashed, number, major, content)
            self.used += 1
            if self.used * 2 > len(self.slots):
                self.grow()
        return None

    def grow(self):
        old = self.slots
        if len(old) == 16384:
            self.slots, self.used = [None] * 16384, 0
            return
        self.slots = [None] * (4 * len(old))
        for slot in old:
            if slot is not None:
                place = slot[0] % len(self.slots)
                while self.slots[place] is not None:
                    place = (place + 1) % len(self.slots)
                self.slots[place] = slot


# ---- bodies (sections 4 to 9) -------------------------------------------------------------------------------------

class Writer:
    def __init__(self, alone=False):
        """alone: for the order of sets and keys, without tag 256 and references."""
        self.bytes = bytearray(b"" if alone else b"\xd9\x01\x00")
        self.strings, self.shapes = None if alone else StringTable(), {}
        self.graph, self.shared = None, 0

    def head(self, major, argument):
        if argument < 24:
            self.bytes.append(major << 5 | argument)
            return
        for low, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
            if argument < 1 << 8 * size:
                self.bytes.append(major << 5 | low)
                self.bytes += argument.to_bytes(size, "big")
                return
        raise Invalid("an argument beyond 64 bits")

    def string(self, major, content):
        number = self.strings.find(major, content) if self.strings else None
        if number is not None:
            self.head(6, 25)
            self.head(0, number)
            return
        self.head(major, len(content))
        self.bytes += content

    def text(self, text):
        self.string(3, text.encode("utf-8"))

    def integer(self, value):
        major, argument = (0, value) if value >= 0 else (1, -1 - value)
        if argument < 1 << 64:
            self.head(major, argument)
            return
        self.head(6, 2 + major)
        self.string(2, argument.to_bytes((argument.bit_length() + 7) // 8, "big"))

    def generic(self, name, count):
        self.head(6, 27)
        self.head(4, count + 1)
        self.text(name)

    def double(self, value):
        self.bytes += b"\xfb" + struct.pack(">d", value)

    def value(self, value):
        if value is None or value is True or value is False:
            self.bytes += {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
        elif isinstance(value, int):
            self.integer(value)
        elif isinstance(value, float):
            self.double(value)
        elif isinstance(value, str):
            self.text(value)
        elif isinstance(value, bytes):
            self.string(2, value)
        elif isinstance(value, Record):
            self.record(value)
        elif isinstance(value, Pairs):
            self.map(value)
        elif isinstance(value, Elements):
            self.head(6, 258)
            self.array(in_order(value, self.graph))
        elif isinstance(value, list):
            self.array(value)
        else:
            getattr(self, "write_" + value.kind.lower())(*value.content)

    def array(self, elements):
        self.head(4, len(elements))
        for element in elements:
            self.value(element)

    def map(self, pairs):
        self.head(5, len(pairs))
        for key, value in in_order(pairs, self.graph):
            self.value(key)
            self.value(value)

    def record(self, record):
        keys = tuple(name for name, _ in record.fields)
        shape = (record.mark(), keys)
        if shape in self.shapes:
            self.head(6, 57344 + self.shapes[shape])
            self.head(4, len(keys))
        else:
            number = min(len(self.shapes), 255)
            if number < 255:
                self.shapes[shape] = number
            self.head(6, 57343)
            self.head(4, 2 + len(keys))
            self.head(0, 57344 + number)
            self.head(4, len(keys) + 1)
            for text in keys + (record.mark(),):
                self.text(text)
        for _, value in record.fields:
            self.value(value)

    # Scalars (section 7), by the kind that the reader gives them.

    def write_float(self, value):
        self.bytes += b"\xfa" + struct.pack(">f", value)

    def write_date(self, seconds):
        since_1970 = seconds + EPOCH
        if struct.pack(">d", since_1970 - EPOCH) == struct.pack(">d", seconds) and math.isfinite(since_1970):
            self.head(6, 1)
            whole = since_1970.is_integer() and -(1 << 63) <= since_1970 < 1 << 63
            return self.integer(int(since_1970)) if whole else self.double(since_1970)
        self.generic("Date.2001", 1)
        self.double(seconds)

    def write_url(self, text, base=None):
        if base is None:
            self.head(6, 32)
            return self.text(text)
        self.generic("URL", 2)
        self.text(text)
        self.text(base)

    def write_uuid(self, content):
        self.head(6, 37)
        self.string(2, content)

    def write_decimal(self, exponent, mantissa=0):
        if exponent is None:
            return self.generic("Decimal.NaN", 0)
        while mantissa and mantissa % 10 == 0:
            mantissa, exponent = mantissa // 10, exponent + 1
        self.head(6, 4)
        self.head(4, 2)
        self.integer(exponent if mantissa else 0)
        self.integer(mantissa)

    def write_number(self, text):
        self.generic("number", 1)
        self.text(text)

    # Graphs (section 9). References hold the numbers that the file gave.

    def write_graph(self, objects, root):
        self.graph = Graph(objects, root, self.shared)
        self.generic("graph", 2)
        self.head(4, len(objects))
        for place in self.graph.order:
            self.head(6, 28)
            self.value(objects[place])
            self.graph.written += 1
        self.shared += len(objects)
        self.value(root)
        self.graph = None

    def write_reference(self, number):
        number = self.graph.numbers[number - self.graph.base]
        if number < self.graph.written:
            self.head(6, 29)
        else:
            self.generic("later", 1)
        self.head(0, self.graph.base + number)


class Graph:
    """The objects of a graph in the order that a walk from the root gives them."""

    def __init__(self, objects, root, base):
        self.objects, self.base, self.written = objects, base, 0
        self.order, self.begun = [], set()
        self.walk(root)
        if len(self.order) != len(objects):
            raise Invalid("a walk from the root finds %d of %d objects" % (len(self.order), len(objects)))
        self.numbers = {place: number for number, place in enumerate(self.order)}

    def walk(self, value):
        if isinstance(value, Tagged) and value.kind == "Reference":
            place = value.content[0] - self.base
            if place not in self.begun:
                self.begun.add(place)
                self.walk(self.objects[place])
                self.order.append(place)
        elif isinstance(value, Record):
            for name, field in value.fields:
                if (value.name, name) not in CONDITIONAL:
                    self.walk(field)
        elif isinstance(value, Pairs):
            for pair in in_order(value, self):
                self.walk(pair[0])
                self.walk(pair[1])
        elif isinstance(value, list):
            for element in in_order(value, self) if isinstance(value, Elements) else value:
                self.walk(element)

    def inlined(self, value, levels):
        """The value with the records of objects instead of references, and null below so many levels."""
        if isinstance(value, Tagged) and value.kind == "Reference":
            return self.inlined(self.objects[value.content[0] - self.base], levels - 1) if levels else None
        if isinstance(value, Record):
            fields = [
                (name, None if (value.name, name) in CONDITIONAL else self.inlined(field, levels))
                for name, field in value.fields]
            return Record(value.name, value.version, fields, value.superclasses)
        if isinstance(value, Pairs):
            return Pairs((self.inlined(k, levels), self.inlined(v, levels)) for k, v in value)
        if isinstance(value, list):
            return type(value)(self.inlined(element, levels) for element in value)
        return value


def in_order(collection, graph):
    """The elements of a set or the pairs of a map in the order of their encodings alone (section 8)."""
    is_map = isinstance(collection, Pairs)
    # Where all keys are text the order is kept: it is that of an object, or of a dictionary, which is sorted already.
    if is_map and all(isinstance(key, str) for key, _ in collection):
        return collection

    def encoding(element):
        alone = Writer(alone=True)
        element = element[0] if is_map else element
        alone.value(graph.inlined(element, 2) if graph else element)
        return bytes(alone.bytes)
    return sorted(collection, key=encoding)


# ---- numbers of JSON (section 7) ----------------------------------------------------------------------------------

def json_number(text):
    sign, whole, fraction, exponent = re.fullmatch(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?", text).groups()
    digits, power = parts(whole, fraction or "", int(exponent or 0))
    if fraction is None and exponent is None:
        if not digits:
            return -0.0 if sign else 0
        if int(whole) <= LARGEST_MANTISSA:
            return int(text)
        return json_decimal(sign, digits, power) or Tagged("Number", text)
    if not digits:
        return -0.0 if sign else 0.0
    if len(digits) <= 17:
        double = float(text)
        if math.isfinite(double) and double and (digits, power) == double_parts(abs(double)):
            return double
    if power < 0 or len(digits) + power > 39:
        return json_decimal(sign, digits, power) or Tagged("Number", text)
    return Tagged("Number", text)


def parts(whole, fraction, exponent):
    """The digits without zeros at the ends, and the power of ten that they are multiplied by."""
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    return kept, exponent - len(fraction) + len(digits) - len(kept) if kept else 0


def double_parts(double):
    mantissa, _, exponent = repr(double).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return parts(whole, fraction, int(exponent or 0))


def json_decimal(sign, digits, power):
    mantissa = int(digits) * 10 ** max(0, power - 127) if power < 127 + 39 else LARGEST_MANTISSA + 1
    if power < -128 or mantissa > LARGEST_MANTISSA:
        return None
    return Tagged("Decimal", power, int(sign + digits))


def json_value(text):
    return json.loads(
        text, parse_int=json_number, parse_float=json_number,
        object_pairs_hook=lambda pairs: Pairs(pairs))


# ---- comparing ----------------------------------------------------------------------------------------------------

def body(value, is_member=False):
    writer = Writer()
    if is_member:
        writer.bytes += b"\x9a" + len(value).to_bytes(4, "big")
        for element in value:
            writer.value(element)
    else:
        writer.value(value)
    return bytes(writer.bytes)


def need_same(own, other):
    if own != other:
        place = next((i for i, (a, b) in enumerate(zip(own, other)) if a != b), min(len(own), len(other)))
        raise Invalid("byte %d of %d differs: %s, and the archive has %s" % (
            place, len(other), own[max(0, place - 8):place + 8].hex(), other[max(0, place - 8):place + 8].hex()))


def compare_archive(path):
    for stamp, value, other in members(path.read_bytes()):
        if stamp.kind == 0:
            need_same(body(scrambled(value)), bytes(other))
        elif stamp.kind == 1:
            need_same(body([scrambled(element) for element in value], True), bytes(other))


def scrambled(value, numbers=None):
    """The same value with its sets, maps and objects in another order, so that writing has to find theirs."""
    if isinstance(value, Tagged) and value.kind == "Graph":
        objects, root = value.content
        # Where several graphs are in one body their numbers go on; only the first is numbered from 0.
        numbers = {number: len(objects) - 1 - number for number in range(len(objects))}
        return Tagged("Graph", [scrambled(item, numbers) for item in reversed(objects)], scrambled(root, numbers))
    if isinstance(value, Tagged) and value.kind == "Reference":
        return Tagged("Reference", numbers[value.content[0]])
    if isinstance(value, Record):
        fields = [(name, scrambled(field, numbers)) for name, field in value.fields]
        return Record(value.name, value.version, fields, value.superclasses)
    if isinstance(value, Pairs):
        pairs = Pairs((scrambled(k, numbers), scrambled(v, numbers)) for k, v in value)
        return pairs if all(isinstance(k, str) for k, _ in pairs) else Pairs(reversed(pairs))
    if isinstance(value, Elements):
        return Elements(reversed([scrambled(element, numbers) for element in value]))
    return [scrambled(element, numbers) for element in value] if isinstance(value, list) else value


def compare_document(strata, path):
    made = subprocess.run([strata, "encode", str(path), "-o", "-"], capture_output=True, check=False)
    if made.returncode != 0:
        raise Refused(made.stderr.decode(errors="replace").strip())
    (_, _, other), = members(made.stdout)
    need_same(body(json_value(path.read_text("utf-8-sig"))), bytes(other))


def made_documents(folder):
    """Documents whose strings fill the table, collide in it and come again after it was emptied."""
    words = ["word %d" % (number * 7919 % 20011) for number in range(60000)]
    short = ["%x" % (number % 5000) for number in range(40000)]
    long = [letter * length for length in (65534, 65535, 65536) for letter in "ab"] * 3
    numbers = (
        "[0, -0, 0.0, -0.0e5, 1.0, 0.1, 1e22, 1e23, 4.9e-324, 5e-324, 1e400, -1e-400, 3.14159265358979323846, 1.5e40, "
        "12345678901234567890.0, 123456789012345678.5, 18446744073709551616, 340282366920938463463374607431768211455, "
        "340282366920938463463374607431768211456, -340282366920938463463374607431768211455, 0.30000000000000004, "
        "500000000000000000000000000000000000000000, 1.0000000000000000001e-110, 1.0000000000000000001e-128, 1E+2]")
    for name, text in (
            ("words", json.dumps(words)), ("short", json.dumps(short)), ("long", json.dumps(long)),
            ("keys", json.dumps([{word: word} for word in words[:30000]])), ("numbers", numbers)):
        path = Path(folder) / (name + ".json")
        path.write_text(text)
        yield path


def main(arguments):
    sys.setrecursionlimit(20000)
    compare, least = compare_archive, 1
    with tempfile.TemporaryDirectory() as folder:
        if arguments[:1] == ["--encode"] or arguments[:1] == ["--made"]:
            strata = arguments[1]
            compare = lambda path: compare_document(strata, path)  # noqa: E731
        if arguments[:1] == ["--encode"]:
            least, files = int(arguments[2]), sorted(Path(arguments[3]).rglob("*.json"))
        elif arguments[:1] == ["--made"]:
            files = list(made_documents(folder))
            least = len(files)
        else:
            root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2] / "Fixtures" / "archives"
            files = sorted(root.rglob("*.strata"))
        same = refused = failures = 0
        for path in files:
            try:
                compare(path)
                same += 1
            except Refused:
                refused += 1
            except (Invalid, OSError, ValueError) as error:
                print("FAIL  %s: %s" % (path, error))
                failures += 1
    print("%d bodies written again, %d differ, %d documents refused" % (same + failures, failures, refused))
    if same < least:
        print("FAIL  %d are the same, and at least %d have to be" % (same, least))
    return 1 if failures or same < least else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

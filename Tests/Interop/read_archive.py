#!/usr/bin/env python3
"""Reads Strata archives, written from Docs/Format.md alone. Prints stamps and values as JSON-like text.

Usage: read_archive.py [--stamps] FILE...
Needs Python 3.9 and its standard library.
"""
import datetime
import json
import re
import struct
import sys
import zlib
from fractions import Fraction

MAX_DEPTH, MAX_COUNT, MAX_STRING = 512, 1 << 24, 256 << 20
MAX_BODY, MAX_RATIO = 1 << 30, 1032
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Invalid(Exception):
    """The file is not a valid archive."""


def need(condition, reason):
    if not condition:
        raise Invalid(reason)


# ---- values that JSON and Python have no type for -----------------------------------------------------------------

class Tagged:
    """A value with a kind and content: Date, URL, UUID, Decimal, Float, Number."""

    def __init__(self, kind, *content):
        self.kind, self.content = kind, content

    def key(self):
        return (self.kind,) + tuple(key(item) for item in self.content)


class Record:
    def __init__(self, name, version, fields, superclasses=()):
        self.name, self.version, self.fields, self.superclasses = name, version, fields, tuple(superclasses)

    def mark(self):
        marks = ((self.name, self.version),) + self.superclasses
        return " : ".join(name if version is None else "%s@%d" % (name, version) for name, version in marks)

    def key(self):
        return ("record", self.mark(), frozenset((k, key(v)) for k, v in self.fields))


class Pairs(list):
    """A map: pairs in the order of the file."""


class Elements(list):
    """A set: elements in the order of the file."""


def key(value):
    """Something hashable that is equal for equal values, and keeps 1, 1.0 and True apart."""
    if isinstance(value, (Tagged, Record)):
        return value.key()
    if isinstance(value, Pairs):
        return ("map", frozenset((key(k), key(v)) for k, v in value))
    if isinstance(value, Elements):
        return ("set", frozenset(key(v) for v in value))
    if isinstance(value, list):
        return ("array",) + tuple(key(v) for v in value)
    if isinstance(value, float):
        # What is not a number is equal to nothing.
        return ("double", object() if value != value else struct.pack(">d", value))
    return (type(value).__name__, value)


# ---- members (sections 1 to 3) ------------------------------------------------------------------------------------

class Stamp:
    def __init__(self, extra):
        position, found, self.link = 0, False, None
        while position < len(extra):
            need(len(extra) - position >= 4, "the extra field is cut")
            identifier, length = struct.unpack_from("<2sH", extra, position)
            content = extra[position + 4:position + 4 + length]
            need(len(content) == length, "the extra field is cut")
            if identifier == b"St":
                need(not found, "there are two stamps")
                found = True
                self.parse(content)
            elif identifier == b"Sl" and length == 12:
                need(self.link is None, "there are two links")
                self.link = struct.unpack("<QI", content)
            position += 4 + length
        need(found, "there is no stamp")

    def parse(self, content):
        need(content, "the stamp is empty")
        self.format = content[0]
        need(self.format <= 1, "the archive is newer: format version %d" % self.format)
        need(self.format == 1, "format version 0")
        need(len(content) >= 42, "the stamp is cut")
        (self.kind, self.number, self.version, self.fingerprint, self.size, self.count) = struct.unpack_from(
            "<BQqQQQ", content, 1)
        need(self.kind <= 2, "unknown kind %d" % self.kind)
        need(self.version >= -1, "impossible model version")
        need(self.count <= self.size, "more models than bytes")
        self.name = text(content[42:])

    def __str__(self):
        version = "" if self.version == -1 else "@%d" % self.version
        return "%s %d of %s%s: %d bytes, count %d, fingerprint %016x" % (
            ("single", "member", "end")[self.kind], self.number, self.name, version, self.size, self.count,
            self.fingerprint)


def text(content):
    try:
        return bytes(content).decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid("text is not UTF-8")


def read_member(data, start):
    """The stamp, the body, and where the next member begins."""
    need(len(data) - start >= 12, "cut in a header, or bytes follow that are no member")
    magic, method, flags = struct.unpack_from(">HBB", data, start)
    need(magic == 0x1F8B, "not a gzip member")
    need(method == 8 and flags == 6, "a gzip member without a checked stamp")
    end = start + 12 + struct.unpack_from("<H", data, start + 10)[0]
    need(len(data) - end >= 2, "cut in a header")
    need(zlib.crc32(data[start:end]) & 0xFFFF == struct.unpack_from("<H", data, end)[0], "wrong CRC16 of a header")
    stamp = Stamp(data[start + 12:end])
    size = 0 if stamp.kind == 2 else stamp.size
    need(size <= MAX_BODY, "the body is larger than the limit")
    inflater = zlib.decompressobj(-15)
    try:
        body = inflater.decompress(memoryview(data)[end + 2:], size + 1)
    except zlib.error as error:
        raise Invalid("bad deflate data: %s" % error)
    need(len(body) <= size, "the body is longer than the stamp says")
    need(inflater.eof, "cut in the deflate data")
    trailer = len(data) - len(inflater.unused_data)
    need(len(data) - trailer >= 8, "cut in a trailer")
    need(len(body) < 1 << 20 or len(body) <= MAX_RATIO * (trailer - end - 2), "the ratio exceeds the limit")
    crc, isize = struct.unpack_from("<II", data, trailer)
    need(crc == zlib.crc32(body), "wrong CRC-32")
    need(isize == len(body) & 0xFFFFFFFF and len(body) == size, "wrong size")
    return stamp, body, trailer + 8


# ---- bodies (sections 4 to 9) -------------------------------------------------------------------------------------

class Body:
    def __init__(self, body):
        self.bytes, self.position, self.depth = body, 0, 0
        self.strings, self.definitions = [], {}
        self.objects, self.graph = 0, None

    def root(self, stream=False):
        need(self.bytes[:3] == b"\xd9\x01\x00", "the body does not begin with tag 256")
        self.position = 3
        need(not stream or self.bytes[3:4] == b"\x9a", "the array of a member has no count of four bytes")
        value = self.value()
        need(self.position == len(self.bytes), "bytes follow the root value")
        return value

    def take(self, length):
        need(length <= len(self.bytes) - self.position, "the body is cut")
        self.position += length
        return self.bytes[self.position - length:self.position]

    def head(self):
        """Initial byte and argument; the argument of major type 7 is left where it is."""
        initial = self.take(1)[0]
        low = initial & 31
        if initial >= 0xE0 or low < 24:
            return initial, low
        need(low <= 27, "an indefinite or reserved length")
        return initial, int.from_bytes(self.take(1 << (low - 24)), "big")

    def value(self):
        self.depth += 1
        need(self.depth <= 2 * MAX_DEPTH, "nested too deeply")
        value = self.item(*self.head())
        self.depth -= 1
        return value

    def item(self, initial, argument):
        major = initial >> 5
        if major == 0:
            return argument
        if major == 1:
            return -1 - argument
        if major in (2, 3):
            return self.string(major, argument)
        if major == 4:
            return [self.value() for _ in range(self.count(argument))]
        if major == 5:
            return self.unique(
                Pairs((self.value(), self.value()) for _ in range(self.count(argument, 2))), lambda pair: pair[0])
        if major == 6:
            return self.tagged(argument)
        if initial in (0xF4, 0xF5, 0xF6):
            return {0xF4: False, 0xF5: True, 0xF6: None}[initial]
        if initial == 0xFA:
            return Tagged("Float", struct.unpack(">f", self.take(4))[0])
        need(initial == 0xFB, "a simple value that is not used: %02x" % initial)
        return struct.unpack(">d", self.take(8))[0]

    def string(self, major, length):
        need(length <= MAX_STRING, "a string is longer than the limit")
        content = self.take(length)
        value = content if major == 2 else text(content)
        number = len(self.strings)
        least = 3 if number < 24 else 4 if number < 256 else 5 if number < 65536 else 7
        if length >= least:
            self.strings.append(value)
        return value

    def count(self, count, size=1):
        need(count <= MAX_COUNT, "a collection is longer than the limit")
        need(count <= (len(self.bytes) - self.position) // size, "the body is cut")
        return count

    def unique(self, elements, of):
        need(len({key(of(element)) for element in elements}) == len(elements), "a key or an element stands twice")
        return elements

    def expect(self, kind, what):
        value = self.value()
        need(type(value) is kind, "%s is something else" % what)
        return value

    def array(self, what, length=None):
        initial, argument = self.head()
        need(initial >> 5 == 4, "%s is no array" % what)
        need(length is None or argument == length, "%s has a wrong length" % what)
        return self.count(argument)

    def tagged(self, tag):
        if tag == 25:
            initial, number = self.head()
            need(initial >> 5 == 0 and number < len(self.strings), "a reference to no string")
            return self.strings[number]
        if tag == 57343:
            return self.definition()
        if 57344 <= tag <= 57599:
            need(tag in self.definitions, "a record without a definition")
            keys, mark = self.definitions[tag]
            self.array("a record", len(keys))
            return self.record(keys, mark)
        if tag in (2, 3):
            content = self.expect(bytes, "a big integer")
            number = int.from_bytes(content, "big")
            need(len(content) <= 16 and not (tag == 3 and number == (1 << 128) - 1), "an integer beyond 128 bits")
            return number if tag == 2 else -1 - number
        if tag == 1:
            value = self.value()
            if isinstance(value, Tagged) and value.kind == "Float":
                value = value.content[0]
            need(type(value) in (int, float), "a date that is no number")
            need(type(value) is float or -(1 << 63) <= value < 1 << 63, "a date beyond 64 bits")
            return Tagged("Date", float(value) - 978307200.0)
        if tag == 4:
            self.array("a decimal", 2)
            exponent = self.expect(int, "an exponent")
            need(-1000 < exponent < 1000, "an exponent beyond the limit")
            return Tagged("Decimal", exponent, self.expect(int, "a mantissa"))
        if tag == 27:
            return self.generic()
        if tag == 29:
            number = self.expect(int, "a reference to an object")
            need(self.graph and self.graph[0] <= number < self.graph[1], "a reference to no object that stands before")
            return Tagged("Reference", number)
        if tag == 32:
            return Tagged("URL", self.expect(str, "a URL"))
        if tag == 37:
            content = self.expect(bytes, "a UUID")
            need(len(content) == 16, "a UUID that is not 16 bytes long")
            return Tagged("UUID", content)
        if tag == 258:
            return self.unique(Elements(self.value() for _ in range(self.array("a set"))), lambda element: element)
        raise Invalid("tag %d is not used" % tag)

    def generic(self):
        length = self.array("a generic object")
        need(length > 0, "a generic object without a name")
        name = self.expect(str, "the name of a generic object")
        if (name, length) == ("Date.2001", 2):
            return Tagged("Date", self.expect(float, "a date"))
        if (name, length) == ("URL", 3):
            return Tagged("URL", self.expect(str, "a URL"), self.expect(str, "a URL"))
        if (name, length) == ("number", 2):
            text = self.expect(str, "a number in text")
            need(NUMBER.fullmatch(text), "a number that JSON cannot spell")
            return Tagged("Number", text)
        if (name, length) == ("graph", 3):
            return self.object_graph()
        if (name, length) == ("later", 2):
            number = self.expect(int, "a reference to an object")
            need(self.graph and self.graph[1] <= number < self.graph[2], "a reference to no object that follows")
            return Tagged("Reference", number)
        need((name, length) == ("Decimal.NaN", 1), "an unknown generic object")
        return Tagged("Decimal", None)

    def object_graph(self):
        """The objects of a graph and its root. Numbers go on through the body; those of a graph are its own."""
        need(self.graph is None, "a graph inside a graph")
        first, count = self.objects, self.array("the objects of a graph")
        objects = []
        for number in range(first, first + count):
            self.graph = (first, number, first + count)
            need(self.take(2) == b"\xd8\x1c", "an object without tag 28")
            objects.append(self.value())
            need(not isinstance(objects[-1], Tagged) or objects[-1].kind != "Reference", "an object that is a reference")
        self.graph, self.objects = (first, first + count, first + count), first + count
        root = self.value()
        self.graph = None
        return Tagged("Graph", objects, root)

    def definition(self):
        length = self.array("a record")
        number = self.expect(int, "the number of a definition")
        need(57344 <= number <= 57599, "a definition without a number of its own")
        keys = [self.expect(str, "a key") for _ in range(self.array("a definition", length - 1))]
        need(keys, "a definition without a mark")
        mark = keys.pop()
        need(len(set(keys)) == len(keys), "a key stands twice")
        marks = [self.mark(part) for part in mark.split(" : ")]
        if any(version is None for _, version in marks):
            marks = [self.mark(mark)]
        mark = (marks[0][0], marks[0][1], marks[1:])
        self.definitions[number] = (keys, mark)
        return self.record(keys, mark)

    def mark(self, text):
        name, at, digits = text.rpartition("@")
        if at and digits.isascii() and digits.isdigit() and int(digits) < 1 << 63:
            return name, int(digits)
        return text, None

    def record(self, keys, mark):
        return Record(mark[0], mark[1], [(name, self.value()) for name in keys], mark[2])


# ---- files (sections 1 and 11) ------------------------------------------------------------------------------------

def members(data):
    """The stamp and the value of every member; an end member has no value."""
    need(data, "the file is empty")
    position, count, size, first, last = 0, 0, 0, None, None
    while position < len(data):
        need(last is None or last.kind != 0, "bytes follow a single archive")
        place = (position, zlib.crc32(data[max(0, position - 8):position]))
        stamp, body, position = read_member(data, position)
        need(stamp.kind == 0 or stamp.link in (None, place), "a member that was written for another place")
        number = 0 if last is None else last.number + 1
        need(stamp.number == number, "member %d has the number %d" % (number, stamp.number))
        first = first or stamp
        need(first is stamp or stamp.kind != 0, "a single archive inside a stream")
        need(stamp.name == first.name, "members of different types")
        if stamp.kind == 2:
            need((stamp.count, stamp.size) == (count, size), "wrong sums in an end member")
            yield stamp, None, body
        else:
            value = Body(body).root(stream=stamp.kind == 1)
            if stamp.kind == 1:
                need(isinstance(value, list) and len(value) == stamp.count, "the count of a member is wrong")
                count, size = count + stamp.count, size + stamp.size
            yield stamp, value, body
        last = stamp
    need(last.kind != 1, "the stream is incomplete: its last member is no end member")


# ---- printing -----------------------------------------------------------------------------------------------------

def plain(value):
    """The value in types that JSON has."""
    if isinstance(value, Record):
        return dict([("@type", value.mark())] + [(name, plain(field)) for name, field in value.fields])
    if isinstance(value, Elements):
        return {"@set": [plain(element) for element in value]}
    if isinstance(value, Pairs):
        if all(isinstance(k, str) for k, _ in value):
            return {k: plain(v) for k, v in value}
        return {"@map": [[plain(k), plain(v)] for k, v in value]}
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, bytes):
        return {"@data": value.hex()}
    if isinstance(value, Tagged) and value.kind == "Graph":
        return {"@objects": [plain(item) for item in value.content[0]], "@root": plain(value.content[1])}
    if isinstance(value, Tagged):
        return {"@" + value.kind: printed(value.kind, value.content)}
    return value


def printed(kind, content):
    if kind == "Date":
        try:
            exact = Fraction(content[0])
            epoch = datetime.datetime(2001, 1, 1)
            return "%sZ (%r)" % ((epoch + datetime.timedelta(seconds=float(exact))).isoformat(), content[0])
        except (OverflowError, ValueError):
            return repr(content[0])
    if kind == "UUID":
        digits = content[0].hex().upper()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    if kind == "Decimal":
        return "NaN" if content[0] is None else "%de%d" % (content[1], content[0])
    return content[0] if len(content) == 1 else list(content)


def main(arguments):
    files = [name for name in arguments if name != "--stamps"]
    if not files:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    sys.setrecursionlimit(20000)
    failed = False
    for name in files:
        try:
            with open(name, "rb") as file:
                data = file.read()
            for stamp, value, _ in members(data):
                print("# %s: %s" % (name, stamp))
                if stamp.kind != 2 and "--stamps" not in arguments:
                    print(json.dumps(plain(value), indent=2, ensure_ascii=False))
        except (Invalid, OSError) as error:
            print("%s: %s" % (name, error), file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

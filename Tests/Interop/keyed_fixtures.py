#!/usr/bin/env python3
"""Writes the keyed archives and property lists of Fixtures/legacy, with plistlib alone.

Usage: keyed_fixtures.py FOLDER
"""
import datetime
import plistlib
import sys
from pathlib import Path

UID = plistlib.UID


class Objects:
    """The table of a keyed archive. Each added object gets a number."""

    def __init__(self):
        self.objects, self.classes = ["$null"], {}

    def add(self, name=None, *above, **fields):
        self.objects.append(None)
        place = len(self.objects) - 1
        if name is not None:
            self.fill(place, name, *above, **fields)
        return UID(place)

    def fill(self, place, name, *above, **fields):
        place = place.data if isinstance(place, UID) else place
        self.objects[place] = {**fields, "$class": self.described(name, *above)}

    def described(self, name, *above):
        if name not in self.classes:
            self.objects.append({"$classname": name, "$classes": [name, *above, "NSObject"]})
            self.classes[name] = UID(len(self.objects) - 1)
        return self.classes[name]

    def put(self, value):
        self.objects.append(value)
        return UID(len(self.objects) - 1)

    def array(self, *elements):
        return self.add("NSMutableArray", "NSArray", **{"NS.objects": list(elements)})

    def dictionary(self, *pairs):
        return self.add("NSDictionary", **{
            "NS.keys": [key for key, _ in pairs], "NS.objects": [value for _, value in pairs]})

    def of(self, name, key, value, **others):
        return self.add(name, **{key: value, **others})

    def archive(self, **top):
        return {
            "$version": 100000, "$archiver": "NSKeyedArchiver", "$top": top, "$objects": self.objects}


def bookmarks():
    """Two folders that refer to each other, in Mantle's form."""
    table = Objects()
    all_folder, news = table.add(), table.add()
    table.fill(
        all_folder, "Bookmarks.Folder", title=table.put("All"), children=table.array(news), MTLModelVersion=2)
    table.fill(
        news, "Bookmarks.Folder", title=table.put("News"), parent=all_folder, MTLModelVersion=2,
        url=table.of("NSURL", "NS.relative", table.put("https://example.com/news"), **{"NS.base": UID(0)}),
        added=table.of("NSDate", "NS.time", 386690400.25), children=table.array())
    return table.archive(root=all_folder)


def everything():
    """Every kind of value that the JSON of `strata inspect` has a form for."""
    table = Objects()
    root, loop, named_loop, set_loop, map_loop = (table.add() for _ in range(5))
    table.fill(loop, "NSMutableArray", "NSArray", **{"NS.objects": [loop, 1, root]})
    table.fill(named_loop, "NSDictionary", **{"NS.keys": ["me", "$ref"], "NS.objects": [named_loop, 9]})
    table.fill(set_loop, "NSMutableSet", "NSSet", **{"NS.objects": [set_loop, 1]})
    table.fill(map_loop, "NSDictionary", **{"NS.keys": [1], "NS.objects": [map_loop]})
    times = [
        0.0, 0.1, -0.1, 1e-10, -1e-10, 386690400.123456, -978307200.000001, -62979379201.25, 252455615999.5,
        252455616000.0, -63113904001.0, -63145526400.0, -63145526401.0, 1e15, float("inf"), 3]
    decimals = [
        (1234, 1, -2, True), (0, 0, 0, True), (0, 0, 0, False), (100, 1, -1, False), (1500, 1, -3, False),
        (7, 1, 127, False), (7, 1, -128, True), (12345678901234567890123456789012345678, 8, -10, False)]
    addresses = ["https://example.com/a?b=c#d", "../x", "", "has space", "a%zz", "http://[::1]/", "1:2", ":", "%41"]
    base = table.of("NSURL", "NS.relative", "https://example.com/a/b?c", **{"NS.base": UID(0)})
    attributes = table.array(table.dictionary(("size", 12.5)), table.dictionary())
    table.fill(root, "App.Thing", "App.Base", **{
        "MTLModelVersion": 3, "itself": root, "null": UID(0), "text $null": "$null",
        "$$class": "not the class", "$$$x": 5, "$$0": 1, "$0": 2,
        "yes": True, "u64": 18446744073709551615, "least": -9223372036854775808,
        "reals": table.array(
            float("nan"), float("inf"), float("-inf"), -0.0, 1e16, 1.5e17, 1e-5, 5e-324, 1.7976931348623157e308, 1.0),
        "text": "quote\" back\\ \n\t\x01\x7f \u2028 \U0001f600",
        "data": table.of("NSMutableData", "NS.data", b"\x00\x01\xfe\xff"), "empty": b"",
        "dates": table.array(*(table.of("NSDate", "NS.time", time) for time in times)),
        "decimals": table.array(*(
            table.of("NSDecimalNumber", "NS.mantissa", digits.to_bytes(16, "little"), **{
                "NS.mantissa.bo": 1, "NS.length": length, "NS.exponent": exponent, "NS.negative": negative,
                "NS.compact": True})
            for digits, length, exponent, negative in decimals)),
        "numbers": table.array(
            table.of("NSNumber", "NS.boolval", True), table.of("NSNumber", "NS.intval", 3),
            table.of("NSNumber", "NS.dblval", 3.0)),
        "uuid": table.of("NSUUID", "NS.uuidbytes", bytes(range(16))),
        "addresses": table.array(*(
            table.of("NSURL", "NS.relative", text, **{"NS.base": UID(0)}) for text in addresses)),
        "relative": table.array(*(
            table.of("NSURL", "NS.relative", text, **{"NS.base": base}) for text in ("../x", "?q", "//h/p", "y", "#f"))),
        "set": table.of("NSSet", "NS.objects", [3, 1, 2, 1, root, root, [1], [1]]),
        "counted": table.add("NSCountedSet", "NSMutableSet", "NSSet", **{
            "NS.count": 2, "NS.object0": "x", "NS.count0": 3, "NS.object1": root, "NS.count1": 1}),
        "ordered": table.add("NSOrderedSet", **{"NS.object.0": 1, "NS.object.1": root}),
        "map": table.dictionary((1, "a"), (root, "b"), (2.5, "c"), ("k", "d"), (1, "e"), (1.0, "f")),
        "private": table.add("__NSArray0", "NSArray"),
        "loops": [loop, named_loop, set_loop, map_loop],
        "attributed": table.add("NSAttributedString", **{
            "NSString": "a\U0001f600b", "NSAttributes": attributes, "NSAttributeInfo": b"\x01\x00\x03\x01"}),
        "indexes": table.add("NSIndexSet", **{"NSRangeCount": 2, "NSRangeData": b"\x01\x02\x85\x02\x01"}),
        "point": table.add("NSValue", **{"NS.pointval": "{1, -2.5}", "NS.special": 1}),
        "range": table.add("NSValue", **{"NS.rangeval.location": 1, "NS.rangeval.length": 2, "NS.special": 4}),
        "zone": table.add("NSTimeZone", **{"NS.name": "Europe/Zurich", "NS.data": b"TZif"}),
        "other": table.add("NSPresence", **{"NS.on": True, "NS.taken": 1, "taken": 2}),
        "inside": {"$class": table.described("App.Thing"), "root": root},
        "plain": {"$$a": 1, "b": root},
    })
    return table.archive(root=root)


def settings():
    return {
        "$class": "no class", "name": "Ana", "size": 12.5, "count": 2 ** 63, "on": True, "icon": b"\x00\x01",
        "opened": datetime.datetime(2020, 2, 29, 12, 30), "recent": ["a", {"path": "b"}, []],
    }


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content, form in (
            ("bookmarks.plist", bookmarks(), plistlib.FMT_BINARY), ("everything.plist", everything(), plistlib.FMT_BINARY),
            ("settings.plist", settings(), plistlib.FMT_XML), ("settings.bplist", settings(), plistlib.FMT_BINARY)):
        with open(folder / name, "wb") as file:
            plistlib.dump(content, file, fmt=form, sort_keys=False)
    # In XML a reference is a dictionary.
    def unfolded(value):
        if isinstance(value, UID):
            return {"CF$UID": value.data}
        if isinstance(value, dict):
            return {key: unfolded(element) for key, element in value.items()}
        return [unfolded(element) for element in value] if isinstance(value, list) else value

    with open(folder / "bookmarks-xml.plist", "wb") as file:
        plistlib.dump(unfolded(bookmarks()), file, fmt=plistlib.FMT_XML, sort_keys=False)


main()

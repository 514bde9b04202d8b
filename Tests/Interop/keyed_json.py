#!/usr/bin/env python3
"""Reads keyed archives and property lists with plistlib alone, and prints the JSON that Docs/Tool.md describes.

Usage: keyed_json.py FILE…                     one document a line
       keyed_json.py -                         the same for the paths on standard input
       keyed_json.py --compare STRATA FILE…    compares with `STRATA inspect --json FILE`; exit code 1 if any differs

Written from Docs/Legacy.md and Docs/Tool.md, so that two readers which share no code can be told apart. A file that
cannot be read gives {"error": …}.
"""
import base64
import datetime
import decimal
import json
import math
import plistlib
import re
import subprocess
import sys
import threading
import types
import urllib.parse
import uuid


# plistlib rounds dates to microseconds. These two classes replace its module `datetime`, and keep the seconds.

class Moment(float):
    """Seconds since 2001-01-01, UTC."""


class Epoch:
    def __init__(self, *parts):
        start = datetime.datetime(2001, 1, 1)
        self.moment = Moment((datetime.datetime(*parts) - start) / datetime.timedelta(seconds=1))

    def __add__(self, seconds):
        return Moment(float(self.moment) + seconds)


def loads(data):
    plistlib.datetime = types.SimpleNamespace(datetime=Epoch, timedelta=lambda seconds: seconds)
    try:
        return plain_dates(plistlib.loads(data), {})
    finally:
        plistlib.datetime = datetime


def plain_dates(value, seen):
    """Replaces each Epoch, which XML dates become, with a Moment. Changes containers in place."""
    if isinstance(value, Epoch):
        return value.moment
    if isinstance(value, (list, dict)) and id(value) not in seen:
        seen[id(value)] = value
        for key, element in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(element, (Epoch, list, dict)):
                value[key] = plain_dates(element, seen)
    return value


# Values without a Python type.

class Node:
    """An object with identity. A record has `fields`, and a collection that contains itself has `value`."""

    def __init__(self, name=None):
        self.name, self.version, self.fields, self.value = name, None, [], None


class Url(str):
    pass


class Elements(list):
    """A set."""


class Pairs(list):
    """A dictionary whose keys are not all text."""


class Broken(Exception):
    pass


def identity(value):
    """The key by which values are compared, including their types."""
    if isinstance(value, Node):
        return ("node", id(value))
    if isinstance(value, dict):
        return ("dict", frozenset((key, identity(element)) for key, element in value.items()))
    if isinstance(value, Elements):
        return ("set", frozenset(map(identity, value)))
    if isinstance(value, Pairs):
        return ("map", tuple((identity(key), identity(element)) for key, element in value))
    if isinstance(value, list):
        return ("list", tuple(map(identity, value)))
    return (type(value).__name__, value)


def unescaped(keys):
    present = set(keys)
    return [key[1:] if key.startswith("$$") and key[1:] not in present else key for key in keys]


def integers(data):
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    if shift or len(numbers) % 2:
        raise Broken("pairs of integers are expected")
    return list(zip(numbers[::2], numbers[1::2]))


def numbered(fields, prefix):
    return [key for key in fields if key.startswith(prefix) and re.fullmatch("[0-9]+", key[len(prefix):])]


def listed(fields, whole, prefix):
    keys = numbered(fields, prefix)
    if whole in fields:
        if type(fields[whole]) is not list or keys:
            raise Broken(whole + " is no array, or not alone")
        return fields[whole]
    found = []
    while prefix + str(len(found)) in fields:
        found.append(fields[prefix + str(len(found))])
    if len(found) != len(keys):
        raise Broken("an element of a collection is missing")
    return found


def distinct(elements):
    return Elements({identity(element): element for element in reversed(elements)}[mark]
                    for mark in dict.fromkeys(map(identity, elements)))


# The type of each Foundation class.

def string(fields):
    text = fields.get("NS.string", fields.get("NS.bytes"))
    return text.decode("utf-8") if isinstance(text, bytes) else text


def number(fields):
    if "NS.boolval" in fields:
        return bool(fields["NS.boolval"])
    return fields["NS.intval"] if "NS.intval" in fields else fields["NS.dblval"]


def decimal_number(fields):
    count = fields["NS.length"]
    digits = fields["NS.mantissa"]
    if count == 0 and fields["NS.negative"]:
        return decimal.Decimal("nan")
    order = "big" if fields.get("NS.mantissa.bo") == 2 else "little"
    mantissa = sum(
        int.from_bytes(digits[2 * place:2 * place + 2], order) << 16 * place for place in range(count))
    sign = 1 if fields["NS.negative"] else 0
    return decimal.Decimal((sign, tuple(map(int, str(mantissa))), fields["NS.exponent"]))


def dictionary(fields):
    keys = listed(fields, "NS.keys", "NS.key.")
    values = listed(fields, "NS.objects", "NS.object.")
    if len(keys) != len(values):
        raise Broken("keys and values of a dictionary differ in number")
    if all(type(key) is str for key in keys):
        return dict(zip(keys, values))
    places, pairs = {}, Pairs()
    for key, value in zip(keys, values):
        if identity(key) in places:
            pairs[places[identity(key)]][1] = value
        else:
            places[identity(key)] = len(pairs)
            pairs.append([key, value])
    return pairs


def counted_set(fields):
    if "NS.count" not in fields:
        return distinct(listed(fields, "NS.objects", "NS.object."))
    pairs, seen = Pairs(), set()
    if fields["NS.count"] != len(numbered(fields, "NS.object")) or listed(fields, "NS.objects", "NS.object."):
        raise Broken("a set does not have as many elements as it says")
    for place in range(fields["NS.count"]):
        element, count = fields["NS.object%d" % place], fields["NS.count%d" % place]
        if identity(element) not in seen:
            seen.add(identity(element))
            pairs.append([element, count])
    return pairs


# RFC 3986, appendix A: a URI or a relative reference. The content of brackets is not checked.
PCHAR = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})"
ADDRESS = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+\-.]*:|(?![^/?#]*:))"
    r"(?://(?:(?:(?!@)%(p)s)*@)?(?:\[%(p)s+\]|(?:(?![:@])%(p)s)*)(?::[0-9]*)?(?=[/?#]|$)|(?!//))"
    r"(?:%(p)s|/)*(?:\?(?:%(p)s|[/?])*)?(?:#(?:%(p)s|[/?])*)?" % {"p": PCHAR})


def url(fields):
    relative, base = fields["NS.relative"], fields.get("NS.base")
    if base is None:
        return Url(relative) if relative and ADDRESS.fullmatch(relative) else relative
    if not isinstance(base, Url):
        raise Broken("an address is relative to another one")
    return Url(urllib.parse.urljoin(base, relative))


def has(*keys):
    return lambda found: any(key in found for key in keys)


def lists(*names):
    return lambda found: any(name + "s" in found or numbered(found, name + ".") for name in names)


def empty_or(test):
    return lambda found: not found or test(found)


STRING = (string, has("NS.string", "NS.bytes"))
DECIMAL = (decimal_number, has("NS.mantissa"))
DATE = (lambda fields: Moment(fields["NS.time"]), has("NS.time"))
DATA = (lambda fields: fields.get("NS.data", fields.get("NS.bytes")), has("NS.data", "NS.bytes"))
ARRAY = (lambda fields: list(listed(fields, "NS.objects", "NS.object.")), empty_or(lists("NS.object")))
SET = (lambda fields: distinct(listed(fields, "NS.objects", "NS.object.")), empty_or(lists("NS.object")))
DICTIONARY = (dictionary, empty_or(lists("NS.object", "NS.key")))
VALUES = {
    "NSString": STRING, "NSMutableString": STRING,
    "NSNumber": (number, has("NS.boolval", "NS.intval", "NS.dblval")),
    "NSDecimalNumber": DECIMAL, "NSDecimalNumberPlaceholder": DECIMAL,
    "NSDate": DATE, "NSCalendarDate": DATE, "NSData": DATA, "NSMutableData": DATA,
    "NSArray": ARRAY, "NSMutableArray": ARRAY, "NSOrderedSet": ARRAY, "NSMutableOrderedSet": ARRAY,
    "NSSet": SET, "NSMutableSet": SET,
    "NSCountedSet": (counted_set, lambda found: "NS.count" in found or lists("NS.object")(found)),
    "NSDictionary": DICTIONARY, "NSMutableDictionary": DICTIONARY,
    "NSURL": (url, has("NS.relative")),
    "NSUUID": (lambda fields: uuid.UUID(bytes=fields["NS.uuidbytes"]), has("NS.uuidbytes")),
    "NSNull": (lambda fields: None, lambda found: True),
}

COLOR = {
    "NSColorSpace": "colorSpace", "NSRGB": "rgb", "NSWhite": "white", "NSCMYK": "cmyk", "NSComponents": "components",
    "NSCustomColorSpace": "customColorSpace", "NSCatalogName": "catalogName", "NSColorName": "name",
    "NSColor": "color", "UIRed": "red", "UIGreen": "green", "UIBlue": "blue", "UIAlpha": "alpha",
    "UIWhite": "white8", "UIColorComponentCount": "componentCount",
}
FONT = {
    "NSName": "name", "NSSize": "size", "NSfFlags": "flags", "UIFontName": "name", "UIFontPointSize": "size",
    "UIFontTraits": "traits", "UIFontDescriptor": "descriptor", "UIFontTextStyleForScaling": "textStyleForScaling",
}
NAMES = {
    "NSTimeZone": {"NS.name": "name", "NS.data": "data"},
    "NSLocale": {"NS.identifier": "identifier"},
    "NSCalendar": {
        "NS.identifier": "identifier", "NS.timezone": "timeZone", "NS.locale": "locale",
        "NS.firstwkdy": "firstWeekday", "NS.mindays": "minimumDaysInFirstWeek",
        "NS.gstartdate": "gregorianStartDate",
    },
    "NSError": {"NSCode": "code", "NSDomain": "domain", "NSUserInfo": "userInfo"},
    "NSColor": COLOR, "UIColor": COLOR, "UICachedDeviceRGBColor": COLOR, "UIDeviceRGBColor": COLOR,
    "NSFont": FONT, "UIFont": FONT, "UICTFont": FONT,
}


def renamed(fields, name_of):
    taken, result = set(fields), {}
    for key, value in fields.items():
        name = name_of(key)
        if name is None or name in taken:
            name = key
        taken.add(name)
        result[name] = value
    return result


def replaced(fields, new, *old):
    return {**new, **{key: value for key, value in fields.items() if key not in old and key not in new}}


def attributed(fields):
    text, info, attributes = (fields.get(key) for key in ("NSString", "NSAttributeInfo", "NSAttributes"))
    if not isinstance(text, str) or ("NSAttributeInfo" in fields and not isinstance(attributes, list)):
        return fields
    length = len(text.encode("utf-16-le")) // 2
    runs = []
    if "NSAttributeInfo" in fields:
        location = 0
        for count, place in integers(info):
            if location + count > length:
                raise Broken("a run is outside of the text")
            runs.append({"location": location, "length": count, "attributes": attributes[place]})
            location += count
    elif "NSAttributes" in fields:
        runs = [{"location": 0, "length": length, "attributes": attributes}]
    return replaced(fields, {"string": text, "runs": runs}, "NSString", "NSAttributes", "NSAttributeInfo")


def index_set(fields):
    if "NSRangeCount" not in fields:
        return fields
    ranges = []
    if "NSRangeData" in fields:
        ranges = integers(fields["NSRangeData"])
    elif fields["NSRangeCount"] == 1:
        ranges = [(fields["NSLocation"], fields["NSLength"])]
    if len(ranges) != fields["NSRangeCount"]:
        raise Broken("an index set has not as many ranges as it says")
    ranges = [{"location": location, "length": length} for location, length in ranges]
    return replaced(fields, {"ranges": ranges}, "NSRangeCount", "NSRangeData", "NSLocation", "NSLength")


def geometry(fields):
    for key, name, names in (
            ("NS.pointval", "point", "x y"), ("NS.sizeval", "size", "width height"),
            ("NS.rectval", "rect", "x y width height")):
        if key in fields:
            numbers = [float(part) for part in re.split(r"[{}, ]+", fields[key]) if part]
            if len(numbers) != len(names.split()):
                raise Broken("other numbers are expected")
            return replaced(fields, {name: dict(zip(names.split(), numbers))}, key, "NS.special")
    if "NS.rangeval.location" in fields:
        place = {"location": fields["NS.rangeval.location"], "length": fields["NS.rangeval.length"]}
        return replaced(
            fields, {"range": place}, "NS.rangeval.location", "NS.rangeval.length", "NS.special")
    return unmarked(fields)


def unmarked(fields):
    return renamed(fields, lambda key: key[3:] if key.startswith("NS.") else None)


def record_fields(name, fields):
    if name in ("NSAttributedString", "NSMutableAttributedString", "NSConcreteAttributedString",
                "NSConcreteMutableAttributedString"):
        return attributed(fields)
    if name in ("NSIndexSet", "NSMutableIndexSet"):
        return index_set(fields)
    if name == "NSValue":
        return geometry(fields)
    if name in NAMES:
        return renamed(fields, NAMES[name].get)
    return unmarked(fields) if name.startswith(("NS", "_NS")) else fields


class Archive:
    def __init__(self, root):
        self.archiver, self.version = root["$archiver"], root["$version"]
        self.objects, top = root["$objects"], root["$top"]
        if self.version != 100000 or type(self.objects) is not list or type(top) is not dict:
            raise Broken("no keyed archive")
        self.done, self.open, self.nodes, self.kept = {}, set(), {}, []
        self.top = dict(zip(unescaped(list(top)), [self.value(value) for value in top.values()]))

    @staticmethod
    def uid(value):
        if isinstance(value, plistlib.UID):
            return value.data
        if type(value) is dict and list(value) == ["CF$UID"] and type(value["CF$UID"]) is int:
            return value["CF$UID"]
        return None

    def target(self, value):
        """A value or the object that it refers to, and its identity."""
        place = None
        for _ in range(64):
            number = self.uid(value)
            if number is None:
                break
            if number < 0 or number >= len(self.objects):
                raise Broken("a reference leads nowhere")
            place, value = number, self.objects[number]
        return value, place if place is not None else ("inline", id(value))

    def described(self, mark):
        value, _ = self.target(mark)
        name, _ = self.target(value["$classname"])
        chain, _ = self.target(value.get("$classes", []))
        names = [self.target(element)[0] for element in chain]
        return name, names or [name]

    def classes(self):
        found = {}
        for value in self.objects:
            if type(value) is dict and "$class" in value:
                name, chain = self.described(value["$class"])
                found.setdefault(name, {"name": name, "chain": chain, "objects": 0})["objects"] += 1
        return [found[name] for name in sorted(found, key=lambda name: name.encode())]

    def value(self, value):
        value, place = self.target(value)
        if place == 0 and value == "$null":
            return None
        if not isinstance(value, (list, dict)):
            return value
        if place in self.done:
            return self.done[place]
        if place in self.open:
            return self.nodes.setdefault(place, Node())
        if type(value) is dict and "$class" in value:
            made = self.instance(value, place)
            if isinstance(made, Node):
                return made
        else:
            self.open.add(place)
            if type(value) is list:
                made = [self.value(element) for element in value]
            else:
                made = dict(zip(unescaped(list(value)), [self.value(element) for element in value.values()]))
        self.open.discard(place)
        if place in self.nodes:
            self.nodes[place].value = made
            made = self.nodes[place]
        self.done[place] = made
        return made

    def instance(self, value, place):
        name, chain = self.described(value["$class"])
        keys = [key for key in value if key != "$class"]
        found = VALUES.get(name)
        if found is None and name.startswith(("_NS", "__NS", "Foundation.")):
            found = next((VALUES[above] for above in chain if above in VALUES), None)
        names = unescaped(keys)
        if found and found[1](names):
            self.open.add(place)
            return found[0](dict(zip(names, [self.value(value[key]) for key in keys])))
        node = self.done[place] = Node(name)
        fields = record_fields(name, dict(zip(names, [self.value(value[key]) for key in keys])))
        node.version = fields.pop("MTLModelVersion", None)
        node.fields = list(fields.items())
        return node


# The document.

class Printer:
    def __init__(self):
        self.numbers = {}

    def members(self, entries):
        return {"$" + key if key.startswith("$") else key: self.shown(value) for key, value in entries}

    def shown(self, value):
        if value is None or isinstance(value, bool) or type(value) in (int, str):
            return value
        if isinstance(value, Moment):
            return {"$date": moment(value)}
        if isinstance(value, float):
            return real(value)
        if isinstance(value, Url):
            return {"$url": str(value)}
        if isinstance(value, decimal.Decimal):
            return {"$decimal": digits(value)}
        if isinstance(value, bytes):
            return {"$data": base64.b64encode(value).decode()}
        if isinstance(value, uuid.UUID):
            return {"$uuid": str(value).upper()}
        if isinstance(value, plistlib.UID):
            return {"CF$UID": value.data}
        if isinstance(value, Node):
            return self.node(value)
        if isinstance(value, Elements):
            return {"$set": [self.shown(element) for element in value]}
        if isinstance(value, Pairs):
            return {"$map": [[self.shown(key), self.shown(element)] for key, element in value]}
        if isinstance(value, list):
            return [self.shown(element) for element in value]
        if isinstance(value, dict):
            return self.members(value.items())
        raise Broken(type(value).__name__)

    def node(self, node):
        if node in self.numbers:
            return {"$ref": self.numbers[node]}
        head = {"$id": self.numbers.setdefault(node, len(self.numbers))}
        if node.name is None:
            value = self.shown(node.value)
            return {**head, **({"$array": value} if isinstance(value, list) else value)}
        head["$class"] = node.name
        if node.version is not None:
            head["$version"] = node.version
        return {**head, **self.members(node.fields)}


def real(value):
    if math.isfinite(value):
        return float(value)
    return {"$real": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}


def digits(value):
    if value.is_nan():
        return "nan"
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if value == 0 else text


def moment(value):
    if not math.isfinite(value):
        return real(value)
    with decimal.localcontext() as context:
        context.prec = 2000
        exact = decimal.Decimal(repr(float(value)))
        seconds = math.floor(value)
        fraction = exact - seconds
        # Python's dates begin with the year 1. All periods of 400 years have the same length.
        years = 400 if seconds < 0 else 0
        try:
            date = datetime.datetime(2001, 1, 1) + datetime.timedelta(days=146097 * years // 400, seconds=seconds)
        except OverflowError:
            return real(value)
        if date.year < years:
            return real(value)
        places = format(fraction, "f").rstrip("0").partition(".")[2]
    return "%04d-%02d-%02dT%02d:%02d:%02d%sZ" % (
        date.year - years, date.month, date.day, date.hour, date.minute, date.second, "." + places if places else "")


def document(path):
    with open(path, "rb") as file:
        data = file.read()
    root = loads(data)
    form = "binary" if data.startswith(b"bplist") else "XML"
    marks = ("$archiver", "$version", "$objects", "$top")
    if type(root) is not dict or sum(mark in root for mark in marks) < 2:
        return {"format": "property list", "form": form, "value": Printer().shown(root)}
    archive = Archive(root)
    return {
        "format": "keyed archive", "form": form, "archiver": archive.archiver, "version": archive.version,
        "objects": len(archive.objects), "classes": archive.classes(), "top": Printer().shown(archive.top),
    }


def line(path):
    try:
        return json.dumps(document(path))
    except Exception as error:
        return json.dumps({"error": "%s: %s" % (type(error).__name__, error)})


def difference(ours, theirs, path=""):
    """The path of the first difference, and both values."""
    if type(ours) is dict and type(theirs) is dict and list(ours) == list(theirs):
        for key in ours:
            if json.dumps(ours[key]) != json.dumps(theirs[key]):
                return difference(ours[key], theirs[key], path + "." + key)
    if type(ours) is list and type(theirs) is list and len(ours) == len(theirs):
        for place, pair in enumerate(zip(ours, theirs)):
            if json.dumps(pair[0]) != json.dumps(pair[1]):
                return difference(*pair, path + "[%d]" % place)
    return "%s: %.200s | %.200s" % (path, json.dumps(ours), json.dumps(theirs))


def compare(strata, paths):
    same = 0
    for path in paths:
        run = subprocess.run([strata, "inspect", "--json", path], capture_output=True)
        ours = line(path)
        if run.returncode != 0:
            print("%s: %s, here %.100s" % (path, run.stderr.decode().strip(), ours))
        elif json.dumps(json.loads(run.stdout)) != ours:
            print("%s%s" % (path, difference(json.loads(ours), json.loads(run.stdout))))
        else:
            same += 1
    print("%d of %d the same" % (same, len(paths)))
    return same == len(paths) > 0


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--compare"] and len(arguments) > 2:
        return 0 if compare(arguments[1], arguments[2:]) else 1
    if not arguments or arguments[0].startswith("--"):
        print(__doc__, file=sys.stderr)
        return 64
    for path in sys.stdin.read().splitlines() if arguments == ["-"] else arguments:
        print(line(path))
    return 0


def run():
    global code
    code = main()


code = 1
sys.setrecursionlimit(1 << 20)
threading.stack_size(512 << 20)
thread = threading.Thread(target=run)
thread.start()
thread.join()
sys.exit(code)

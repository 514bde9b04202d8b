#!/usr/bin/env python3
"""Computes the expected value of a field of each type for every form of JSON.

    python3 Tests/Interop/json_forms.py > Fixtures/json/forms.tsv

A line is a JSON text and, after tabs, what each type of field gives, in the order of TYPES: `-` where it refuses the text. Numbers
are as in numbers.tsv, texts are their UTF-8 in hexadecimal digits with an `x` before them, dates are seconds since 1970. The values
are those of Python's own readers (json, datetime, binascii, uuid), with exact arithmetic for numbers.
"""
import binascii
import json
import re
import uuid
from datetime import datetime, timezone
from fractions import Fraction

from json_numbers import INTEGERS, decimal, floating, integer, parts

TEXTS = [
    '', ' ', 'text', 'true', 'null', '0', '1', '-1', '1.5', '12', '300', '1e2', 'open', 'Open', 'closed', 'é', 'e\u0301', '\U0001F600', '\u0000', 'a"b\\c/\n',
    '2011-01-26T19:01:12Z', '2011-01-26T19:01:12.5Z', '2011-01-26T19:01:12+02:00', '2011-01-26T19:01:12.123456-07:30', '2011-01-26',
    '2011-01-26 19:01:12Z', '2011-01-26T19:01:12', '2011-02-30T00:00:00Z', '2011-13-01T00:00:00Z', '1969-12-31T23:59:59Z',
    '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z',
    'AAEC', 'AAE=', 'AA==', 'AAE', 'AA=', 'A', '=', '==', '====', '========', 'A===', '=AAA', 'AA=A', 'AAE==', 'AAAA=', 'AAAA====', 'AA==AA==', 'AAF=', 'AAEC ', 'AA-_', 'AA+/',
    'https://example.com/a?b=c#d', 'https://example.com/a b', 'https://example.com/%20', 'relative/path', 'mailto:a@b.c', 'http://[::1]/',
    'https://example.com/é', 'a%zz',
    'E621E1F8-C36C-495A-93FC-0C247A3E6E5F', 'e621e1f8-c36c-495a-93fc-0c247a3e6e5f', '{E621E1F8-C36C-495A-93FC-0C247A3E6E5F}',
    'E621E1F8C36C495A93FC0C247A3E6E5F', 'E621E1F8-C36C-495A-93FC-0C247A3E6E5', 'E621E1F8-C36C-495A-93FC-0C247A3E6E5G',
]
NUMBERS = [
    '0', '-0', '1', '-1', '2', '3', '127', '128', '-128', '-129', '255', '256', '300', '65535', '65536', '2147483647', '2147483648',
    '16777217', '9007199254740993', '9223372036854775807', '9223372036854775808', '-9223372036854775809', '18446744073709551615',
    '18446744073709551616', '170141183460469231731687303715884105728', '340282366920938463463374607431768211455',
    '340282366920938463463374607431768211456', '0.0', '-0.0', '1.0', '1.5', '0.1', '3.9', '-2.5e-3', '1e2', '1E+2', '10e-1', '1e23',
    '12345678901234567890.12', '3.4028236e38', '1e40', '1e308', '1e400', '-1e400', '1e-400', '5e-324',
    '99999999999999999999999999999999999999', '3.14159265358979323846',
]
OTHERS = ['null', 'true', 'false', '[]', '[1]', '["a"]', '[null]', '[[]]', '{}', '{"a":1}', '{"a":null}', '[1,"a"]', '{"open":{}}', '[{}]', '{"b":[true,"x"],"a":1.50}']


def text_of(json_text):
    value = json.loads(json_text) if json_text.startswith('"') else None
    return value if isinstance(value, str) else None


def spelled(text):
    return 'x' + text.encode().hex()


def is_number(json_text):
    return re.fullmatch(r'-?\d.*', json_text) is not None


def number(read):
    return lambda text: read(text) if is_number(text) else '-'


def string(read):
    def column(json_text):
        text = text_of(json_text)
        if text is None:
            return '-'
        found = read(text)
        return '-' if found is None else found
    return column


def date(text):
    """ISO 8601 with a time and a zone: anything else would need a guess."""
    if not re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)', text):
        return None
    try:
        moment = datetime.fromisoformat(text.replace('Z', '+00:00'))
    except ValueError:
        return None
    # Dates are not converted to other zones, in which some precede the year 1.
    whole = moment.replace(tzinfo=timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc) - moment.utcoffset()
    seconds = whole.days * 86400 + whole.seconds + Fraction(whole.microseconds, 1000000)
    return str(float(seconds))


def data(text):
    """Groups of four characters (RFC 4648, section 4). Python accepts padding after a full group."""
    if not re.fullmatch('(?:.{4})*(?:.{4}|.{3}=|.{2}==)?', text, re.DOTALL) or re.search('=[^=]', text) or text.count('=') > 2:
        return None
    try:
        return 'x' + binascii.a2b_base64(text.encode('ascii'), strict_mode=True).hex()
    except (binascii.Error, ValueError):
        return None


def url(text):
    """A nonempty reference of RFC 3986."""
    allowed = r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+"
    first = re.split('[/?#]', text)[0]
    # A scheme precedes a colon, and brackets surround an address.
    has_scheme = ':' not in first or re.match(r'[A-Za-z][A-Za-z0-9+.\-]*:', first)
    return spelled(text) if has_scheme and re.fullmatch(allowed, text) else None


def identifier(text):
    if not re.fullmatch(r'[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}', text):
        return None
    return str(uuid.UUID(text)).upper()


def level(json_text):
    found = integer(json_text, 64, True, False) if is_number(json_text) else '-'
    return found if found in ('0', '1', '2') else '-'


def value(json_text):
    """The value with all digits of numbers, and objects in their order."""
    def spell(found):
        if found is None or isinstance(found, bool):
            return json.dumps(found)
        if isinstance(found, str) and found.startswith('#'):
            sign, digits, power = parts(found[1:])
            return f'{sign}{digits}e{power}' if digits else f'{sign}0'
        if isinstance(found, str):
            return spelled(found[1:])
        if isinstance(found, list):
            return '[' + ' '.join(map(spell, found)) + ']'
        return '{' + ' '.join(f'{spelled(key)}:{spell(inner)}' for key, inner in found.items()) + '}'

    def marked(found):
        """Texts with a prefix that distinguishes them from numbers."""
        if isinstance(found, str):
            return found if found.startswith('#') else "'" + found
        if isinstance(found, list):
            return [marked(inner) for inner in found]
        return {key: marked(inner) for key, inner in found.items()} if isinstance(found, dict) else found

    number = '#{}'.format
    return spell(marked(json.loads(json_text, parse_int=number, parse_float=number)))


TYPES = [('bool', lambda text: text if text in ('true', 'false') else '-')]
for bits, signed in INTEGERS:
    TYPES.append((f'{"" if signed else "u"}int{bits}', number(lambda text, b=bits, s=signed: integer(text, b, s, False))))
TYPES += [
    ('float', number(lambda text: floating(text, 24, -149, 104))), ('double', number(lambda text: floating(text, 53, -1074, 971))),
    ('decimal', number(decimal)), ('string', string(spelled)), ('date', string(date)), ('data', string(data)), ('url', string(url)),
    ('uuid', string(identifier)), ('state', string(lambda text: text if text in ('open', 'closed') else None)), ('level', level), ('value', value),
]

if __name__ == '__main__':
    print('\t'.join(['text'] + [name for name, _ in TYPES]))
    for text in OTHERS + NUMBERS + [json.dumps(text) for text in TEXTS] + ['"\\u00e9 as it is: é"']:
        print('\t'.join([text] + [read(text) for _, read in TYPES]))

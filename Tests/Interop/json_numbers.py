#!/usr/bin/env python3
"""Computes the expected values of fields of each type for numbers in JSON, with exact arithmetic.

    python3 Tests/Interop/json_numbers.py > Fixtures/json/numbers.tsv

A line is a number as JSON spells it and, after tabs, what each type of field gives: `-` where it refuses the number, integers
and decimals by their digits, floating-point numbers by their bits. Nothing here rounds by way of another type: a number is a
fraction of integers, and the nearest floating-point number is found by comparing fractions.
"""
import random
import re
from fractions import Fraction

INTEGERS = [(bits, signed) for signed in (True, False) for bits in (8, 16, 32, 64, 128)]


def parts(text):
    """Sign, digits without leading and trailing zeros, and the power of ten of the last digit."""
    sign, whole, fraction, exponent = re.fullmatch(r'(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?', text).groups()
    digits, power = whole + (fraction or ''), int(exponent or 0) - len(fraction or '')
    digits = digits.lstrip('0')
    stripped = digits.rstrip('0')
    return sign, stripped, power + len(digits) - len(stripped) if stripped else 0


def exact(text):
    sign, digits, power = parts(text)
    return (-1 if sign else 1) * Fraction(int(digits or '0')) * Fraction(10) ** power


def nearest(number, precision, least, greatest):
    """The nearest number of a binary format as (significand, exponent), ties to even; None beyond the range."""
    if number == 0:
        return 0, least
    number = abs(number)
    exponent = number.numerator.bit_length() - number.denominator.bit_length() - precision
    while number >= Fraction(2) ** (exponent + precision):
        exponent += 1
    while number < Fraction(2) ** (exponent + precision - 1):
        exponent -= 1
    exponent = max(exponent, least)
    scaled = number / Fraction(2) ** exponent
    significand = scaled.numerator // scaled.denominator
    rest = scaled - significand
    if rest > Fraction(1, 2) or rest == Fraction(1, 2) and significand % 2:
        significand += 1
    if significand == 2 ** precision:
        significand, exponent = significand // 2, exponent + 1
    return None if exponent > greatest else (significand, exponent)


def floating(text, precision, least, greatest):
    """The bits. An integer of up to 128 bits is refused unless it is exact."""
    number = exact(text)
    found = nearest(number, precision, least, greatest)
    if found is None:
        return '-'
    significand, exponent = found
    is_integer = re.fullmatch(r'-?\d+', text) and abs(number) < 2 ** 128
    if is_integer and significand * Fraction(2) ** exponent != abs(number):
        return '-'
    hidden = 2 ** (precision - 1)
    biased = 0 if significand < hidden else exponent - least + 1
    width = {24: 32, 53: 64}[precision]
    return str((text.startswith('-') << (width - 1)) | biased * hidden | significand & (hidden - 1))


def integer(text, bits, signed, whole):
    """An integer field accepts integers, and a lenient one every number without a fraction."""
    number = exact(text)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2 ** bits)
    if number.denominator > 1 or not low <= number < high:
        return '-'
    # Minus zero is refused, because an integer would lose its sign.
    if not whole and (not re.fullmatch(r'-?\d+', text) or text == '-0'):
        return '-'
    return str(number)


def decimal(text):
    """Digits and power. A type of 38 digits may refuse numbers with more, but may not change them."""
    sign, digits, power = parts(text)
    if not digits:
        return '!0e0'
    # Trailing zeros can replace a power that is too high.
    must = len(digits) <= 38 and -128 <= power <= 127
    return f'{"!" if must else "?"}{sign}{digits}e{power}'


def texts():
    found = ['0', '-0', '0.0', '-0.0', '1', '-1', '1.0', '1.50', '3.9', '1e2', '1E+2', '10e-1', '0.1', '0.30000000000000004', '1e22',
             '1e23', '9007199254740993.0', '1e400', '-1e400', '1e-400', '16777217', '-16777217', '16777216.0', '16777217.0',
             '3.4028235e38', '3.4028236e38', '3.4028235677973366e38', '3.4028235677973365e38', '340282356779733661637539395458142568447',
             '340282356779733661637539395458142568448.0', '1e-45', '7e-46', '8e-46', '7.006492321624085e-46', '7.006492321624086e-46',
             '1.00000005960464477539062500000000001', '1.000000059604644775390625', '1.00000005960464477539062499999999999',
             '1.0000000596046448', '1.0000000596046447', '1.0000001788139343', '0.50000002980232242', '12345678901234567890.12',
             '3.14159265358979323846', '99999999999999999999999999999999999999', '9' * 39, '9' * 50, '9' * 38 + 'e90', '1e127', '1e128',
             '10e127', '1e-128', '1e-129', '12e-129', '4.9e-324', '2.4703282292062327e-324', '2.4703282292062328e-324',
             '1.7976931348623157e308', '1.7976931348623158e308', '1.7976931348623159e308', '1e40', '1' + '0' * 40]
    for bits in (7, 8, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64, 127, 128):
        for offset in (-2, -1, 0, 1, 2):
            for sign in (1, -1):
                found += [str(sign * (2 ** bits + offset)), f'{sign * (2 ** bits + offset)}.0', f'{sign * (2 ** bits + offset)}e0']
    generator = random.Random(16)
    for _ in range(100):
        # Halfway between two neighbors of single precision, and next to it.
        significand, exponent = generator.randrange(2 ** 23, 2 ** 24), generator.randrange(-60, 61)
        middle = Fraction(2 * significand + 1) * Fraction(2) ** (exponent - 1)
        places = max(0, 1 - exponent)
        digits = str(middle.numerator * 10 ** places // middle.denominator)
        point = len(digits) - places
        spelled = digits if places == 0 else f'{digits[:point]}.{digits[point:]}' if point > 0 else '0.' + '0' * -point + digits
        shortest = repr(float(middle))
        found += [spelled + ('' if places else '.0'), spelled + ('0000000001' if places else '.0000000001'), shortest]
    for _ in range(250):
        whole = str(generator.randrange(10 ** generator.randrange(1, 42)))
        fraction = ''.join(generator.choice('0123456789') for _ in range(generator.choice([0, 0, 1, 2, 5, 15, 17, 25])))
        power = generator.choice(['', '', '', f'e{generator.randrange(-330, 310)}', f'E+{generator.randrange(30)}'])
        found.append(generator.choice(['', '-']) + whole + (f'.{fraction}' if fraction else '') + power)
    return list(dict.fromkeys(found))


if __name__ == '__main__':
    for text in texts():
        columns = [integer(text, bits, signed, False) for bits, signed in INTEGERS]
        columns += [integer(text, bits, signed, True) for bits, signed in INTEGERS]
        columns += [floating(text, 53, -1074, 971), floating(text, 24, -149, 104), decimal(text)]
        print('\t'.join([text] + columns))

"""Compiled loops over the bytes of a text table: where its cells are, and what they hold.

`scan` finds the cells of rows by the rules of RFC 4180. `parse` turns cells into the nearest
double: up to 19 digits times a power of ten, by one product of 64 and 128 bits. The product is
known to within two units of its last place; a cell so close to the middle of two doubles that
this matters, and any other that is not plain, is left to Python. `code` numbers the different
cells of a column in the order of their first appearance.
"""

import numpy as np

from forks.engine import entry, njit

FULL, MORE, FIELDS, QUOTE = range(4)  # why `scan` ended
NUMBER, MISSING, OTHER = range(3)  # what `parse` found in a cell

_LEAST, _MOST = -290, 290  # powers of ten whose doubles are normal, whatever the 19 digits
_32, _64 = np.uint64(32), np.uint64(64)
_LOW = np.uint64(0xFFFFFFFF)
_ONE, _TEN = np.uint64(1), np.uint64(10)
_ZERO, _NINE = np.uint64(48), np.uint64(9)
_MOST_DIGITS = 19  # which always fit into 64 bits
_FEW = np.uint64(2)  # units by which a product may be too small
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def _powers() -> tuple[np.ndarray, np.ndarray]:
    """Return the first 128 bits of 10^q, and the power of two that they are to be multiplied by."""
    bits = np.zeros((_MOST - _LEAST + 1, 2), np.uint64)
    exponents = np.zeros(_MOST - _LEAST + 1, np.int64)
    for q in range(_LEAST, _MOST + 1):
        power = 10 ** abs(q)
        shift = 128 - power.bit_length() if q >= 0 else 127 + power.bit_length()
        if q >= 0:
            value = power << shift if shift >= 0 else power >> -shift
        else:
            value = (1 << shift) // power
            if value >> 128:
                value, shift = value >> 1, shift - 1
        bits[q - _LEAST] = value >> 64, value & (2**64 - 1)
        exponents[q - _LEAST] = -shift
    return bits, exponents


POWERS, EXPONENTS = _powers()


@entry
def scan(data, at, ended, delimiter, stops, n_fields, first, starts, ends, quoted, found):
    """Find the cells of rows from byte `at` on; blank lines are no rows.

    Rows are written to `starts`, `ends` and `quoted` from the row `first` on, until these are
    full. `found` gets the rows that are there then, the byte after the last of them or the one at
    fault, the reason for the end, and the fields and the first byte of the last row looked at.
    Without `ended` a row that the data end in is not whole. `stops` is 1 for bytes that end a
    cell, 0 for others. With n_fields = 0 rows may have as many fields as there is room for.
    """
    n, row = len(data), first
    size = np.uint64(n)
    most = starts.shape[1]
    spaces = delimiter == 32  # any number of them is one delimiter
    status = FULL
    count = 0
    while row < starts.shape[0]:
        i = at
        while i < n and (data[i] == 10 or data[i] == 13):
            i += 1
        at = i
        found[4] = at
        if i >= n:
            status = MORE
            break
        count, closed = 0, False
        status = MORE
        while True:
            if spaces:
                while i < n and data[i] == 32:
                    i += 1
            start, doubled = i, 0
            if i < n and data[i] == 34:
                i += 1
                start = i
                doubled = 1
                while i < n:
                    if data[i] == 34:
                        if i + 1 < n and data[i + 1] == 34:
                            doubled = 2
                            i += 1
                        else:
                            break
                    i += 1
                if i >= n:  # no closing quote
                    if ended:
                        status = QUOTE
                    break
                end = i
                i += 1
                if i >= n and not ended:
                    break
                if i < n and data[i] != delimiter and data[i] != 10 and data[i] != 13:
                    status = QUOTE
                    break
            else:
                j = np.uint64(i)
                while j < size and stops[data[j]] == 0:
                    j += _ONE
                i = np.int64(j)
                end = i
                if i >= n and not ended:
                    break
            if count < most:
                starts[row, count] = start
                ends[row, count] = end
                quoted[row, count] = doubled
            count += 1
            if spaces:
                while i < n and data[i] == 32:
                    i += 1
                if i >= n and not ended:
                    break
                if i < n and data[i] != 10 and data[i] != 13:
                    continue
            if i >= n or data[i] != delimiter:
                closed = True
                break
            i += 1
        if not closed:
            at = i if status == QUOTE else at
            break
        if count > most or (n_fields > 0 and count != n_fields):
            status, at = FIELDS, i
            break
        status = FULL
        at = i
        row += 1
    found[0], found[1], found[2], found[3] = row, at, status, count


@njit
def _product(a, b):
    """Return the high and the low half of a product of 64 bits."""
    a1, a0, b1, b0 = a >> _32, a & _LOW, b >> _32, b & _LOW
    low, high = a0 * b0, a1 * b1
    one = a1 * b0 + (low >> _32)
    two = a0 * b1 + (one & _LOW)
    return high + (one >> _32) + (two >> _32), ((two & _LOW) << _32) | (low & _LOW)


@njit
def _leading_zeros(w):
    """Return how many bits before the first 1 are 0; without branches, which would be guesses."""
    n = np.uint64(w < _ONE << np.uint64(32)) << np.uint64(5)
    step = np.uint64(w << n < _ONE << np.uint64(48)) << np.uint64(4)
    n += step
    step = np.uint64(w << n < _ONE << np.uint64(56)) << np.uint64(3)
    n += step
    step = np.uint64(w << n < _ONE << np.uint64(60)) << np.uint64(2)
    n += step
    step = np.uint64(w << n < _ONE << np.uint64(62)) << np.uint64(1)
    n += step
    return n + np.uint64(w << n < _ONE << np.uint64(63))


@njit
def _nearest(w, q, powers, exponents):
    """Return whether it is certain, and the bits of the double nearest to w * 10^q; w is not 0."""
    zeros = _leading_zeros(w)
    w = w << zeros
    high, middle = _product(w, powers[q, 0])
    more, _ = _product(w, powers[q, 1])
    middle += more
    high += np.uint64(middle < more)
    # 128 bits, high and middle: the product is as large, or up to two units larger.
    top = high >> np.uint64(63)
    shift = top + np.uint64(10)
    rest = high & ((_ONE << shift) - _ONE)
    half = _ONE << (shift - _ONE)
    sure = True
    if rest == half:
        sure = middle > _FEW
    elif rest == half - _ONE:
        sure = middle < _ALL - _FEW
    mantissa = (high >> shift) + np.uint64(rest >= half)
    # With its first bit, 2^52, the mantissa adds 1 to the exponent, and 2 if it was rounded up
    # to 2^53.
    exponent = np.uint64(exponents[q] + 1212) - zeros + top
    return sure, (exponent << np.uint64(52)) + mantissa


@njit
def _same(data, start, end, words, begin, stop):
    if end - start != stop - begin:
        return False
    for i in range(end - start):
        if data[start + i] != words[begin + i]:
            return False
    return True


@njit
def _digits(data, i, end, w):
    """Read digits behind those that w has; return where they end, and the number."""
    while i < end:
        digit = np.uint64(data[i]) - _ZERO
        if digit > _NINE:  # also what is less than "0", which wraps round
            break
        w = w * _TEN + digit
        i += _ONE
    return i, w


@njit
def _number(data, i, end, point, powers, exponents):
    """Return whether the cell is a number for sure, and the bits of the double nearest to it."""
    sign = np.uint64(data[i] == 45) << np.uint64(63)
    i += np.uint64(data[i] == 45 or data[i] == 43)
    start = i
    i, w = _digits(data, i, end, np.uint64(0))
    n, q = np.int64(i - start), np.int64(0)
    if i < end and data[i] == point:
        i += _ONE
        behind = i
        i, w = _digits(data, i, end, w)
        q = -np.int64(i - behind)
        n -= q
    if n == 0:
        return False, sign
    if n > _MOST_DIGITS:
        while n > _MOST_DIGITS and (data[start] == 48 or data[start] == point):
            n -= data[start] == 48
            start += _ONE
        if n > _MOST_DIGITS:
            return False, sign
    if i < end and (data[i] == 101 or data[i] == 69):
        i += _ONE
        negative = i < end and data[i] == 45
        i += np.uint64(i < end and (data[i] == 45 or data[i] == 43))
        start = i
        i, power = _digits(data, i, end, np.uint64(0))
        if i == start or i - start > np.uint64(4):
            return False, sign
        q += -np.int64(power) if negative else np.int64(power)
    if i < end:
        return False, sign
    if w == np.uint64(0):
        return True, sign
    place = q + len(exponents) // 2
    if place < 0 or place >= len(exponents):
        return False, sign
    sure, bits = _nearest(w, np.uint64(place), powers, exponents)
    return sure, bits | sign


@entry
def parse(data, starts, ends, point, words, stops, powers, exponents, bits, kinds):
    """Read a column of numbers: their bits where `kinds` is NUMBER; elsewhere the bits are left.

    `point` is the decimal point. `words` are those of missing cells, one after the other, each up
    to its place in `stops`. Returns how many cells are OTHER.
    """
    others = 0
    for row in range(len(starts)):
        i, end = np.uint64(starts[row]), np.uint64(ends[row])
        while i < end and (data[i] == 32 or data[i] == 9):
            i += _ONE
        while end > i and (data[end - _ONE] == 32 or data[end - _ONE] == 9):
            end -= _ONE
        if i == end:
            kinds[row] = MISSING
            continue
        plain, value = _number(data, i, end, point, powers, exponents)
        if plain:
            bits[row] = value
            kinds[row] = NUMBER
            continue
        kinds[row] = OTHER
        begin = 0
        for stop in stops:
            if _same(data, np.int64(i), np.int64(end), words, begin, stop):
                kinds[row] = MISSING
                break
            begin = stop
        if kinds[row] == OTHER:
            others += 1
    return others


@entry
def code(data, starts, ends, table, codes, firsts):
    """Number the different cells of a column; return how many there are.

    `firsts` gets the row of each one's first appearance. `table` is room for a hash table, at
    least twice as long as the column, a power of two, and all -1.
    """
    n, mask = 0, np.uint64(len(table) - 1)
    for row in range(len(starts)):
        h = np.uint64(14695981039346656037)
        for i in range(starts[row], ends[row]):
            h = ((h ^ np.uint64(data[i])) & np.uint64(0xFFFFFFFFFF)) * np.uint64(1099511)
        h ^= h >> _32
        place = h & mask
        while True:
            known = table[place]
            if known < 0:
                table[place] = n
                firsts[n] = row
                codes[row] = n
                n += 1
                break
            first = firsts[known]
            if _same(data, starts[row], ends[row], data, starts[first], ends[first]):
                codes[row] = known
                break
            place = (place + _ONE) & mask
    return n

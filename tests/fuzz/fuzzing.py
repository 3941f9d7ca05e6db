"""A fuzzer: valid files, damaged in many ways, of which a reader may only complain clearly.

A `Target` has valid files to start from and a way to read one. Each input is a damaged copy. The
reader may take it, or refuse it with an error of the kind `refusal` that names the file in one
short line. Anything else ends the run: other errors, warnings, more than `SECONDS` for one input,
and, in `main`, which plays each target in a process of its own, a crash. The input is then kept.
"""

import argparse
import bz2
import faulthandler
import gzip
import json
import lzma
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 20.0  # for one input: most take less than a millisecond
LONGEST = 1_000  # characters of an error
MEMORY = 6 * 2**30  # bytes of address space: a length that was damaged must not stop the machine

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


class Target(NamedTuple):
    """What is fuzzed."""

    name: str
    seeds: Callable[[], Sequence[tuple[str, bytes]]]  # names and contents of valid files
    read: Callable[[Path, random.Random], Any]  # read it all, checking what it gives
    refusal: type[Exception]
    tokens: Sequence[bytes] = ()  # what to strew in, beside what is strewn into all
    packs: bool = False  # may files be compressed?
    make: Callable[[random.Random], tuple[str, bytes]] | None = None  # most of the inputs, if any


class Counts(NamedTuple):
    """How many inputs there were."""

    inputs: int
    accepted: int
    refused: int


class Finding(AssertionError):
    """Something that the reader should not have done."""


TOKENS = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\n",
    b"\r",
    b"\r\n",
    b"\x0b\x0c\x1c\x85",
    "\u2028".encode(),
    "\u0663".encode(),  # a digit
    "\u00b2".encode(),  # a digit, but no decimal one
    b'"',
    b'""',
    b"'",
    b",",
    b"\t",
    b" ",
    b":",
    b"#",
    b"-",
    b"+",
    b".",
    b"e",
    b"_",
    b"nan",
    b"inf",
    b"-Infinity",
    b"1e999",
    b"1e-999",
    b"0x1p3",
    b"1_000",
    b"9" * 25,
    b"9" * 400,
    b"9" * 5_000,
    b"2147483647",
    b"2147483648",
    b"18446744073709551616",
    b"\x7f\xff\xff\xff",
    b"\xff" * 8,
    b"\x80" * 12,
)


def damaged(
    raw: bytes, others: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random
) -> bytes:
    """Return a copy of a file with some damage."""
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        if rng.random() < 0.2:  # headers and footers matter most
            at = min(rng.choice((at % 40, max(0, len(data) - 1 - at % 400))), len(data))
        length = min(rng.choice((1, 2, 4, 8, 30, 200)), len(data) - at)
        match rng.randrange(13):
            case 0 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at : at + length] = rng.randbytes(length)
            case 2:
                del data[at:]
            case 3:
                del data[at : at + length]
            case 4:
                data[at:at] = data[at : at + length] * rng.choice((1, 2, 50))
            case 5:
                data[at:at] = rng.randbytes(rng.randrange(1, 20))
            case 11 | 12 if at < len(data):
                data[at] = rng.choice(b"0123456789.,:-+ \t\n")
            case 6 | 7:
                data[at:at] = rng.choice(tokens)
            case 8:
                token = rng.choice(tokens)
                data[at : at + len(token)] = token
            case 9:
                other = rng.choice(others)
                start = rng.randrange(len(other) + 1)
                data[at : at + length] = other[start : start + rng.randrange(1, 300)]
            case _:
                lines = data.split(b"\n")
                rng.shuffle(lines) if rng.random() < 0.5 else lines.append(rng.choice(lines))
                data = bytearray(b"\n".join(lines))
    return bytes(data)


def _recoded(raw: bytes, rng: random.Random) -> bytes:
    """Return a text in another encoding, or with other ends of lines."""
    text = raw.decode("latin-1")
    match rng.randrange(5):
        case 0:
            return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig")))
        case 1:
            return text.replace("\n", "\r\n").encode("latin-1")
        case 2:
            return text.replace("\n", "\r").encode("latin-1")
        case 3:
            return text.replace("1", "\xe9").encode("latin-1")
        case _:
            return text.upper().encode("latin-1", "replace")


def an_input(target: Target, rng: random.Random) -> tuple[str, bytes]:
    """Make the name and the contents of a damaged file."""
    if target.make is not None and rng.random() < 0.7:
        return target.make(rng)
    name, raw = rng.choice(target.seeds())
    others = [other for _, other in target.seeds()]
    tokens = (*TOKENS, *target.tokens, *target.tokens)
    kind = rng.random()
    if kind < 0.02:
        return name, rng.randbytes(rng.randrange(300))
    if kind < 0.06:
        raw = _recoded(raw, rng)
        return name, damaged(raw, others, tokens, rng) if rng.random() < 0.3 else raw
    if target.packs and kind < 0.20:
        ending = rng.choice(list(PACKERS))
        match rng.randrange(4):
            case 0:  # the damage is in the text
                return name + ending, PACKERS[ending](damaged(raw, others, tokens, rng))
            case 1:  # it is not compressed, or not so
                return name + ending, PACKERS[rng.choice(list(PACKERS))](raw)
            case 2:
                return name + ending, raw
            case _:
                packed = PACKERS[ending](raw)
                return name + ending, damaged(packed, [packed], tokens, rng)
    return name, damaged(raw, others, tokens, rng)


def fuzz(target: Target, n: int, seed: int, folder: Path) -> Counts:
    """Play n inputs; raise `Finding` at the first that is not dealt with well."""
    accepted = refused = 0
    for i in range(n):
        rng = random.Random(f"{target.name} {seed} {i}")
        name, raw = an_input(target, rng)
        path = folder / name
        path.write_bytes(raw)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                target.read(path, rng)
            accepted += 1
        except target.refusal as error:
            _check_refusal(error, path, i)
            refused += 1
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise Finding(f"{target.name}, input {i}, {path}: {what[:LONGEST]}") from error
        finally:
            faulthandler.cancel_dump_traceback_later()
        path.unlink()
    return Counts(n, accepted, refused)


def _check_refusal(error: Exception, path: Path, i: int) -> None:
    text = str(error)
    if str(path) not in text:
        raise Finding(f"input {i}: the error does not name {path}: {text!r}") from error
    if len(text) > LONGEST or not text.isprintable():
        raise Finding(f"input {i}, {path}: not one short line: {text[:LONGEST]!r}") from error


def main(targets: Sequence[Target], script: str) -> None:
    """Play all targets, each in a process of its own, and print the counts."""
    parser = argparse.ArgumentParser(description="Read damaged files.")
    parser.add_argument("--inputs", type=int, default=500_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", choices=[target.name for target in targets])
    parser.add_argument("--folder", type=Path, help="where inputs are written")
    options = parser.parse_args()
    if options.folder is not None:  # the process of one target
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        target = next(target for target in targets if target.name == options.target)
        try:
            counts = fuzz(target, options.inputs, options.seed, options.folder)
        except Finding as finding:
            sys.exit(f"{finding}")
        print(json.dumps(counts))
        return
    chosen = [target for target in targets if options.target in (None, target.name)]
    share = -(-options.inputs // len(chosen))
    totals = []
    print(f"{'files':<10}{'inputs':>10}{'accepted':>10}{'refused':>10}")
    for target in chosen:
        folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{target.name}-"))
        command = [sys.executable, script, "--target", target.name, "--inputs", str(share)]
        command += ["--seed", str(options.seed), "--folder", str(folder)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{target.name}: status {done.returncode}; the input is kept in {folder}")
        counts = Counts(*json.loads(done.stdout))
        shutil.rmtree(folder)
        totals.append(counts)
        print(f"{target.name:<10}" + "".join(f"{count:>10,}" for count in counts), flush=True)
    sums = map(sum, zip(*totals, strict=True))
    print(f"{'all':<10}" + "".join(f"{count:>10,}" for count in sums))

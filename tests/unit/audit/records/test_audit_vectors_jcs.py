"""RFC 8785 against its author's own test data: the sample files and the sums of the number file."""

import json
import math
import struct
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from audit.records.canonical import canonical, jcs

DATA: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "golden" / "vectors" / "jcs.json").read_text()
)
SUMS = {int(lines): digest for lines, digest in DATA["sums"].items()}


@pytest.mark.parametrize(("given", "expected"), DATA["samples"].values(), ids=DATA["samples"])
def test_the_sample_files_come_out_byte_for_byte(given: str, expected: str) -> None:
    value = json.loads(given)
    assert jcs(value) == expected.encode()
    assert jcs(json.loads(expected)) == expected.encode()
    if "." not in given:  # the ledger's own profile has no fractions, and agrees without them
        assert canonical(value) == expected.encode()


def test_the_number_file_has_the_published_sums() -> None:
    digest = sha256()
    for line, bits in enumerate(islice(_numbers(), max(SUMS)), 1):
        text = jcs(struct.unpack(">d", bits)[0])
        digest.update(bits.hex().lstrip("0").encode() or b"0")
        digest.update(b"," + text + b"\n")
        if line in SUMS:
            assert digest.hexdigest() == SUMS[line], line


def _numbers() -> Iterator[bytes]:
    """Yield the doubles of the number file: chosen ones, 2,000 in a row, then a chain of hashes."""
    yield from map(bytes.fromhex, DATA["numbers"])
    yield from (struct.pack(">Q", (1 << 52) + number) for number in range(2_000))
    block = bytes(32)
    while True:
        block = sha256(block).digest()
        for start in range(0, 32, 8):
            bits = block[start : start + 8][::-1]
            (value,) = struct.unpack(">d", bits)
            if value and math.isfinite(value):
                yield bits

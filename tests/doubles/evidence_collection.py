"""What the golden evidence is gathered in, and the changes that every text file is put through."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from audit.records.canonical import canonical
from audit.tlog.proof import parse_proof
from tests.doubles.audit_log import ORIGIN
from tests.doubles.evidence_edits import laid_out

OK, TAMPERED, INCOMPLETE, NOT_CHECKABLE = 0, 1, 2, 3
KEPT = Path(__file__).resolve().parent.parent / "golden" / "evidence"
FOLDER = laid_out(KEPT)
"""Every file of the evidence, as the verifiers read it."""
KEY = ("--key", "log.pub")
QUORUM = (*KEY, "--policy", "one.policy")
VERIFIER = b'"""A stand-in: the golden bundle must not change with every line of verify.py."""\n'


@dataclass(frozen=True, slots=True)
class Vector:
    """A question: this file with these arguments must end in this exit code."""

    file: str
    arguments: tuple[str, ...]
    exit_code: int
    why: str


@dataclass(slots=True)
class Collection:
    """Files and questions, gathered."""

    files: dict[str, bytes]
    vectors: list[Vector]

    def ask(self, file: str, arguments: tuple[str, ...], exit_code: int, why: str) -> None:
        """Add a question about a file that is there."""
        self.vectors.append(Vector(file, arguments, exit_code, why))

    def add(
        self, file: str, data: bytes, arguments: tuple[str, ...], exit_code: int, why: str
    ) -> None:
        """Add a file and a question about it."""
        assert file not in self.files, file
        self.files[file] = data
        self.ask(file, arguments, exit_code, why)

    def manifest(self) -> bytes:
        """Return the list of questions, one on a line."""
        rows = [
            {"arguments": list(v.arguments), "exit": v.exit_code, "file": v.file, "why": v.why}
            for v in self.vectors
        ]
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        return f"[\n{lines}\n]\n".encode()


def flips(data: bytes, places: int, skip: bytes = b"") -> Iterator[tuple[int, bytes]]:
    """Yield the data with one bit changed, at places spread over it, none inside `skip`."""
    start = data.find(skip) if skip else -1
    for n in range(places):
        at = (2 * n + 1) * len(data) // (2 * places)
        if not start <= at < start + len(skip):
            yield at, data[:at] + bytes([data[at] ^ (1 << n % 7)]) + data[at + 1 :]


def grease_of(data: bytes) -> bytes:
    """Return the signature line of nobody's, which every reader must ignore."""
    at = data.index("— grease.invalid".encode())
    return data[at : data.index(b"\n", at) + 1]


def mutants(
    found: Collection, name: str, arguments: tuple[str, ...], codes: Mapping[str, int]
) -> None:
    """Add changed copies of a text file; `codes` says where the code is not TAMPERED."""
    data = found.files[name]
    stem, _, ending = name.partition(".")
    lines = data.splitlines(keepends=True)

    def put(what: str, changed: bytes, why: str) -> None:
        found.add(f"{stem}-{what}.{ending}", changed, arguments, codes.get(what, TAMPERED), why)

    for at, changed in flips(data, 8, grease_of(data)):
        put(f"flip{at}", changed, f"one bit of byte {at}")
    put("cut", data[: len(data) // 2], "cut in the middle")
    put("unended", data[:-1], "the last newline is gone")
    put("appended", data + b"x\n", "a line more at the end")
    put("blank", data + b"\n", "an empty line more at the end")
    put("crlf", data.replace(b"\n", b"\r\n"), "other line ends")
    put("twice", data + data, "everything twice")
    own = next(line for line in lines if line.startswith(f"— {ORIGIN} ".encode()))
    put("signed-twice", data + own, "the log's signature line twice")
    put("unsigned", data.replace(own, b""), "the log's signature line is gone")
    unpadded = own.rstrip(b"\n").rstrip(b"=") + b"\n"
    put("unpadded", data.replace(own, unpadded), "base64 without its padding")
    urlsafe = own.replace(b"+", b"-").replace(b"/", b"_")
    put("urlsafe", data.replace(own, urlsafe), "base64 of the other alphabet")
    place = next(n for n, line in enumerate(lines) if line == f"{ORIGIN}\n".encode())
    swapped = [*lines[: place + 1], lines[place + 2], lines[place + 1], *lines[place + 3 :]]
    put("swapped", b"".join(swapped), "size and root in the other order")
    origin = data.replace(f"\n{ORIGIN}\n".encode(), b"\nother.example/log\n")
    if place == 0:
        origin = b"other.example/log\n" + data[len(ORIGIN) + 1 :]
    put("origin", origin, "another origin, the signature as it was")
    zero = [*lines[: place + 1], b"0\n", *lines[place + 2 :]]
    put("size0", b"".join(zero), "size 0")
    padded = [*lines[: place + 1], b"0" + lines[place + 1], *lines[place + 2 :]]
    put("zeros", b"".join(padded), "the size with a leading zero")


def with_extra(data: bytes, **changes: object) -> bytes:
    """Return a proof with other extra data."""
    proof = parse_proof(data)
    extra = {**json.loads(proof.extra), **changes}
    return replace(proof, extra=canonical(extra)).to_bytes()

"""Evidence against somebody who changes it: no bit, line or length passes, and nothing breaks."""

import contextlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from audit.errors import NoteError, ProofError, TrustPolicyError
from audit.tlog.merkle import (
    leaf_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from audit.tlog.note import parse_note
from audit.tlog.policy import QuorumPolicy
from audit.tlog.proof import parse_proof
from audit.verifier import verify
from audit.verifier.verify import OK, Bad, Outside
from tests.doubles.evidence_collection import FOLDER, grease_of
from tests.doubles.evidence_limits import overlapping, too_large
from tests.doubles.memory_tree import consistency_path, inclusion_path

TEXTS = ("record.tlog-proof", "d1.receipt", "range.tlog-proof", "second.note", "grown.consistency")
POLICY = (FOLDER / "one.policy").read_bytes()
OUTSIDE = Outside(vkeys=((FOLDER / "log.pub").read_text().strip(),), policy=POLICY)
KEPT = Outside(vkeys=OUTSIDE.vkeys, policy=POLICY, notes=[(FOLDER / "first.note").read_bytes()])


def judged(name: str, data: bytes) -> verify.Report:
    if name.endswith(".note"):
        return verify.verify_note(data, OUTSIDE)
    if name.endswith(".consistency"):
        return verify.verify_link(data, KEPT)
    return verify.verify_proof(data, OUTSIDE)


def evidence_bytes(name: str) -> tuple[bytes, range]:
    """A file, and where the line is that every reader must ignore."""
    data = (FOLDER / name).read_bytes()
    start = data.index(grease_of(data))
    return data, range(start, start + len(grease_of(data)))


@pytest.mark.parametrize("name", TEXTS)
def test_no_bit_of_a_text_can_change(name: str) -> None:
    data, ignored = evidence_bytes(name)
    assert judged(name, data).exit_code == OK
    for place in range(0, len(data), 3):
        if place not in ignored:
            bit = 1 << place % 8
            forged = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
            report = judged(name, forged)
            assert report.exit_code != OK, (place, bit)
            assert report.lines


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_can_be_cut_or_extended(name: str) -> None:
    data, ignored = evidence_bytes(name)
    lines = data.splitlines(keepends=True)
    ends = {ignored.start, ignored.stop} if ignored.stop == len(data) else set()
    for length in range(0, len(data), 7):
        if length not in ends:
            assert judged(name, data[:length]).exit_code != OK, length
    for more in (b"\n", b"x", b"\0", lines[-1], b"\n" + lines[-1], data):
        if more != lines[-1] or ignored.stop != len(data):
            assert judged(name, data + more).exit_code != OK, more


@given(st.data())
def test_no_line_can_be_lost_doubled_or_moved(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(TEXTS))
    whole, ignored = evidence_bytes(name)
    lines = (whole[: ignored.start] + whole[ignored.stop :]).splitlines(keepends=True)
    first = data.draw(st.integers(0, len(lines) - 1))
    second = data.draw(st.integers(0, len(lines) - 1))
    match data.draw(st.sampled_from(["lose", "double", "swap"])):
        case "lose":
            changed = lines[:first] + lines[first + 1 :]
        case "double":
            changed = lines[: first + 1] + lines[first:]
        case _:
            changed = list(lines)
            changed[first], changed[second] = lines[second], lines[first]
    if ordered(changed) != ordered(lines):
        assert judged(name, b"".join(changed)).exit_code != OK


def ordered(lines: list[bytes]) -> list[bytes]:
    """Bring signature lines into one order; theirs means nothing, that of all others does."""
    signed = sorted(line for line in lines if line.startswith("— ".encode()))
    return [line for line in lines if line not in signed] + signed


def test_no_bit_of_a_bundle_can_change_and_none_can_be_added() -> None:
    data = (FOLDER / "d1.zip").read_bytes()
    assert verify.verify_bundle(data, outside=OUTSIDE).exit_code == OK
    for place in range(0, len(data), 11):
        forged = data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :]
        assert verify.verify_bundle(forged, outside=OUTSIDE).exit_code == verify.TAMPERED, place
    for length in range(0, len(data), 101):
        assert verify.verify_bundle(data[:length], outside=OUTSIDE).exit_code == verify.TAMPERED
    for changed in (data + b"\0", b"\0" + data, data + data):
        assert verify.verify_bundle(changed, outside=OUTSIDE).exit_code == verify.TAMPERED


@pytest.mark.parametrize("extra", ["notes.txt", "records/x", "records/x.header.json", "../x", "a/"])
def test_no_file_can_be_put_into_a_bundle(extra: str) -> None:
    out = io.BytesIO((FOLDER / "d1.zip").read_bytes())
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(extra, b"more")
    assert verify.verify_bundle(out.getvalue(), outside=OUTSIDE).exit_code == verify.TAMPERED


def test_no_byte_of_a_tile_can_change(tmp_path: Path) -> None:
    source = FOLDER / "tiles-wide"
    paths = [path.relative_to(source) for path in source.rglob("*") if path.is_file()]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((source / path).read_bytes())
    trust = Outside(vkeys=OUTSIDE.vkeys)
    assert verify.verify_tiles(tmp_path, trust).exit_code == OK
    for path in paths:
        data = (source / path).read_bytes()
        step = 1 + len(data) // 6
        skip = evidence_range(data) if path.name == "checkpoint" else range(0)
        for place in range(step // 2, len(data), step):
            if place not in skip:
                forged = data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]
                (tmp_path / path).write_bytes(forged)
                assert verify.verify_tiles(tmp_path, trust).exit_code != OK, (path, place)
        (tmp_path / path).unlink()
        assert verify.verify_tiles(tmp_path, trust).exit_code in {2, 3}, path
        (tmp_path / path).write_bytes(data)
    assert verify.verify_tiles(tmp_path, trust).exit_code == OK


def test_no_file_of_a_bundle_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    plain = zipfile.ZipFile.read

    def counted(self: zipfile.ZipFile, name: zipfile.ZipInfo) -> bytes:
        read.append(name)
        return plain(self, name)

    monkeypatch.setattr(zipfile.ZipFile, "read", counted)
    assert verify.verify_bundle(overlapping(1 << 10, 100)).exit_code == verify.TAMPERED
    assert not read
    assert verify.verify_bundle((FOLDER / "d1.zip").read_bytes(), outside=OUTSIDE).exit_code == OK
    assert read


def test_an_entry_bundle_is_read_no_further_than_its_widest(tmp_path: Path) -> None:
    files = next(files for name, files, _ in too_large() if name == "zeros")
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    report = verify.verify_tiles(tmp_path / "zeros", OUTSIDE)
    assert report.reason == "the entry bundle 0 has 257 entries, not 2"


class Seen(dict[str, int]):
    """A header that counts how often it is looked at."""

    looks = 0

    @override
    def __getitem__(self, name: str) -> int:
        Seen.looks += 1
        return super().__getitem__(name)


def test_maps_are_held_against_many_headers_in_one_pass() -> None:
    others = [Seen(seq=2 * n) for n in range(100)]
    maps = [({"seq": 2 * n + 1}, {"part": 0, "parts": 1}) for n in range(100)]
    report = verify.Report()
    verify.judge_map(report, maps, 300, others)
    assert (report.exit_code, Seen.looks) == (OK, len(others))
    for n in (0, 50, 99):
        verify.judge_map(report := verify.Report(), maps, 300, [*others, {"seq": 2 * n + 1}])
        assert (report.exit_code, report.first_bad_seq) == (verify.TAMPERED, 2 * n + 1)


def evidence_range(data: bytes) -> range:
    start = data.index(grease_of(data))
    return range(start, start + len(grease_of(data)))


STARTS = st.sampled_from(
    [b"", b"PK\x03\x04", b"c2sp.org/tlog-proof@v1\n", b"old 3\n", b"{", "a\n\n— b ".encode()]
)


@given(STARTS, st.binary(max_size=300))
def test_any_bytes_give_a_verdict_and_no_traceback(start: bytes, rest: bytes) -> None:
    data = start + rest
    for report in (
        verify.verify_proof(data, OUTSIDE),
        verify.verify_link(data, KEPT),
        verify.verify_note(data, OUTSIDE),
        verify.verify_bundle(data, outside=OUTSIDE),
    ):
        assert report.exit_code != OK
        assert "cannot be judged" not in " ".join(report.lines)


@pytest.mark.parametrize(
    "parse",
    [
        verify.read_note,
        verify.read_policy,
        verify.read_proof,
        verify.read_link,
        verify.read_bundle,
        verify.read_header,
        verify.parse_canonical,
        lambda data: verify.read_extra(b"{" + data),
        lambda data: verify.read_vkey(data.decode("latin-1")),
        lambda data: verify.read_head(data.decode("latin-1")),
        lambda data: verify.Trust([], b"quorum none\n").follow(data.decode("latin-1"), "o"),
    ],
)
@given(data=st.binary(max_size=200))
def test_the_parsers_raise_only_their_own_error(
    parse: Callable[[bytes], object], data: bytes
) -> None:
    with contextlib.suppress(Bad):
        parse(data)


@given(st.integers(1, 70), st.data())
def test_both_implementations_judge_paths_alike(size: int, data: st.DataObject) -> None:
    leaves = [leaf_hash(bytes([n])) for n in range(size)]
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size))
    root, old_root = root_of(leaves), root_of(leaves[:old])
    path, grown = list(inclusion_path(leaves, index)), list(consistency_path(leaves, old))
    assert verify.root_by_path(leaves[index], index, size, path) == root
    assert verify.extends((old, old_root), (size, root), grown)
    for changed in mutations(path, data):
        try:
            verify_inclusion(leaves[index], index, size, changed, root)
        except ProofError:
            assert verify.root_by_path(leaves[index], index, size, changed) != root
        else:
            assert changed == path
    for changed in mutations(grown, data):
        try:
            verify_consistency(old, old_root, size, root, changed)
        except ProofError:
            assert not verify.extends((old, old_root), (size, root), changed)
        else:
            assert changed == grown


def mutations(path: list[bytes], data: st.DataObject) -> list[list[bytes]]:
    place = data.draw(st.integers(0, max(0, len(path) - 1)))
    changed = [*path[:place], bytes(32), *path[place + 1 :]]
    return [path[:-1], [*path, bytes(32)], path[::-1], changed, path[1:]]


def changed_bytes(data: bytes, draw: st.DataObject) -> bytes:
    place = draw.draw(st.integers(0, len(data) - 1))
    match draw.draw(st.sampled_from(["flip", "cut", "insert", "drop"])):
        case "flip":
            bit = 1 << draw.draw(st.integers(0, 7))
            return data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
        case "cut":
            return data[:place]
        case "insert":
            return data[:place] + draw.draw(st.binary(min_size=1, max_size=3)) + data[place:]
        case _:
            return data[:place] + data[place + 1 :]


@given(st.data())
def test_both_implementations_read_the_same_notes_and_proofs(data: st.DataObject) -> None:
    note = changed_bytes((FOLDER / "second.note").read_bytes(), data)
    assert accepts(parse_note, NoteError, note) == accepts(verify.read_note, Bad, note)
    proof = changed_bytes((FOLDER / "bare.tlog-proof").read_bytes(), data)
    if accepts(parse_proof, ProofError, proof):
        assert accepts(verify.read_proof, Bad, proof)


WORDS = st.sampled_from(
    [
        *POLICY.replace(b"\n", b" ").split(),
        b"none",
        b"all",
        b"any",
        b"2",
        b"0",
        b"#",
        b"group",
        b"h",
    ]
)


@given(st.data())
def test_both_implementations_read_the_same_policies(data: st.DataObject) -> None:
    policy = changed_bytes((FOLDER / "two.policy").read_bytes(), data)
    assert accepts(QuorumPolicy.parse, TrustPolicyError, policy) == accepts(
        verify.read_policy, Bad, policy
    ), policy
    lines = POLICY.splitlines(keepends=True)
    more = b" ".join(data.draw(st.lists(WORDS, min_size=1, max_size=5))) + b"\n"
    lines.insert(data.draw(st.integers(0, len(lines))), more)
    policy = b"".join(lines)
    assert accepts(QuorumPolicy.parse, TrustPolicyError, policy) == accepts(
        verify.read_policy, Bad, policy
    ), policy


def accepts(parse: Callable[[bytes], object], error: type[Exception], data: bytes) -> bool:
    try:
        parse(data)
    except error:
        return False
    return True

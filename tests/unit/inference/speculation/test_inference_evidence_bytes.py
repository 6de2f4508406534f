"""The byte forms of a capture: one form each, fixed for ever, and any other bytes refused."""

import contextlib
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.errors import CaptureError
from inference.speculation.capture import MAGIC as MAGIC_1
from inference.speculation.capture import decode_capture, encode_capture
from inference.speculation.condense import condense
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import (
    MAGIC,
    MAGIC_4,
    decode_evidence,
    encode_evidence,
)
from inference.speculation.rounds import Capture
from tests.doubles.reference_sampler import (
    ReferenceSampler,
    draft_model,
    hopeless_row,
    make_table,
    request_of,
    target_model,
    with_first_rows,
)

TABLE = make_table([draft_model(32)(token) for token in range(5)])


def _network(tokens: int, n: int, n_bins: int = 32) -> Capture:
    sampler = ReferenceSampler(target=target_model(n_bins), draft=draft_model(n_bins))
    return sampler.capture(request_of(n, tokens, n_bins=n_bins))


def test_every_version_keeps_its_bytes(golden: Callable[[str, bytes], None]) -> None:
    capture = _network(tokens=6, n=2, n_bins=8)
    several = with_first_rows(request_of(3, 6, n_bins=8), [0.0, 1e-5, 2e-5], drafts_first=True)
    for name, data in (
        ("capture_1.txt", encode_capture(capture)),
        ("capture_2.txt", encode_evidence(condense(capture))),
        ("capture_4.txt", encode_evidence(condense(several))),
    ):
        golden(name, b"\n".join(data[i : i + 48].hex().encode() for i in range(0, len(data), 48)))


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 5),
    tokens=st.integers(1, 9),
    spec_k=st.integers(0, 6),
    n_bins=st.sampled_from((2, 8, 256, 300)),
    seed=st.integers(0, 1 << 40),
    drafter=st.sampled_from(("network", "table", "hopeless", "none")),
)
def test_any_capture_comes_back_the_same(
    n: int, tokens: int, spec_k: int, n_bins: int, seed: int, drafter: str
) -> None:
    table = None
    if drafter in {"table", "hopeless"}:
        row = draft_model(n_bins)(1) if drafter == "table" else hopeless_row(n_bins)
        table = make_table([row] * 3)
    draft = draft_model(n_bins) if drafter == "network" else None
    sampler = ReferenceSampler(target=target_model(n_bins), draft=draft, table=table)
    capture = sampler.capture(request_of(n, tokens, n_bins=n_bins, spec_k=spec_k, seed=seed))
    evidence = condense(capture, table)
    data = encode_evidence(evidence)
    assert decode_evidence(data) == evidence
    assert encode_evidence(decode_evidence(data)) == data
    assert judge(decode_evidence(data), table) == ()


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(2, 6),
    spec_k=st.integers(0, 4),
    drafts_first=st.booleans(),
    steps=st.lists(st.integers(0, 3), min_size=6, max_size=6),
)
def test_first_rows_of_other_last_bits_come_back_and_decide_their_own(
    n: int, spec_k: int, *, drafts_first: bool, steps: list[int]
) -> None:
    capture = with_first_rows(
        request_of(n, 6, n_bins=8, spec_k=spec_k),
        [k * 1e-5 for k in steps],
        drafts_first=drafts_first,
    )
    evidence = condense(capture)
    data = encode_evidence(evidence)
    kinds = len(set(steps[:n]))
    assert len(evidence.other_firsts) == kinds - 1
    assert data.startswith(MAGIC if kinds == 1 else MAGIC_4)
    assert decode_evidence(data) == evidence
    assert encode_evidence(decode_evidence(data)) == data
    assert judge(decode_evidence(data)) == ()


GOOD = encode_evidence(condense(_network(tokens=6, n=3)))
GOOD_4 = encode_evidence(
    condense(with_first_rows(request_of(3, 6, n_bins=32), [0.0, 1e-5, 0.0], drafts_first=False))
)


def _only_its_own_error(data: bytes) -> None:
    try:
        evidence = decode_evidence(data)
        judge(evidence, TABLE)
    except CaptureError:
        return
    assert encode_evidence(evidence) == data


FRAME = encode_capture(_network(tokens=4, n=2, n_bins=8))
FRAME_HEADER = json.loads(FRAME[len(MAGIC_1) : FRAME.index(b"\n", len(MAGIC_1))])
FRAME_POOL = FRAME[FRAME.index(b"\n", len(MAGIC_1)) + 1 :]
STRANGE: st.SearchStrategy[object] = st.one_of(
    st.integers(-(1 << 70), 1 << 70),
    st.sampled_from((0, -1, 1.5, float("inf"), "", "x", "0x1p9999", "-1", str(1 << 70), None, [])),
)


@settings(max_examples=300, deadline=None)
@given(value=STRANGE, data=st.data())
def test_a_frame_of_any_values_is_read_or_refused(value: object, data: st.DataObject) -> None:
    header = json.loads(json.dumps(FRAME_HEADER))
    name = data.draw(st.sampled_from(sorted(header)))
    if name == "rounds" and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(header["rounds"]) - 1))
        header["rounds"][place][data.draw(st.integers(0, 12))] = value
    elif name == "seeds" and data.draw(st.booleans()):
        header["seeds"][0] = str(value)
    else:
        header[name] = value
    line = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    bent = MAGIC_1 + line + b"\n" + FRAME_POOL
    with contextlib.suppress(CaptureError):
        assert encode_capture(decode_capture(bent)) == bent


@settings(max_examples=300, deadline=None)
@given(tail=st.binary(max_size=300))
def test_any_bytes_give_a_capture_or_the_parsers_own_error(tail: bytes) -> None:
    _only_its_own_error(tail)
    _only_its_own_error(MAGIC + tail)
    _only_its_own_error(MAGIC_4 + tail)
    _only_its_own_error(GOOD[: len(MAGIC) + 40] + tail)


@pytest.mark.parametrize("good", [GOOD, GOOD_4], ids=["one first row", "two first rows"])
def test_every_flipped_byte_and_every_cut_is_a_capture_or_an_error(good: bytes) -> None:
    for at in range(len(good)):
        for mask in (0x01, 0x80, 0xFF):
            data = bytearray(good)
            data[at] ^= mask
            _only_its_own_error(bytes(data))
    for end in range(len(good)):
        with pytest.raises(CaptureError):
            decode_evidence(good[:end])
    with pytest.raises(CaptureError, match="behind"):
        decode_evidence(good + b"\x00")

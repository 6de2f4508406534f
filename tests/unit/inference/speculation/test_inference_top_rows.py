"""A head of a large row bears out what decided, and another one is found."""

from dataclasses import replace

import numpy as np
import pytest

from inference.codec.alphabet import Alphabet
from inference.engine.flight import Flight, Step, softmax
from inference.errors import CaptureError
from inference.speculation.capture import decode_capture, encode_capture
from inference.speculation.condense import condense
from inference.speculation.evidence import Evidence
from inference.speculation.evidence_bytes import decode_evidence, encode_evidence
from inference.speculation.rounds import Capture, DrafterKind
from inference.speculation.top_rows import K, check_heads, read_top, top_bytes

VOCABULARY = 64
ALPHABET = Alphabet(start=0, ids=(3, 4, 5, 6, 7), slots=((0, 2), (2, 4), (4, 5)))
SEED = 77


def capture() -> Capture:
    """One plain trajectory of six tokens, with heads where there is a choice."""
    flight = Flight(
        key="0",
        index=0,
        seed=SEED,
        spec_k=0,
        n_tokens=6,
        greedy=False,
        table_base=0,
    )
    logits = np.random.default_rng(1).normal(size=(6, VOCABULARY)).astype(np.float32)
    for full in logits:
        step = Step([flight], [0], ALPHABET)
        assert step.masks is not None
        cut = full[ALPHABET.columns][None]
        legal = softmax(np.where(step.masks, cut, -np.inf).astype(np.float32))
        p = softmax(full[None])[0]
        best = np.argsort(-p, kind="stable")[:K]
        share = float(p[ALPHABET.ids[step.masks[0]]].sum())
        head = top_bytes(best.tolist(), p[best].tolist(), share)
        heads = [head if step.masks[0].sum() > 1 else b""]
        step.close(cut, [step.sample(legal).tolist()], [], heads=heads)
    return Capture(
        drafter=DrafterKind.NONE,
        spec_k=0,
        bin_start=0,
        n_bins=5,
        greedy=False,
        table_digest="",
        seeds=(SEED,),
        rounds=tuple(flight.rounds),
    )


def evidence() -> Evidence:
    return condense(capture())


def test_heads_pass_through_every_byte_form() -> None:
    made = capture()
    assert decode_capture(encode_capture(made)) == made
    kept = encode_evidence(condense(made))
    assert kept.startswith(b"countersign.capture/3\n")
    assert decode_evidence(kept) == condense(made)


def test_a_capture_without_heads_keeps_its_bytes() -> None:
    plain = replace(evidence(), rounds=tuple(replace(r, tops=()) for r in evidence().rounds))
    assert encode_evidence(plain).startswith(b"countersign.capture/2\n")
    assert b'"tops"' not in encode_capture(
        replace(capture(), rounds=tuple(replace(r, tops=()) for r in capture().rounds))
    )


def test_what_decided_follows_from_the_heads() -> None:
    found = check_heads(evidence(), ALPHABET.id_of)
    assert found.faults == ()
    assert found.rows == 4
    assert 0 < found.borne_out <= 4
    assert 0.0 < found.legal_mean < 1.0


def test_another_head_is_found() -> None:
    made = evidence()
    index = next(i for i, r in enumerate(made.rounds) if r.tops[0])
    r = made.rounds[index]
    top = read_top(r.tops[0])
    forged = top_bytes((ALPHABET.id_of(r.token), *top.ids[1:]), top.p, 1.0)
    rounds = list(made.rounds)
    rounds[index] = replace(r, tops=(forged,))
    assert check_heads(replace(made, rounds=tuple(rounds)), ALPHABET.id_of).faults


@pytest.mark.parametrize("cut", [1, 30, 170])
def test_cut_or_nested_bytes_are_refused(cut: int) -> None:
    kept = encode_evidence(evidence())
    with pytest.raises(CaptureError):
        decode_evidence(kept[:-cut])
    with pytest.raises(CaptureError):
        decode_evidence(kept + b"\x00")


def test_a_head_is_probabilities() -> None:
    with pytest.raises(CaptureError, match="no probability"):
        read_top(top_bytes(range(K), [2.0] * K, 0.5))
    with pytest.raises(CaptureError, match="bytes"):
        read_top(b"")

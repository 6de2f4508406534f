"""A record of a round recomputes from its own numbers, and any change to it shows."""

from dataclasses import replace

import pytest

from inference.errors import CaptureError
from inference.speculation.capture import MAGIC, decode_capture, encode_capture
from inference.speculation.rounds import (
    Capture,
    DraftRound,
    PlainReason,
    QTable,
    RoundOutcome,
    accepts,
    disagreements,
    residual,
    round_faults,
    row_bytes,
    row_values,
)
from inference.speculation.totals import paths, totals
from tests.doubles.reference_sampler import (
    ReferenceSampler,
    draft_model,
    hopeless_row,
    make_table,
    request_of,
    target_model,
)

BINS = 32
TABLE = make_table([draft_model(BINS)(token) for token in range(5)])


def _network() -> Capture:
    sampler = ReferenceSampler(target=target_model(BINS), draft=draft_model(BINS))
    return sampler.capture(request_of(20))


def _table() -> Capture:
    return ReferenceSampler(target=target_model(BINS), table=TABLE).capture(request_of(20))


@pytest.mark.parametrize(
    ("capture", "table"), [(_network(), None), (_table(), TABLE)], ids=["network", "table"]
)
def test_every_position_recomputes(capture: Capture, table: QTable | None) -> None:
    counts = totals(capture)
    assert disagreements(capture, table) == ()
    assert counts.positions > 100
    assert 0 < counts.accepted < counts.positions
    outcomes = {r.outcome for r in capture.rounds}
    assert outcomes == {RoundOutcome.BONUS, RoundOutcome.RECOVERED, RoundOutcome.PLAIN}
    assert all(len(path) == 10 for path in paths(capture))


def _full_round(capture: Capture) -> DraftRound:
    return next(
        r for r in capture.rounds if r.outcome is RoundOutcome.RECOVERED and r.accepted >= 1
    )


def _bumped(row: bytes, bin_: int) -> bytes:
    values = list(row_values(row))
    values[bin_] += 0.3
    return row_bytes(tuple(values))


def _changes(r: DraftRound) -> dict[str, DraftRound]:
    other = 128 + (r.drafts[0] - 128 + 1) % BINS
    return {
        "a draft": replace(r, drafts=(other, *r.drafts[1:])),
        "a draw": replace(r, draws=(r.draws[0] / 2, *r.draws[1:])),
        "the token": replace(r, token=128 + (r.token - 128 + 1) % BINS),
        "the accepted count": replace(
            r,
            accepted=r.accepted - 1,
            p_rows=r.p_rows[:-1],
            q_rows=r.q_rows[:-1],
            draws=r.draws[:-1],
        ),
        "the draft's row": replace(
            r, q_rows=(_bumped(r.q_rows[0], (r.drafts[0] - 128 + 1) % BINS), *r.q_rows[1:])
        ),
        "the target's deciding row": replace(
            r, p_rows=(*r.p_rows[:-1], _bumped(r.p_rows[-1], r.drafts[r.accepted] - 128))
        ),
        "the step": replace(r, step=r.step + 1),
    }


@pytest.mark.parametrize("what", sorted(_changes(_full_round(_network()))))
def test_a_changed_field_no_longer_recomputes(what: str) -> None:
    capture = _network()
    changed = _changes(_full_round(capture))[what]
    assert round_faults(_full_round(capture), capture) == ()
    assert round_faults(changed, capture)


def test_a_changed_seed_no_longer_recomputes() -> None:
    capture = _network()
    assert disagreements(replace(capture, seeds=tuple(s + 1 for s in capture.seeds)))


def test_a_table_capture_needs_the_recorded_table() -> None:
    other = make_table([hopeless_row(BINS)] * 5)
    for table in (None, other):
        with pytest.raises(CaptureError, match="table"):
            disagreements(_table(), table)


def test_drafts_that_keep_failing_end_on_the_plain_path_and_say_so() -> None:
    table = make_table([hopeless_row(BINS)])
    capture = ReferenceSampler(target=target_model(BINS), table=table).capture(request_of(6, 12))
    counts = totals(capture)
    assert counts.fallback_trajectories
    for index in counts.fallback_trajectories:
        reasons = [r.plain_reason for r in capture.rounds if r.trajectory == index]
        assert PlainReason.DRAFTS_REJECTED in reasons
    assert disagreements(capture, table) == ()


@pytest.mark.parametrize("capture", [_network(), _table()], ids=["network", "table"])
def test_bytes_and_back_is_the_same_capture(capture: Capture) -> None:
    data = encode_capture(capture)
    assert decode_capture(data) == capture
    assert encode_capture(decode_capture(data)) == data


def _bad_bytes() -> dict[str, bytes]:
    good = encode_capture(_network())
    nan = bytearray(good)
    nan[-4:] = b"\x00\x00\xc0\x7f"
    above_one = bytearray(good)
    above_one[-4:] = b"\x00\x00\x80\x40"
    return {
        "empty": b"",
        "only magic": MAGIC,
        "other version": good.replace(b"capture/1", b"capture/2", 1),
        "cut short": good[:-1],
        "longer": good + b"\x00",
        "NaN": bytes(nan),
        "above one": bytes(above_one),
        "spaces in the header": good.replace(b'"spec_k":4', b'"spec_k": 4', 1),
        "unknown drafter": good.replace(b'"network"', b'"network2"', 1),
        "a float for a count": good.replace(b'"spec_k":4', b'"spec_k":4.0', 1),
        "endless": good.replace(b'"n_bins":32', b'"n_bins":1e999', 1),
        "deep": MAGIC + b"[" * 100_000 + b"\n",
        "not JSON": MAGIC + b"{\n",
        "no object": MAGIC + b"7\n",
    }


@pytest.mark.parametrize("name", sorted(_bad_bytes()))
def test_bytes_that_are_no_capture_are_refused(name: str) -> None:
    with pytest.raises(CaptureError):
        decode_capture(_bad_bytes()[name])


def test_every_cut_of_a_capture_is_refused() -> None:
    good = encode_capture(replace(_network(), rounds=_network().rounds[:3]))
    for end in range(0, len(good), 7):
        with pytest.raises(CaptureError):
            decode_capture(good[:end])


def test_paths_refuse_a_gap_and_an_unknown_trajectory() -> None:
    capture = _network()
    gap = replace(capture, rounds=capture.rounds[1:])
    stranger = replace(capture, seeds=capture.seeds[:1])
    for bad in (gap, stranger):
        with pytest.raises(CaptureError, match="out of order"):
            paths(bad)


@pytest.mark.parametrize(
    "change",
    [
        {"accepted": -1},
        {"accepted": 5},
        {"draws": ()},
        {"p_rows": ()},
        {"outcome": RoundOutcome.BONUS},
        {"outcome": RoundOutcome.PLAIN},
        {"plain_reason": PlainReason.FIRST_TOKEN},
        {"truncated": 9},
        {"step": -1},
        {"q_rows": ()},
        {"q_states": (1,)},
    ],
    ids=str,
)
def test_a_round_that_does_not_fit_together_cannot_be_made(change: dict[str, object]) -> None:
    with pytest.raises(CaptureError, match="does not fit together"):
        replace(_full_round(_network()), **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("p", "q", "u", "stands"),
    [
        (0.2, 0.1, 0.999, True),
        (0.1, 0.2, 0.5, True),
        (0.1, 0.2, 0.5000001, False),
        (0.0, 0.2, 1e-7, False),
        (0.2, 0.0, 0.1, False),
        (3.4e38, 1e-38, 0.9, True),
    ],
)
def test_accept_rule(p: float, q: float, u: float, *, stands: bool) -> None:
    assert accepts(p, q, u) is stands


def test_residual_without_mass_is_the_target() -> None:
    row = (0.25, 0.75)
    assert residual(row, row) == row
    assert residual((0.25, 0.75), (0.5, 0.5)) == (0.0, 0.25)

"""Small figures that only a whole run showed: a replayed time, the free table's accepted drafts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest
from typing_extensions import override

from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.evidence.replay.orders.order import _time_us
from gateway.launch.paper import acceptance_rate as accepted
from gateway.launch.paper.acceptance_rate import TableFigure
from inference.codec.codec import ReturnCodec
from inference.speculation.evidence import Evidence
from inference.speculation.rounds import DrafterKind
from tests.unit.inference.speculation.test_inference_round_parts import (
    KEPT,
    KEPT_PLAIN,
    NETWORK,
    TABLE,
)


@pytest.mark.parametrize(
    ("text", "moment", "micros"),
    [
        ("19700101-00:00:00.000000", datetime(1970, 1, 1, tzinfo=UTC), 0),
        ("20180102-15:00:01.000002", datetime(2018, 1, 2, 15, 0, 1, tzinfo=UTC), 2),
        ("20180102-15:00:01", datetime(2018, 1, 2, 15, 0, 1, tzinfo=UTC), 0),
        ("20180102-15:00:01.020", datetime(2018, 1, 2, 15, 0, 1, tzinfo=UTC), 20_000),
        ("20240229-23:59:59.999999", datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC), 999_999),
    ],
)
def test_a_time_on_record_is_read_to_the_microsecond(
    text: str, moment: datetime, micros: int
) -> None:
    assert _time_us(text) == int(moment.timestamp()) * 1_000_000 + micros


@pytest.mark.parametrize(
    "text",
    ["", "20180102-15:00:01.0001", "2018-01-02 15:00:01.000002", "20180102-15:00:01.000002Z"],
)
def test_what_is_no_time_is_a_difference(text: str) -> None:
    with pytest.raises(ReplayDiffersError, match="no UTCTimestamp"):
        _time_us(text)


class Codec(ReturnCodec):
    """States by the last token, of the small table: an even one the first row."""

    @override
    def table_base(self, token_ids: Sequence[int]) -> int:
        return 0 * len(token_ids)

    @override
    def table_step(self, base: int, last_bin_token: int) -> int:
        return base + last_bin_token % 2


class Blobs:
    """A reader that has one capture under each digest but `gone`."""

    def blob(self, digest: str) -> bytes | None:
        return None if digest == "gone" else b"capture"


def test_the_tables_figure_is_worked_out_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # trajectory 0: one plain token 10, then drafts 10, 11 of which the first stands, then 12
    first = replace(KEPT_PLAIN, step=0, token=10)
    second = replace(KEPT, step=1, p=(0.5, 0.25), token_p=0.125)
    capture = replace(
        NETWORK, spec_k=2, seeds=(1,), row_digests=(bytes(32),), rounds=(first, second)
    )
    monkeypatch.setattr(accepted, "decode_evidence", lambda _data: capture)
    monkeypatch.setattr(accepted, "LOOK_AHEAD", 2)
    figure = TableFigure(table=TABLE, codec=Codec())
    captured = [("a", (1,)), ("gone", (1,))]
    # after 10 (even): row 0 gives 10 a half, and the target held a half: 1; then, after 10 again,
    # 12 a quarter where the target held an eighth: 1. Both in a row: 1 + 1 * 1
    found = figure.measured(captured, cast("LedgerReader", Blobs()))
    assert (found.mean_accepted, found.table_accepted) == (1.0, 2.0)


def test_without_a_capture_there_is_no_figure() -> None:
    figure = TableFigure(table=TABLE, codec=Codec())
    found = figure.measured([("gone", (1,))], cast("LedgerReader", Blobs()))
    assert (found.mean_accepted, found.table_accepted) == (None, None)


def test_rates_are_at_most_one_and_nought_where_the_target_had_nothing() -> None:
    first = replace(KEPT_PLAIN, step=0, token=11)
    second = replace(KEPT, step=1, p=(0.75, 0.25), token_p=0.0)
    capture: Evidence = replace(
        NETWORK, seeds=(1,), row_digests=(bytes(32),), rounds=(first, second)
    )
    assert capture.drafter is DrafterKind.NETWORK
    figure = TableFigure(table=TABLE, codec=Codec())
    # after 11 (odd): row 1 gives 10 nothing; after 10: row 0 gives 12 a quarter, the target nought
    assert figure._rates(capture, 0) == [[0.0, 0.0]]  # noqa: SLF001 - a sum hides it
    half = replace(
        capture, rounds=(replace(first, token=10), replace(second, p=(1.0, 0.25), token_p=0.5))
    )
    assert figure._rates(half, 0) == [[0.5, 0.5]]  # noqa: SLF001 - a sum hides it

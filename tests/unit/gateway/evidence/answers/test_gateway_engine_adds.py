"""The account against its GJR twin: columns that sum to the books, and what counts in which."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from typing_extensions import override

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.officers.stops import begin_stop, resume
from gateway.evidence.answers.engine_adds import (
    EngineAdds,
    adds_text,
    engine_adds,
    interval,
    print_adds,
)
from gateway.walk.projections.book import Twin
from inference.engine.port import SampleRequest, Samples
from inference.errors import EngineError
from inference.speculation.rounds import row_bytes, row_values
from risk.forms.money import grouped_money
from risk.state.state import Stop
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk
from tests.doubles.row_engine import RowEngine
from tests.doubles.scaled_desk import scaled_desk
from tests.doubles.small_desk import EQUITY_MINOR, RUN

DOLLAR = 100
MARKET_DAYS = 65
"""Enough days for an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restless(RowEngine):
    """A target that sees more volatility than GJR does, so it wants less."""

    share: float = 0.4

    @override
    def _target(self, token_ids: tuple[int, ...]) -> bytes:
        values = row_values(RowEngine._target(self, token_ids))  # noqa: SLF001 - slots: no super()
        rest = self.share / len(values)
        return row_bytes(tuple((1.0 - self.share) * value + rest for value in values))


class TheTable(RowEngine):
    """The table as the target: the same law, drawn by other numbers."""

    @override
    def _target(self, token_ids: tuple[int, ...]) -> bytes:
        return self.table.row(self.codec.table_state(token_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresight(RowEngine):
    """A planted signal: the target is restless before a fall."""

    falls: frozenset[int]
    """Numbers of the forecasts before a fall; each session of an instrument has one."""
    now: list[bool]
    asked: dict[str, int] = field(default_factory=dict)

    @override
    def sample(self, request: SampleRequest) -> Samples:
        self.now[:] = [number_of(request, self.asked) in self.falls]
        return RowEngine.sample(self, request)

    @override
    def _target(self, token_ids: tuple[int, ...]) -> bytes:
        values = row_values(self.table.row(self.codec.table_state(token_ids)))
        if not self.now[0]:
            return row_bytes(values)
        return row_bytes(tuple(0.2 * value + 0.8 / len(values) for value in values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Troubled(Restless):
    """A restless target that dies at some forecasts, and acts of persons before others."""

    acts: dict[int, Callable[[], object]]
    fails: frozenset[int]
    asked: dict[str, int] = field(default_factory=dict)

    @override
    def sample(self, request: SampleRequest) -> Samples:
        number = number_of(request, self.asked)
        self.acts.pop(number, lambda: None)()
        if number in self.fails:
            raise EngineError("the engine died")
        return RowEngine.sample(self, request)


def number_of(request: SampleRequest, asked: dict[str, int]) -> int:
    """Return the number of a forecast among those that were asked for; its news twin has it too."""
    return asked.setdefault(request.request_id.removesuffix(".news"), len(asked))


def of_target(desk: MemoryDesk, engine: type[RowEngine], **more: Any) -> MemoryDesk:  # noqa: ANN401
    """Give a desk this target."""
    own = desk.small.desk.own
    target = engine(table=TABLE, codec=own.tools.codec, **more)
    desk.small.desk.own = replace(own, tools=replace(own.tools, engine=target))
    return desk


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> MemoryDesk:
    """A log with approved, refused, untraded, partially traded and failed decisions."""
    desk = scaled_desk(tmp_path_factory.mktemp("adds"))
    acts = {
        2: lambda: begin_stop(desk.small.desk.own, "ada", Stop.PAUSE, "a test"),
        6: lambda: resume(desk.small.desk.own, "ada", None, "over", {}),
    }
    of_target(desk, Troubled, acts=acts, fails=frozenset({13, 16}))
    desk.small.broker.deck = ("fill", "reject", "partial")
    desk.small.play(30)
    return desk


def found_in(desk: MemoryDesk, account: str = "") -> EngineAdds:
    return engine_adds(cast("LedgerReader", desk.log), account)


def books_minor(desk: MemoryDesk) -> tuple[int, int]:
    """Return what the section's own books of the account and of its GJR twin made."""
    section = desk.small.desk.own.section
    return (
        section.book(RUN).equity_minor - EQUITY_MINOR,
        section.twin_book(Twin.GJR, RUN).equity_minor - EQUITY_MINOR,
    )


def test_the_columns_sum_to_the_difference_of_the_books(played: MemoryDesk) -> None:
    document = found_in(played).document()
    assert set(document["ends"]) >= {
        "filled",
        "no_forecast",
        "no_trade",
        "rejected",
        "rejected_by_broker",
    }
    account, gjr = books_minor(played)
    assert (document["made_minor"]["account"], document["made_minor"]["gjr"]) == (account, gjr)
    assert document["difference_minor"] == account - gjr
    columns = {one["name"]: one["pnl_minor"] for one in document["columns"]}
    assert list(columns) == ["scale", "words", "execution"]
    assert abs(sum(columns.values()) - (account - gjr)) < DOLLAR
    assert all(columns.values())


def test_scale_is_the_table_twin_less_the_gjr_twin(played: MemoryDesk) -> None:
    section = played.small.desk.own.section
    table = section.twin_book(Twin.PLACEBO, RUN).equity_minor - EQUITY_MINOR
    found = found_in(played)
    assert found.columns.parts.scale == table - books_minor(played)[1]


def test_differing_decisions_name_their_column(played: MemoryDesk) -> None:
    band = played.small.desk.own.section.policy.sizing.no_trade_band.value
    found = list(found_in(played).differing.values())
    assert found
    for one in found:
        assert abs(one.engine_bp - one.gjr_bp) >= band
        assert ("words" in one.of) == (abs(one.engine_bp - one.table_bp) >= band)
        assert ("scale" in one.of) == (abs(one.table_bp - one.gjr_bp) >= band)


def test_an_untraded_order_leaves_the_gap_between_target_and_table(tmp_path: Path) -> None:
    """From an empty book, with every order rejected, words stays what unwanted trades made it."""
    desk = of_target(scaled_desk(tmp_path), Restless)
    desk.small.broker.deck = ("reject",)
    desk.small.play(12)
    found = found_in(desk)
    assert "filled" not in found.ends.values()
    assert found.document()["made_minor"]["account"] == 0
    simulated, table = found.columns.simulated.book, found.columns.twins[Twin.PLACEBO].book
    assert table.positions
    assert [(p.instrument, p.lots) for p in simulated.positions] == [
        (p.instrument, p.lots) for p in table.positions
    ]
    assert found.columns.parts.words == 0
    assert found.columns.parts.execution == -found.document()["made_minor"]["table"]


def test_with_the_target_replaced_by_the_table_the_interval_of_words_contains_zero(
    tmp_path: Path,
) -> None:
    """F153, null: the same law drawn by other numbers."""
    desk = of_target(scaled_desk(tmp_path), TheTable)
    desk.small.play(2 * MARKET_DAYS)
    low, high = found_in(desk).intervals_minor["words"]
    assert low <= 0 <= high


def test_with_a_planted_signal_the_interval_of_words_excludes_zero(tmp_path: Path) -> None:
    """F153, planted: a target that knows the day's fall."""
    desk = scaled_desk(tmp_path)
    falls = frozenset(
        one.index
        for one in desk.small.playback.sessions(2 * MARKET_DAYS)
        if one.close_ticks < one.bid_ticks
    )
    of_target(desk, Foresight, falls=falls, now=[False])
    desk.small.play(2 * MARKET_DAYS)
    low, _ = found_in(desk).intervals_minor["words"]
    assert low > 0


def test_the_answer_says_that_there_are_too_few_days(played: MemoryDesk) -> None:
    document = found_in(played).document()
    assert document["interval_minor"] is None
    assert document["few"].startswith(f"too few days for an interval: {document['days']};")
    text = print_adds(cast("LedgerReader", played.log), RUN, as_json=False)
    assert text.splitlines()[0] == document["title"]
    assert "too few days for an interval" in text
    assert "no evidence of skill" in text
    assert document["orders"][0]["decision_id"] in text
    again: dict[str, Any] = json.loads(
        print_adds(cast("LedgerReader", played.log), RUN, as_json=True)
    )
    assert again == document
    sealed = {one.stream: one.body["outcome"] for one in played.log.of_kind(Kind.DECISION_SEALED)}
    fates = [sealed.get(f"decision/{one['decision_id']}", "open") for one in document["orders"]]
    assert [one["fate"] for one in document["orders"]] == fates


def test_the_blocks_are_the_same_for_everybody_and_cover_the_truth() -> None:
    days = [(-1) ** day * (day % 7) * 100 + 20 for day in range(250)]
    low, high = interval(days)
    assert (low, high) == interval(days)
    assert low < sum(days) < high
    assert interval([5] * 100) == (500, 500)


def test_decisions_without_a_twin_are_counted_with_the_reason(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path, live=False)
    desk.small.play(2)
    found = found_in(desk)
    assert (found.compared, dict(found.without)) == (0, {"no_fitted_scale": 2})
    text = print_adds(cast("LedgerReader", desk.log), "", as_json=False)
    assert "sized by a forecast beside a GJR twin" in text
    assert "2 no_fitted_scale" in text


def test_an_agents_wish_and_another_account_are_not_compared(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    desk.ask()
    found = found_in(desk, f"{RUN}.agent")
    assert (found.compared, dict(found.without)) == (0, {"asked_for_by_an_agent": 1})
    assert "has a GJR twin" not in adds_text(found), "it may have one: it moves no agent's order"
    assert "1 asked_for_by_an_agent" in adds_text(found)
    assert found_in(desk, "nobody").compared == 0


def test_the_text_shows_money_in_the_decimals_of_the_book(played: MemoryDesk) -> None:
    found = found_in(played)
    made = found.document()["made_minor"]["account"]
    assert f"the account made {grouped_money(made, 2)}," in adds_text(found)
    (started,) = played.log.records(kinds=(Kind.RUN_STARTED,))
    in_yen = started.payload.replace(b'"USD"', b'"JPY"')
    found.take(msgspec.structs.replace(started, payload=in_yen))
    assert f"the account made {made:,}," in adds_text(found)

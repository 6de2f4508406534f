"""A text model that leaves the grammar makes no forecast, and the record says why."""

import re
from collections.abc import Sequence
from dataclasses import replace
from math import isinf
from pathlib import Path
from typing import cast

import pytest
from typing_extensions import override

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.errors import PairMissingError
from gateway.evidence.replay.pairs import Pairs
from gateway.surfaces.web.views.decision import decision_view
from gateway.walk.projections.forecasts import decision_records
from inference.codec.codec import ReturnCodec
from inference.codec.prompt import Prompt
from inference.codec.text.codec import TextCodec, normal_table
from inference.codec.text.tokenizer import TextTokenizer
from inference.forecast.placebo import TableModel
from inference.speculation.rounds import QTable
from tests.doubles.memory_desk import MemoryDesk, memory_desk
from tests.doubles.programs import PAIR_V1
from tests.doubles.row_engine import RowEngine
from tests.doubles.text_folder import settings, tiny_tokenizer


def text_desk(folder: Path) -> MemoryDesk:
    """A desk with a text codec; its engine knows no grammar, and answers with signs only."""
    codec = TextCodec(TextTokenizer(tiny_tokenizer().to_str().encode(), settings().encode()))
    table = QTable(digest="e" * 64, n_bins=codec.n_bins, rows=normal_table(codec.grammar))
    desk = memory_desk(folder)
    own = desk.small.desk.own
    tools = replace(
        own.tools,
        codec=codec,
        table=table,
        placebo=TableModel(table, codec),
        engine=RowEngine(table=table, codec=codec),
    )
    desk.small.desk.own = replace(own, tools=tools)
    return desk


def test_a_malformed_answer_is_no_forecast(tmp_path: Path) -> None:
    desk = text_desk(tmp_path)
    own = desk.small.desk.own
    answer = desk.ask()
    assert answer.result == "no_forecast"
    (asked,) = desk.log.of_kind(Kind.FORECAST_REQUESTED)
    assert asked.body["prompt"]["text"].endswith('{"returns":["')
    assert asked.body["n_tokens"] == own.tools.codec.tokens_for(own.tools.plan.horizon)
    (failed,) = desk.log.of_kind(Kind.FORECAST_FAILED)
    assert failed.body["reason"] == "answer_malformed"
    assert desk.log.of_kind(Kind.ROUNDS_CAPTURED)
    assert not desk.log.of_kind(Kind.FORECAST_MADE)


class WildCodec(ReturnCodec):
    """Every path ends far from where it began, as a text model that knows no sigma can write."""

    def __init__(self, end: float) -> None:
        super().__init__()
        self.digest = "f" * 64  # no codec of numbers: its paths are decoded one by one
        self._end = end

    @override
    def decode_path(self, prompt: Prompt, tokens: Sequence[int], key: bytes) -> tuple[float, ...]:
        if isinf(self._end):
            raise OverflowError("math range error")
        own = super().decode_path(prompt, tokens, key)
        return (*own[:-1], self._end)


@pytest.mark.parametrize("end", [26.0, -26.0, 1e12, float("inf")])
def test_an_extreme_path_is_no_forecast_with_a_reason(tmp_path: Path, end: float) -> None:
    """Such a path ended the request in a fault of the gateway: its price fits no 64 bits."""
    desk = memory_desk(tmp_path)
    own, codec = desk.small.desk.own, WildCodec(end)
    placebo = TableModel(own.tools.table, codec)
    desk.small.desk.own = replace(own, tools=replace(own.tools, codec=codec, placebo=placebo))
    assert desk.ask().result == "no_forecast"
    (failed,) = desk.log.of_kind(Kind.FORECAST_FAILED)
    assert failed.body["reason"] == "forecast_invalid"
    said = "leaves the numbers" if isinf(end) else r"is extreme: a log return of .* by bar \d+"
    assert re.search(said, failed.body["detail"])
    where = r"look at its bars: the largest move is from close \d+ to \d+ ticks, at 20\d\d-"
    assert re.search(where, failed.body["detail"])
    assert desk.log.of_kind(Kind.DECISION_SEALED)


def test_without_its_pair_the_words_are_not_judged(tmp_path: Path) -> None:
    """A pair for returns reads them as another request, which would look like a forgery."""
    desk = text_desk(tmp_path)
    own = decision_records(cast("LedgerReader", desk.log), desk.ask().decision_id)
    records = [one for one in own if one.kind is not Kind.ROUNDS_CAPTURED]  # no table drafted
    with pytest.raises(PairMissingError, match=r"text pair .*: set COUNTERSIGN_ENGINE__MODEL"):
        Pairs(PAIR_V1).of(records)


def test_the_page_shows_the_words_of_the_prompt_and_the_characters_of_the_answer(
    tmp_path: Path,
) -> None:
    desk = text_desk(tmp_path)
    answer = desk.ask()
    records = tuple(desk.log.records(stream=f"decision/{answer.decision_id}"))
    tools = desk.small.desk.own.tools
    view = decision_view(
        answer.decision_id, records, cast("LedgerReader", desk.log), tools.table, 0
    )
    assert view.prompt.child("prompt").text("text").endswith('{"returns":["')
    assert view.tokens is not None
    chips = {chip.text for path in view.tokens.paths for r in path.rounds for chip in r.drafts}
    assert chips == {"+", "−"}

"""A text model that leaves the grammar makes no forecast, and the record says why."""

from dataclasses import replace
from pathlib import Path

from audit.records.kinds import Kind
from inference.codec.text.codec import TextCodec, normal_table
from inference.codec.text.tokenizer import TextTokenizer
from inference.forecast.placebo import TableModel
from inference.speculation.rounds import QTable
from tests.doubles.memory_desk import memory_desk
from tests.doubles.row_engine import RowEngine
from tests.doubles.text_folder import settings, tiny_tokenizer


def test_a_malformed_answer_is_no_forecast(tmp_path: Path) -> None:
    """The double knows no grammar: it answers with signs only."""
    codec = TextCodec(TextTokenizer(tiny_tokenizer().to_str().encode(), settings().encode()))
    table = QTable(digest="e" * 64, n_bins=codec.n_bins, rows=normal_table(codec.grammar))
    desk = memory_desk(tmp_path)
    own = desk.small.desk.own
    tools = replace(
        own.tools,
        codec=codec,
        table=table,
        placebo=TableModel(table, codec),
        engine=RowEngine(table=table, codec=codec),
    )
    desk.small.desk.own = replace(own, tools=tools)
    answer = desk.ask()
    assert answer.result == "no_forecast"
    (asked,) = desk.log.of_kind(Kind.FORECAST_REQUESTED)
    assert asked.body["prompt"]["text"].endswith('{"returns":["')
    assert asked.body["n_tokens"] == codec.tokens_for(own.tools.plan.horizon)
    (failed,) = desk.log.of_kind(Kind.FORECAST_FAILED)
    assert failed.body["reason"] == "answer_malformed"
    assert desk.log.of_kind(Kind.ROUNDS_CAPTURED)
    assert not desk.log.of_kind(Kind.FORECAST_MADE)

"""A desk in memory whose codec has a fitted scale, as the shipped pair's: it has GJR twins."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from gateway.evidence.replay.pairs import SHIPPED
from gateway.feeds.scales import Scales
from gateway.feeds.sessions import Playback, load_playback
from inference.codec.scaled import ScaledCodec
from inference.forecast.placebo import TableModel
from inference.weights.registry import ModelPair, load_pair, load_table
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk
from tests.doubles.row_engine import RowEngine


@cache
def _playback() -> Playback:
    return replace(load_playback(), scales=Scales())


def silent_desk(folder: Path, sessions: int = 0) -> MemoryDesk:
    """Put a desk of the shipped pair's rows together, of whose news nothing is heard."""
    desk = scaled_desk(folder, pair=load_pair(SHIPPED / "pair_v4"))
    desk.small = replace(desk.small, playback=replace(_playback(), events=()))
    desk.small.play(sessions)
    return desk


def with_engine(desk: MemoryDesk, engine: RowEngine) -> None:
    """Let another engine serve."""
    own = desk.small.desk.own
    desk.small.desk.own = replace(own, tools=replace(own.tools, engine=engine))


def scaled_desk(folder: Path, sessions: int = 0, pair: ModelPair | None = None) -> MemoryDesk:
    """Put a desk on codec 2 together and play its first decisions.

    Its rows are those of `pair`, which is then its model; they are the tests' own without.
    """
    desk, codec = memory_desk(folder, live=False), ScaledCodec()
    own, table = desk.small.desk.own, TABLE if pair is None else load_table(pair)
    tools = replace(
        own.tools,
        model=own.tools.model if pair is None else pair.manifest_digest,
        table=table,
        codec=codec,
        engine=RowEngine(table=table, codec=codec),
        placebo=TableModel(table, codec),
    )
    desk.small.desk.own = replace(own, tools=tools)
    desk.small = replace(desk.small, playback=_playback())
    desk.small.play(sessions)
    return desk

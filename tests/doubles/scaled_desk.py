"""A desk in memory whose codec has a fitted scale, as the shipped pair's: it has GJR twins."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from gateway.feeds.scales import Scales
from gateway.feeds.sessions import Playback, load_playback
from inference.codec.scaled import ScaledCodec
from inference.forecast.placebo import TableModel
from tests.doubles.memory_desk import TABLE, MemoryDesk, memory_desk
from tests.doubles.row_engine import RowEngine


@cache
def _playback() -> Playback:
    return replace(load_playback(), scales=Scales())


def scaled_desk(folder: Path, sessions: int = 0) -> MemoryDesk:
    """Put a desk on codec 2 together and play its first decisions."""
    desk, codec = memory_desk(folder, live=False), ScaledCodec()
    own = desk.small.desk.own
    tools = replace(
        own.tools,
        codec=codec,
        engine=RowEngine(table=TABLE, codec=codec),
        placebo=TableModel(TABLE, codec),
    )
    desk.small.desk.own = replace(own, tools=tools)
    desk.small = replace(desk.small, playback=_playback())
    desk.small.play(sessions)
    return desk

"""A process that follows one file of bars into the market's tables, to be killed.

It says each effect before and after it has it: `python -m tests.doubles.file_reader DSN FILE`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway.feeds.files.following import Followed
from gateway.feeds.files.sources import plain_source
from gateway.feeds.files.state import FileState
from gateway.feeds.live.items import BarItem
from gateway.feeds.live.kept import KeptTables
from gateway.feeds.live.series import Item
from gateway.feeds.news.posted import EventItem
from tests.doubles.small_desk import INSTRUMENTS


def say(word: str) -> None:
    """Say what is done now."""
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


class SpeakingDoor:
    """Keeps what it gets, and says so."""

    def __init__(self, table: KeptTables) -> None:
        self._table = table

    def take(self, feed: str, items: Sequence[Item | EventItem]) -> dict[str, Any]:
        say(f"take {feed}")
        self._table.keep([one for one in items if isinstance(one, BarItem)])
        say("taken")
        return {}

    def tell_file(self, state: FileState) -> None:
        say(state.condition)

    def position(self, name: str) -> dict[str, Any] | None:
        return self._table.position(name)

    def keep_position(self, name: str, document: dict[str, Any]) -> None:
        say("keep")
        self._table.keep_position(name, document)
        say("kept")


def main(dsn: str, file: str) -> None:
    """Follow a file until somebody kills this process."""
    one = Followed(
        source=plain_source("vendor", "bars", Path(file)),
        door=SpeakingDoor(KeptTables(dsn)),
        instruments=INSTRUMENTS,
        monotonic_us=lambda: 0,
        state=FileState(source="vendor", feed="bars"),
    )
    while True:
        one.round()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The installation that a verb works on: its settings, its ledger; loaded when the verb runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gateway.installation.place import Place
    from gateway.installation.settings import Settings

StateOption = Annotated[
    Path | None, typer.Option(help="state folder (default: COUNTERSIGN_STATE, else ./state)")
]


def settings_of(state: Path | None = None) -> "Settings":
    """Return the settings, with the state folder that the command line names.

    Raises:
        SettingsError: one of them is wrong.
    """
    from gateway.installation.settings import load

    return load(state=state)


@contextmanager
def place_of(state: Path | None) -> Iterator["Place"]:
    """Yield the ledger of a state folder, its database started where it is down.

    Raises:
        SettingsError: a setting is wrong.
        NoLedgerError: there is no ledger; nothing was made.
    """
    from gateway.installation.place import attached

    with attached(settings_of(state)) as place:
        yield place

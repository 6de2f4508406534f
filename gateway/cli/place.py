"""The installation that a verb works on: its settings and its ledger, loaded when the verb runs."""

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

RiskKeyOption = Annotated[
    Path | None, typer.Option(help="the risk officer's key file (`run` keeps it in the key folder)")
]
ComplianceKeyOption = Annotated[
    Path | None,
    typer.Option(help="the compliance officer's key file (`run` keeps it in the key folder)"),
]


def settings_of(state: Path | None = None) -> "Settings":
    """Return the settings, with the state folder from the command line.

    Raises:
        SettingsError: when a setting is wrong.
    """
    from gateway.installation.settings import load

    return load(state=state)


@contextmanager
def place_of(state: Path | None) -> Iterator["Place"]:
    """Yield the ledger of a state folder; start its database if it is down.

    Raises:
        SettingsError: when a setting is wrong.
        NoLedgerError: when there is no ledger; nothing is created.
        EarlierLedgerError: when its records are of a form that is no longer read.
    """
    from gateway.installation.place import attached
    from gateway.walk.journal.form import refuse_earlier

    with attached(settings_of(state)) as place:
        refuse_earlier(place.reader)
        yield place

"""The verb doctor: the whole route before anything is written, one mending command a finding.

Read-only: it makes no folder, starts no server, sends no FIX message. The start of `serve` takes
the looks that it has no check of its own for.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from gateway import clock
from gateway.errors import NotReadyError, SettingsError
from gateway.installation.children.fix_profiles import profile_of
from gateway.installation.settings import Settings, load
from gateway.installation.settings_file import settings_file
from gateway.installation.state import StateFolder
from gateway.launch.setup.findings import HEALTHY_CODE, Health, PartFinding, looked, mend, tell
from gateway.launch.setup.outside import (
    look_at_broker,
    look_at_database,
    look_at_disk,
    look_at_ids,
    look_at_ledger,
    look_at_port,
)
from gateway.launch.setup.own_files import (
    edit,
    look_at_files,
    look_at_instruments,
    look_at_keys,
    look_at_model,
    look_at_policy,
    look_at_settings,
)
from gateway.walk.journal.control.modes import Mode

START_LOOKS: Final = ("settings", "state", "keys", "database", "api", "broker")
SAID_ONLY: Final = frozenset({"keys", "broker"})
"""Looks that stop no start: a missing bearer key, and CompIDs that only our simulator should have.

Such a gateway still holds its orders and stops; our simulator may stand on another host.
"""


def doctor(state: Path | None, *, as_json: bool) -> int:
    """Look at everything that `serve` needs and print it; return 0, 1 or 2 (see `findings`)."""
    return tell(list(examined(state)), as_json=as_json)


def examined(state: Path | None) -> Iterator[PartFinding]:
    """Yield what is found, in the order of a start."""
    try:
        settings = load(state=state)
    except SettingsError as error:
        yield mend("settings", error, _mending(error))
        return
    folders = StateFolder.of(settings)
    for part, look in _looks(settings, folders).items():
        yield from looked(part, look)


def refuse_unfit(settings: Settings, say: Callable[[str], None]) -> int | None:
    """Refuse a start for what doctor would have mended; say what it could not look at.

    The other looks are checks of the start itself. It connects to the broker, so nothing does here.
    A mode that risks money takes every look, and one that is not good refuses it; then the code of
    a healthy installation is returned, else None.

    Raises:
        NotReadyError: with the command that mends each finding.
    """
    every = _looks(settings, StateFolder.of(settings))
    every["broker"] = lambda: look_at_ids(settings, profile_of(settings.fix))
    money = Mode(settings.mode).risks_money
    parts = tuple(every) if money else START_LOOKS
    found = [one for part in parts for one in looked(part, every[part])]
    stops = [
        one
        for one in found
        if (one.health is Health.MEND and one.part not in SAID_ONLY)
        or (money and one.health is not Health.GOOD)
    ]
    for one in found:
        if one.health is not Health.GOOD and one not in stops:
            say(f"doctor     {one.part}: {one.said}{f' -> {one.command}' * bool(one.command)}")
    if stops:
        told = "; ".join(f"{one.part}: {one.said} -> {one.command}" for one in stops)
        raise NotReadyError(part="installation", state=f"unfit, as countersign doctor says: {told}")
    return HEALTHY_CODE if money else None


def _looks(
    settings: Settings, folders: StateFolder
) -> dict[str, Callable[[], Iterable[PartFinding]]]:
    return {
        "settings": lambda: look_at_settings(settings),
        "state": lambda: look_at_disk(settings, folders),
        "keys": lambda: look_at_keys(settings, folders),
        "instruments": lambda: look_at_instruments(settings, clock.wall_us()),
        "files": lambda: look_at_files(settings),
        "policy": lambda: look_at_policy(settings, folders, clock.wall_us()),
        "model": lambda: look_at_model(settings),
        "database": lambda: look_at_database(settings, folders),
        "ledger": lambda: look_at_ledger(settings, folders),
        "api": lambda: look_at_port(settings, folders),
        "broker": lambda: look_at_broker(settings),
    }


def _mending(error: SettingsError) -> str:
    """Return the command for a setting that stops the start: where it stands, or unset it."""
    try:
        file = settings_file()
    except SettingsError:
        file = None
    return edit(file) if file is not None and str(file) in str(error) else f"unset {error.name}"

"""An installation's part in forgetting: its years, its logs, and what a start says of it."""

from pathlib import Path
from typing import cast

import pytest

from audit.errors import ErasureRefusedError, VaultError
from audit.privacy.erasure import Privacy
from audit.privacy.retention import Retention
from gateway.installation.settings import RetentionSettings, load
from gateway.installation.state import StateFolder
from gateway.privacy.erasure import clean_names, complete, years_of

NAME = "Ada Lovelace"


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    folder = StateFolder.of(load(state=tmp_path / "state"))
    folder.create()
    for logs in (folder.fix / "log", folder.logs, folder.engine_logs):
        (logs / "below").mkdir(parents=True)
    return folder


def test_a_name_goes_from_every_log_of_the_installation_and_from_nothing_else(
    state: StateFolder,
) -> None:
    line = f"order of {NAME} refused\n"
    logs = [
        state.fix / "log" / "messages.log",
        state.fix / "log" / "below" / "event.log",
        state.logs / "ems.err",
        state.logs / "below" / "other.log",
        state.engine_logs / "engine.log",
    ]
    others = [state.root / "ems" / "capture", state.root / "runs" / "summary.txt"]
    for path in (*logs, *others):
        path.write_text(line)
    clean_names(state, (NAME,))
    assert [path.read_text() for path in logs] == [f"order of {'*' * len(NAME)} refused\n"] * 5
    assert [path.read_text() for path in others] == [line] * 2, "the broker's, and a run's"
    assert not state.cleaning.exists()


def test_a_key_stays_while_a_log_cannot_be_cleaned(state: StateFolder) -> None:
    state.cleaning.mkdir()
    with pytest.raises(VaultError, match="names are left in a log"):
        clean_names(state, (NAME,))


def test_each_class_of_value_is_kept_for_its_own_years() -> None:
    years = years_of(RetentionSettings(order_years=7, communication_years=5, supervision_years=3))
    assert years == {
        Retention.ORDER.value: 7,
        Retention.COMMUNICATION.value: 5,
        Retention.SUPERVISION.value: 3,
        Retention.NONE.value: 0,
    }
    assert set(years) == {one.value for one in Retention}


class CutOff:
    """A privacy with something to complete."""

    def __init__(self, found: int | Exception) -> None:
        self._found = found

    def complete(self) -> int:
        """Say how many, or fail."""
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (0, ""),
        (2, "an interrupted erasure is complete"),
        (VaultError("a log is full"), "NOT complete: a log is full"),
        (ErasureRefusedError("altered"), "NOT complete: altered"),
    ],
)
def test_a_start_says_what_became_of_an_erasure_and_goes_on(
    found: int | Exception, words: str
) -> None:
    said: list[str] = []
    complete(cast("Privacy", CutOff(found)), said.append)
    assert len(said) == bool(words)
    assert words in "".join(said)

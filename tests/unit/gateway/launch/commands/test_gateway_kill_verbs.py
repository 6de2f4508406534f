"""The kill's verbs where no gateway runs and no ledger can be read."""

import os
import stat
from pathlib import Path

import pytest

from fix.durable.kill_word import KillWord
from gateway.errors import GatewayError
from gateway.installation.press_notes import PressNote, PressNotes
from gateway.installation.settings import Settings, load
from gateway.launch.commands.kill import press_kill, report_kill


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = load(state=tmp_path)
    KillWord(found.state / "kill.word", create=True).close()
    return found


def test_a_press_without_a_gateway_keeps_its_reason_beside_the_word(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert press_kill(settings, "the feed is wrong") == 0
    press = KillWord(settings.state / "kill.word").newest_press()
    assert press.killed
    assert PressNotes(settings.state).of(press) == PressNote("cli", "the feed is wrong")
    (path,) = settings.state.glob("kill.press.*")
    assert path.name == f"kill.press.1.{press.press_id}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "kill 1 is in force" in capsys.readouterr().out


def test_a_reason_that_the_disk_refuses_holds_up_no_press(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        assert KillWord(settings.state / "kill.word").read().killed, "the word is shut first"
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(PressNotes, "keep", refuse)
    assert press_kill(settings, "now") == 0
    assert "the reason is not kept" in capsys.readouterr().err


@pytest.mark.parametrize("killed", [True, False])
def test_a_report_names_the_kill_in_force_also_without_a_ledger(
    settings: Settings, capsys: pytest.CaptureFixture[str], *, killed: bool
) -> None:
    if killed:
        press_kill(settings, "now")
    capsys.readouterr()
    with pytest.raises(GatewayError):
        report_kill(settings)
    said = capsys.readouterr().out
    assert said == ("kill 1 is in force\n" if killed else "no kill is in force\n")

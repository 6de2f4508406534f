"""`service` prints a unit that names this installation and installs nothing."""

import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app
from gateway.errors import SettingsError
from tests.doubles.beginning import begin


def test_the_unit_names_the_program_the_settings_and_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = begin(tmp_path / "desk") / "gateway"
    monkeypatch.chdir(home)
    said = CliRunner().invoke(app, ["service"])
    assert said.exit_code == 0, said.exception
    unit = ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capitals
    unit.read_string(said.stdout)
    service = dict(unit["Service"])
    program, verb = service["ExecStart"].split()
    assert Path(program).parent == Path(sys.executable).absolute().parent
    assert verb == "serve"
    assert service["WorkingDirectory"] == str(home)
    assert service["Environment"] == f'"COUNTERSIGN_CONFIG={home / "countersign.toml"}"'
    writable = service["ReadWritePaths"].split()
    assert writable == [f"-{home / name}" for name in ("state", "keys", "state/vault")]
    assert "postgresql" not in unit["Unit"]["After"]
    if analyze := shutil.which("systemd-analyze"):
        (tmp_path / "countersign.service").write_text(said.stdout)
        subprocess.run([analyze, "verify", tmp_path / "countersign.service"], check=True)


def test_a_folder_that_a_unit_cannot_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(begin(tmp_path / "my desk") / "gateway")
    done = CliRunner().invoke(app, ["service"])
    assert isinstance(done.exception, SettingsError)
    assert "my desk" in str(done.exception)


def test_without_a_settings_file_there_is_no_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(CliRunner().invoke(app, ["service"]).exception, SettingsError)

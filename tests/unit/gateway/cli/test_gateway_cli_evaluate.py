"""`countersign evaluate` on a folder: a table, two files, exit codes."""

import json
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from gateway.cli.main import app, exit_code_of
from gateway.cli.verbs import evaluate
from gateway.cli.verbs.setup import promote


@pytest.fixture(name="data")
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COUNTERSIGN_STATE", str(tmp_path / "state"))
    data = tmp_path / "data"
    data.mkdir()
    moves = np.random.default_rng(1).standard_normal(420) * 0.01
    days = np.datetime64("2014-01-01") + np.arange(420)
    closes = 50.0 * np.exp(np.cumsum(moves))
    rows = [f"{day},{close:.5f}" for day, close in zip(days, closes, strict=True)]
    (data / "made.csv").write_text("date,close\n" + "\n".join(rows) + "\n")
    return data


def test_the_verb_prints_a_table_and_writes_json_and_html(data: Path, tmp_path: Path) -> None:
    files = [tmp_path / "out.json", tmp_path / "out.html"]
    asked = ["evaluate", "--data", str(data), "--from", "2014-11-01", "--baselines"]
    asked += ["--json", str(files[0]), "--html", str(files[1])]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "CRPS ratio" in done.output
    found = json.loads(files[0].read_text())
    assert found["asked"]["series"] == 1
    assert found["figures"]["daily"]["against"]["1"]["ewma"]["origins"] > 10
    assert files[1].read_text().startswith("<!doctype html>")


def test_the_gate_forecasts_every_bar_as_evaluate_does() -> None:
    verbs = (evaluate.evaluate, promote.run)
    assert [signature(one).parameters["every"].default for one in verbs] == [1, 1]


def test_a_folder_without_files_is_one_line_and_exit_code_2(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    arguments = ["evaluate", "--data", str(empty), "--from", "2014-11-01", "--baselines"]
    code = exit_code_of(lambda: app(arguments, standalone_mode=False))
    assert data.exists()
    assert code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "expected *.csv or *.csv.gz" in said

"""The import contracts catch what they are for: a planted violation breaks the right one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gateway", "risk", "audit", "inference", "fix")
LINT = Path(sys.executable).with_name("lint-imports")

# file that gets the line, the line, words of the contract that must break
PLANTED = (
    ("risk/book.py", "import gateway.settings", "arrows run against the walk"),
    ("inference/forecast.py", "import risk.book", "arrows run against the walk"),
    ("audit/merkle.py", "import risk.book", "audit knows no other package"),
    ("fix/inbox.py", "import risk.book", "neighbours meet only at types: risk"),
    ("risk/sizing.py", "import inference.codec", "neighbours meet only at types: inference"),
    ("fix/messages.py", "import inference.forecast", "neighbours meet only at types: inference"),
    ("risk/evaluate.py", "import time", "the pure core"),
    ("audit/chain.py", "import os", "the pure core"),
    ("inference/codec.py", "import torch", "the pure core"),
    ("inference/forecast.py", "import logging", "the pure core"),
    ("inference/engine.py", "import vllm", "one door: vllm"),
    ("fix/order.py", "import quickfix", "one door: quickfix"),
    ("audit/queries.py", "import sqlalchemy", "one door: schema"),
    ("gateway/section.py", "import psycopg", "one door: database"),
    ("audit/ledger.py", "import opentelemetry.trace", "one door: telemetry"),
    ("gateway/decision.py", "import fastapi", "the walks see Protocols"),
    ("gateway/dispatch.py", "import fix.session", "the walks see Protocols"),
)


def copy_tree(target: Path) -> None:
    """Copy the Python files of the five packages and their contracts."""
    for package in PACKAGES:
        keep_python = shutil.ignore_patterns("models", "static", "templates", "__pycache__")
        shutil.copytree(ROOT / package, target / package, ignore=keep_python)
    shutil.copy(ROOT / "pyproject.toml", target / "pyproject.toml")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts in a folder, without a cache and without this checkout on the path."""
    return subprocess.run(
        [LINT, "--no-cache", "--no-logo"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy of the tree for all plants; each takes its line out again."""
    folder = tmp_path_factory.mktemp("contracts")
    copy_tree(folder)
    return folder


def test_every_contract_is_kept_as_the_tree_stands(tree: Path) -> None:
    done = lint(tree)
    assert done.returncode == 0, done.stdout
    assert " 0 broken" in done.stdout


@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_a_planted_import_breaks_the_contract(
    tree: Path, file: str, line: str, contract: str
) -> None:
    path = tree / file
    text = path.read_text()
    path.write_text(f"{text}\n{line}\n")
    try:
        done = lint(tree)
    finally:
        path.write_text(text)
    broken = [row for row in done.stdout.splitlines() if row.rstrip().endswith("BROKEN")]
    assert done.returncode == 1, done.stdout
    assert any(contract in row for row in broken), done.stdout

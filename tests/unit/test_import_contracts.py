"""The import contracts catch what they are for: a planted violation breaks the right one."""

import re
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
    ("risk/state/book.py", "import gateway.installation.settings", "arrows run against the walk"),
    ("inference/forecast/forecast.py", "import risk.state.book", "arrows run against the walk"),
    ("audit/tlog/merkle.py", "import risk.state.book", "audit knows no other package"),
    ("fix/durable/inbox.py", "import risk.state.book", "neighbours meet only at types: risk"),
    ("risk/sizing.py", "import inference.codec.codec", "neighbours meet only at types: inference"),
    (
        "fix/wire/messages.py",
        "import inference.forecast.forecast",
        "neighbours meet only at types: inference",
    ),
    ("risk/evaluate.py", "import time", "the pure core"),
    ("audit/records/chain.py", "import os", "the pure core"),
    ("inference/codec/codec.py", "import torch", "the pure core"),
    ("inference/forecast/forecast.py", "import logging", "the pure core"),
    ("inference/engine/port.py", "import vllm", "one door: vllm"),
    ("fix/orders/state.py", "import quickfix", "one door: quickfix"),
    ("audit/store/reader.py", "import sqlalchemy", "one door: schema"),
    ("gateway/walk/section.py", "import psycopg", "one door: database"),
    ("audit/sequencer/ledger.py", "import opentelemetry.trace", "one door: telemetry"),
    ("gateway/walk/decision.py", "import fastapi", "the walk sees Protocols"),
    ("gateway/walk/dispatch.py", "import fix.session.initiator", "the walk sees Protocols"),
    ("gateway/walk/approval.py", "import gateway.desk.desk", "floors of the gateway"),
    ("audit/store/wire.py", "import audit.sequencer.lanes", "floors of the ledger"),
    ("fix/orders/sweep.py", "import fix.session.link", "floors of the wire"),
    ("inference/codec/prompt.py", "import inference.engine.port", "floors of the engine"),
    ("risk/state/holding.py", "import risk.sizing", "floors of the verdict"),
    (
        "gateway/surfaces/api/control/kill.py",
        "import gateway.surfaces.web.forms",
        "a surface does not",
    ),
    ("audit/verifier/verify.py", "import audit.tlog.note", "the outsider's verifier"),
    ("audit/verifier/parts/tree.py", "import audit.verifier.parts.log", "a part of the verifier"),
    ("audit/evidence/bundle.py", "import audit.verifier.parts.bundle", "only the built verifier"),
    ("gateway/desk/intake/intents.py", "import gateway.installation.settings", "settings end"),
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


def sections(report: str) -> dict[str, str]:
    """The report's paragraphs about broken contracts, by contract name."""
    _, _, body = report.partition("Broken contracts")
    parts = re.split(r"^([^\n]+)\n-{3,}$", body, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree as it stands."""
    folder = tmp_path_factory.mktemp("contracts")
    copy_tree(folder)
    return folder


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the contracts say about a copy with every violation planted."""
    folder = tmp_path_factory.mktemp("planted")
    copy_tree(folder)
    for file, line, _ in PLANTED:
        with (folder / file).open("a") as out:
            out.write(f"\n{line}\n")
    done = lint(folder)
    assert done.returncode == 1, done.stdout + done.stderr
    return sections(done.stdout)


def test_every_contract_is_kept_as_the_tree_stands(clean: Path) -> None:
    done = lint(clean)
    assert done.returncode == 0, done.stdout
    assert " 0 broken" in done.stdout


@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_a_planted_import_breaks_the_contract(
    broken: dict[str, str], file: str, line: str, contract: str
) -> None:
    importer = file.removesuffix(".py").replace("/", ".")
    imported = line.removeprefix("import ")
    said = next(text for name, text in broken.items() if name.startswith(contract))
    assert re.search(rf"\b{re.escape(importer)} -> {re.escape(imported.split('.')[0])}", said), said


def test_a_folder_that_nobody_placed_on_a_floor_is_refused(tmp_path: Path) -> None:
    copy_tree(tmp_path)
    stray = tmp_path / "gateway" / "stray"
    stray.mkdir()
    (stray / "__init__.py").write_text('"""Here for no reason."""\n')
    done = lint(tmp_path)
    assert done.returncode != 0
    assert "stray" in done.stdout + done.stderr

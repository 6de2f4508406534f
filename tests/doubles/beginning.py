"""An installation as `countersign init` makes it."""

from pathlib import Path
from typing import Final

from typer.testing import CliRunner

from gateway.cli.main import app

FLAGS: Final = (
    *("--origin", "example.com/desk"),
    *("--broker", "fix.example.com:9878"),
    *("--sender", "DESK"),
    *("--target", "BROKER"),
)


def begin(folder: Path, *more: object) -> Path:
    """Make an installation in a folder and return it."""
    words = ["init", str(folder), *FLAGS, *map(str, more)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (done.output, done.exception)
    return folder


def activate(desk: Path) -> None:
    """Let both officers sign the draft, and put it into the gateway's key folder.

    The current folder is the gateway's, as `init` says.
    """
    bundle = "policy.bundle.json"
    for words in (
        ("sign", "policy.toml", "--key", desk / "risk-officer/risk.key"),
        ("sign", bundle, "--key", desk / "compliance-officer/compliance.key"),
        ("activate", bundle),
    ):
        done = CliRunner().invoke(app, ["policy", *map(str, words)])
        assert done.exit_code == 0, (done.output, done.exception)

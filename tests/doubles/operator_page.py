"""The commands of the operator's page, run as a reader runs them."""

import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.main import app as countersign
from tests.doubles.fix_world import ROOT

PAGE = ROOT / "docs" / "operate.md"
ADDRESS = "fix.example.com:9878"
SHUT, OPEN = 'calendar = "XNYS"', 'calendar = "24/7"'


def do(*words: object, code: int = 0) -> Result:
    """Run a verb, which must end with this exit code."""
    done = CliRunner().invoke(countersign, [str(word) for word in words])
    assert done.exit_code == code, (words, done.output, done.exception)
    return done


def commands_of_the_page() -> tuple[list[str], list[str]]:
    """Return the page's commands, those of the first terminal and those of the second."""
    section = PAGE.read_text().split("## From an empty folder to an order\n")[1].split("\n## ")[0]
    first, second = re.findall(r"^```\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    joined = first.replace("\\\n", " ").splitlines()
    return joined, re.split(r"\n(?=curl|split)", second.strip())


def make_desk(
    commands: Sequence[str],
    port: int,
    patch: pytest.MonkeyPatch,
    profile: str,
    edit: Callable[[], None] = lambda: None,
) -> None:
    """Run the page's commands up to `serve`, in the present folder, for a broker's port.

    The page says when to edit files: the exchange may be closed, so the calendar is always open.
    `profile` is the text of `broker.toml`; empty keeps the one that `init` wrote. `edit` may change
    more files, in their folder and before the officers sign.
    """
    for line in commands:
        word, *words = shlex.split(line.replace(ADDRESS, f"127.0.0.1:{port}"))
        if word != "cd":
            assert word == "countersign", line
            do(*words)
            continue
        patch.chdir(words[0])
        table = Path("instruments.toml")
        table.write_text(table.read_text().replace(SHUT, OPEN))
        if profile:
            Path("broker.toml").write_text(profile)
        edit()


def edited(text: str, **values: object) -> str:
    """Return a profile with other values of keys; a key that it lacks follows `port`."""
    for key, value in values.items():
        line = f"{key} = {json.dumps(value)}"
        text, count = re.subn(rf"(?m)^{key} = .*$", line, text, count=1)
        if not count:
            text = re.sub(r"(?m)^port = .*$", rf"\g<0>\n{line}", text, count=1)
    return text

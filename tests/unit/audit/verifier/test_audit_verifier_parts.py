"""The one file that outsiders get is what its parts make, and no part can spoil it unnoticed."""

import shutil
from pathlib import Path

import pytest

from scripts.build_verifier import (
    BUILT,
    CHECKS,
    PARTS,
    SECOND,
    PartError,
    built,
    checks_part,
    kinds_part,
    with_kinds,
    with_table,
)


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A copy of the parts, to be spoiled."""
    return shutil.copytree(PARTS, tmp_path / "parts", ignore=shutil.ignore_patterns("__pycache__"))


def test_the_one_file_is_what_its_parts_make() -> None:
    assert BUILT.read_text("utf-8") == built(), "run `make verifier`"


def test_both_verifiers_name_the_kinds_of_the_one_table() -> None:
    assert (PARTS / "kinds.py").read_text("utf-8") == kinds_part(), "run `make verifier`"
    second = SECOND.read_text("utf-8")
    assert second == with_kinds(with_table(second)), "run `make verifier`"


def test_the_checks_are_those_of_the_rules() -> None:
    assert CHECKS.read_text("utf-8") == checks_part(), "run `make verifier`"
    second = SECOND.read_text("utf-8")
    assert second == with_table(second), "run `make verifier`"


def test_a_change_of_a_part_changes_the_file(parts: Path) -> None:
    assert built(parts) == built()
    with (parts / "tree.py").open("a", encoding="utf-8") as part:
        part.write("\n\nANOTHER = 1\n")
    assert "\nANOTHER = 1\n" in built(parts)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("import numpy", "tree line 3: numpy: an outsider does not have it"),
        ("from audit.tlog import merkle", "tree line 3: audit.tlog: an outsider does not"),
        ("from . import canonical", "tree line 3: a relative import"),
        ("from audit.verifier.parts.report import Bad as Wrong", "imports under another name"),
        ("from audit.verifier.parts.log import LogVerifier", "LogVerifier is not in"),
        ("from audit.verifier.parts.report import Good", "Good is not in"),
    ],
)
def test_an_import_that_the_one_file_cannot_have_is_refused(
    parts: Path, line: str, why: str
) -> None:
    part = parts / "tree.py"
    docstring, blank, rest = part.read_text("utf-8").partition("\n\n")
    part.write_text(f"{docstring}{blank}{line}\n{rest}", "utf-8")
    with pytest.raises(PartError, match=why):
        built(parts)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("Report = 1", "tree: Report is also a name of report"),
        ("def late() -> None:\n    import json", "an import below the top"),
    ],
)
def test_a_definition_that_the_one_file_cannot_have_is_refused(
    parts: Path, lines: str, why: str
) -> None:
    with (parts / "tree.py").open("a", encoding="utf-8") as part:
        part.write(f"\n\n{lines}\n")
    with pytest.raises(PartError, match=why):
        built(parts)


def test_a_part_that_nobody_ordered_is_refused(parts: Path) -> None:
    (parts / "stray.py").write_text('"""Here for no reason."""\n', "utf-8")
    with pytest.raises(PartError, match="stray"):
        built(parts)

"""Set-up says in one line what is missing, and the environment is the locked one."""

import ast
import re
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.setup import DISK_BYTES_MIN, Machine, cause_of, digest_of, problem_with

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements"
LOCK_LINE = re.compile(r"^([a-z0-9-]+)==(\S+) --hash=sha256:([0-9a-f]{64})$")
GOOD = Machine(
    python="3.11.7",
    system="linux",
    processor="x86_64",
    compiler="/usr/bin/g++",
    free_bytes=DISK_BYTES_MIN,
    installed=False,
)


def lines(name: str) -> list[str]:
    """The requirement lines of one file."""
    text = (REQUIREMENTS / name).read_text()
    return [line for row in text.splitlines() if (line := row.partition("#")[0].strip())]


def lock() -> dict[str, str]:
    """Locked versions by name."""
    found = [LOCK_LINE.match(line) for line in lines("lock.txt")]
    return {match[1]: match[2] for match in found if match}


def imported(root: Path) -> set[str]:
    """Top-level names of everything that a Python file of the tree imports."""
    rooms = ("gateway", "risk", "audit", "inference", "fix", "migrations", "scripts", "tests")
    names: set[str] = set()
    for path in (file for room in rooms for file in (root / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names


def test_a_good_machine_has_no_problem() -> None:
    assert problem_with(GOOD) is None


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (replace(GOOD, python="3.12.1"), "Python 3.11 is needed, this is 3.12.1"),
        (replace(GOOD, python="3.10.9"), "Python 3.11 is needed"),
        (replace(GOOD, system="darwin"), "Linux x86_64 only, this is darwin"),
        (replace(GOOD, processor="aarch64"), "this is linux aarch64"),
        (replace(GOOD, compiler=None), "install g++"),
        (replace(GOOD, free_bytes=DISK_BYTES_MIN - 1), "6 GiB needed"),
    ],
)
def test_what_is_missing_is_one_line_before_anything_is_downloaded(
    machine: Machine, words: str
) -> None:
    problem = problem_with(machine)
    assert problem is not None
    assert words in problem
    assert "\n" not in problem


def test_an_installed_environment_needs_no_more_room() -> None:
    assert problem_with(replace(GOOD, free_bytes=0, installed=True)) is None


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device", "the disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "not the one that was locked"),
        ("ERROR: No matching distribution found for x==1", "does not have a locked version"),
        ("quickfix: cannot build: no C++ compiler found: install g++", "install g++"),
        ("something else", "see the log"),
    ],
)
def test_a_failed_step_names_its_cause(tmp_path: Path, log: str, cause: str) -> None:
    path = tmp_path / "step.log"
    path.write_text(log)
    assert cause in cause_of(path, "see the log")


def test_a_changed_input_changes_the_stamp(tmp_path: Path) -> None:
    path = tmp_path / "lock.txt"
    path.write_text("a==1")
    before = digest_of(path)
    assert digest_of(path) == before
    path.write_text("a==2")
    assert digest_of(path) != before


def test_every_line_of_the_lock_has_a_version_and_a_hash() -> None:
    assert [line for line in lines("lock.txt") if not LOCK_LINE.match(line)] == []
    assert len(lock()) == len(lines("lock.txt"))


def test_the_lock_holds_what_was_asked_for() -> None:
    asked = [Requirement(line) for line in lines("run.in") + lines("dev.in")]
    locked = lock()
    unmet = [
        str(need)
        for need in asked
        if not need.specifier.contains(locked.get(canonicalize_name(need.name), "0"))
    ]
    assert unmet == []


def test_the_torch_family_stays_out_of_the_lock_and_of_the_environment() -> None:
    assert not {"torch", "torchvision", "torchaudio", "torchcodec"} & set(lock())
    for absent in ("torchvision", "torchaudio", "torchcodec"):
        with pytest.raises(PackageNotFoundError):
            version(absent)


def test_the_environment_is_the_locked_one() -> None:
    (torch,) = lines("torch.txt")
    wanted = {**lock(), "torch": torch.removeprefix("torch==")}
    found = {name: version(name).partition("+")[0] for name in wanted}
    assert found == wanted


ELSEWHERE = {"quickfix", "nautilus_trader"}
"""Built from source by the set-up; measured by the Python of an environment of its own."""


def test_every_library_that_is_imported_is_asked_for_by_name() -> None:
    named = {
        canonicalize_name(Requirement(line).name)
        for name in ("run.in", "dev.in", "torch.txt")
        for line in lines(name)
    }
    provided = packages_distributions()
    ours = {"gateway", "risk", "audit", "inference", "fix", "scripts", "tests", "migrations"}
    unasked = {
        module: provided.get(module)
        for module in imported(ROOT) - ours - set(sys.stdlib_module_names) - ELSEWHERE
        if not named & {canonicalize_name(one) for one in provided.get(module, [])}
    }
    assert unasked == {}

"""Run the tests near what changed: those that import it, by the import graph.

Near are the test files that changed and those that import a changed module, themselves or through
a double; where these are few, those over its importers too. Whole walks start every process and
import little: they run only if they changed themselves. `make test` runs everything; this is for
the minutes between two edits.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import grimp

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("gateway", "risk", "audit", "inference", "fix", "scripts", "tests")
WALKS: Final = ("tests/walk/", "tests/crash/", "tests/mutation/", "tests/research/")
READ_AS_FILES: Final = {
    "audit/verifier/": "tests/unit/audit/verifier",
    "docs/": "tests/unit/test_documents.py",
    "README.md": "tests/unit/test_documents.py",
    "ARCHITECTURE.md": "tests/unit/test_documents.py",
    "gateway/surfaces/web/templates/": "tests/golden/test_walk_pages_golden.py",
    "scripts/mutations.toml": "tests/unit/test_mutations.py",
    "pyproject.toml": "tests/unit/test_import_contracts.py",
}
"""What tests read without importing it, by the beginning of its path."""
ENOUGH: Final = 8
"""Test files: with fewer over a change, what imports it is looked at next."""
ALWAYS: Final = "tests/test_layout.py"


def changed_files(since: str | None) -> list[str]:
    """Return the paths that differ from a commit, without one: the open work, else the last commit.

    Raises:
        subprocess.CalledProcessError: git knows no such commit.
    """
    if since is None:
        since = "HEAD" if _git("status", "--porcelain") else "HEAD~1"
    return [*_git("diff", "--name-only", since), *_git("ls-files", "-o", "--exclude-standard")]


def near(changed: Iterable[str], graph: grimp.ImportGraph) -> list[str]:
    """Return the test files and folders to run for changed paths, in order and once each."""
    found = {ALWAYS}
    for path in changed:
        found |= {tests for start, tests in READ_AS_FILES.items() if path.startswith(start)}
        module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        if path.endswith(".py") and module in graph.modules:
            found |= _tests_over(module, graph)
    return sorted(one for one in found if (ROOT / one).exists())


def _tests_over(module: str, graph: grimp.ImportGraph) -> set[str]:
    """Return the tests over a module; if they are few, those over its importers too."""
    found: set[str] = set()
    seen, layer = {module}, {module}
    while layer and len(found) < ENOUGH:
        above: set[str] = set()
        while layer:
            each = layer.pop()
            if each.rpartition(".")[2].startswith("test_"):
                found.add(f"{each.replace('.', '/')}.py")
                continue
            importers = graph.find_modules_that_directly_import(each) - seen
            seen |= importers
            for one in importers:
                (layer if one.startswith("tests.") else above).add(one)
        layer = above
    mine = f"{module.replace('.', '/')}.py"
    return {one for one in found if one == mine or not one.startswith(WALKS)}


def _git(*words: str) -> list[str]:
    done = subprocess.run(
        ("git", *words), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    return done.stdout.splitlines()


def main() -> int:
    """Run pytest on what is near; return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--since", help="the commit to compare with, such as main")
    parser.add_argument("--list", action="store_true", help="print the tests, run nothing")
    parser.add_argument("--workers", default="4", help="test files at once (%(default)s)")
    asked = parser.parse_args()
    tests = near(changed_files(asked.since), grimp.build_graph(*PACKAGES))
    sys.stdout.write("".join(f"{one}\n" for one in tests))
    if asked.list:
        return 0
    pytest = (sys.executable, "-m", "pytest", "--quiet", f"--numprocesses={asked.workers}")
    return subprocess.call((*pytest, "--dist=loadfile", *tests), cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())

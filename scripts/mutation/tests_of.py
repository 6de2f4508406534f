"""Which tests run a place: recorded once per test with coverage, and kept in `.mutate/`.

Test files are recorded in chunks, each in its own process, so an interrupted recording continues. A
changed test file is recorded again. Sources may change meanwhile: an unchanged function is looked
up by line, a changed one by all its lines.
"""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import coverage

from scripts.mutation.places import Site
from scripts.mutation.recorder import DATA
from scripts.mutation.sites import ROOMS

CHUNK_FILES = 12
CHUNK_TIMEOUT_S = 1_800.0
STAGES: Mapping[str, tuple[str, ...]] = {
    "unit": ("tests/unit", "tests/property", "tests/golden"),
    "integration": ("tests/integration",),
    "walk": ("tests/walk",),
}
"""In the order of their use: the fast ones first."""
MODULE = "(module)"
_SESSION = tuple(
    f"tests/integration/fix/session/test_fix_{name}.py"
    for name in ("guard", "orders", "inbound", "kill", "recovery")
)
CHILDREN: Mapping[str, tuple[str, ...]] = {
    "fix/simulator/acceptor.py": _SESSION,
    "fix/session/line.py": ("tests/integration/fix/session/test_fix_redial_line.py",),
    "fix/session/initiator.py": _SESSION,
    "fix/session/worker.py": _SESSION,
    "fix/session/main.py": _SESSION,
    "fix/session/sweep_worker.py": _SESSION,
    "gateway/installation/keys/roles.py": (
        "tests/unit/gateway/surfaces/access/test_gateway_web_access.py",
    ),
    "inference/engine/main.py": ("tests/integration/inference/engine/test_engine_child.py",),
}
"""The tests of files that no recording follows: they run in a child or only at an import."""
CHILD_TEST_S = 20.0


@dataclass(slots=True)
class RecordedChunk:
    """One recorded chunk: coverage data, test times, and the sources at that time."""

    data: coverage.CoverageData
    times: dict[str, float]
    sources: Path
    _lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    def lines(self, file: str) -> dict[int, list[str]]:
        """Return the tests of each line of a file; the recording may be from another clone."""
        if file not in self._lines:
            names = (one for one in self.data.measured_files() if one.endswith(f"/{file}"))
            name = next(names, None)
            self._lines[file] = {} if name is None else self.data.contexts_by_lineno(name)
        return self._lines[file]


class Recording:
    """The recordings of one folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Open a folder of recordings of the tree at `root`."""
        self._root = root
        self._folder = folder
        self._index_file = folder / "index.json"
        self._index: dict[str, list[str]] = {}
        if self._index_file.exists():
            self._index = json.loads(self._index_file.read_text())
        self._chunks: dict[str, RecordedChunk] = {}

    def missing(self, stage: str) -> list[str]:
        """Return the test files of a stage that are new or have changed."""
        return [
            name
            for name in _test_files(self._root, stage)
            if self._index.get(name, [""])[0] != _digest(self._root / name)
        ]

    def record(self, stage: str, say: Callable[[str], None]) -> None:
        """Record the missing test files of a stage, chunk by chunk."""
        files = self.missing(stage)
        for start in range(0, len(files), CHUNK_FILES):
            chunk = files[start : start + CHUNK_FILES]
            say(f"recording {stage}: {start + len(chunk)} of {len(files)} test files")
            self._record(chunk)

    def _record(self, files: list[str]) -> None:
        digests = {name: _digest(self._root / name) for name in files}
        name = hashlib.sha256(json.dumps(digests).encode()).hexdigest()[:16]
        place = self._folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for room in ROOMS:
            shutil.copytree(
                self._root / room,
                place / room,
                ignore=shutil.ignore_patterns("__pycache__", "models"),
            )
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "scripts.mutation.recorder", "--timeout=300", *files]
        done = subprocess.run(
            command,
            cwd=self._root,
            env=os.environ | {DATA: str(place / "lines")},
            capture_output=True,
            text=True,
            timeout=CHUNK_TIMEOUT_S,
            check=False,
        )
        if not (place / "lines.json").exists():
            raise RuntimeError(f"the recording ended without a result:\n{done.stdout[-2000:]}")
        for one, digest in digests.items():
            self._index[one] = [digest, name]
        self._index_file.write_text(json.dumps(self._index, indent=1, sort_keys=True))

    def tests_of(self, site: Site, stage: str, now: bytes) -> dict[str, float]:
        """Return the tests of a stage that run a site, with their times, fast ones first.

        `now` is the text of the site's file in which the site was found.
        """
        found: dict[str, float] = {}
        for chunk in sorted({name for _, name in self._index.values()}):
            recorded = self._chunk(chunk)
            for test in _tests(recorded, site, now):
                file = test.partition("::")[0]
                now_there = file.startswith(STAGES[stage]) and (self._root / file).is_file()
                if now_there and self._index.get(file, ["", ""])[1] == chunk:
                    found[test] = recorded.times.get(test, 0.0)
        passed = {test: time for test, time in found.items() if time > 0.0}
        for file in CHILDREN.get(site.file, ()):
            if file.startswith(STAGES[stage]) and (self._root / file).exists():
                passed[file] = CHILD_TEST_S
        return dict(sorted(passed.items(), key=lambda one: one[1]))

    def _chunk(self, name: str) -> RecordedChunk:
        if name not in self._chunks:
            place = self._folder / name
            data = coverage.CoverageData(basename=str(place / "lines"))
            data.read()
            times = json.loads((place / "lines.json").read_text())
            self._chunks[name] = RecordedChunk(data, times, place)
        return self._chunks[name]


def _tests(recorded: RecordedChunk, site: Site, now: bytes) -> set[str]:
    """Return the tests that ran a site's line, or its whole function if that has changed."""
    lines = recorded.lines(site.file)
    kept = recorded.sources / site.file
    if not kept.exists():
        return set()
    then = kept.read_bytes()
    if site.function == MODULE:  # its lines run at import: take every test that uses the file
        wanted = set(lines)
    else:
        before, after = _span(then, site.function), _span(now, site.function)
        if before is None or after is None:
            return set()
        if _cut(then, before) == _cut(now, after):
            wanted = {site.line - after[0] + before[0]}
            if not wanted & set(lines):  # a later line of a statement
                wanted = set(range(before[0], site.line - after[0] + before[0] + 1))
                wanted = {max((w for w in wanted & set(lines)), default=0)}
        else:
            wanted = set(range(before[0], before[1] + 1))
    found = {test for line in wanted for test in lines.get(line, ()) if test}
    if not found and any("" in lines.get(line, ()) for line in wanted):
        # it ran only at import (class fields, constants): take every test that uses the file
        users = [lines, *(recorded.lines(name) for name in _users(recorded.sources, site.file))]
        found = {test for used in users for tests in used.values() for test in tests if test}
    return found


def _users(sources: Path, file: str) -> Iterator[str]:
    """Yield the importers of a file without functions, such as a catalogue or constants."""
    if any(True for _ in _functions(ast.parse((sources / file).read_bytes()).body, "")):
        return
    words = f"from {file.removesuffix('.py').replace('/', '.')} import "
    for room in ROOMS:
        for path in sorted((sources / room).rglob("*.py")):
            if words in path.read_text():
                yield str(path.relative_to(sources))


def _span(source: bytes, function: str) -> tuple[int, int] | None:
    """Return the first and last line of a function's body."""
    for name, node in _functions(ast.parse(source).body, ""):
        if name == function:
            return node.body[0].lineno, node.end_lineno or node.lineno
    return None


def _functions(
    body: list[ast.stmt], scope: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{scope}.{node.name}" if scope else node.name
            yield name, node
            yield from _functions(node.body, name)
        else:
            for part in ("body", "orelse", "finalbody"):
                yield from _functions(getattr(node, part, []), scope)


def _cut(source: bytes, span: tuple[int, int]) -> list[bytes]:
    return source.splitlines()[span[0] - 1 : span[1]]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _test_files(root: Path, stage: str) -> list[str]:
    """Return the test files of a stage that use one of `ROOMS`."""
    words = tuple(f"{how} {room}" for room in ROOMS for how in ("from", "import"))
    words = (*words, "from tests.doubles", "import tests.doubles")
    found = []
    for folder in STAGES[stage]:
        for path in sorted((root / folder).rglob("test_*.py")):
            text = path.read_text()
            if any(line.startswith(words) for line in text.splitlines()):
                found.append(str(path.relative_to(root)))
    return found

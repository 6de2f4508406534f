"""The tree keeps its shape: names, rooms, reading order. What a linter does not see.

The sizes of files and functions are habits, which `make check` prints (`scripts/sizes.py`).
"""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from scripts.sizes import FUNCTION_LINES, GENERATED, file_lines, found_in, long_functions

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("gateway", "risk", "audit", "inference", "fix")
ROOMS = (*PACKAGES, "migrations", "scripts", "tests")
ROOMS_MAX = 15
CATALOGUE = ROOT / "risk" / "rules" / "catalogue.py"
FORBIDDEN_WORDS = ("Manager", "Helper", "Util", "Utils", "Base")
FORBIDDEN_FOLDERS = ("common", "utils", "util", "helpers", "lib")
# Said in reading order only where a reader needs them: errors come last or first by taste.
UNLISTED = ("__init__", "__main__")


def sources(*rooms: str) -> Iterator[Path]:
    """Every Python file of some top-level folders, in a stable order."""
    for room in rooms:
        yield from sorted((ROOT / room).rglob("*.py"))


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Parse a file once for all measures."""
    return ast.parse(path.read_text())


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def forbidden_names(tree: ast.AST) -> list[str]:
    """Class names that end or begin with a word that says nothing."""
    words = "|".join(FORBIDDEN_WORDS)
    pattern = re.compile(rf"^_?(?:{words})(?=[A-Z]|$)|(?:{words})$")
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and pattern.search(node.name)
    ]


def doubled_classes(trees: Mapping[str, ast.AST]) -> dict[str, list[str]]:
    """Class names that are used more than once, with the files that use them."""
    homes: dict[str, list[str]] = {}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name)
    return {name: files for name, files in homes.items() if len(files) > 1}


def modules_of(folder: Path) -> set[str]:
    """Names of the modules and sub-packages that lie directly in a package."""
    files = {path.stem for path in folder.glob("*.py")} - set(UNLISTED)
    return files | {path.parent.name for path in folder.glob("*/__init__.py")}


def listed_in(docstring: str, modules: set[str]) -> list[str]:
    """The modules that a docstring names as whole words, in the order of first mention."""
    places = {
        module: found.start()
        for module in modules
        if (found := re.search(rf"(?<![\w.]){re.escape(module)}(?:\.py|/)?(?!\w)", docstring))
    }
    return sorted(places, key=places.__getitem__)


def catalogued(folder: Path) -> set[str]:
    """The files of rules in a folder that the catalogue of rules imports: it is their list."""
    imports = [one for one in ast.walk(parsed(CATALOGUE)) if isinstance(one, ast.ImportFrom)]
    package = ".".join(folder.relative_to(ROOT).parts)
    return {name.name for one in imports if one.module == package for name in one.names}


def body_subscripts(tree: ast.AST) -> list[int]:
    """Lines with `body[...]` or `record.body[...]`."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and "body" in {getattr(node.value, "attr", ""), getattr(node.value, "id", "")}
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_no_class_has_a_name_that_says_nothing(room: str) -> None:
    named = {
        name_of(path): found for path in sources(room) if (found := forbidden_names(parsed(path)))
    }
    assert named == {}


def test_a_class_name_is_used_once_in_the_house() -> None:
    named = ((name_of(path), parsed(path)) for path in sources(*PACKAGES))
    assert doubled_classes({n: t for n, t in named if n not in GENERATED}) == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_room_is_for_everything(package: str) -> None:
    folders = {path.name for path in (ROOT / package).rglob("*") if path.is_dir()}
    assert folders.isdisjoint(FORBIDDEN_FOLDERS)


FOLDERS = [path.parent for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")]


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_a_folder_says_what_belongs_and_lists_its_rooms_in_reading_order(folder: Path) -> None:
    tree = ast.parse((folder / "__init__.py").read_text())
    docstring = ast.get_docstring(tree) or ""
    modules = modules_of(folder)
    assert modules, "a folder without rooms would pass everything below"
    listed = set(listed_in(docstring.partition("\n\n")[2], modules))
    assert listed | catalogued(folder) == modules
    assert "Not here: " in " ".join(docstring.split()), "what belongs, and what does not"
    assert len(tree.body) == 1, "a folder's __init__ holds its docstring only"


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_a_folder_has_at_most_fifteen_rooms(folder: Path) -> None:
    rooms = modules_of(folder)
    assert len(rooms) <= ROOMS_MAX, f"{len(rooms)} rooms: a prefix that three share is a folder"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_of_modules_is_a_package(package: str) -> None:
    with_modules = {path.parent for path in sources(package)}
    assert {path for path in with_modules if not (path / "__init__.py").exists()} == set()


def test_no_room_but_the_journal_takes_a_record_apart_by_field_names() -> None:
    found = [
        f"{name_of(path)}:{line}"
        for path in sources("gateway")
        if "gateway/walk/journal/" not in name_of(path)
        for line in body_subscripts(parsed(path))
    ]
    assert not found, "read it with the kind's class in gateway/walk/journal/"


def test_no_package_under_tests() -> None:
    """With packages there, `tests/unit/risk` would shadow `risk`."""
    assert [name_of(path) for path in (ROOT / "tests").rglob("__init__.py")] == []


def test_test_files_have_unique_names() -> None:
    """Pytest and mypy both stop at two modules of one name."""
    names = [path.name for path in sources("tests") if path.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))


def test_the_measures_themselves_see_what_they_should() -> None:
    function = "def f() -> None:\n" + "    x = 1\n" * FUNCTION_LINES
    assert list(long_functions(function)) == [("f", 71)]
    whole = '"""One.\n\nTwo.\n"""\n\nimport ast\nfrom a import (\n    b,\n)\n' + function * 6
    assert file_lines(whole) == 1 + 6 * 71
    assert [one.partition(":")[2][:11] for one in found_in("a.py", whole)] == [
        " 427 lines ",
        *[" f has 71 l"] * 6,
    ]
    taken_apart = "a = record.body['x']\nb = body['x']\nc = body\nd = fields['body']"
    assert body_subscripts(ast.parse(taken_apart)) == [1, 2]
    named = "class OrderManager: ...\nclass BaseRule: ...\nclass Baseline: ...\nclass Order: ..."
    assert forbidden_names(ast.parse(named)) == ["OrderManager", "BaseRule"]
    twice = {"a.py": "class Order: ...\nclass Fill: ...", "b.py": "def f():\n    class Order: ..."}
    trees = {name: ast.parse(text) for name, text in twice.items()}
    assert doubled_classes(trees) == {"Order": ["a.py", "b.py"]}
    assert listed_in("ledger, then keys; not keystone", {"keys", "ledger", "note"}) == [
        "ledger",
        "keys",
    ]

"""Print files of more than 400 lines and functions of more than 70: habits, which fail nothing.

Lines are counted without the module's docstring and its imports. A number that a file just misses
is no reason to write a line worse, or to split what is one thought.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDERS: Final = (
    *("gateway", "risk", "audit", "inference", "fix"),
    *("migrations", "scripts", "tests"),
)
GENERATED: Final = ("audit/verifier/verify.py",)
"""Built from parts, which are measured instead; a test holds the file equal to them."""
FILE_LINES: Final = 400
FUNCTION_LINES: Final = 70


def file_lines(text: str) -> int:
    """Return the lines of a module without its docstring and its imports."""
    tree = ast.parse(text)
    docstring = tree.body[:1] if ast.get_docstring(tree, clean=False) is not None else []
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    return len(text.splitlines()) - sum(_lines(one) for one in (*docstring, *imports))


def long_functions(text: str, most: int = FUNCTION_LINES) -> Iterator[tuple[str, int]]:
    """Yield the name and the lines of each function that has more than `most`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _lines(node) > most:
            yield node.name, _lines(node)


def found_in(name: str, text: str) -> Iterator[str]:
    """Yield a line for what is longer in a file than is the habit."""
    if (lines := file_lines(text)) > FILE_LINES:
        yield f"{name}: {lines} lines without docstring and imports (habit: {FILE_LINES})"
    for function, lines in long_functions(text):
        yield f"{name}: {function} has {lines} lines (habit: {FUNCTION_LINES})"


def main() -> None:
    """Print what is long in the tree."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name not in GENERATED:
                sys.stdout.write("".join(f"{one}\n" for one in found_in(name, path.read_text())))


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


if __name__ == "__main__":
    main()

"""Write the table of kinds from their classes, then what repeats it: both verifiers and the docs.

    python scripts/kinds.py       `make kinds`

A kind is a class of `RecordKind` in the gateway's journal, or in the ledger's own code. The table
is data, so that the ledger knows the closed list without importing the gateway.
"""

import ast
import importlib
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.records.kinds import KindSpec

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "audit" / "records" / "kind_table.py"
PLACES = ("gateway/walk/journal", "gateway", "audit")
"""Where kinds are looked for, in the order of the table."""
HEAD = '''\
"""The names of the kinds and their rows, as `kinds` reads them.

Written by `make kinds` from the classes of the kinds; do not edit.
"""

from enum import StrEnum


class Kind(StrEnum):
    """Every kind of record there is, in the order of the journal."""

'''
ROWS = '''

ROWS = """
'''
SIGNED = """
SIGNED = {
"""


def defined() -> dict[str, tuple[str, str]]:
    """Return module and class of each kind by name; nothing of ours is imported for it."""
    found: dict[str, tuple[str, str]] = {}
    for path in (one for place in PLACES for one in _modules(ROOT / place)):
        text = path.read_text("utf-8")
        if "    filing = Filing(" in text:
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and _is_kind(node):
                    name = re.sub(r"(?<!^)(?=[A-Z])", "_", node.name).lower()
                    found.setdefault(name, (module, node.name))
    return found


def _is_kind(node: ast.ClassDef) -> bool:
    """Return whether a class says where its records are filed."""
    assigned = (one.targets for one in node.body if isinstance(one, ast.Assign))
    return any("filing" in map(ast.unparse, targets) for targets in assigned)


def _modules(folder: Path) -> Iterator[Path]:
    """Yield the modules below a folder in the reading order that its docstring gives."""
    listed = re.findall(r"^ {4}(\w+)/? ", (folder / "__init__.py").read_text("utf-8"), re.MULTILINE)
    order = {name: number for number, name in enumerate(listed)}
    there = (
        one for one in folder.iterdir() if one.suffix == ".py" or (one / "__init__.py").exists()
    )
    for path in sorted(there, key=lambda one: (order.get(one.stem, len(order)), one.stem)):
        if path.is_dir():
            yield from _modules(path)
        else:
            yield path


def names_text(names: Sequence[str]) -> str:
    """Return the table's first part: the names."""
    return HEAD + "".join(f'    {name.upper()} = "{name}"\n' for name in names)


def rows_text(specs: Sequence["KindSpec"]) -> str:
    """Return the table's second part: a row for each kind."""
    return ROWS + "".join(map(_row, specs)) + '"""\n' + signed_text(specs)


def signed_text(specs: Sequence["KindSpec"]) -> str:
    """Return the table's third part: what a record ends, and what both officers sign of it."""
    rows = {one.kind: (one.ends, *one.signed) for one in specs if one.signed}
    return (
        SIGNED
        + "".join(f'    "{kind}": {tuple_text(row)},\n' for kind, row in rows.items())
        + "}\n"
    )


def tuple_text(words: Sequence[str]) -> str:
    """Return a tuple of texts as it stands in our code, one on each line."""
    lines = "".join(f"        {json.dumps(one)},\n" for one in words)
    return f"(\n{lines}    )"


def _row(spec: "KindSpec") -> str:
    flags = {"firm_wide": spec.firm_wide, "section": spec.section and not spec.firm_wide}
    flags["ledger_only"] = spec.ledger_only
    words = [spec.kind, spec.stream, *(name for name, holds in flags.items() if holds)]
    fields = [*sorted(spec.fields), *(f"{name}?" for name in sorted(spec.own_optional))]
    indent = "    "
    body = textwrap.fill(" ".join(fields), 100, initial_indent=indent, subsequent_indent=indent)
    return f"{' '.join(words)}\n{body}\n"


def table() -> str:
    """Return the table that the classes make; they must be importable."""
    from audit.records.record_kind import spec_of  # noqa: PLC0415 - once the table has the names

    rows = {
        name: spec_of(getattr(importlib.import_module(module), kind))
        for name, (module, kind) in defined().items()
    }
    return names_text(list(rows)) + rows_text(list(rows.values()))


def main() -> int:
    """Write the table, the verifiers and the documents."""
    text = TABLE.read_text("utf-8")
    rest = text[text.index(ROWS) :]
    # first the names: the module of a new kind may use its name when it is imported
    old = dict.fromkeys(re.findall(r'^    [A-Z_]+ = "(\w+)"$', text, re.MULTILINE))
    TABLE.write_text(names_text(list(old | dict.fromkeys(defined()))) + rest, "utf-8")
    TABLE.write_text(table(), "utf-8")
    for script in ("build_verifier.py", "document.py"):
        subprocess.run([sys.executable, str(ROOT / "scripts" / script)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

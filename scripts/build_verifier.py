"""Join the parts of the outsider's verifier into the one file that outsiders take along.

    python scripts/build_verifier.py       `make verifier`: write audit/verifier/verify.py

Like SQLite's amalgamation, the file has the docstring of the last part, every import once, and then
the parts in order, without their imports of each other. The output depends on the parts only; a
test holds it equal to the file in the tree. The part `kinds` and the kinds in `verify.mjs` are
written from the table of kinds (`audit/records/kinds.py`) first, the part `checks` from the rules
(`risk/rules/catalogue.py`).

Rules (the error names the part and the line that break one):
- a part imports the standard library, cryptography, and names of the parts above it, at its top;
- nothing is imported under another name, except whole modules of the standard library;
- no two parts have a name in common at their top level.
"""

import ast
import json
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.records.kinds import KINDS
from risk.rules.catalogue import RULES
from risk.verdict import RuleId
from scripts.kinds import tuple_text

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / "audit" / "verifier" / "parts"
BUILT = ROOT / "audit" / "verifier" / "verify.py"
SECOND = ROOT / "audit" / "verifier" / "verify.mjs"
CHECKS = PARTS / "contents" / "statements" / "checks.py"
SIGNED = PARTS / "contents" / "statements" / "signed_kinds.py"
READABLE = "policy_readable intent_readable state_readable"
TABLE = ("//STATEMENTS-BEGIN written by `make verifier`\n", "//STATEMENTS-END\n")
SAYS = "The kinds of version 1 that this file interprets; of others it verifies the bytes only."
NAMES = ("//KINDS-BEGIN written by `make verifier`\n", "//KINDS-END\n")
PACKAGE = "audit.verifier.parts."
ORDER = (
    "report",
    "canonical",
    "tree",
    "trust.note",
    "trust.policy",
    "trust.keys",
    "trust.wire",
    "trust.brokerfile",
    "trust.officers",
    "trust.checkpoint",
    "kinds",
    "records",
    "contents.seeds",
    "contents.phone",
    "contents.approvals",
    "contents.fills",
    "contents.statements.signed_kinds",
    "contents.statements.table",
    "contents.statements.checks",
    "contents.statements.messages",
    "contents.statements.positions",
    "contents.statements.attempts",
    "contents.statements.seen",
    "contents.statements.verdicts",
    "contents.statements.forecasts",
    "contents.statements.listings",
    "contents.statements.joint",
    "contents.statements.orders",
    "contents.statements.governing",
    "contents.statements.adjustments",
    "contents.statements.judging",
    "contents.standing",
    "contents.overrides",
    "contents.signed",
    "contents.baskets",
    "contents.policies",
    "contents.fairness.tables",
    "contents.fairness.statistics",
    "contents.fairness.together",
    "contents.fairness.windows",
    "log",
    "dump",
    "bundle",
    "proof",
    "tiles",
    "command",
)
MARK = "# Built by `make verifier` from audit/verifier/parts/: change it there.\n"
RULE = "# " + "-" * 64
CRYPTOGRAPHY = "cryptography"


class PartError(Exception):
    """A part breaks a rule of the one file."""


@dataclass(slots=True)
class Joined:
    """What the parts read so far have in common.

    Attributes:
        modules: `import` lines.
        names: for each module, what is imported from it.
        guarded: `try` statements around imports that may be missing, as text.
        owner: for each top-level name, the part that defines it.
    """

    modules: set[str] = field(default_factory=set)
    names: dict[str, set[str]] = field(default_factory=dict)
    guarded: list[str] = field(default_factory=list)
    owner: dict[str, str] = field(default_factory=dict)

    def take_import(self, node: ast.stmt, part: str, text: str) -> None:
        """Take one import statement at the top of a part.

        Raises:
            PartError: it breaks a rule of the one file.
        """
        match node:
            case ast.Import(names=names):
                for one in names:
                    _foreign(one.name, part, node.lineno)
                    self.modules.add(f"import {ast.unparse(one)}")
            case ast.ImportFrom(module=str(module), names=names, level=0):
                if any(one.asname for one in names):
                    raise PartError(f"{part} line {node.lineno}: imports under another name")
                if not module.startswith(PACKAGE):
                    _foreign(module, part, node.lineno)
                    self.names.setdefault(module, set()).update(one.name for one in names)
                    return
                for one in names:
                    if self.owner.get(one.name) != module.removeprefix(PACKAGE):
                        raise PartError(
                            f"{part} line {node.lineno}: {one.name} is not in {module},"
                            " or that part comes later in ORDER"
                        )
            case ast.Try():
                self.guarded.append(text)
            case _:
                raise PartError(f"{part} line {node.lineno}: a relative import")

    def define(self, name: str, part: str) -> None:
        """Note a top-level name.

        Raises:
            PartError: another part has it.
        """
        if self.owner.setdefault(name, part) != part:
            raise PartError(f"{part}: {name} is also a name of {self.owner[name]}")

    def imports(self) -> str:
        """Return all imports as one block, sorted as ruff sorts them."""
        lines = {module: _from(module, self.names[module]) for module in sorted(self.names)}
        standard = [line for name, line in lines.items() if not name.startswith(CRYPTOGRAPHY)]
        third = [line for name, line in lines.items() if name.startswith(CRYPTOGRAPHY)]
        blocks = ["\n".join([*sorted(self.modules), *standard]), "\n".join(third), *self.guarded]
        return "\n\n".join(block for block in blocks if block)


def _foreign(module: str, part: str, line: int) -> None:
    """Refuse what an outsider does not have."""
    root = module.partition(".")[0]
    if root not in sys.stdlib_module_names and root != CRYPTOGRAPHY:
        raise PartError(f"{part} line {line}: {module}: an outsider does not have it")


def _from(module: str, names: set[str]) -> str:
    """Return an import line: constants first, then classes, then the rest."""
    ordered = sorted(names, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    return f"from {module} import {', '.join(ordered)}"


def _is_import(node: ast.stmt) -> bool:
    """Return whether a statement only imports."""
    if isinstance(node, ast.Try):
        return all(isinstance(one, ast.Import | ast.ImportFrom) for one in node.body)
    return isinstance(node, ast.Import | ast.ImportFrom)


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a part defines at its top level."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for one in (below for target in targets for below in ast.walk(target)):
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                    yield one.id


def take_part(joined: Joined, part: str, text: str) -> tuple[str, str]:
    """Return a part's docstring and what follows its imports.

    Raises:
        PartError: the part breaks a rule of the one file.
    """
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    top = 1
    while _is_import(tree.body[top]):
        node = tree.body[top]
        joined.take_import(node, part, "".join(lines[node.lineno - 1 : node.end_lineno]).rstrip())
        top += 1
    for node in tree.body[top:]:
        for below in ast.walk(node):
            if isinstance(below, ast.Import | ast.ImportFrom):
                raise PartError(f"{part} line {below.lineno}: an import below the top")
    for name in _defined(tree):
        joined.define(name, part)
    body = "".join(lines[tree.body[top - 1].end_lineno or 0 :]).strip("\n")
    return ast.get_docstring(tree, clean=False) or "", body


def built(folder: Path = PARTS) -> str:
    """Return the one file.

    Raises:
        PartError: a part breaks a rule, or a file in the folder is not in `ORDER`.
    """
    there = {
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in folder.rglob("*.py")
        if path.name != "__init__.py"
    }
    if there != set(ORDER):
        raise PartError(f"ORDER and the folder differ: {sorted(there ^ set(ORDER))}")
    joined, sections, docstring = Joined(), [], ""
    for part in ORDER:
        path = folder.joinpath(*part.split(".")).with_suffix(".py")
        docstring, body = take_part(joined, part, path.read_text("utf-8"))
        title = part.rpartition(".")[2]
        said = "" if part == ORDER[-1] else f"# {docstring.strip()}".replace("\n", "\n# ")
        heading = f"{RULE} {title}\n{said}".rstrip().replace("\n# \n", "\n#\n")
        gap = "\n\n\n" if body.startswith(("def ", "class ", "@")) else "\n\n"
        sections.append(heading + gap + body)
    text = "\n\n\n".join(sections)
    return f'"""{docstring}"""\n\n{MARK}\n{joined.imports()}\n\n{text}\n'


def with_table(text: str, folder: Path = PARTS) -> str:
    """Return the second verifier with the table of statements, as the parts have it.

    The table has, for each statement that a function judges, the kinds whose records it takes.
    """
    space: dict[str, Any] = {"__name__": "statements"}
    source = (folder / "contents" / "statements" / "table.py").read_text("utf-8")
    exec(compile(source, "statements.py", "exec"), space)  # noqa: S102 - our own table, without imports of ours
    table = {one.id: sorted(one.judges) for one in space["STATEMENTS"] if not one.apart}
    rows = "".join(f"  {name}: {json.dumps(kinds)},\n" for name, kinds in table.items())
    checks = "".join(
        f'  ["{rule}", {json.dumps(sorted(names.split()))}],\n' for rule, names in _checks()
    )
    signed = "".join(f"  {kind}: {json.dumps(row)},\n" for kind, row in _signed())
    lines = f"const STATEMENTS = {{\n{rows}}};\nconst CHECKS = new Map([\n{checks}]);\n"
    lines += f"const SIGNED_KINDS = {{\n{signed}}};\n"
    return _between(TABLE, text, lines)


def _between(marks: tuple[str, str], text: str, lines: str) -> str:
    """Return a text with these lines between two marks."""
    before, _, rest = text.partition(marks[0])
    return before + marks[0] + lines + marks[1] + rest.partition(marks[1])[2]


def kinds_part() -> str:
    """Return the part that names the kinds."""
    return (
        f'"""{SAYS}\n\n'
        'Written by `make verifier` from the table of kinds; do not edit.\n"""\n\n'
        f'_KINDS = """\n{_names("")}\n"""\n'
        "KNOWN_KINDS = dict.fromkeys(_KINDS.split(), 1)\n"
        '"""The kinds with their version."""\n'
    )


def with_kinds(text: str) -> str:
    """Return the second verifier with the names of the kinds."""
    rows = f"export const KINDS = new Set(`\n{_names('  ')}\n`.trim().split(/\\s+/));\n"
    return _between(NAMES, text, f"/** {SAYS} */\n{rows}")


def _names(indent: str) -> str:
    return textwrap.fill(" ".join(KINDS), 100, initial_indent=indent, subsequent_indent=indent)


def signed_part() -> str:
    """Return the part with the kinds that both officers sign."""
    rows = "".join(f'    "{kind}": {tuple_text(row)},\n' for kind, row in _signed())
    judged = "".join(
        f'    "{one.kind}": "{" ".join(one.signed_fields)}",\n'
        for one in KINDS.values()
        if one.signed
    )
    return (
        '"""What both officers sign of a record, by its kind.\n\n'
        'Written by `make verifier` from the table of kinds; do not edit.\n"""\n\n'
        f"SIGNED_KINDS = {{\n{rows}}}\n"
        '"""The kind that a record ends, its field that names the log, purpose, particulars."""\n'
        f"SIGNED_FIELDS = {{\n{judged}}}\n"
    )


def _signed() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the kinds that both officers sign, each with its row."""
    for one in KINDS.values():
        if one.signed:
            yield one.kind, (one.ends, "log_id" if "log_id" in one.fields else "", *one.signed)


def checks_part() -> str:
    """Return the part with the checks of the rules that a policy names."""
    rows = "".join(f"{rule} {names}\n" for rule, names in _checks())
    return (
        '"""The checks of each rule that a policy names; a verdict has one result of each.\n\n'
        'Written by `make verifier` from the rules; do not edit.\n"""\n\n'
        f'_CHECKS = """\n{rows}"""\n'
        "CHECKS = {\n"
        "    rule: frozenset(checks)\n"
        "    for rule, *checks in (line.split() for line in _CHECKS.strip().splitlines())\n"
        "}\n"
    )


def _checks() -> Iterator[tuple[str, str]]:
    """Yield the id of each rule and the names of its checks; R00 says what is readable as well."""
    for rule in RULES:
        names = " ".join(check.name for check in rule.checks)
        yield rule.rule_id, f"{READABLE} {names}" if rule.rule_id is RuleId.R00 else names


def main() -> int:
    """Write the verifiers; return 1 if a part breaks a rule."""
    try:
        (PARTS / "kinds.py").write_text(kinds_part(), "utf-8")
        CHECKS.write_text(checks_part(), "utf-8")
        SIGNED.write_text(signed_part(), "utf-8")
        BUILT.write_text(built(), "utf-8")
        SECOND.write_text(with_kinds(with_table(SECOND.read_text("utf-8"))), "utf-8")
    except PartError as error:
        print(f"verify.py was not written: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Places in a source file, and the changes that can be planted there. Pure."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One change of one place.

    Attributes:
        nth: tells apart equal changes of equal texts in one function.
        start: byte offset of the text in this version of the file, as is `end`.
        line: line of the text in this version, to look up the tests that run it.
    """

    file: str
    function: str
    operator: str
    old: str
    new: str
    nth: int
    start: int
    end: int
    line: int

    @property
    def key(self) -> str:
        """The site's name, which does not depend on the rest of the file."""
        place = f"{self.file}::{self.function} [{self.operator}"
        return f"{place} {self.nth}] {' '.join(self.old.split())} -> {' '.join(self.new.split())}"


def planted(source: bytes, site: Site) -> bytes | None:
    """Return the file with the fault in it; None if that is not Python, or the same program."""
    text = source[: site.start] + site.new.encode() + source[site.end :]
    try:
        changed = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    return None if ast.dump(changed) == ast.dump(ast.parse(source)) else text


class Places:
    """Collects the changes of one file."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.seen: Counter[tuple[str, ...]] = Counter()
        self.sites: list[Site] = []

    def at(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends, in bytes."""
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def text(self, node: ast.AST) -> str:
        """Return a node's text."""
        start, end = self.at(node)
        return self.source[start:end].decode()

    def add(self, scope: str, operator: str, node: ast.AST, new: str) -> None:
        """Note that another text may stand in a node's place."""
        self.put(scope, operator, self.at(node), new, node.lineno)  # type: ignore[attr-defined]

    def put(self, scope: str, operator: str, at: tuple[int, int], new: str, line: int) -> None:
        """Note that another text may stand between two offsets."""
        old = self.source[at[0] : at[1]].decode()
        where = (scope or "(module)", operator, old, new)
        self.sites.append(
            Site(
                file=self.file,
                function=where[0],
                operator=operator,
                old=old,
                new=new,
                nth=self.seen[where],
                start=at[0],
                end=at[1],
                line=line,
            )
        )
        self.seen[where] += 1

    def between(self, scope: str, operator: str, whole: ast.AST, gap: tuple[ast.AST, ast.AST],
                 words: tuple[str, str]) -> None:  # fmt: skip
        """Change the word between two parts of an expression."""
        (start, end), (_, left), (right, _) = self.at(whole), self.at(gap[0]), self.at(gap[1])
        middle = self.source[left:right].decode()
        if middle.count(words[0]) == 1:
            changed = middle.replace(*words)
            new = self.source[start:left].decode() + changed + self.source[right:end].decode()
            self.add(scope, operator, whole, new)

    def without_each(self, node: ast.expr, parts: list[ast.expr]) -> Iterator[str]:
        """Yield the text of a sequence with each of its parts left out."""
        start, end = self.at(node)
        for place, part in enumerate(parts):
            if place + 1 < len(parts):
                cut = (self.at(part)[0], self.at(parts[place + 1])[0])
            else:
                cut = (self.at(parts[place - 1])[1], self.at(part)[1])
            yield self.source[start : cut[0]].decode() + self.source[cut[1] : end].decode()

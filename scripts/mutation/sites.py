"""Where a fault can be planted: every place of a source file that an operator can change. Pure.

A site is named by file, function and text, never by a line.

Left out, because the change would not be a fault of behaviour:
- what a person reads: docstrings, error texts, f-strings, `print`, log and telemetry calls,
  `__str__` and `__repr__`, and the modules of PROSE;
- what only a type checker reads: annotations, Protocols, overloads, `TYPE_CHECKING`;
- decorators, default arguments and `Annotated` metadata;
- PROGRAMS that a person runs by hand to train and evaluate the models.
"""

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from scripts.mutation.places import Places, Site

ROOMS: Final = ("gateway", "risk", "fix", "inference")
PROSE: Final = (
    "gateway/cli/",
    "gateway/launch/paper/demo_agent.py",
    "gateway/telemetry/console.py",
    "gateway/launch/paper/summary.py",
    "gateway/telemetry/spans.py",
    "gateway/surfaces/web/views/formats.py",
    "gateway/surfaces/web/views/plots.py",
)
PROGRAMS: Final = ("inference/training/", "inference/engine/self_test.py")
SPOKEN: Final = frozenset({"_log", "LOG", "log", "logging", "logger", "telemetry", "print", "warn"})
"""Parts of a dotted name whose call only informs a person."""
UNSEEN: Final = frozenset({"__str__", "__repr__", "reach"})
FOREIGN: Final = frozenset({"isinstance", "getattr", "hasattr", "Annotated", "Field", "cast"})
TYPES: Final = frozenset({"Annotated", "Callable", "Literal", "Mapping", "dict", "list", "tuple"})
COMPARED: Final = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
COUNTED: Final = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
SWAPPED: Final = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil"}


def left_out(file: str) -> bool:
    """Return whether a file is left out."""
    return file.startswith((*PROSE, *PROGRAMS)) or not file.endswith(".py")


def members_of(sources: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
    """Return the members of every enumeration in the sources, by its name."""
    found: dict[str, tuple[str, ...]] = {}
    for source in sources.values():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and any("Enum" in ast.dump(b) for b in node.bases):
                names = [
                    target.id
                    for line in node.body
                    if isinstance(line, ast.Assign)
                    for target in line.targets
                    if isinstance(target, ast.Name)
                ]
                found[node.name] = tuple(names)
    return found


def sites_of(file: str, source: bytes, members: Mapping[str, tuple[str, ...]]) -> list[Site]:
    """Return every site of a file, in order of the text."""
    return [] if left_out(file) else _Finder(file, source, members).found()


class _Finder(Places):
    """Walks one file; `scope` is the qualified name of the enclosing function."""

    def __init__(self, file: str, source: bytes, members: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(file, source)
        self._members = members

    def found(self) -> list[Site]:
        """Return the sites in the order of the text."""
        self._block(ast.parse(self.source).body, "", "")
        return sorted(self.sites, key=lambda site: (site.start, site.operator, site.new))

    # statements

    def _block(self, body: list[ast.stmt], scope: str, returns: str) -> None:
        for node in body:
            self._statement(node, scope, returns)

    def _statement(self, node: ast.stmt, scope: str, returns: str) -> None:  # noqa: C901 - one case per node
        match node:
            case ast.ClassDef():
                if not any("Protocol" in ast.dump(base) for base in node.bases):
                    self._block(node.body, _inner(scope, node.name), "")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, scope)
            case ast.If():
                self._if(node, scope, returns)
            case ast.Try():
                for part in (node.body, node.orelse, node.finalbody):
                    self._block(part, scope, returns)
                for handler in node.handlers:
                    self._handler(handler, scope, returns)
            case ast.For() | ast.AsyncFor() | ast.While() | ast.With() | ast.AsyncWith():
                for head in _heads(node):
                    self._expression(head, scope)
                self._block(node.body, scope, returns)
            case ast.Match():
                self._expression(node.subject, scope)
                for case in node.cases:
                    self._pattern(case.pattern, scope)
                    self._block(case.body, scope, returns)
            case _:
                self._simple(node, scope, returns)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: str) -> None:
        if node.name in UNSEEN or any("overload" in ast.dump(d) for d in node.decorator_list):
            return
        returns = "" if node.returns is None else self.text(node.returns)
        inner = _inner(scope, node.name)
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if returns == "None" and len(body) > 1:
            at = (self.at(body[0])[0], self.at(body[-1])[1])
            self.put(inner, "early return", at, "return", body[0].lineno)
        self._block(body, inner, returns)

    def _if(self, node: ast.If, scope: str, returns: str) -> None:
        if "TYPE_CHECKING" in ast.dump(node.test):
            return
        self.add(scope, "negated condition", node.test, f"not ({self.text(node.test)})")
        if not node.orelse:
            self.add(scope, "dropped check", node.test, "False")
        self._expression(node.test, scope)
        self._block(node.body, scope, returns)
        self._block(node.orelse, scope, returns)

    def _handler(self, handler: ast.ExceptHandler, scope: str, returns: str) -> None:
        body = handler.body
        if not all(isinstance(one, ast.Pass) or self._spoken(one) for one in body):
            at = (self.at(body[0])[0], self.at(body[-1])[1])
            self.put(scope, "empty except", at, "pass", body[0].lineno)
        self._block(body, scope, returns)

    def _pattern(self, pattern: ast.pattern, scope: str) -> None:
        for node in ast.walk(pattern):
            if isinstance(node, ast.MatchValue):
                self._expression(node.value, scope, compared=True)

    def _simple(self, node: ast.stmt, scope: str, returns: str) -> None:  # noqa: C901 - one case per node
        match node:
            case ast.Expr(value=ast.Constant()):
                return  # a docstring
            case ast.Expr():
                if self._spoken(node):
                    return
                self.add(scope, "dropped call", node, "pass")
                self._expression(node.value, scope)
            case ast.Raise():
                self.add(scope, "dropped raise", node, "pass")
            case ast.Continue():
                self.add(scope, "dropped statement", node, "pass")
            case ast.Return(value=value) if value is not None:
                self._return(node, value, scope, returns)
                self._expression(value, scope)
            case ast.Assign(targets=targets, value=value):
                if not any(isinstance(t, ast.Name) for t in targets) and scope:
                    self.add(scope, "dropped statement", node, "pass")
                self._expression(value, scope)
            case ast.AugAssign(value=value):
                self.add(scope, "dropped statement", node, "pass")
                self._expression(value, scope)
            case ast.AnnAssign(value=value) if value is not None:
                self._expression(value, scope)
            case ast.Assert(test=test):
                self._expression(test, scope)
            case _:
                pass

    def _return(self, node: ast.Return, value: ast.expr, scope: str, returns: str) -> None:
        if returns == "bool":
            self.add(scope, "negated result", value, f"not ({self.text(value)})")
        elif returns.endswith("| None") and not _is_none(value):
            self.add(scope, "early return", value, "None")
        elif returns.startswith("tuple[") and not isinstance(value, ast.Tuple):
            self.add(scope, "early return", value, "()")
        del node

    # expressions

    def _expression(self, node: ast.AST, scope: str, *, compared: bool = False) -> None:
        if isinstance(node, ast.JoinedStr) or _is_type(node):
            return
        if isinstance(node, ast.Call) and (_words(node.func) & (SPOKEN | FOREIGN)):
            return
        for operator, new in self._changes(node, compared=compared):
            self.add(scope, operator, node, new)
        self._gaps(node, scope)
        strings = isinstance(node, ast.Compare)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.comprehension):
                for part in (child.iter, *child.ifs):
                    self._expression(part, scope)
                for test in child.ifs:
                    self.add(scope, "dropped check", test, "True")
            elif isinstance(child, ast.keyword):
                self._expression(child.value, scope)
            elif isinstance(child, ast.expr):
                self._expression(child, scope, compared=strings)

    def _gaps(self, node: ast.AST, scope: str) -> None:
        """Add the changes of the word between two operands."""
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                self.between(scope, "comparison", node, (left, right), COMPARED[type(op)])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in COUNTED:
                self.between(scope, "arithmetic", node, (left, right), COUNTED[type(op)])
            case ast.BoolOp(op=op, values=values):
                words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                for gap in pairwise(values):
                    self.between(scope, "and/or", node, gap, words)
                for text in self.without_each(node, values):
                    self.add(scope, "dropped operand", node, text)
            case _:
                pass

    def _changes(self, node: ast.AST, *, compared: bool) -> Iterator[tuple[str, str]]:  # noqa: C901 - one case per node
        """Yield operators and replacements for an expression."""
        match node:
            case ast.Constant(value=bool(value)):
                yield "constant", str(not value)
            case ast.Constant(value=int(value)):
                yield "constant", f"{value + 1}"
            case ast.Constant(value=str(value)) if compared and value:
                yield "constant", repr(value + "~")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield "dropped not", f"({self.text(operand)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                yield "dropped sign", f"({self.text(operand)})"
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                names = self._members.get(name, ())
                if attr in names and len(names) > 1:
                    other = names[(names.index(attr) + 1) % len(names)]
                    yield "wrong member", f"{name}.{other}"
            case ast.Tuple(elts=elts) | ast.Set(elts=elts) | ast.List(elts=elts) if len(elts) > 1:
                for text in self.without_each(node, elts):
                    yield "dropped element", text
            case ast.Call():
                yield from self._calls(node)
            case ast.IfExp(body=body, orelse=orelse):
                body_text, else_text = self.text(body), self.text(orelse)
                test = self.text(node.test)
                yield "swapped branches", f"({else_text}) if ({test}) else ({body_text})"
            case _:
                pass

    def _calls(self, node: ast.Call) -> Iterator[tuple[str, str]]:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        arguments = self.text(node)[len(self.text(node.func)) :]
        if name in SWAPPED:
            yield "max/min", f"{SWAPPED[name]}{arguments}"
        if name in {"abs", "sorted", "reversed"} and len(node.args) == 1 and not node.keywords:
            yield "dropped call", f"({self.text(node.args[0])})"
        if len(node.args) > 1 and name not in SWAPPED:
            first, second = node.args[:2]
            texts = (self.text(first), self.text(second))
            if not any(isinstance(one, ast.Starred | ast.GeneratorExp) for one in (first, second)):
                start, end = self.at(node)
                (a, b), (c, d) = self.at(first), self.at(second)
                parts = (self.source[start:a], self.source[b:c], self.source[d:end])
                before, middle, after = (part.decode() for part in parts)
                yield "swapped arguments", before + texts[1] + middle + texts[0] + after

    def _spoken(self, node: ast.stmt) -> bool:
        """Return whether a statement only informs a person, or names a crash point."""
        return (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and bool(_words(node.value.func) & (SPOKEN | UNSEEN))
        )


def _inner(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name


def _is_type(node: ast.AST) -> bool:
    """Return whether an expression is a type: `Literal[...]`, `Annotated[...]`, `dict[...]`."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in TYPES
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _heads(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions that a loop or a `with` evaluates before its body."""
    match node:
        case ast.While(test=test):
            yield test
        case ast.For(iter=over) | ast.AsyncFor(iter=over):
            yield over
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                yield item.context_expr
        case _:
            pass


def _words(node: ast.AST) -> frozenset[str]:
    """Return the parts of a dotted name."""
    match node:
        case ast.Name(id=name):
            return frozenset({name})
        case ast.Attribute(value=value, attr=attr):
            return _words(value) | {attr}
        case _:
            return frozenset()

"""Only an approval, and a certification run, make a new order."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
CALLERS = {
    "fix/wire/messages.py",
    "fix/certification/cases.py",
    "fix/certification/session_cases.py",
}


def test_nobody_else_makes_an_order_without_an_approval() -> None:
    found = set()
    for package in ("fix", "gateway", "risk", "inference", "audit"):
        for path in (ROOT / package).rglob("*.py"):
            names = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name))
            if any(name.id == "limit_order" for name in names):
                found.add(str(path.relative_to(ROOT)))
    assert found == CALLERS

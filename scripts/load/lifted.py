"""The bench's policy and keys: a draft whose rates are lifted, so that orders leave and are filled.

A desk's rules refuse most of what a load asks for: the same orders, ten a second, all day. Under
them a bench measures refusals. So with `--lifted` both officers of the bench sign a draft, named
`bench`, in which the rules of `LIFTED` are not armed; every other rule judges as it does. The
broker's profile throttles no orders: the counterparty is ours.

Not here: a desk with its own policy (`served`).
"""

import re
from pathlib import Path
from typing import Final

NAME: Final = "bench"
LIFTED: Final = ("R13", "R14", "R16", "R32", "R33", "R34", "R35", "R36", "R40", "R42")
"""Pace, repeats and duplicates of messages; trading back, and own trades on both sides, within
minutes: a load that goes on must sell what it has bought."""
WHY: Final = "Bench: rates are lifted, so that what a load asks for leaves."
DAY_NOTIONAL: Final = "9000000000.00"


def lifted_policy(draft: str) -> str:
    """Return a draft policy's text with the name `bench` and the lifted rules not armed.

    Raises:
        SystemExit: the draft does not arm one of them, so nothing would be lifted.
    """
    text = re.sub(r'(?m)^name = "[^"]*"', f'name = "{NAME}"', draft, count=1)
    for rule in LIFTED:
        armed = f'rule = "{rule}", armed = true, reason = ""'
        if armed not in text:
            raise SystemExit(f"bench: the draft does not arm {rule}")
        text = text.replace(armed, f'rule = "{rule}", armed = false, reason = "{WHY}"')
    return text


def key_scope(own: str, *, lifted: bool) -> str:
    """Return the scope of a further agent, from that of `init`: an account of its own."""
    text = re.sub(r"(?m)^account = .*\n", "", own)
    if not lifted:
        return text
    return re.sub(r'(?m)^day_notional_max = "[^"]*"', f'day_notional_max = "{DAY_NOTIONAL}"', text)


def lift(folder: Path) -> None:
    """Change the draft, and the throttle in the broker's profile, that `init` made in a folder."""
    draft, broker = folder / "policy.toml", folder / "broker.toml"
    draft.write_text(lifted_policy(draft.read_text(encoding="utf-8")), encoding="utf-8")
    profile = re.sub(r"(?m)^orders_per_s = \d+", "orders_per_s = 0", broker.read_text())
    broker.write_text(profile, encoding="utf-8")

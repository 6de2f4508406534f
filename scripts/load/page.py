"""The page of `make bench-load`: a section for each way of running it, written when it was run.

Long runs and short ones come at different times, so a run replaces its own section and leaves the
others as they are; each says what it ran on. Pure.
"""

import re
from typing import Final

ABOUT: Final = """\
# A served desk under load, measured

Written by `make bench-load ARGS=--page`; do not edit. Each section is one run, which says what it
ran on, and replaces the section of its own name. A desk as `init` makes it (keys with their rates
and budgets) is served with the shipped pair, policy and paths, on this machine with its database,
FIX child, counterparty and load; only the *bench policy* is another: a draft that both officers
sign, in which pace, repeats and duplicates are lifted. The load is open: an intent is sent at its
planned time, however slow the answers are, and latency counts from there. *bare* is FastAPI, one
committed INSERT and one quickfix send, asked at the same rates in the same run.

Not here: a slow disk.
"""
_SECTION: Final = re.compile(r"(?m)^## ")


def titled(*, lifted: bool, cold: bool, busy: bool, memory: bool) -> str:
    """Return the section's name for a way of running."""
    words = ["Bench policy, rates lifted" if lifted else "Desk policy"]
    words += ["memory"] * memory + ["no forecasts ready"] * cold
    words += ["a busy loop on each core"] * busy
    return ", ".join(words)


def replaced(page: str, title: str, body: str) -> str:
    """Return a page with a section put in place of the one of its name, or added at its end."""
    _, *sections = _SECTION.split(page)
    found = {one.partition("\n")[0]: one.partition("\n")[2].strip() for one in sections}
    found[title] = body.strip()
    return "\n".join((ABOUT, *(f"## {name}\n\n{text}\n" for name, text in found.items())))

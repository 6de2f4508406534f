"""The text of a new `countersign.toml`: what was chosen, and every other setting as a comment."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic.fields import FieldInfo

from gateway.installation.settings import Settings
from gateway.installation.settings_file import plain_fields

_HEAD: Final = """\
# Settings of one gateway. `countersign settings --values` shows what is in force, and
# `countersign doctor` checks it. A line that begins with `#` has its default.
#
# The environment wins over this file: port in [fix] is COUNTERSIGN_FIX__PORT there. A relative
# path starts at the folder of this file. An unknown name stops the start.
"""
LEFT_OUT: Final = frozenset({"config", "ledger.admin_dsn", "fix.new_session"})
"""What no file should say: its own name, the administrator's password, a reason used once."""
PAPER: Final = frozenset({"simulator", "playback"})
"""Sections that only `run` reads."""
_WIDTH: Final = 98


def settings_text(chosen: Mapping[str, object]) -> str:
    """Return a settings file with values by dotted name; the rest stands there as comments."""
    return _HEAD + "".join(f"{line}\n" for line in _lines(chosen))


def _lines(chosen: Mapping[str, object]) -> Iterator[str]:
    at = ""
    for section, name, info in plain_fields(Settings):
        dotted = f"{section}.{name}" if section else name
        if section in PAPER or dotted in LEFT_OUT:
            continue
        if section != at:
            yield from ("", f"[{section}]")
            at = section
        yield ""
        yield from (f"# {row}" for row in textwrap.wrap(info.description or "", _WIDTH))
        if dotted in chosen:
            yield f"{name} = {_toml(chosen[dotted])}"
        else:
            yield _comment(name, info)


def _comment(name: str, info: FieldInfo) -> str:
    return f"# {name} is not set" if info.default is None else f"# {name} = {_toml(info.default)}"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)

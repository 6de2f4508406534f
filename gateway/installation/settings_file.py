"""The settings file, `countersign.toml`: a table for each section, a line for each setting.

It is the file that `COUNTERSIGN_CONFIG` names, else the one in the current folder. The environment
wins over it. Not here: what a setting may be (`settings`), what `countersign init` writes.
"""

import os
import re
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, TomlConfigSettingsSource
from typing_extensions import override

from gateway.errors import SettingsError

FILE: Final = "countersign.toml"
CONFIG: Final = "COUNTERSIGN_CONFIG"
_SECTION: Final = re.compile(r"\s*\[\s*([A-Za-z0-9_-]+)\s*\]\s*(#.*)?")
_ENTRY: Final = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_AT: Final = re.compile(r"\s*\((?:at line (\d+), column (\d+)|at end of document)\)")
_SECRETS: Final = (
    re.compile(r"(?P<before>://[^:@/?]*:)[^/?]*(?=@)"),
    re.compile(r"(?P<before>\b(?:password|pin-value|passwd)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;?]+)"),
)


def settings_file() -> Path | None:
    """Return the settings file's absolute path, or None if there is none.

    Raises:
        SettingsError: `COUNTERSIGN_CONFIG` names no file.
    """
    named = os.environ.get(CONFIG)
    path = Path(named or FILE).absolute()
    if path.is_file():
        return path
    if named:
        raise SettingsError(name=CONFIG, problem=f"there is no file {path}")
    return None


def read_document(path: Path) -> dict[str, Any]:
    """Return the tables and values of a settings file.

    Raises:
        SettingsError: it cannot be read or is not TOML; names the line.
    """
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        problem = f"line {line}: not text in UTF-8"
    except tomllib.TOMLDecodeError as error:
        at, said = _AT.search(str(error)), _AT.sub("", str(error))
        where = f"line {at[1]}, column {at[2]}" if at and at[1] else "the last line"
        problem = f"{where}: not TOML: {said}; write NAME = VALUE, and text in quotes"
    raise SettingsError(name=str(path), problem=problem)


def place_in(path: Path, loc: tuple[str, ...], *, exact: bool = False) -> str | None:
    """Return `FILE line N` of a setting or, unless `exact`, of its section; None if not there."""
    places = dict(_places(path.read_text(encoding="utf-8")))
    lengths = [len(loc)] if exact else range(len(loc), 0, -1)
    found = next((places[loc[:n]] for n in lengths if loc[:n] in places), None)
    return None if found is None else f"{path} line {found}"


def plain_fields(model: type[BaseModel]) -> Iterator[tuple[str, str, FieldInfo]]:
    """Yield section ("" outside every one), name and field of each setting, in reading order."""
    for name, info in model.model_fields.items():
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from ((name, field, one) for field, one in inner.model_fields.items())
        else:
            yield "", name, info


def refuse_unknown(path: Path, model: type[BaseModel]) -> None:
    """Refuse a name that is no setting.

    Raises:
        SettingsError: names the first one with its line, and the setting that it resembles.
    """
    known: dict[str, set[str]] = {}
    for section, name, _ in plain_fields(model):
        known.setdefault(section, set()).add(name)
    known[""].discard("config")  # the file itself
    for section, value in read_document(path).items():
        inside = section in known and isinstance(value, dict)
        choice = known[section] if inside else known[""] | known.keys()
        given: list[tuple[str, ...]] = (
            [(section, name) for name in value] if inside else [(section,)]
        )
        for loc in (one for one in given if one[-1] not in choice):
            meant = get_close_matches(loc[-1], sorted(choice), n=1)
            advice = f"write {meant[0]}" if meant else "see `countersign settings`"
            place = place_in(path, loc) or str(path)
            raise SettingsError(
                name=".".join(loc), problem=f"{place}: there is no such setting; {advice}"
            )


class FileSource(TomlConfigSettingsSource):
    """The values of a settings file; a relative path starts at the file's folder."""

    def __init__(self, settings: type[BaseSettings], path: Path) -> None:
        """Read a file."""
        super().__init__(settings, toml_file=path)
        self._folder = path.parent
        self._paths = {
            (section, name)
            for section, name, one in plain_fields(settings)
            if Path in {one.annotation, *get_args(one.annotation)}
        }

    @override
    def __call__(self) -> dict[str, Any]:
        """Return the values by section."""
        return {
            name: {inner: self._anchored((name, inner), one) for inner, one in value.items()}
            if isinstance(value, dict)
            else self._anchored(("", name), value)
            for name, value in super().__call__().items()
        }

    def _anchored(self, name: tuple[str, str], value: object) -> object:
        anchored = name in self._paths and isinstance(value, str)
        return str(self._folder / str(value)) if anchored else value


def without_secrets(text: str) -> str:
    """Return a value without the password of a DSN or the PIN of a device."""
    for secret in _SECRETS:
        text = secret.sub(r"\g<before>***", text)
    return text


def _places(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield each section and setting with its line."""
    at: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if section := _SECTION.fullmatch(line):
            at = (section[1],)
            yield at, number
        elif entry := _ENTRY.match(line):
            yield (*at, entry[1]), number

"""A broker's profile as TOML with comments, for the people who write it; pure.

Not here: files (`gateway/installation/children/fix_profiles`). Errors name the key and its line.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Final

from pydantic import ValidationError

from fix.dialects.profile import Profile
from fix.errors import ProfileError

Place = tuple[str | int, ...]

BYTES_MAX: Final = 256 * 1024
_SECTION: Final = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\s-]+?)\s*\]\]?\s*(#.*)?")
_ENTRY: Final = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_KEY: Final = re.compile(r"[a-z_]+(?:\.[a-z_]+)*")
_AT_LINE: Final = re.compile(r"\s*\(at line (\d+), column (\d+)\)")


def parse_profile_text(text: str) -> Profile:
    """Parse a profile from TOML.

    Raises:
        ProfileError: the text is not TOML or not a profile; names every faulty key with its line.
    """
    try:
        document = tomllib.loads(text)
        raw = json.dumps(document)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        said = _AT_LINE.sub("", str(error))
        raise ProfileError(problem=f"line {line}: not TOML: {said}") from None
    except TypeError:
        raise ProfileError(problem="a date or time: write text in quotes") from None
    try:
        return Profile.model_validate_json(raw)
    except ValidationError as error:
        lines = dict(_places(text))
        faults = [
            _fault(lines, fault["loc"], fault["msg"])
            for fault in error.errors(include_url=False, include_context=False)
        ]
        raise ProfileError(problem="; ".join(faults)) from None


def _fault(lines: dict[Place, int], place: Place, said: str) -> str:
    if not place:  # a rule about several keys names the first one
        keys = (tuple(word.split(".")) for word in _KEY.findall(said))
        key = next((key for key in keys if key in lines), ())
        return f"line {lines.get(key, 1)}: {said.removeprefix('Value error, ')}"
    near = (lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines)
    named = ".".join(str(part) for part in place)
    return f"line {next(near, 1)}: {named}: {said.removeprefix('Value error, ')}"


def _places(text: str) -> Iterator[tuple[Place, int]]:
    """Yield the path of each table and entry with its line."""
    counts: dict[Place, int] = {}
    at: Place = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if section := _SECTION.fullmatch(line):
            names = [name.strip() for name in section[2].split(".")]
            at = tuple(names)
            if section[1] == "[[":
                counts[at] = counts.get(at, -1) + 1
                at = (*at, counts[at])
            yield at, number
        elif entry := _ENTRY.match(line):
            yield (*at, entry[1]), number

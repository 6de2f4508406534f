"""A policy as TOML with comments, for the people who write and read it; pure.

Not here: files and signatures. What is signed is the policy, never its text: comments and order
may change. Errors name the line.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from pydantic import BaseModel, ValidationError

from risk.errors import PolicyError
from risk.numbers.sections import ClassPolicy
from risk.numbers.stated import Stated
from risk.policy.policy import Policy, parse_policy

Place = tuple[str | int, ...]

_HEADER: Final = """\
# A policy: the limits within which the gateway may trade. Nothing has a default.
# `countersign policy show FILE` checks it, `countersign policy diff A B` compares two, and both
# officers sign it with `countersign policy sign FILE --key KEY`. What each rule measures is in
# docs/policy.md.
#
# A number says its unit, who owns it, why it has this value, and by when to look at it again.
# bp is 1/10,000; minor is the smallest unit of the currency (cents); us is microseconds.
"""
_SECTION: Final = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\s-]+?)\s*\]\]?\s*(#.*)?")
_ENTRY: Final = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_AT_LINE: Final = re.compile(r"\(at line (\d+), column (\d+)\)")


def parse_policy_text(text: str) -> Policy:
    """Parse a policy from TOML.

    Raises:
        PolicyError: the text is not a well-formed, coherent policy; the message names the line.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = _AT_LINE.search(str(error))
        said = _AT_LINE.sub("", str(error)).strip()
        if at is None:  # "at end of document", or nested too deeply
            raise PolicyError(f"line {text.count(chr(10)) + 1}: not TOML: {said}") from None
        raise PolicyError(f"line {at[1]}, column {at[2]}: not TOML: {said}") from None
    try:
        data = json.dumps(document).encode()
    except TypeError:
        raise PolicyError("a date or time: write text in quotes, or microseconds UTC") from None
    try:
        Policy.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        said = first["msg"].removeprefix("Value error, ")
        named = ".".join(str(part) for part in first["loc"])
        where = f"line {_line_of(text, first['loc'])}: " if named else ""
        raise PolicyError(f"{where}{f'{named}: ' if named else ''}{said}") from None
    return parse_policy(data)


def policy_text(policy: Policy) -> str:
    """Return a policy as TOML with comments; parsing it returns the same policy."""
    return _HEADER + "".join(f"{line}\n" for line in _policy_lines(policy))


def _policy_lines(policy: Policy) -> Iterator[str]:
    notes = _notes(policy)
    for name, value in policy:
        if isinstance(value, str | int):
            yield ""
            yield from _note(notes.get(name, ""))
            if name in {"not_before_us", "expires_us"}:
                yield f"# {_day(int(value))}"
            yield f"{name} = {_toml(value)}"
    for used in policy.packs or ():
        yield from ("", f"# {_title(used)}", "[[packs]]")
        yield from (f"{name} = {_toml(value)}" for name, value in used)
    for section in policy.classes:
        yield from ("", f"# {_title(section)}", "[[classes]]")
        yield from _class_lines(section)
    for one in policy.instruments:
        yield from ("", f"# {_title(one)}", "[[instruments]]")
        yield f"symbol = {_toml(one.symbol)}"
        yield f"asset_class = {_toml(one.asset_class)}"
        yield from _number_lines(one, "instruments")
    for name in ("account", "approval", "sizing", "deployment"):
        if (part := getattr(policy, name)) is None:
            continue
        yield from ("", f"# {_title(part)}")
        yield from _number_lines(part, name)
    for name, family in () if policy.families is None else policy.families.parts():
        yield from ("", f"# {_title(family)}")
        yield from _list_lines(family, f"families.{name}")
        yield from _number_lines(family, f"families.{name}")


def _class_lines(section: ClassPolicy) -> Iterator[str]:
    yield f"asset_class = {_toml(section.asset_class)}"
    yield "# Every rule. One that is not armed needs a reason; R00 and R01 are always armed."
    yield "arming = ["
    for entry in section.arming:
        said = f"rule = {_toml(entry.rule.value)}, armed = {_toml(entry.armed)}"
        yield f"  {{ {said}, reason = {_toml(entry.reason)} }},"
    yield "]"
    yield from _number_lines(section, "classes")


def _number_lines(part: BaseModel, at: str) -> Iterator[str]:
    notes = _notes(part)
    for name, number in part:
        if isinstance(number, Stated):
            yield ""
            yield from _note(notes.get(name, ""))
            yield f"[{at}.{name}]"
            given = number.model_dump()
            yield f"value = {_toml(given.pop('value'))}"
            yield f"unit = {_toml(given.pop('unit'))}  # {_title(number)}"
            yield from (f"{inner} = {_toml(value)}" for inner, value in given.items())


def _list_lines(part: BaseModel, at: str) -> Iterator[str]:
    for name, entries in part:
        if isinstance(entries, tuple) and not entries:
            yield from (f"[{at}]", f"{name} = []")
        elif isinstance(entries, tuple):
            for entry in entries:
                yield f"[[{at}.{name}]]"
                yield from (
                    f"{inner} = {_toml(value)}" for inner, value in entry if value is not None
                )


def _note(said: str) -> Iterator[str]:
    if said:
        yield f"# {said}"


def _title(part: BaseModel) -> str:
    return (type(part).__doc__ or "").strip().partition("\n")[0]


def _notes(part: BaseModel) -> dict[str, str]:
    """Return what the docstrings of the class and of those it is made of say of its fields."""
    listed = [(kind.__doc__ or "").partition("Attributes:")[2] for kind in type(part).__mro__]
    rows = (line.strip().partition(": ") for text in listed for line in text.splitlines())
    return {name: said for name, _, said in rows if said}


def _day(time_us: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time_us / 1_000_000, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError):
        return "microseconds UTC"


def _toml(value: object) -> str:
    """Return a TOML value; a JSON string is a TOML string once DEL is escaped."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def _line_of(text: str, place: Place) -> int:
    """Return the line of a field, or of the nearest part around it."""
    lines = dict(_places(text))
    return next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), 1)


def _places(text: str) -> Iterator[tuple[Place, int]]:
    """Yield the path of each table and entry with its line."""
    counts: dict[Place, int] = {}
    at: Place = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if section := _SECTION.fullmatch(line):
            at = ()
            names = [name.strip() for name in section[2].split(".")]
            for depth, name in enumerate(names):
                at = (*at, name)
                if section[1] == "[[" and depth == len(names) - 1:
                    counts[at] = counts.get(at, -1) + 1
                if at in counts:
                    at = (*at, counts[at])
            yield at, number
        elif entry := _ENTRY.match(line):
            yield (*at, entry[1]), number

"""Dataclasses and structs to documents and back, by their types.

One of them is an object, a tuple a list, an enum text, an integer beyond 2^53 - 1 a decimal string
(`risk.forms.canonical`). Reading is strict: each field once, no other field, no other type.

Not here: what a value means.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import IntEnum, StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from msgspec import Struct

from inference.forecast.forecast import Forecast, forecast_document, forecast_from_document
from risk.errors import DocumentError
from risk.forms.canonical import JSON, Reader, number

T = TypeVar("T")
_Write = Callable[[Any], JSON]
_Read = Callable[[str, object], Any]
_PLANS: dict[type, tuple[tuple[str, _Write, _Read], ...]] = {}


def document_of(value: object) -> dict[str, JSON]:
    """Return a dataclass as a document.

    Raises:
        DocumentError: An integer field holds another type.
    """
    return {name: write(getattr(value, name)) for name, write, _ in _plan(type(value))}


def value_of(kind: type[T], document: object) -> T:
    """Return the dataclass of this kind that a document holds.

    Raises:
        DocumentError: The document does not fit the kind.
        inference.errors.ForecastError: A forecast in it does not parse.
    """
    read = Reader(document)
    value = kind(**{name: take(name, read.inner(name)) for name, _, take in _plan(kind)})
    read.done()
    return value


def _plan(kind: type) -> tuple[tuple[str, _Write, _Read], ...]:
    if kind not in _PLANS:
        hints = get_type_hints(kind)
        names = [one.name for one in fields(kind)] if is_dataclass(kind) else _struct_names(kind)
        _PLANS[kind] = tuple((n, _writer(hints[n]), _reader(hints[n])) for n in names)
    return _PLANS[kind]


def _struct_names(kind: type) -> list[str]:
    return [str(name) for name in kind.__struct_fields__]  # type: ignore[attr-defined]


def _writer(hint: Any) -> _Write:  # noqa: ANN401 - a type
    match _shape(hint):
        case "number":
            return number
        case "text" | "flag":
            return lambda value: cast("JSON", value)
        case "name":
            return lambda value: str(value.name)
        case "word":
            return str
        case "list":
            each = _writer(get_args(hint)[0])
            return lambda value: [each(one) for one in value]
        case "maybe":
            inner = _writer(_not_none(hint))
            return lambda value: None if value is None else inner(value)
        case "forecast":
            return forecast_document
        case _:
            return document_of


def _reader(hint: Any) -> _Read:  # noqa: ANN401 - a type
    match _shape(hint):
        case "number":
            return lambda name, value: Reader({name: value}).number(name)
        case "text":
            return lambda name, value: Reader({name: value}).text(name)
        case "flag":
            return lambda name, value: Reader({name: value}).flag(name)
        case "name" | "word":
            return lambda name, value: _member(hint, name, Reader({name: value}).text(name))
        case "list":
            each = _reader(get_args(hint)[0])
            return lambda name, value: tuple(
                each(name, one) for one in Reader({name: value}).items(name)
            )
        case "maybe":
            inner = _reader(_not_none(hint))
            return lambda name, value: None if value is None else inner(name, value)
        case "forecast":
            return _forecast
        case _:
            return lambda _, value: value_of(hint, value)


def _shape(hint: Any) -> str:  # noqa: ANN401 - a type
    plain = {int: "number", str: "text", bool: "flag", Forecast: "forecast"}.get(hint)
    if plain is not None:
        return plain
    if get_origin(hint) is tuple:
        return "list"
    if isinstance(hint, UnionType):
        return "maybe"
    if issubclass(hint, IntEnum):
        return "name"
    if issubclass(hint, StrEnum):
        return "word"
    if is_dataclass(hint) or issubclass(hint, Struct):
        return "object"
    raise TypeError(f"no document for {hint}")


def _not_none(hint: Any) -> Any:  # noqa: ANN401 - a type
    (inner,) = (one for one in get_args(hint) if one is not type(None))
    return inner


def _member(kind: type[IntEnum] | type[StrEnum], name: str, text: str) -> object:
    by_text = _members(kind)
    if text not in by_text:
        raise DocumentError(f"unknown {name}")
    return by_text[text]


@cache
def _members(kind: type[IntEnum] | type[StrEnum]) -> dict[str, object]:
    """Return an enum's members by their text; a verdict has hundreds, read before every order."""
    return {str(one.name if issubclass(kind, IntEnum) else one.value): one for one in kind}


def _forecast(name: str, document: object) -> Forecast:
    if type(document) is not dict:
        raise DocumentError(f"{name} is not an object")
    return forecast_from_document(document)

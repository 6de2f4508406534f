"""The digest of a state under a policy of format 2: quick, and strict about types.

Rules:
- The digest covers JSON in UTF-8 without spaces: the tag, then the state's fields in their order.
- A field or an input that is None, false or empty is left out, so that a later one changes no old
  digest.
- What does not read back as its type has no digest: a float, a boolean for a number, a None.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from hashlib import sha256
from types import UnionType
from typing import Any, Final, get_args, get_type_hints

from msgspec import Raw, json

from risk.errors import DocumentError
from risk.state.inputs.inputs import Inputs
from risk.state.state import RiskState

_KEPT: Final = 256
_READ: Final[dict[int, tuple[object, Raw]]] = {}
"""JSON of books, forecasts and the like, by identity: they are frozen and judged many times."""

_Reader = Callable[[Any], object]


def trace_digest(state: RiskState) -> str:
    """Return the digest of a state (hex SHA-256).

    Raises:
        DocumentError: A field holds a value of another type.
    """
    if type(state) is not RiskState:
        raise DocumentError("not a state")
    try:
        found = {"tag": "countersign.state/2", **_parts(state, _FIELDS)}
        return sha256(json.encode(found)).hexdigest()
    except DocumentError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a wrong value makes of the encoder
        raise DocumentError(f"a state without JSON: {error}") from None


def _parts(value: object, readers: tuple[tuple[str, _Reader], ...]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, read in readers:
        part = getattr(value, name)
        if part is not None and part is not False and part != ():
            found[name] = read(part)
    return found


def _inputs(value: object) -> dict[str, object]:
    if type(value) is not Inputs:
        raise DocumentError("not inputs")
    return _parts(value, _SOURCES)


def _reader(hint: Any) -> _Reader:  # noqa: ANN401 - a type
    """Return what makes JSON of a field, and refuses a value of another type."""
    if isinstance(hint, UnionType):
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    if hint is Inputs:
        return _inputs
    if hint in {int, bool, str}:
        return lambda value: _plain(value, hint)
    decoder = json.Decoder(hint)
    return lambda value: _kept(value, decoder) if is_dataclass(hint) else _checked(value, decoder)


def _plain(value: object, kind: type) -> object:
    if type(value) is not kind:
        raise DocumentError(f"a field holds {type(value).__name__}")
    return value


def _checked(value: object, decoder: json.Decoder[Any]) -> Raw:
    data = json.encode(value)
    if decoder.decode(data) != value:
        raise DocumentError("a field does not read back as it is")
    return Raw(data)


def _kept(value: object, decoder: json.Decoder[Any]) -> Raw:
    kept = _READ.get(id(value))
    if kept is not None and kept[0] is value:
        return kept[1]
    made = _checked(value, decoder)
    if len(_READ) >= _KEPT:
        _READ.clear()
    _READ[id(value)] = (value, made)
    return made


def _readers(kind: type) -> tuple[tuple[str, _Reader], ...]:
    hints = get_type_hints(kind)
    return tuple((one.name, _reader(hints[one.name])) for one in fields(kind))


_FIELDS: Final = _readers(RiskState)
_SOURCES: Final = _readers(Inputs)

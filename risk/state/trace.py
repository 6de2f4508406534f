"""The digest of a state: quick, and strict about types.

Rules:
- The digest covers JSON in UTF-8 without spaces: the tag, then the state's fields in their order.
- A field or an input that is None, false or empty is left out, so that a later one changes no old
  digest.
- The forecast and the joint paths, which are large and judged many times, stand there as the
  SHA-256 of their JSON and of their numbers (`risk/state/paths/arrays.py`).
- What does not read back as its type has no digest: a float, a boolean for a number, a None.
- What is frozen and judged many times is encoded once, and kept by identity.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from hashlib import sha256
from types import UnionType
from typing import Any, Final, get_args, get_type_hints

from msgspec import Raw, json

from inference.forecast.forecast import Forecast
from risk.errors import DocumentError
from risk.state.inputs.inputs import Inputs
from risk.state.paths.joint import BookPaths
from risk.state.state import RiskState

_KEPT: Final = 64
"""Values of one type that stay encoded."""

_STATES: Final[dict[int, tuple[RiskState, str]]] = {}
"""By identity: the search for what would have passed judges one state many times."""

_Reader = Callable[[Any], object]


def state_digest(state: RiskState) -> str:
    """Return the digest of a state (hex SHA-256).

    Raises:
        DocumentError: A field holds a value of another type.
    """
    if type(state) is not RiskState:
        raise DocumentError("not a state")
    kept = _STATES.get(id(state))
    if kept is not None and kept[0] is state:
        return kept[1]
    try:
        parts = _parts(state, _FIELDS, {"tag": "countersign.state/3"})
        made = sha256(json.encode(parts)).hexdigest()
        if len(_STATES) >= _KEPT:
            _STATES.clear()
        _STATES[id(state)] = state, made
        return made
    except DocumentError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a wrong value makes of the encoder
        raise DocumentError(f"a state without JSON: {error}") from None


_Readers = tuple[tuple[str, dict[int, tuple[object, object]], _Reader], ...]


def _parts(value: object, readers: _Readers, found: dict[str, object]) -> dict[str, object]:
    for name, known, read in readers:
        part = getattr(value, name)
        kept = known.get(id(part))
        if kept is not None and kept[0] is part:
            found[name] = kept[1]
        elif part is not None and part is not False and (type(part) is not tuple or part):
            found[name] = read(part)
    return found


def _inputs_by(readers: _Readers) -> _Reader:
    def read(value: object) -> object:
        if type(value) is not Inputs:
            raise DocumentError("not inputs")
        return _parts(value, readers, {})

    return read


def _plain(kind: type) -> _Reader:
    def read(value: object) -> object:
        if type(value) is not kind:
            raise DocumentError(f"a field holds {type(value).__name__}")
        return value

    return read


def _checked(decoder: json.Decoder[Any]) -> Callable[[Any], Raw]:
    def read(value: object) -> Raw:
        data = json.encode(value)
        if decoder.decode(data) != value:
            raise DocumentError("a field does not read back as it is")
        return Raw(data)

    return read


def _named(read: Callable[[Any], Raw]) -> _Reader:
    return lambda value: sha256(bytes(read(value))).hexdigest()


def _paths(value: object) -> str:
    from risk.state.paths.arrays import paths_digest  # noqa: PLC0415 - numpy, only where paths are judged

    return paths_digest(value)


def _kept(read: _Reader, known: dict[int, tuple[object, object]]) -> _Reader:
    def keep(value: object) -> object:
        made = read(value)
        if len(known) >= _KEPT:
            known.clear()
        known[id(value)] = (value, made)
        return made

    return keep


def _reader(hint: Any, known: dict[int, tuple[object, object]]) -> _Reader:  # noqa: ANN401 - a type
    """Return what makes JSON of a field, and refuses a value of another type."""
    if isinstance(hint, UnionType):
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    if hint is Inputs:
        return _inputs_by(_readers(Inputs))
    if hint in {int, bool, str}:
        return _plain(hint)
    checked = _checked(json.Decoder(hint))
    if hint is BookPaths:
        return _kept(_paths, known)
    if hint is Forecast:
        return _kept(_named(checked), known)
    return _kept(checked, known) if is_dataclass(hint) else checked


def _readers(kind: type) -> _Readers:
    hints = get_type_hints(kind)
    made: list[tuple[str, dict[int, tuple[object, object]], _Reader]] = []
    for one in fields(kind):
        known: dict[int, tuple[object, object]] = {}
        made.append((one.name, known, _reader(hints[one.name], known)))
    return tuple(made)


_FIELDS: Final = _readers(RiskState)

"""JSON as the one byte string that is hashed, and back: RFC 8785 (JCS) in a narrower profile.

Rules:

- no floats: a probability or a draw is a string of `float.hex()`;
- integers within ±(2^53 - 1); callers write larger ones as decimal strings;
- strings are Unicode scalar values, without lone surrogates;
- object keys are unique strings;
- `parse` refuses bytes that are not exactly the canonical form.

`jcs` is all of RFC 8785, floats included, for documents of others and test vectors.

Without floats and with ASCII keys, `msgspec` writes the form of RFC 8785 (there, order by code
point is order by UTF-16 unit) in a fifth of the standard library's time, and reads it as fast.
Other values go through the `rfc8785` library and `json`, against which the tests check the fast
paths.

Source: RFC 8785; RFC 7493 section 2.2 for the integer range.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias, cast

import rfc8785
from msgspec.json import Decoder, Encoder

from audit.errors import CanonicalError

JSON: TypeAlias = "bool | int | str | Sequence[JSON] | Mapping[str, JSON] | None"

INT_MAX = 2**53 - 1
DEPTH_MAX = 32
WRITTEN_MAX = 512
"""How many payloads are remembered, at least; one takes some 3 kB, and who wrote it has it too."""


def _exact(value: object) -> object:
    """Return a value of a subclass of str or int as a plain one, ignoring its own methods."""
    return str.__str__(value) if isinstance(value, str) else int.__int__(cast("int", value))


_encode = Encoder(order="sorted", enc_hook=_exact).encode
_decode = Decoder().decode


def canonical(value: JSON) -> bytes:
    """Encode a value as its canonical bytes.

    Raises:
        CanonicalError: the value holds a float, a large integer, a lone surrogate or a key that
            is not a string, or nests deeper than `DEPTH_MAX`.
    """
    ascii_keys = _check(value, 0)
    try:
        if ascii_keys:
            return _encode(value)
        return rfc8785.dumps(_plain_json(value, 0))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise CanonicalError(str(error)) from error


def jcs(value: object) -> bytes:
    """Encode a value by RFC 8785 without our profile; floats are written as in ECMAScript.

    Raises:
        CanonicalError: as `canonical`; also for NaN, an infinity or a type outside JSON.
    """
    plain = _plain_json(value, 0)
    try:
        return rfc8785.dumps(plain)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise CanonicalError(str(error)) from error


quoted = json.encoder.encode_basestring
"""Returns the canonical text of a string without lone surrogates: quoted and escaped."""


class _Written:
    """The last bytes that `canonical` made here, so that they need not be made again to be read.

    Safe from any thread; two that add at once may forget some earlier than need be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._new, self._old = set[bytes](), set[bytes]()

    def add(self, data: bytes) -> None:
        if len(self._new) >= self._most:
            self._new, self._old = set[bytes](), self._new
        self._new.add(data)

    def __contains__(self, data: object) -> bool:
        return data in self._new or data in self._old


_written: Final = _Written(WRITTEN_MAX)


def written(value: JSON) -> bytes:
    """Encode as `canonical` does, and remember the bytes: `parse` believes them."""
    data = canonical(value)
    _written.add(data)
    return data


def parse(data: bytes) -> JSON:
    """Decode bytes in exactly the canonical form and profile; raise CanonicalError for others."""
    try:
        value: JSON = _decode(data)
        if data in _written or canonical(value) == data:
            return value
    except (CanonicalError, ValueError, RecursionError):
        pass
    return parse_slowly(data)  # says what is wrong


def parse_slowly(data: bytes) -> JSON:
    """Decode bytes as `parse` does, whatever they hold."""
    try:
        value: JSON = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=_refuse,
            parse_constant=_refuse,
        )
    except CanonicalError:
        raise
    except (ValueError, RecursionError) as error:
        raise CanonicalError(f"not JSON: {error}") from error
    if canonical(value) != data:
        raise CanonicalError("not in canonical form")
    return value


def _check(value: object, depth: int) -> bool:
    """Refuse what is outside the profile; return whether the fast encoder writes the right form."""
    if depth > DEPTH_MAX:
        raise CanonicalError(f"nested deeper than {DEPTH_MAX}")
    kind = type(value)
    if kind is str or value is None or kind is bool or isinstance(value, str):
        return True
    if isinstance(value, int):
        if abs(value) > INT_MAX:
            raise CanonicalError(f"an integer of {value.bit_length()} bits is beyond 2^53 - 1")
        return True
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - the first is fast
        return _check_object(value, depth, plain=kind is dict and depth < DEPTH_MAX)
    if isinstance(value, list | tuple):
        fast = kind is list or kind is tuple
        plain = str if depth < DEPTH_MAX else None
        for item in value:
            fast = (type(item) is plain or _check(item, depth + 1)) and fast
        return fast
    raise CanonicalError(f"{type(value).__name__} has no canonical form here")


def _check_object(value: Mapping[Any, object], depth: int, *, plain: bool) -> bool:
    """Do the same for an object; a plain one's leaves, most of what there is, cost no call each."""
    if not plain:  # a subclass may yield other items than it holds
        for key, item in value.items():
            if not isinstance(key, str):
                raise CanonicalError(f"key {key!r} is not a string")
            _check(item, depth + 1)
        return False
    try:
        fast = "".join(value).isascii()
    except TypeError:
        raise CanonicalError("a key is not a string") from None
    for item in value.values():
        if type(item) is str or item is None:
            continue
        if type(item) is int and -INT_MAX <= item <= INT_MAX:
            continue
        fast = _check(item, depth + 1) and fast
    return fast


def _plain_json(value: object, depth: int) -> Any:  # noqa: ANN401 - the library's own loose type
    """Copy a value into the plain types that the library knows, ignoring subclasses' methods."""
    if depth > DEPTH_MAX:
        raise CanonicalError(f"nested deeper than {DEPTH_MAX}")
    match value:
        case None | bool():
            return value
        case str() | int():
            return _exact(value)
        case float():
            return float(value)
        case Mapping():
            return {_key(key): _plain_json(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_plain_json(item, depth + 1) for item in value]
        case _:
            raise CanonicalError(f"{type(value).__name__} has no canonical form")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise CanonicalError(f"key {key!r} is not a string")
    return str.__str__(key)


def _object(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise CanonicalError("a key occurs twice")
    return result


def _refuse(text: str) -> NoReturn:
    raise CanonicalError(f"number {text} is not an integer")

"""Values read as a class of fields, safe from any thread.

msgspec works out how to read a class when it is first read, outside of any lock: two threads that
read the same class first, at once, end the process (a segmentation fault in 0.22, once in some
thousand starts). So each class is prepared when it is made, which an import does once.

Not here: what the fields are (the journals), canonical bytes (`canonical`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from msgspec import Struct, StructMeta, convert  # noqa: TID251 - prepared before
from msgspec.json import Decoder

_T = TypeVar("_T")


class _ReadyAtOnce(StructMeta):
    """Makes classes that are ready to be read before anybody can."""

    def __init__(self, *args: Any, **_: Any) -> None:  # noqa: ANN401 - of a class statement
        super().__init__(*args)
        Decoder(self)


class TypedFields(Struct, metaclass=_ReadyAtOnce, frozen=True, kw_only=True):
    """A class of fields that is read from plain values; fields that it does not name are left."""

    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> Self:
        """Read a payload.

        Raises:
            ValueError: when a field is missing or has another type.
        """
        return convert(payload, cls)


def reader_of(kind: type[_T]) -> Callable[[object], _T]:
    """Return what reads plain values as a dataclass; call it once, where the module begins.

    What it returns raises ValueError when a field is missing or has another type.
    """
    Decoder(kind)
    return lambda value: convert(value, kind)

"""A kind of record is one class: where it is filed, its fields, its draft. Pure.

    class HoldLifted(RecordKind, frozen=True, kw_only=True):
        filing = Filing("control", "hold_lifted:{hold_id}", actor="person:{lifted_by}")

        hold_id: str
        reason: str
        lifted_by: str
        sheet: str = ""

Rules:

- The kind's name is that of the class: `hold_lifted`.
- A field without a default is in every payload. One with a default is left out while it has it, so
  that a later version can add fields and read earlier records.
- Reading leaves fields that the class does not name: a later version may have written them.

The table of kinds (`kinds`) is written from these classes by `make kinds`. Not here: what a field
means (the classes, in the journals).
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from json import dumps
from operator import itemgetter
from types import NoneType, UnionType
from typing import Any, ClassVar, Final, Self, get_args, get_origin

from msgspec import NODEFAULT, Struct, structs, to_builtins
from typing_extensions import override

from audit.records.canonical import JSON
from audit.records.kinds import MAY, Kind, KindSpec, StreamClass
from audit.records.record import Draft, Record
from audit.records.typed import TypedFields

_FIELD: Final = re.compile(r"{(\w+)(:json)?}")
_PLAIN: Final = frozenset({str, int, bool, NoneType, dict, list})
_EMPTY: Final[Mapping[object, Callable[[], object]]] = {
    one: one for one in (str, int, bool, dict, list, tuple)
} | {Mapping: dict}
ACCOUNT: Final = frozenset({"account"})
ORDER: Final = ACCOUNT | {"decision_id"}
"""Fields that the drafter of an order's record gives; `kinds.RUN` has those of a run's."""


class Filing(Struct, frozen=True):
    """Where the records of a kind stand, and what they move.

    Attributes:
        stream, key, actor: templates; `{name}` is a field of the payload, or a word that the
            drafter gives. `key` is the idempotency key, unique within the stream.
        tags: further fields of its payload, which the drafter gives; `RUN` or `ORDER`.
        loose: fields without a default that the ledger does not insist on, and only who reads
            them must.
        early: such fields that early records lack; these are read as if they had an empty one.
        also: optional fields that only earlier versions wrote.
        section, firm_wide, ledger_only: as in the table of kinds.
        signed: what both officers sign of it: the purpose, then a line for each particular, with
            fields in braces; `{terms:json}` is a field as JSON. Both verifiers check it.
        ends: the kind of the record that one of this kind ends, named by `of_seq`, `of_leaf` and
            `ref`; both verifiers look for it.
    """

    stream: str
    key: str
    actor: str = "gateway"
    tags: frozenset[str] = frozenset()
    loose: str = ""
    early: str = ""
    also: str = ""
    section: bool = False
    firm_wide: bool = False
    ledger_only: bool = False
    signed: tuple[str, ...] = ()
    ends: str = ""


class Contents(TypedFields, frozen=True, kw_only=True):
    """Fields of a payload, or a value within one."""

    @classmethod
    def of(cls, record: Record) -> Self:
        """Read a record.

        Raises:
            ValueError: when a field is missing or has another type.
            CanonicalError: when the payload is not canonical JSON.
        """
        return cls.read(record.body)

    def document(self) -> dict[str, JSON]:
        """Return the fields as a payload holds them."""
        document: dict[str, JSON] = to_builtins(self)
        return document


class RecordKind(Contents, frozen=True, kw_only=True):
    """One kind's payload; `filing` says where it stands."""

    filing: ClassVar[Filing]

    @override
    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> Self:
        """Read a payload; an early record's field that it lacks is empty. Raises as before."""
        absent = _absent(cls)
        return super().read({**absent, **payload} if absent else payload)

    @override
    def document(self) -> dict[str, JSON]:
        """Return the payload; fields that have their default are left out."""
        form = _form(type(self))
        document: dict[str, JSON] = structs.asdict(self)
        for name, written in form.renamed:
            document[written] = document.pop(name)
        for name, default in form.optional:
            if document[name] == default:
                del document[name]
        for name in form.deep:
            # Documents pass as they are: to copy a verdict would cost as much as to hash it.
            if name in document and type(document[name]) not in _PLAIN:
                document[name] = _plain(document[name])
        return document

    def draft(
        self,
        *,
        stream: str = "",
        key: str = "",
        actor: str = "",
        tags: Mapping[str, JSON] | None = None,
        **words: object,
    ) -> Draft:
        """Return the draft of a record.

        `stream`, `key` and `actor` go before what the kind's filing says, `tags` are fields that a
        payload has besides, `words` fill what the templates name and the payload does not have.

        Raises:
            KeyError: a template names what is neither in the payload nor among `words`.
        """
        payload = {**tags, **self.document()} if tags else self.document()
        return _drafted(type(self), payload, (stream, key, actor), words)

    def signed_lines(self) -> tuple[str, ...]:
        """Return the purpose and the particulars of what both officers sign.

        Raises:
            ValueError: nobody signs records of this kind.
        """
        if not self.filing.signed:
            message = f"nobody signs a {kind_name(type(self))}"
            raise ValueError(message)
        fields = self.document()

        def said(found: re.Match[str]) -> str:
            value = fields[found[1]]
            if isinstance(value, str) and not found[2]:
                return value
            return dumps(value, sort_keys=True)

        return tuple(_FIELD.sub(said, line) for line in self.filing.signed)

    @classmethod
    def draft_of(
        cls,
        payload: dict[str, JSON],
        *,
        stream: str = "",
        key: str = "",
        actor: str = "",
        **words: object,
    ) -> Draft:
        """Return the draft of a payload that was put together by hand; raises as `draft`."""
        return _drafted(cls, payload, (stream, key, actor), words)


def _drafted(
    kind: type[RecordKind],
    payload: dict[str, JSON],
    given: tuple[str, str, str],
    words: Mapping[str, object],
) -> Draft:
    form, (stream, key, actor) = _form(kind), given
    named = {**payload, **words} if words else payload
    return Draft(
        stream=stream or form.stream(named),
        kind=form.kind,
        payload=payload,
        actor=actor or form.actor(named),
        idem_key=key or form.key(named),
    )


class _Form(Struct, frozen=True):
    """What drafting needs of a class, worked out once.

    Attributes:
        renamed: fields that are written under another name, with that name.
        optional: written names with their defaults.
        deep: written names of fields whose values may not be plain JSON.
        stream, key, actor: what fills the templates.
    """

    kind: Kind
    renamed: tuple[tuple[str, str], ...]
    optional: tuple[tuple[str, object], ...]
    deep: tuple[str, ...]
    stream: Callable[[Mapping[str, Any]], str]
    key: Callable[[Mapping[str, Any]], str]
    actor: Callable[[Mapping[str, Any]], str]


def kind_name(kind: type[RecordKind]) -> str:
    """Return the name of a class's kind."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def spec_of(kind: type[RecordKind]) -> KindSpec:
    """Return a class's row of the table of kinds."""
    filing, found = kind.filing, structs.fields(kind)
    required = {one.encode_name for one in found if one.required}
    required = (required | filing.tags).difference(filing.loose.split(), filing.early.split())
    optional = {one.encode_name for one in found} | filing.tags | {*filing.also.split()}
    optional |= frozenset() if filing.ledger_only else MAY
    return KindSpec(
        kind=Kind(kind_name(kind)),
        version=1,
        stream=StreamClass(filing.stream.partition("{")[0]),
        fields=frozenset(required),
        optional=frozenset(optional - required),
        section=filing.section or filing.firm_wide,
        firm_wide=filing.firm_wide,
        ledger_only=filing.ledger_only,
        signed=filing.signed,
        ends=filing.ends,
    )


@cache
def _form(kind: type[RecordKind]) -> _Form:
    found, filing = structs.fields(kind), kind.filing
    return _Form(
        kind=Kind(kind_name(kind)),
        renamed=tuple((f.name, f.encode_name) for f in found if f.name != f.encode_name),
        optional=tuple((one.encode_name, _default(one)) for one in found if not one.required),
        deep=tuple(one.encode_name for one in found if not _is_plain(one.type)),
        stream=_filled(filing.stream),
        key=_filled(filing.key),
        actor=_filled(filing.actor),
    )


def _default(field: structs.FieldInfo) -> object:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


@cache
def _absent(kind: type[RecordKind]) -> dict[str, object]:
    """Return what a record that lacks early fields is read as; a base of several kinds has none."""
    early = kind.filing.early.split() if hasattr(kind, "filing") else ()
    return {f.encode_name: _empty(f.type) for f in structs.fields(kind) if f.name in early}


def _empty(annotation: object) -> object:
    """Return the empty value of a type: null where it may be, else 0, no text, nothing in it."""
    if get_origin(annotation) is UnionType and NoneType in get_args(annotation):
        return None
    return _EMPTY[get_origin(annotation) or annotation]()


def _is_plain(annotation: object) -> bool:
    """Return whether values of a type go into a payload as they are."""
    if get_origin(annotation) is UnionType:
        return all(map(_is_plain, get_args(annotation)))
    return (get_origin(annotation) or annotation) in _PLAIN


def _filled(template: str) -> Callable[[Mapping[str, Any]], str]:
    """Return what fills a template; plain names are filled twice as fast as `format_map` does."""
    names = re.findall(r"{(\w+)}", template)
    if not names:
        return template.format_map if "{" in template else lambda _: template
    if template.count("{") > len(names):
        return template.format_map
    plain = re.sub(r"{\w+}", "%s", template.replace("%", "%%"))
    if len(names) == 1:
        return lambda named: plain % (named[names[0]],)
    several = itemgetter(*names)
    return lambda named: plain % several(named)


def _plain(value: object) -> JSON:
    """Return a value without enums, structs and tuples at its top."""
    built: JSON = to_builtins(value)
    return list(built) if isinstance(built, tuple) else built

"""What a jurisdiction asks of a policy, as versioned data: limits, rules to arm, barred classes.

Not here: the merge with a firm's own policy (`merging`), and the packs themselves (`packs/`).

Rules:
- Each entry names its source and how far the source was read: S seen, m from memory, O our own.
- A limit says whether the law sets the number or the house chose it under the obligation.
- A limit is on a number of which one direction permits more; `*` stands for each class or
  instrument. A pack loosens nothing.
"""

import json
from typing import Annotated, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from risk.errors import PolicyError
from risk.forms.canonical import JSON, digest
from risk.numbers.stated import Day, Name, PackCode, PackUsed, PolicyModel, Text, Whole
from risk.policy.changes import HIGHER_LOOSENS, LOWER_LOOSENS
from risk.policy.policy import RULES_OF_2
from risk.verdict import RuleId

Mark = Literal["S", "m", "O"]
Unit = Literal["lots", "bp", "pct", "us", "count", "ticks", "per_s"]
"""Of what a pack may limit; money is in the policy's own currency, so no pack sets it."""
PACK_BYTES_MAX: Final = 65_535


class PackEntry(PolicyModel):
    """Why something is asked for.

    Attributes:
        asks: The obligation in plain words.
        source: Where it stands.
        mark: S: seen in public text; m: from memory; O: our own.
    """

    asks: Annotated[str, Field(min_length=1, max_length=400)]
    source: Annotated[str, Field(min_length=1, max_length=120)]
    mark: Mark


class PackLimit(PackEntry):
    """The loosest number that a pack permits.

    Attributes:
        field: The policy's field, such as `classes.*.price_collar`.
        set_by: `law`: the source states the number; `house`: we chose it.
    """

    field: Annotated[str, Field(pattern=r"^[a-z_]+(\.(\*|[a-z_]+)){1,2}$")]
    value: Whole
    unit: Unit
    set_by: Literal["law", "house"]

    @property
    def higher_loosens(self) -> bool:
        """Whether a higher number permits more."""
        return self.field.rpartition(".")[2] in HIGHER_LOOSENS


class PackRule(PackEntry):
    """A rule that every class arms."""

    rule: RuleId


class BarredClass(PackEntry):
    """An asset class in which nothing may be traded."""

    asset_class: Name


class Pack(PolicyModel):
    """The rules of one jurisdiction.

    Attributes:
        version: Rises with every change; earlier versions stay.
        note: What the pack does not cover.
        owner: Who answers for it; stands beside each number that it gives.
        reviewed: When its sources were last read.
    """

    format: Literal["countersign.pack/1"]
    code: PackCode
    name: Text
    version: Annotated[int, Field(ge=1, le=10_000)]
    note: Text
    owner: Annotated[str, Field(min_length=1, max_length=100)]
    reviewed: Day
    review_by: Day
    limits: tuple[PackLimit, ...]
    rules: tuple[PackRule, ...]
    barred: tuple[BarredClass, ...]

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        fields = [one.field for one in self.limits]
        if len(set(fields)) != len(fields):
            raise ValueError("a field is limited twice")
        for one in fields:
            if one.rpartition(".")[2] not in HIGHER_LOOSENS | LOWER_LOOSENS:
                raise ValueError(f"neither direction of {one} is looser: no pack can limit it")
        if not {one.rule for one in self.rules} <= RULES_OF_2:
            raise ValueError("a rule that no policy names cannot be armed")
        return self


def parse_pack(data: bytes) -> Pack:
    """Parse a pack from JSON bytes.

    Raises:
        PolicyError: The bytes are no coherent pack.
    """
    if len(data) > PACK_BYTES_MAX:
        raise PolicyError("pack is too large")
    try:
        return Pack.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PolicyError(f"not a pack: {place}: {first['msg']}") from None


def pack_document(pack: Pack) -> dict[str, JSON]:
    """Return a pack as a document."""
    document: dict[str, JSON] = json.loads(pack.model_dump_json())
    return document


def pack_digest(pack: Pack) -> str:
    """Return the digest that a merged policy names (hex SHA-256)."""
    return digest("countersign.pack/1", pack_document(pack))


def pack_used(pack: Pack) -> PackUsed:
    """Return how a merged policy names a pack."""
    return PackUsed(code=pack.code, version=pack.version, digest=pack_digest(pack))

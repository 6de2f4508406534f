"""The policy: limits and parameters that a risk officer and a compliance officer sign.

Not here: signatures (`risk/policy/signing.py`) and what a number does (`risk/rules/`).

Rules:
- Every number has unit, owner, rationale and review date; nothing has a default.
- Parsing is strict: no unknown or repeated field, no float, no number as text.
- Every asset class arms each rule or gives a reason; R00 and R01 are always armed.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from risk.errors import DocumentError, PolicyError
from risk.forms.canonical import JSON, JSON_SAFE, canonical_bytes, digest
from risk.numbers.sections import (
    AccountPolicy,
    ApprovalPolicy,
    Arming,
    ClassPolicy,
    InstrumentPolicy,
)
from risk.numbers.stated import (
    BasisPoints,
    Count,
    Digest,
    Minor,
    Name,
    PackUsed,
    PolicyModel,
    Ticks,
    Whole,
)
from risk.policy.deployment import DeploymentLimits
from risk.rules.catalogue import RULES, Families
from risk.verdict import RuleId

FORMAT_1: Final = "countersign.policy/1"
FORMAT_2: Final = "countersign.policy/2"
MAX_POLICY_BYTES: Final = 65_535
WAIT_US_MAX: Final = 30 * 86_400_000_000
_TAIL: Final = 40
_BP: Final = 10_000
RULES_OF_1: Final = frozenset(
    {
        *(RuleId.R00, RuleId.R01, RuleId.R03, RuleId.R04, RuleId.R05, RuleId.R06, RuleId.R07),
        *(RuleId.R08, RuleId.R09, RuleId.R11, RuleId.R12, RuleId.R13, RuleId.R16, RuleId.R24),
        *(RuleId.R25, RuleId.R26, RuleId.R31),
    }
)
"""The rules of a policy of format 1, so that its verdicts replay as they were given."""
RULES_OF_2: Final = frozenset(rule.rule_id for rule in RULES)
"""The rules of a policy of format 2."""


class SizingPolicy(PolicyModel):
    """Numbers of the volatility-target overlay.

    Attributes:
        target_vol: Target volatility of the portfolio per year.
        risk_share: Share of that target for each instrument.
        exposure_max: Cap on one instrument's exposure, of equity.
        no_trade_band: Exposure error below which no order is made.
        limit_allowance: Ticks by which a limit price goes beyond the touch.
        steps_per_year: Forecast steps in a year.
    """

    target_vol: BasisPoints
    risk_share: BasisPoints
    exposure_max: BasisPoints
    no_trade_band: BasisPoints
    order_notional_max: Minor
    limit_allowance: Ticks
    steps_per_year: Count


class Policy(PolicyModel):
    """What rules and sizing read besides the state.

    Attributes:
        version: Rises with every activation.
        parent: Digest of the policy before this one; empty for the first.
        author: Who wrote it; may not sign it.
        not_before_us: Wall-clock start of validity.
        expires_us: Wall-clock end; from then on everything is refused.
        loosening_wait_us: Cooling time of a looser successor; absent: the mode's (paper none).
        packs: Packs of jurisdictions whose limits it keeps, by code; absent: none.
        deployment: What must be on record before pilot or live; absent: neither begins.
        families: Numbers of the rules that came with format 2; absent in format 1.
    """

    format: Literal["countersign.policy/1", "countersign.policy/2"]
    name: Name
    version: Annotated[int, Field(ge=1, le=JSON_SAFE)]
    parent: Digest | Literal[""]
    author: Name
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    not_before_us: Whole
    expires_us: Whole
    signatures_min: Annotated[int, Field(ge=2, le=16)]
    loosening_wait_us: Annotated[int, Field(ge=0, le=WAIT_US_MAX)] | None = None
    packs: tuple[PackUsed, ...] | None = None
    deployment: DeploymentLimits | None = None
    classes: tuple[ClassPolicy, ...]
    instruments: tuple[InstrumentPolicy, ...]
    account: AccountPolicy
    approval: ApprovalPolicy
    sizing: SizingPolicy
    families: Families | None = None

    @property
    def rules(self) -> frozenset[RuleId]:
        """The rules that the format names; each class arms or disarms each of them."""
        return RULES_OF_1 if self.format == FORMAT_1 else RULES_OF_2

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if (self.families is None) != (self.format == FORMAT_1):
            raise ValueError("`families` belongs to format 2, and every policy of format 2 has it")
        for section in self.classes:
            if sorted(entry.rule for entry in section.arming) != sorted(self.rules):
                raise ValueError("`arming` must name every rule exactly once")
        known = _unique(entry.asset_class for entry in self.classes)
        _unique(entry.symbol for entry in self.instruments)
        if not known.issuperset(entry.asset_class for entry in self.instruments):
            raise ValueError("an instrument names a class without a section")
        if self.packs is not None:
            _unique(one.code for one in self.packs)
        if self.expires_us <= self.not_before_us:
            raise ValueError("the policy ends before it begins")
        _bounded(self)
        return self

    def of_class(self, asset_class: str) -> ClassPolicy | None:
        """Return the section of an asset class, or None."""
        return _index(self).classes.get(asset_class)

    def of_instrument(self, symbol: str) -> InstrumentPolicy | None:
        """Return the section of an instrument, or None."""
        return _index(self).instruments.get(symbol)

    def armings_of(self, asset_class: str) -> dict[RuleId, Arming]:
        """Return a class's entries by rule; empty if the class is unknown."""
        return _index(self).armings.get(asset_class, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """What is looked up in a policy for every verdict."""

    digest: str
    classes: dict[str, ClassPolicy]
    instruments: dict[str, InstrumentPolicy]
    armings: dict[str, dict[RuleId, Arming]]


_KEPT: Final = 16
_INDEXES: Final[dict[int, tuple[Policy, _Index]]] = {}
"""By identity, because a copy with another number is another policy; the policy is kept with it."""


def _index(policy: Policy) -> _Index:
    kept = _INDEXES.get(id(policy))
    if kept is not None and kept[0] is policy:
        return kept[1]
    made = _Index(
        digest=digest("countersign.policy/1", policy_document(policy)),
        classes={one.asset_class: one for one in policy.classes},
        instruments={one.symbol: one for one in policy.instruments},
        armings={s.asset_class: {one.rule: one for one in s.arming} for s in policy.classes},
    )
    if len(_INDEXES) >= _KEPT:
        _INDEXES.clear()
    _INDEXES[id(policy)] = (policy, made)
    return made


def _unique(names: Iterable[str]) -> frozenset[str]:
    counted = Counter(names)
    if not counted or max(counted.values()) > 1:
        raise ValueError("sections are missing or repeated")
    return frozenset(counted)


def _bounded(policy: Policy) -> None:
    """Reject shares above 100 % and numbers that would in effect disarm a rule."""
    whole = 10_000
    shares = (
        policy.account.warn_at,
        policy.account.message_reserve,
        policy.account.drawdown_max,
        policy.account.day_loss_max,
        policy.sizing.risk_share,
        *(section.price_collar for section in policy.classes),
        *(section.directional_p_up_min for section in policy.classes),
    )
    if any(share.value > whole for share in shares):
        raise ValueError("a share is above 10,000 bp")
    if any(2 * section.directional_p_up_min.value < whole for section in policy.classes):
        raise ValueError(
            "directional_p_up_min below one half would let opposite orders pass at once"
        )
    if policy.account.message_rate.value == 0 or policy.sizing.steps_per_year.value == 0:
        raise ValueError("message_rate and steps_per_year must be positive")
    if policy.families is not None and policy.families.horizon.joint_paths_min.value < 2 * _TAIL:
        raise ValueError("joint_paths_min below 80 leaves fewer than two paths in the 2.5 % tail")
    if policy.families is not None and policy.families.horizon.joint_correlation.value > _BP:
        raise ValueError("joint_correlation above 10,000 bp is no correlation")
    _modes_bounded(policy)
    if policy.account.message_burst.value > 60 * policy.account.message_rate.value:
        raise ValueError("message_burst exceeds what is remembered: one minute at message_rate")


def _modes_bounded(policy: Policy) -> None:
    modes = None if policy.families is None else policy.families.modes
    if modes is None:
        return
    if min(modes.fast_divisor.value, modes.deep_factor.value, modes.turbulence.value) < 1:
        raise ValueError("fast_divisor, deep_factor and turbulence must be positive")
    if modes.template_when_away.value > 1:
        raise ValueError("template_when_away is 0 or 1")
    if modes.direct_sampler.value > 2:  # noqa: PLR2004 - the last of three
        raise ValueError("direct_sampler is 0, 1 or 2")


def parse_policy(data: bytes) -> Policy:
    """Parse a policy from JSON bytes.

    Raises:
        PolicyError: The bytes are not a well-formed, coherent policy.
    """
    if len(data) > MAX_POLICY_BYTES:
        raise PolicyError("policy is too large")
    try:
        canonical_bytes(json.loads(data.decode("utf-8"), object_pairs_hook=_once))
        return Policy.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PolicyError(f"{place}: {first['msg']}") from None
    except RecursionError:
        raise PolicyError("policy is nested too deeply") from None
    except (ValueError, DocumentError, PolicyError) as error:
        raise PolicyError(f"not a policy: {error}") from None


def policy_from_document(document: object) -> Policy:
    """Parse a policy from the JSON object of a record; raises as `parse_policy`."""
    try:
        return parse_policy(json.dumps(document).encode())
    except (TypeError, ValueError) as error:
        raise PolicyError(f"not a policy: {error}") from None


def policy_document(policy: Policy) -> dict[str, JSON]:
    """Return a policy as a document."""
    document: dict[str, JSON] = policy.model_dump(mode="json", exclude_none=True)
    return document


def policy_digest(policy: Policy) -> str:
    """Return the digest that signatures and verdicts bind (hex SHA-256)."""
    return _index(policy).digest


def check_succession(active: Policy | None, candidate: Policy) -> None:
    """Check that a candidate directly follows the active policy.

    Raises:
        PolicyError: The parent is wrong, or the version does not rise.
    """
    parent = "" if active is None else policy_digest(active)
    if candidate.parent != parent:
        raise PolicyError("parent is not the active policy")
    if active is not None and candidate.version <= active.version:
        raise PolicyError("version does not rise")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if repeated:
        raise PolicyError("field repeated: " + ", ".join(sorted(repeated)))
    return dict(pairs)

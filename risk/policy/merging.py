"""A firm's policy and the packs of jurisdictions, merged to the strictest of each limit; pure.

Not here: what a pack asks for, and who signs the merged policy: it is a policy like any other.

Rules:
- Of each number the strictest counts. Where the firm's own is as strict, its own words stay.
- A rule that a pack wants armed is armed in every class; instruments of a barred class get zero.
- The order of the packs does not matter, merging again changes nothing, and nothing is looser than
  the policy or a pack. So whoever has a merged policy and its packs sees that it keeps them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from risk.errors import PolicyError
from risk.forms.canonical import JSON
from risk.policy.jurisdiction import Pack, PackEntry, PackLimit, pack_used
from risk.policy.policy import FORMAT_1, Policy, policy_document, policy_from_document

OWN: Final = "own"
"""Who gave a number that no pack gave."""
_BARRED: Final = ("order_qty_max", "position_max", "short_max")
_KEYS: Final = {"classes": "asset_class", "instruments": "symbol"}
_Node = dict[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSaid:
    """What one party wants of a field; `source` and `mark` are empty for the policy's own."""

    by: str
    value: int
    set_by: str = ""
    source: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where one number of a policy comes from.

    Attributes:
        by: `own`, or the code of the pack that gave it.
        said: The policy's own number first, then what each pack asked for.
    """

    field: str
    value: int
    unit: str
    by: str
    said: tuple[NumberSaid, ...]

    @property
    def differs(self) -> bool:
        """Whether those who spoke wanted different numbers."""
        return len({one.value for one in self.said}) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruled:
    """A rule that the policy disarmed with a reason, and that a pack wants armed."""

    asset_class: str
    rule: str
    reason: str
    by: str
    source: str
    mark: str


def merged(policy: Policy, packs: Sequence[Pack]) -> Policy:
    """Return the policy with the strictest of each limit; it names the packs.

    Raises:
        PolicyError: The policy is of format 1, two packs have one code, a pack limits a field that
            the policy lacks or in another unit, or the numbers contradict each other.
    """
    chosen = _ordered(policy, packs)
    if not chosen:
        return policy
    document = policy_document(policy)
    for pack in chosen:
        _impose(document, pack)
    used = {one.code: one for one in policy.packs or ()} | {p.code: pack_used(p) for p in chosen}
    document["packs"] = [used[code].model_dump() for code in sorted(used)]
    return policy_from_document(document)


def kept(policy: Policy, packs: Sequence[Pack]) -> tuple[str, ...]:
    """Return the fields in which a policy is looser than packs; none if it keeps them all.

    Raises:
        PolicyError: As `merged`.
    """
    strict = dict(_leaves(policy_document(merged(policy, packs))))
    now = dict(_leaves(policy_document(policy)))
    return tuple(field for field in strict if strict[field] != now.get(field))


def origins(policy: Policy, packs: Sequence[Pack]) -> tuple[Origin, ...]:
    """Return of each number where it comes from once the packs are merged, in policy order.

    Raises:
        PolicyError: As `merged`.
    """
    chosen = _ordered(policy, packs)
    document = policy_document(policy)
    asked: dict[str, list[tuple[Pack, PackLimit]]] = {}
    for pack in chosen:
        for limit in pack.limits:
            for field, _ in _places(document, limit):
                asked.setdefault(field, []).append((pack, limit))
    after = dict(_numbers(policy_document(merged(policy, packs))))
    return tuple(
        _origin(field, node, after[field], asked.get(field, []), chosen)
        for field, node in _numbers(document)
    )


def overruled(policy: Policy, packs: Sequence[Pack]) -> tuple[Overruled, ...]:
    """Return the rules that the policy disarms and a pack wants armed."""
    return tuple(
        Overruled(
            asset_class=section.asset_class,
            rule=rule.rule.value,
            reason=section.arming_of(rule.rule).reason,
            by=pack.code,
            source=rule.source,
            mark=rule.mark,
        )
        for pack in _ordered(policy, packs)
        for section in policy.classes
        for rule in pack.rules
        if not section.arming_of(rule.rule).armed
    )


def _ordered(policy: Policy, packs: Sequence[Pack]) -> list[Pack]:
    if policy.format == FORMAT_1:
        raise PolicyError("packs limit numbers that a policy of format 1 lacks: use format 2")
    codes = [one.code for one in packs]
    if len(set(codes)) != len(codes):
        raise PolicyError("a pack is named twice")
    return sorted(packs, key=lambda one: one.code)


def _impose(document: _Node, pack: Pack) -> None:
    """Change a policy's document to what a pack asks for, where that is stricter."""
    for limit in pack.limits:
        for _, node in _places(document, limit):
            _tighten(node, limit.value, limit, pack)
    for barred in pack.barred:
        for one in _entries(document, "instruments"):
            for name in _BARRED if one["asset_class"] == barred.asset_class else ():
                _tighten(cast("_Node", one[name]), 0, barred, pack)
    wanted = {rule.rule.value for rule in pack.rules}
    for section in _entries(document, "classes"):
        for arming in cast("list[_Node]", section["arming"]):
            if arming["rule"] in wanted:
                arming.update(armed=True, reason="")


def _tighten(node: _Node, value: int, asked: PackEntry, pack: Pack) -> None:
    """Replace a number by a pack's if that is stricter, with the pack's words."""
    present = cast("int", node["value"])
    higher = not isinstance(asked, PackLimit) or asked.higher_loosens
    if (value < present) if higher else (value > present):
        node.update(
            value=value,
            owner=pack.owner,
            rationale=_rationale(asked, pack),
            review_by=pack.review_by,
        )


def _rationale(asked: PackEntry, pack: Pack) -> str:
    return f"{asked.asks} {asked.source} [{asked.mark}], pack {pack.code} version {pack.version}."


def _places(document: _Node, limit: PackLimit) -> Iterator[tuple[str, _Node]]:
    """Yield each number that a limit is on, with its dotted name."""
    head, _, name = limit.field.partition(".*.")
    if head in _KEYS and name:
        found = [
            (f"{head}.{one[_KEYS[head]]}.{name}", one.get(name)) for one in _entries(document, head)
        ]
    else:
        node: JSON = document
        for part in limit.field.split("."):
            node = node.get(part) if isinstance(node, dict) else None
        found = [(limit.field, node)]
    for field, node in found:
        if not isinstance(node, dict) or node.get("unit") != limit.unit:
            raise PolicyError(f"{field} is no number of the policy in {limit.unit}")
        yield field, node


def _origin(
    field: str, node: _Node, after: _Node, asked: list[tuple[Pack, PackLimit]], packs: list[Pack]
) -> Origin:
    value = cast("int", after["value"])
    own = NumberSaid(by=OWN, value=cast("int", node["value"]))
    said = tuple(
        NumberSaid(
            by=pack.code,
            value=limit.value,
            set_by=limit.set_by,
            source=limit.source,
            mark=limit.mark,
        )
        for pack, limit in asked
    )
    words = {_rationale(limit, pack): pack.code for pack, limit in asked}
    if field.startswith("instruments."):
        barred = {_rationale(b, p): (p.code, b) for p in packs for b in p.barred}
        for text, (code, bar) in barred.items():
            if after["rationale"] == text:
                said += (
                    NumberSaid(by=code, value=0, set_by="law", source=bar.source, mark=bar.mark),
                )
                words[text] = code
    return Origin(
        field=field,
        value=value,
        unit=str(after["unit"]),
        by=words.get(str(after["rationale"]), OWN),
        said=(own, *said),
    )


def _entries(document: _Node, name: str) -> list[_Node]:
    return cast("list[_Node]", document[name])


def _numbers(document: _Node) -> Iterator[tuple[str, _Node]]:
    """Yield each number with its dotted name, in policy order."""
    for name, key in _KEYS.items():
        for one in _entries(document, name):
            yield from _stated(one, f"{name}.{one[key]}")
    for name in ("account", "approval", "sizing"):
        yield from _stated(cast("_Node", document[name]), name)
    for name, family in cast("dict[str, _Node]", document["families"]).items():
        yield from _stated(family, f"families.{name}")


def _stated(part: _Node, at: str) -> Iterator[tuple[str, _Node]]:
    for name, value in part.items():
        if isinstance(value, dict) and "unit" in value:
            yield f"{at}.{name}", value


def _leaves(document: _Node) -> Iterator[tuple[str, JSON]]:
    """Yield what a merge can change: numbers' values, and what is armed."""
    for field, node in _numbers(document):
        yield field, node["value"]
    for section in _entries(document, "classes"):
        for arming in cast("list[_Node]", section["arming"]):
            yield f"classes.{section['asset_class']}.arming.{arming['rule']}", arming["armed"]

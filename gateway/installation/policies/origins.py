"""Where each number of a policy comes from, in words: for a terminal, the API and the page.

Not here: who is asked (`risk.policy.merging`).
"""

from typing import Any

from gateway.installation.policies.packs import packs_used
from risk.policy.merging import NumberSaid, Origin, Overruled, origins
from risk.policy.policy import Policy, policy_digest


def origin_line(one: Origin) -> str:
    """Return a number with who gave it and what the others said."""
    others = "; ".join(said_text(said) for said in one.said if said.by != one.by)
    conflict = "  differs" if one.differs else ""
    return f"{one.field} = {one.value} {one.unit}, from {one.by}{conflict}" + (
        f" ({others})" if others else ""
    )


def overruled_line(one: Overruled) -> str:
    """Return a rule that a pack arms against the policy's reason."""
    return (
        f"{one.asset_class} {one.rule} armed by {one.by} ({one.source} [{one.mark}]), although:"
        f" {one.reason}"
    )


def said_text(said: NumberSaid) -> str:
    """Return what one party wants of a number."""
    where = f" by {said.source} [{said.mark}], number of the {said.set_by}" if said.source else ""
    return f"{said.by}: {said.value}{where}"


def origins_document(policy: Policy) -> dict[str, Any]:
    """Return the origin of each number of a policy, by the packs that it names.

    Raises:
        PolicyError: it names a pack that does not ship with this version.
    """
    packs = packs_used(policy.packs or ())
    found = origins(policy, packs) if packs else ()
    return {
        "policy_digest": policy_digest(policy),
        "packs": [one.model_dump() for one in policy.packs or ()],
        "numbers": [
            {
                "field": one.field,
                "value": one.value,
                "unit": one.unit,
                "from": one.by,
                "differs": one.differs,
                "said": [said_text(said) for said in one.said],
            }
            for one in found
        ],
    }


def spoken(policy: Policy) -> tuple[Origin, ...]:
    """Return the numbers on which a pack spoke; none if the policy names no pack.

    Raises:
        PolicyError: it names a pack that does not ship with this version.
    """
    packs = packs_used(policy.packs or ())
    return tuple(one for one in (origins(policy, packs) if packs else ()) if one.said[1:])

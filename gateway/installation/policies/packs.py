"""The packs of jurisdictions that ship, and whether a policy keeps those that it names.

Not here: what a pack asks for, and the merge (`risk.policy`).
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from gateway.errors import RequestError
from risk.errors import PolicyError
from risk.numbers.stated import PackUsed
from risk.policy.jurisdiction import Pack, pack_digest, parse_pack
from risk.policy.merging import kept
from risk.policy.policy import Policy

FOLDER: Final = Path(__file__).parents[3] / "risk" / "policy" / "packs"
NAMED_MAX: Final = 3


@cache
def shipped() -> tuple[Pack, ...]:
    """Return every pack that ships, also earlier versions, by code and version."""
    found = [parse_pack(path.read_bytes()) for path in FOLDER.glob("*.json")]
    return tuple(sorted(found, key=lambda one: (one.code, one.version)))


def newest() -> tuple[Pack, ...]:
    """Return the newest version of each pack, by code."""
    return tuple({one.code: one for one in shipped()}.values())


def packs_by_code(codes: Sequence[str]) -> tuple[Pack, ...]:
    """Return the newest packs with these codes.

    Raises:
        RequestError: there is no such pack.
    """
    known = {one.code: one for one in newest()}
    wanted = [code.upper() for code in codes]
    if unknown := [code for code in wanted if code not in known]:
        raise RequestError(problem=f"{unknown[0]} is no pack; the packs are {', '.join(known)}")
    return tuple(known[code] for code in dict.fromkeys(wanted))


def packs_used(used: Sequence[PackUsed]) -> tuple[Pack, ...]:
    """Return the packs that a policy names, by their digests.

    Raises:
        PolicyError: one of them does not ship with this version.
    """
    known = {pack_digest(one): one for one in shipped()}
    for one in used:
        if one.digest not in known:
            raise PolicyError(
                f"pack {one.code} version {one.version} ({one.digest[:16]}) does not ship with this"
                " version"
            )
    return tuple(known[one.digest] for one in used)


def packs_said(policy: Policy) -> str:
    """Return why a policy does not keep the packs that it names, "" if it does or names none."""
    if not policy.packs:
        return ""
    try:
        looser = kept(policy, packs_used(policy.packs))
    except PolicyError as error:
        return str(error)
    if not looser:
        return ""
    more = f" and {len(looser) - NAMED_MAX} more" if len(looser) > NAMED_MAX else ""
    return (
        f"the policy names packs {', '.join(one.code for one in policy.packs)} and is looser in"
        f" {', '.join(looser[:NAMED_MAX])}{more}: merge it again (`countersign policy merge`), or"
        " remove the pack from it"
    )

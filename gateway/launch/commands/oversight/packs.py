"""The verbs policy packs, merge and origins: what jurisdictions ask of a policy.

Not here: the merge itself (`risk.policy.merging`), files of packs (`gateway.installation`).
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from audit.signers.file import write_new
from gateway.errors import RequestError
from gateway.installation.keys.keyring import Keyring
from gateway.installation.policies.origins import origin_line, overruled_line
from gateway.installation.policies.packs import newest, packs_by_code, packs_used
from gateway.installation.policies.policy import given_policy
from gateway.installation.policies.policy_files import READABLE, read_policy
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from risk.errors import RiskError
from risk.policy.jurisdiction import Pack, PackEntry, pack_digest
from risk.policy.merging import merged, origins, overruled
from risk.policy.policy import policy_digest
from risk.policy.text import policy_text

COUNTS: Final = ("limits", "rules", "barred")


def list_packs(codes: Sequence[str]) -> int:
    """Print the newest packs; of those that are named, every entry.

    Raises:
        RequestError: there is no such pack.
    """
    for pack in packs_by_code(codes) if codes else newest():
        counts = ", ".join(f"{len(getattr(pack, name))} {name}" for name in COUNTS)
        sys.stdout.write(
            f"{pack.code}  {pack.name}, version {pack.version}: {counts}\n"
            f"    {pack_digest(pack)}, look again by {pack.review_by}, {pack.owner}\n"
        )
        if codes:
            sys.stdout.write(f"    {pack.note}\n" + "".join(f"  {one}\n" for one in _entries(pack)))
    return 0


def merge_draft(path: Path, codes: Sequence[str], out: Path) -> int:
    """Write a draft merged with packs to the strictest, and print who gave each limit.

    Raises:
        RequestError: `path` holds no policy, there is no such pack, `out` exists, or what is merged
            would be no policy.
    """
    policy, packs = read_policy(path).policy, packs_by_code(codes)
    if not packs:
        raise RequestError(problem="name at least one pack: --pack EU")
    try:
        packs = (*packs, *packs_used([u for u in policy.packs or () if u.code not in codes]))
        strict = merged(policy, packs)
        found, over = origins(policy, packs), overruled(policy, packs)
        write_new(out.resolve(), policy_text(strict).encode(), READABLE)
    except RiskError as error:
        raise RequestError(problem=f"{path} cannot be merged: {error}") from None
    except FileExistsError:
        raise RequestError(problem=f"{out} exists: choose another name") from None
    spoken = [one for one in found if len(one.said) > 1]
    sys.stdout.write("".join(f"{origin_line(one)}\n" for one in spoken))
    sys.stdout.write("".join(f"{overruled_line(one)}\n" for one in over))
    given = sum(one.by != "own" for one in spoken)
    sys.stdout.write(
        f"{len(spoken)} limits of packs, {given} of them stricter than the draft's own;"
        f" {len(over)} rules armed that the draft disarmed\n"
        f"{out}: {policy_digest(strict)}\n"
    )
    return 0


def show_origins(settings: Settings, path: Path | None) -> int:
    """Print where each number of a policy comes from; without a file, of the bundle in use.

    Raises:
        RequestError: the file holds no policy, or names a pack that does not ship.
        SettingsError: there is no bundle in the key folder.
    """
    if path is None:
        policy = given_policy(Keyring(StateFolder.of(settings).keys)).policy
    else:
        policy = read_policy(path).policy
    try:
        packs = packs_used(policy.packs or ())
        found = origins(policy, packs) if packs else ()
    except RiskError as error:
        raise RequestError(problem=str(error)) from None
    if not packs:
        sys.stdout.write("the policy names no pack: every number is its own\n")
    sys.stdout.write("".join(f"{origin_line(one)}\n" for one in found))
    return 0


def _entries(pack: Pack) -> list[str]:
    def why(one: PackEntry) -> str:
        return f"{one.asks} {one.source} [{one.mark}]"

    limits = [
        f"{one.field} {'at most' if one.higher_loosens else 'at least'} {one.value} {one.unit}"
        f" (number of the {one.set_by}): {why(one)}"
        for one in pack.limits
    ]
    rules = [f"{one.rule.value} armed: {why(one)}" for one in pack.rules]
    return [*limits, *rules, *(f"{one.asset_class} barred: {why(one)}" for one in pack.barred)]

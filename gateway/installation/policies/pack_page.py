"""docs/packs.md: what each jurisdiction's pack asks for, with source and confidence."""

import textwrap
from collections.abc import Iterator
from typing import Final

from gateway.installation.policies.packs import newest
from risk.policy.jurisdiction import Pack, PackEntry, pack_digest

WIDTH: Final = 118
LEDE: Final = (
    "Written by `make docs` from `risk/policy/packs/`; do not edit. `countersign policy packs EU`"
    " prints the same. `countersign policy merge policy.toml --pack EU --pack US --out merged.toml`"
    " merges packs and a firm's own policy to the strictest of each limit, and says who gave it."
    " The merged policy names its packs by digest. It is refused where it is looser than they are;"
    " merging it again changes nothing, so whoever has it and the packs sees that it keeps them."
    " `countersign policy origins` and the page *Policy* show where each number comes from."
)
MARKS: Final = (
    "S: seen in public text or a summary of it; m: from memory, to be verified before it is cited;"
    " O: the house's own. No regulator prescribes most of these numbers: a limit says whether the"
    " law sets its number or the house chose it under the obligation. Nothing here is legal advice."
)


def packs_page() -> str:
    """Return the page."""
    lines = ["# Packs of jurisdictions", "", *_prose(LEDE), "", *_prose(MARKS), ""]
    for pack in newest():
        lines += [*_section(pack), ""]
    return "\n".join(lines)


def _section(pack: Pack) -> Iterator[str]:
    yield from (f"## {pack.code}: {pack.name}", "")
    yield from _prose(
        f"Version {pack.version}, owner {pack.owner}, sources read {pack.reviewed}, look again by"
        f" {pack.review_by}. {pack.note}"
    )
    yield from ("", f"Digest `{pack_digest(pack)}`.", "")
    yield from ("| asked for | number by | obligation | source | mark |", "|---|---|---|---|---|")
    for one in pack.limits:
        bound = "at most" if one.higher_loosens else "at least"
        yield _row(f"`{one.field}` {bound} {one.value} {one.unit}", one.set_by, one)
    for rule in pack.rules:
        yield _row(f"{rule.rule.value} armed", "", rule)
    for barred in pack.barred:
        yield _row(f"class `{barred.asset_class}` barred", "", barred)


def _row(what: str, set_by: str, one: PackEntry) -> str:
    return f"| {what} | {set_by} | {one.asks} | {one.source} | {one.mark} |"


def _prose(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)

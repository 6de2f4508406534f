"""Whether a disclosure is the one that a header commits to: what a holder of both checks."""

from collections.abc import Sequence

from audit.records.personal import commitment, parse_disclosure


def discloses(data: str | bytes, commitments: Sequence[str], index: int) -> bool:
    """Say whether a disclosure is the one that a header commits to at an index.

    Raises:
        DisclosureError: it is none.
    """
    text = data.decode("ascii", "replace") if isinstance(data, bytes) else data
    parse_disclosure(text)
    at = range(len(commitments))
    return index in at and commitment(text.removesuffix("\n")) == commitments[index]

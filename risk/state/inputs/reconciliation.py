"""What is still open between an account's book and the broker's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDifferences:
    """The account's differences that no person has ended, as folded up to a record.

    Attributes:
        basis_seq: Sequence number up to which differences were folded, at least.
        open_seqs: The open differences' records, ascending; one that names no account counts for
            every account.
    """

    basis_seq: int
    open_seqs: tuple[int, ...]

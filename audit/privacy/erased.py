"""What an erasure and a disclosure answer."""

from dataclasses import dataclass

from audit.records.personal import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure did.

    Attributes:
        subjects: the pseudonyms that are forgotten; of a name, the one in use last.
        seqs: the records that say so, one for each.
        fields: how many fields of how many records they name.
        keys_destroyed: how many; those that are missing an earlier try had destroyed.
        rows: encrypted rows deleted just now.
        shown: who was shown values of them, and the record that says so; they may hold copies.
        in_words: records that hold a name in words, which stays; None where no name could be looked
            for: it is gone already, or too short.
    """

    subjects: tuple[str, ...]
    seqs: tuple[int, ...]
    fields: int
    records: int
    keys_destroyed: int
    rows: int
    shown: tuple[tuple[str, int], ...]
    in_words: tuple[int, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One personal value, opened; `value` is None when its key is gone."""

    field: Field
    value: str | None
    disclosure: str | None

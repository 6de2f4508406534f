"""Which direction of a number permits more."""

from enum import StrEnum


class Looser(StrEnum):
    """Stands in the annotation of every number of a family."""

    HIGHER = "higher"
    LOWER = "lower"

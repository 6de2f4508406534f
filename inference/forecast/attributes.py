"""What a counterfactual swap exchanges; apart from the swaps, because a verb reads it."""

from enum import StrEnum


class Attribute(StrEnum):
    """What a swap exchanges."""

    REGION = "region"
    SECTOR = "sector"
    ISSUER = "issuer"
    CLIENT = "client"
    NEUTRAL = "neutral"  # the placebo's

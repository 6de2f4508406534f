"""Whether the machine under the ledger can keep its promises."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineLook:
    """One look at disk and clock.

    Attributes:
        age_us: How long before the verdict the look was taken, on the monotonic clock.
        disk_free_bp: Free share of the disk that holds the gateway's state.
        clock_step_us: By how much the wall clock moved more or less than the monotonic clock
            between this look and the one before, which was at most a minute earlier.
    """

    age_us: int
    disk_free_bp: int
    clock_step_us: int

"""Python's settings for a process that appends: quicker thread switches, rarer collections."""

import gc
import sys

_SWITCH_S = 0.001
"""How long a busy thread may keep the interpreter while another asks for it (Python's default is
5 ms). The sequencer asks a few times per commit: at the default the database waits longer for the
sequencer than the sequencer for the database. Below 1 ms, the switches cost more than they gain."""
_YOUNG_MAX = 20_000
"""Objects made before the garbage collector looks at the young ones (Python's default: 700). A
batch makes thousands that die by themselves; looking at them costs 3 % of an append."""


def tune() -> None:
    """Set both for the whole process, for good; a collector that is switched off stays off."""
    sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_S))
    gc.freeze()  # everything loaded by now stays: the collector need not look at it again
    young, *older = gc.get_threshold()
    gc.set_threshold(max(young, _YOUNG_MAX) if young else 0, *older)

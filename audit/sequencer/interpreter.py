"""What a process that appends asks of Python: threads that wait less, a collector that looks less.

Process-wide, so it is done once and never taken back: a ledger's process is there for its ledger.
"""

import gc
import sys

_SWITCH_S = 0.001
"""How long a busy thread may keep the interpreter while another asks for it (Python's default is
5 ms). The sequencer asks a few times per commit: at the default the database would wait for it
longer than it for the database. Shorter than this, more goes into handing over than is won."""
_YOUNG_MAX = 20_000
"""Objects that may be made before the garbage collector looks at the young ones (Python's default:
700). A batch makes thousands that go by themselves; looking at them costs 3 % of an append."""


def tune() -> None:
    """Set both; a collector that is switched off stays so."""
    sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_S))
    gc.freeze()  # what is loaded by now stays, and need not be looked at again
    young, *older = gc.get_threshold()
    gc.set_threshold(max(young, _YOUNG_MAX) if young else 0, *older)

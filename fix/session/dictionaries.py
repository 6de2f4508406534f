"""Where the data dictionaries and the shipped profiles are on disk.

Not here: what differs by version (`fix.dialects.versions`).
"""

from pathlib import Path
from typing import Final

from fix.dialects.profile import Profile
from fix.dialects.versions import SPEECH

_DIALECTS: Final = Path(__file__).parents[1] / "dialects"
DICTIONARIES: Final = _DIALECTS / "dictionary"
SHIPPED: Final = _DIALECTS / "shipped"


def dictionary_of(profile: Profile) -> Path:
    """Return the dictionary of application messages; before FIXT also that of session messages."""
    return DICTIONARIES / (profile.dictionary or SPEECH[profile.version].application)


def words_of(profile: Profile) -> tuple[str, ...]:
    """Return the session's dictionary files: session messages first, if they are apart (FIXT)."""
    apart = SPEECH[profile.version].transport
    transport = (str(DICTIONARIES / apart),) if apart else ()
    return (*transport, str(dictionary_of(profile)))

"""The part of a broker's profile that an order's text depends on.

Not here: how an order is written (`fix.wire.messages`).
"""

from typing import Any, Final

from fix.dialects.profile import Profile

_DIGITS_BEFORE: Final = 6


def order_profile(profile: Profile) -> dict[str, Any]:
    """Return what a replay needs to write the order's text again, as JSON values.

    The fields that later versions added stand there only if they differ from what was before.
    """
    document = profile.model_dump(mode="json", include={"account", "currency", "minor_digits"})
    later = set() if profile.tags.extra else {"extra"}
    document["tags"] = profile.tags.model_dump(mode="json", exclude=later)
    if profile.timestamp_digits != _DIGITS_BEFORE:
        document["timestamp_digits"] = profile.timestamp_digits
    return document

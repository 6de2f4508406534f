"""A snapshot with a fitted scale, and its prompt."""

from dataclasses import replace
from functools import cache

from gateway.feeds.scales import Scales
from gateway.feeds.sessions import load_playback
from inference.codec.prompt import Prompt
from inference.codec.scaled import ScaledCodec
from inference.snapshot import Snapshot


@cache
def snapshot_and_prompt() -> tuple[Snapshot, Prompt]:
    """Return those of the playback's first decision."""
    (session,) = replace(load_playback(), scales=Scales()).sessions(1)
    return session.snapshot, ScaledCodec().encode(session.snapshot)

"""A row of the table of acts: what may be asked of the desk, by whom, and what it is recorded as.

A row holds values only. What an act does is in the desk (`desk.performing`), by its name; how it is
asked over HTTP is the API's binder. Nothing is registered by importing it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel

from gateway.acts.verb import Verb

_PLACE: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act.

    Attributes:
        name: noun and verb, `publications.note`; its function has the same name in the desk.
        summary: one sentence for whoever looks for it, a question for a read.
        says: what it does, for the description of the API.
        action: what a role may do (`gateway.installation.keys.roles.MAY`).
        path: with a place in braces for each id, `/v1/cases/{case_id}`.
        ids: the types of the ids that are no text.
        body: what must be said; without one it is a read.
        noted: what a read is recorded as, with the path's places.
        verb: how it is asked on the command line.
        left_out: why it has no verb.
    """

    name: str
    summary: str
    says: str
    action: str
    path: str
    ids: Mapping[str, type] = field(default_factory=dict)
    body: type[BaseModel] | None = None
    noted: str = ""
    verb: Verb | None = None
    left_out: str = ""

    def __post_init__(self) -> None:
        """Refuse a row that says two things.

        Raises:
            ValueError: a read that is not said to be recorded, or an act that is; an act with
                neither a verb nor a reason why it has none, or with both.
        """
        if self.is_read != bool(self.noted):
            raise ValueError(f"{self.name}: `noted` says what a read is recorded as, and only that")
        if (self.verb is None) != bool(self.left_out):
            raise ValueError(f"{self.name}: give it a verb, or say in `left_out` why it has none")

    @property
    def is_read(self) -> bool:
        """Whether it only reads."""
        return self.body is None

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "GET" if self.is_read else "POST"

    @property
    def group(self) -> str:
        """The group of the API's description: the path's first word after the version."""
        return self.path.split("/")[2]

    @property
    def noted_for(self) -> str:
        """What a read is recorded as, with N for a number and ID for another id."""
        words = {one: "N" if self.ids.get(one) is int else "ID" for one in self.places}
        return self.noted.format(**words)

    @property
    def places(self) -> tuple[str, ...]:
        """The names of the path's ids, in order."""
        return tuple(_PLACE.findall(self.path))

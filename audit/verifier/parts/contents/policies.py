"""Policies that followed another, and the trials that their signatures name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.report import TAMPERED, Report


@dataclass(slots=True)
class PolicySuccessions:
    """Policies and trials in a log; give it every record with `see`, then call `finish`.

    A trial is of one draft against one policy in force, and stands before the draft follows. In
    paper mode none is asked for; policies of earlier versions name none.
    """

    _modes: dict[str, str] = field(default_factory=dict)
    _tried: set[tuple[str, str, str]] = field(default_factory=set)
    _before: str = ""
    _dev: bool = True
    _count: int = 0
    _sound: int = 0
    _missing: list[int] = field(default_factory=list)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take one record whose bytes were verified."""
        match head["kind"]:
            case "run_started":
                self._modes[text_of(body.get("run_id"))] = text_of(body.get("mode"))
            case "policy_tried":
                names = ("trial_blob", "policy_digest", "follows_digest")
                trial, draft, follows = (text_of(body.get(one)) for one in names)
                self._tried.add((trial, draft, follows))
            case "policy_activated":
                self._activated(head["seq"], body)
            case _:
                pass

    def _activated(self, seq: int, body: Mapping[str, Any]) -> None:
        digest, before = text_of(body.get("policy_digest")), self._before
        if before not in {"", digest} and not self._dev:
            self._count += 1
            trial = _trial_of(body.get("signatures"))
            if trial and (trial, digest, before) in self._tried:
                self._sound += 1
            elif trial and self._modes.get(text_of(body.get("run_id"))) != "paper":
                self._missing.append(seq)
        self._before, self._dev = digest, body.get("dev") is True

    def finish(self, report: Report, *, whole: bool) -> None:
        """Say how many policies followed a trial; find those whose trial the log has not."""
        if self._count:
            said = f"{self._sound} of {self._count} policies that followed another"
            report.say(f"{said}: both signatures name a trial on record before")
        for seq in self._missing if whole else ():
            text = "its officers signed a trial that no earlier record has"
            report.find(TAMPERED, text, seq)


def _trial_of(signatures: object) -> str:
    """Return the one trial that all signatures name; "" if there is none."""
    given = signatures if isinstance(signatures, list) else []
    named = {text_of(one.get("trial", "")) for one in given if isinstance(one, dict)}
    return named.pop() if len(named) == 1 else ""

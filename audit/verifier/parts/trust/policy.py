"""The witness policy (C2SP tlog-policy): logs, witnesses, groups and a quorum."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from audit.verifier.parts.report import Bad
from audit.verifier.parts.trust.note import COSIGNER, ED25519, KEY_BYTES, Key, read_vkey, split_vkey


@dataclass(slots=True)
class WitnessPolicy:
    """A policy: logs, witnesses by their name in the file, groups in order, a quorum."""

    logs: list[Key] = field(default_factory=list)
    witnesses: dict[bytes, Key] = field(default_factory=dict)
    groups: dict[bytes, tuple[int, set[bytes]]] = field(default_factory=dict)
    quorum: bytes | None = None
    listed: set[tuple[bytes, bytes]] = field(default_factory=set)

    @property
    def asks(self) -> bool:
        """Return whether the policy requires any witness."""
        return self.quorum != b"none"

    def met(self, present: Iterable[bytes]) -> bool:
        """Return whether these witnesses are a quorum."""
        there = {b"none", *present}
        for name, (threshold, members) in self.groups.items():
            if len(there & members) >= threshold:
                there.add(name)
        return self.quorum in there

    def stood(self, times_s: Mapping[bytes, int]) -> int | None:
        """Return when the quorum was reached, in seconds; None if stated times do not show it."""
        for until_s in sorted(set(times_s.values()) - {0}) if self.asks else ():
            if self.met(name for name, at in times_s.items() if 0 < at <= until_s):
                return until_s
        return None

    def take(self, words: list[bytes]) -> None:
        """Take one line."""
        match words:
            case [b"log", vkey] | [b"log", vkey, _]:
                self._log(vkey)
            case [b"witness", name, vkey] | [b"witness", name, vkey, _]:
                key = read_vkey(vkey.decode())
                if key.kind == ED25519:
                    raise Bad("a witness's key has type 0x04 or 0x06")
                self._define(name)
                self._once(b"witness", key.public)
                self.witnesses[name] = key
            case [b"group", name, threshold, *members] if members:
                known = self.witnesses.keys() | self.groups.keys()
                if not known.issuperset(members):
                    raise Bad("a member is not defined above")
                for member in members:
                    self._once(b"member", member)
                self._define(name)
                self.groups[name] = (_threshold(threshold, len(members)), set(members))
            case [b"quorum", name] if self.quorum is None:
                if name not in {b"none", *self.witnesses, *self.groups}:
                    raise Bad("the quorum is not defined above")
                self.quorum = name
            case _:
                raise Bad("not a line of a policy")

    def _log(self, vkey: bytes) -> None:
        key = split_vkey(vkey.decode())
        if key.kind == COSIGNER:
            raise Bad("a log's key is of a witness's type")
        self._once(b"log", key.public)
        if key.kind in KEY_BYTES:  # another type may be listed; it never satisfies
            self.logs.append(read_vkey(vkey.decode()))

    def _once(self, sort: bytes, what: bytes) -> None:
        if (sort, what) in self.listed:
            raise Bad("a key or a member is listed twice")
        self.listed.add((sort, what))

    def _define(self, name: bytes) -> None:
        if name in {b"none", *self.witnesses, *self.groups}:
            raise Bad("a name is taken")


def _threshold(word: bytes, count: int) -> int:
    if word in {b"all", b"any"}:
        return count if word == b"all" else 1
    if re.fullmatch(rb"[1-9][0-9]{0,8}", word) is None or int(word) > count:
        raise Bad(f"a threshold is not all, any or 1 to {count}")
    return int(word)


def read_policy(data: bytes) -> WitnessPolicy:
    """Return a policy; one unreadable line refuses the file, as the rest could be weaker."""
    policy = WitnessPolicy()
    if any(c in b"\x7f" or (c < ord(" ") and c not in b"\t\n") for c in data):
        raise Bad("the policy holds a control character other than tab and newline")
    if not data.endswith(b"\n"):
        raise Bad("the policy's last line does not end")
    for number, line in enumerate(data.split(b"\n"), 1):
        words = [word for word in re.split(rb"[ \t]+", line) if word]
        if not words or words[0].startswith(b"#"):
            continue
        try:
            policy.take(words)
        except (Bad, ValueError) as error:
            raise Bad(f"the policy's line {number}: {error}") from error
    if policy.quorum is None:
        raise Bad("the policy has no quorum line")
    return policy

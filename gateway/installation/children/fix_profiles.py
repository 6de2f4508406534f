"""The broker's profile that the settings name: a file, or one that is shipped.

Not here: what a profile may say (`fix.dialects`).
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Final

from audit.records.canonical import JSON, canonical
from fix.dialects.profile import Profile, parse_profile
from fix.dialects.profile_text import BYTES_MAX, parse_profile_text
from fix.errors import ProfileError
from fix.session.dictionaries import SHIPPED, dictionary_of
from gateway.errors import SettingsError
from gateway.installation.settings import PREFIX, FixSettings, Settings
from gateway.installation.state import PAPER

SIMULATOR: Final = "simulator"
NAME_MAX: Final = 32
"""Longest name of a profile, as `fix.dialects.profile` has it."""
_SUFFIX: Final = ".toml"
_BY_SETTING: Final = {
    "host": "host",
    "port": "port",
    "sender": "sender_comp_id",
    "target": "target_comp_id",
    "resets": "resets",
    "session_start": "session_start",
    "session_end": "session_end",
}
"""Settings that win over the profile if they are set, and the profile's field."""
_NEEDED: Final = ("port", "sender", "target")


def shipped_names() -> tuple[str, ...]:
    """Return the names of the shipped profiles."""
    return tuple(sorted(path.stem for path in SHIPPED.glob(f"*{_SUFFIX}")))


def profile_path(named: Path) -> Path:
    """Return the file of a profile that is named by its path, or by a shipped name."""
    return SHIPPED / f"{named}{_SUFFIX}" if str(named) in shipped_names() else named


def read_profile(named: Path) -> Profile:
    """Read a profile by its path or a shipped name; a relative dictionary gets its whole path.

    Raises:
        ProfileError: it cannot be read or is faulty; names the file, and each key with its line.
    """
    path = profile_path(named)
    try:
        with path.open("rb") as file:
            raw = file.read(BYTES_MAX + 1)
    except OSError as error:
        shipped = ", ".join(shipped_names())
        problem = f"{path}: {error.strerror}; name a file, or one of {shipped}"
        raise ProfileError(problem=problem) from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ProfileError(problem=f"{path} line {line}: not UTF-8") from None
    if len(raw) > BYTES_MAX:
        raise ProfileError(problem=f"{path}: more than {BYTES_MAX} bytes")
    try:
        profile = parse_profile_text(text)
    except ProfileError as error:
        raise ProfileError(problem=f"{path} {error.problem}") from None
    if profile.dictionary:
        own = str((path.parent / profile.dictionary).resolve())
        profile = profile.model_copy(update={"dictionary": own})
    if (data := profile.market_data) and data.dictionary:
        own = str((path.parent / data.dictionary).resolve())
        kept = data.model_copy(update={"dictionary": own})
        profile = profile.model_copy(update={"market_data": kept})
    sessions = {"dictionary": profile}
    if profile.market_data is not None:
        sessions["market_data.dictionary"] = profile.market_session
    for key, session in sessions.items():
        if not dictionary_of(session).is_file():
            problem = f"{path}: {key}: there is no file {dictionary_of(session)}"
            raise ProfileError(problem=problem)
    return profile


def profile_of(fix: FixSettings, port: int | None = None) -> Profile:
    """Return the profile that the settings name, with the settings that are set beside it.

    `port` is the simulator's own, in `run`. A shipped profile other than the simulator's names no
    broker, so the settings must.

    Raises:
        SettingsError: the profile is faulty, a setting does not fit it, or a needed one is missing.
    """
    try:
        profile = read_profile(fix.profile)
    except ProfileError as error:
        raise SettingsError(name=f"{PREFIX}FIX__PROFILE", problem=str(error)) from error
    said = fix.model_fields_set
    named = str(fix.profile)
    if named in shipped_names() and named != SIMULATOR:
        missing = [name for name in _NEEDED if name not in said]
        if missing:
            raise SettingsError(
                name=f"{PREFIX}FIX__{missing[0].upper()}",
                problem=f"must be set: the shipped profile {named} names no broker",
            )
    given: dict[str, JSON] = {
        field: getattr(fix, name) for name, field in _BY_SETTING.items() if name in said
    }
    if fix.public_tags:
        given["public_tags"] = [int(tag) for tag in fix.public_tags.split(",")]
    if port is not None or not given.get("port", 1):
        given["port"] = port or profile.port
    try:
        return parse_profile(json.dumps(profile.model_dump(mode="json") | given))
    except ProfileError as error:
        raise _misfit(error, said) from error


def session_profile(settings: Settings) -> Profile:
    """Return the profile of the session that `serve` opens; raises as `profile_of`.

    All modes of an installation have one ledger. Outside paper mode the profile's name ends in the
    mode, so that no mode's session is told on another one's stream, whatever its file is called.
    """
    profile = profile_of(settings.fix)
    if settings.mode == PAPER:
        return profile
    end = f"-{settings.mode}"
    return profile.model_copy(update={"name": profile.name[: NAME_MAX - len(end)] + end})


def _misfit(error: ProfileError, said: set[str]) -> SettingsError:
    """Return the error of settings that do not fit the profile; names the one at fault."""
    named = error.problem.partition(":")[0].partition(".")[0]
    by_field = {field: name for name, field in _BY_SETTING.items()} | {"public_tags": "public_tags"}
    fallback = "resets" if said & {"resets", "session_start", "session_end"} else "profile"
    name = by_field.get(named, fallback)
    return SettingsError(name=f"{PREFIX}FIX__{name.upper()}", problem=str(error))


def profile_record(profile: Profile) -> dict[str, JSON]:
    """Return what goes on record of a profile: its values, their digest, its dictionary's digest.

    The digest is SHA-256 over the canonical JSON of `document`, in which the dictionary has its
    file name only.
    """
    document: dict[str, JSON] = profile.model_dump(mode="json", exclude_none=True)
    document["dictionary"] = Path(profile.dictionary).name
    if isinstance(data := document.get("market_data"), dict) and profile.market_data is not None:
        data["dictionary"] = Path(profile.market_data.dictionary).name
    return {
        "name": profile.name,
        "digest": sha256(canonical(document)).hexdigest(),
        "dictionary_digest": sha256(dictionary_of(profile).read_bytes()).hexdigest(),
        "document": document,
    }

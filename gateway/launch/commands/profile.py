"""Check and show a broker's profile. Not here: what a profile may say (`fix.dialects`)."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fix.dialects.profile import Profile, SessionMode
from fix.dialects.versions import SPEECH
from fix.errors import ProfileError
from gateway.installation.children.fix_profiles import profile_path, profile_record, read_profile
from gateway.installation.settings import Settings

EXAMPLE: Final = Path("plain-4.4")


def check_profile(settings: Settings, named: Path | None) -> int:
    """Print a profile's digest; return 1 and name every fault with its line if it has some."""
    return _told(settings, named, _checked)


def show_profile(settings: Settings, named: Path | None, *, as_json: bool) -> int:
    """Print what a profile says, with what it leaves to defaults; return 1 if it is faulty."""
    return _told(settings, named, _json if as_json else _lines)


def show_sidecar(settings: Settings, named: Path | None) -> int:
    """Print the configuration of stunnel for a profile with [tls]; return 1 if it has none."""
    return _told(settings, named, _sidecar)


def example_profile(named: Path | None) -> str:
    """Return the text of a shipped profile.

    Raises:
        ProfileError: none has this name.
    """
    path = profile_path(named or EXAMPLE)
    read_profile(named or EXAMPLE)
    return path.read_text(encoding="utf-8")


def _told(settings: Settings, named: Path | None, told: Callable[[Profile], str]) -> int:
    try:
        text = told(read_profile(named or settings.fix.profile))
    except ProfileError as error:
        sys.stderr.write(f"countersign: {error}\n")
        return 1
    sys.stdout.write(text)
    return 0


def _checked(profile: Profile) -> str:
    digest = profile_record(profile)["digest"]
    return f"{profile.name}: {profile.version}, no errors, sha256 {digest}\n"


def _json(profile: Profile) -> str:
    return json.dumps(profile_record(profile), indent=2) + "\n"


def _lines(profile: Profile) -> str:
    """Return the profile for a person, in the order in which it is read."""
    record = profile_record(profile)
    can = [name for name, has in profile.capabilities.model_dump().items() if has]
    resets = profile.resets.value
    if profile.session_start:
        resets += f", {profile.session_start} to {profile.session_end} UTC"
    numbers = "from 1 at each logon" if profile.mode is SessionMode.RESET else "continue"
    beyond = ", ".join(map(str, profile.tags.beyond_standard)) or "none"
    extra = ", ".join(f"{one.tag}={one.value}" for one in profile.tags.extra) or "none"
    tls = "none: clear text" if profile.tls is None else _behind(profile)
    rows = (
        ("profile", f"{profile.name}, sha256 {record['digest']}"),
        ("version", f"{profile.version}, 8={SPEECH[profile.version].begin_string}"),
        ("dictionary", f"{profile.dictionary or 'shipped'}, sha256 {record['dictionary_digest']}"),
        ("session", f"{profile.sender_comp_id} to {profile.target_comp_id}"),
        ("address", f"{profile.host}:{profile.port}"),
        ("TLS", tls),
        ("numbers", f"{numbers}; expected restarts: {resets}"),
        ("heartbeat", f"{profile.heartbeat_s} s, a new try after {profile.reconnect_s} s"),
        ("broker can", ", ".join(can) or "nothing beyond D, F and 8"),
        ("throttle", json.dumps(profile.pace.model_dump())),
        ("account", f"{profile.account or 'ours'}, {profile.currency}"),
        ("more fields", extra),
        ("not in 4.4", beyond),
    )
    return "".join(f"{name:<12}{value}\n" for name, value in rows)


def _behind(profile: Profile) -> str:
    tls = profile.tls
    return "" if tls is None else f"by the sidecar, to {tls.host}:{tls.port} ({tls.server_name})"


def _sidecar(profile: Profile) -> str:
    """Return stunnel's configuration: certificate and name are checked, TLS 1.2 at least.

    Raises:
        ProfileError: the profile has no [tls].
    """
    tls = profile.tls
    if tls is None:
        raise ProfileError(
            problem=f"{profile.name} has no [tls]: add one, or connect in clear text"
        )
    own = [f"cert = {tls.cert_file}", f"key = {tls.key_file or tls.cert_file}"]
    lines = [
        f"; the TLS sidecar of the profile {profile.name}; run: stunnel THIS_FILE",
        "foreground = yes",
        "pid =",
        f"[{profile.name}]",
        "client = yes",
        f"accept = {profile.host}:{profile.port}",
        f"connect = {tls.host}:{tls.port}",
        f"sni = {tls.server_name}",
        f"CAfile = {tls.ca_file}",
        "verifyChain = yes",
        f"checkHost = {tls.server_name}",
        "sslVersionMin = TLSv1.2",
        *(own if tls.cert_file else []),
    ]
    return "\n".join(lines) + "\n"

"""The settings text of QuickFIX's initiator, derived from a profile alone.

Not here: the profile's fields (`profile`), opening the files.
"""

from fix.dialects.profile import Profile, Resets, SessionMode
from fix.dialects.versions import SPEECH


def begin_string_of(profile: Profile) -> str:
    """Return the session's BeginString (8)."""
    return SPEECH[profile.version].begin_string


def ids_of(profile: Profile) -> tuple[str, str, str]:
    """Return what names the session: BeginString (8), SenderCompID (49), TargetCompID (56)."""
    return begin_string_of(profile), profile.sender_comp_id, profile.target_comp_id


def initiator_settings(
    profile: Profile,
    *,
    store: str,
    log: str,
    dictionary: str,
    transport: str = "",
    reconnect_s: int = 1,
) -> str:
    """Return QuickFIX's settings text for this session.

    - ``PersistMessages=N``: the engine answers a ResendRequest with a gap fill only, so it sends no
      order twice. It still stores sequence numbers.
    - ``ReconnectInterval=1``: a kill needs this rate. Each refused connect uses a MsgSeqNum
      (measured), so `fix.session.redial` applies the profile's interval otherwise.
    - ``Validate...=N`` and ``AllowUnknownMsgFields=Y``: brokers add tags at will. A session reject
      would lose a fill, so `fix.wire.reports` checks the fields that we need.

    `store` and `log` are folders. `dictionary` is a file, and `transport` too: that of session
    messages where it is apart (FIXT).
    """
    reset = "Y" if profile.mode is SessionMode.RESET else "N"
    times = ["NonStopSession=Y"]
    if profile.resets is Resets.NIGHTLY:
        times = [f"StartTime={profile.session_start}", f"EndTime={profile.session_end}"]
    words = [f"DataDictionary={dictionary}"]
    if SPEECH[profile.version].transport:
        words = [f"TransportDataDictionary={transport}", f"AppDataDictionary={dictionary}"]
        words.append(f"DefaultApplVerID={profile.version}")
    lines = [
        "[DEFAULT]",
        "ConnectionType=initiator",
        *times,
        f"ReconnectInterval={reconnect_s}",
        f"LogonTimeout={profile.logon_timeout_s}",
        f"FileStorePath={store}",
        f"FileLogPath={log}",
        "UseDataDictionary=Y",
        *words,
        "ValidateUserDefinedFields=N",
        "AllowUnknownMsgFields=Y",
        "ValidateFieldsHaveValues=N",
        "ValidateFieldsOutOfOrder=N",
        f"TimestampPrecision={profile.timestamp_digits}",
        "SocketNodelay=Y",
        "CheckLatency=Y",
        f"MaxLatency={profile.max_latency_s}",
        "PersistMessages=N",
        "SendRedundantResendRequests=N",
        f"ResetOnLogon={reset}",
        "ResetOnLogout=N",
        "ResetOnDisconnect=N",
        "[SESSION]",
        f"BeginString={begin_string_of(profile)}",
        f"SenderCompID={profile.sender_comp_id}",
        f"TargetCompID={profile.target_comp_id}",
        f"SocketConnectHost={profile.host}",
        f"SocketConnectPort={profile.port}",
        f"HeartBtInt={profile.heartbeat_s}",
    ]
    return "\n".join(lines) + "\n"

"""The verb service: a systemd unit for this installation. It prints and installs nothing.

Source: systemd.service(5), systemd.exec(5), systemd.kill(5).
"""

import getpass
import sys
from pathlib import Path
from typing import Final

from gateway.errors import SettingsError
from gateway.installation.settings import Settings
from gateway.installation.settings_file import CONFIG
from gateway.installation.state import StateFolder

_UNIT: Final = """\
# countersign service > countersign.service; then, as root:
#   cp countersign.service /etc/systemd/system/ && systemctl enable --now countersign
[Unit]
Description=Countersign gateway {origin}
Documentation=file://{docs}
Wants=network-online.target
After=network-online.target{database}

[Service]
Type=exec
User={user}
WorkingDirectory={folder}
Environment="{variable}={file}"
ExecStart={program} serve
# The children stop their orders and the embedded database themselves when the gateway ends.
KillMode=mixed
TimeoutStopSec=120
# A start sends nothing: it withdraws what was unsent and asks the broker about the rest.
Restart=on-failure
RestartSec=5
UMask=0077
NoNewPrivileges=yes
ProtectSystem=full
ReadWritePaths={writable}

[Install]
WantedBy=multi-user.target
"""


def print_unit(settings: Settings) -> int:
    """Print a unit that runs `serve` with the settings file in force, as the present user.

    Raises:
        SettingsError: there is no settings file, or a path that a unit cannot name.
    """
    file = settings.config
    if file is None:
        raise SettingsError(
            name=CONFIG,
            problem="a unit needs a settings file: go to the folder of countersign.toml, or set it",
        )
    state = StateFolder.of(settings)
    paths = {
        "folder": file.parent,
        "file": file,
        "program": Path(sys.executable).absolute().with_name("countersign"),
        "docs": Path(__file__).parents[3] / "docs" / "operate.md",
    }
    folders = list(dict.fromkeys((state.root, state.keys, state.vault)))
    for path in (*paths.values(), *folders):
        if any(one.isspace() or one in "\"'\\%$" or not one.isprintable() for one in str(path)):
            problem = f"{path} has a blank, quote, % or $, which a unit would read otherwise"
            raise SettingsError(name=CONFIG, problem=f"{problem}: move the installation")
    sys.stdout.write(
        _UNIT.format(
            **paths,
            origin=settings.ledger.origin.replace("%", "%%"),
            variable=CONFIG,
            user=getpass.getuser(),
            database="" if settings.ledger.dsn is None else " postgresql.service",
            writable=" ".join(f"-{one}" for one in folders),
        )
    )
    return 0

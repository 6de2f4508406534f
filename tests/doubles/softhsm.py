"""A real PKCS#11 token of Debian's softhsm2, in a folder of the test's own."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pkcs11

MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")
LABEL = "countersign"
PIN = "5678"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token and the file that holds its PIN."""

    folder: Path
    pin: Path

    def uri(
        self, label: str, *, token: str = LABEL, module: Path = MODULE, pin: Path | None = None
    ) -> str:
        """Name a key in the token."""
        return (
            f"pkcs11:token={quote(token)};object={quote(label)}"
            f"?module-path={module}&pin-source=file:{pin or self.pin}"
        )

    @staticmethod
    @contextmanager
    def create(folder: Path) -> Iterator["Token"]:
        """Make a token; the module is loaded fresh for it and unloaded after."""
        (folder / "tokens").mkdir()
        config = folder / "softhsm2.conf"
        config.write_text(
            f"directories.tokendir = {folder / 'tokens'}\nobjectstore.backend = file\n"
        )
        pin = folder / "pin"
        pin.write_text(PIN + "\n")
        pin.chmod(0o600)
        before = os.environ.get("SOFTHSM2_CONF")
        os.environ["SOFTHSM2_CONF"] = str(config)
        try:
            subprocess.run(
                [
                    *("softhsm2-util", "--init-token", "--free", "--label", LABEL),
                    *("--so-pin", "12345678", "--pin", PIN),
                ],
                check=True,
                capture_output=True,
            )
            yield Token(folder=folder, pin=pin)
        finally:
            pkcs11.unload(str(MODULE))
            os.environ.pop("SOFTHSM2_CONF")
            if before is not None:
                os.environ["SOFTHSM2_CONF"] = before

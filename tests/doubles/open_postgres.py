"""A server whose administrator the tests are as long as it runs; others enter by password."""

from dataclasses import replace

from typing_extensions import override

from audit.store.logins import LOGIN_ROLE
from audit.store.tables import ensure_database, wait_until_admitted
from gateway.installation.children.postgres import DATABASE, SUPERUSER, EmbeddedPostgres
from gateway.installation.children.postgres_access import AccessRules

READY_WITHIN_S = 60.0


class OpenPostgres(EmbeddedPostgres):
    """The embedded server with its administrator's door open."""

    @override
    def access_rules(self, *further: str) -> AccessRules:
        """Let the administrator in, and whoever has a password."""
        rules = super().access_rules(SUPERUSER)
        return replace(rules, hba=f"{rules.hba}local all all scram-sha-256\n")

    @override
    def start(self, timeout_s: float = 120.0) -> str:
        """Start the server and return its administrator's DSN."""
        admin = super().start(timeout_s).replace(f"//{LOGIN_ROLE}@", f"//{SUPERUSER}@")
        maintenance = admin.replace(f"/{DATABASE}?", "/postgres?")
        wait_until_admitted(maintenance, READY_WITHIN_S)
        ensure_database(maintenance, DATABASE)
        return admin

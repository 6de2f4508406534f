"""The yardstick: FastAPI, one committed INSERT, one quickfix send; no gate, no model, no evidence.

    python -m scripts.load.bare FOLDER PORT FIX_PORT

It serves `POST /v1/intents` until it is ended, with a database and a FIX session of its own.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import psycopg
import uvicorn
from fastapi import FastAPI

from fix.dialects.profile import simulator_profile
from fix.wire.messages import timestamp
from gateway.clock import wall_us
from gateway.installation.children.postgres import EmbeddedPostgres
from scripts.bare_initiator import BareInitiator

_TABLE = "CREATE TABLE IF NOT EXISTS intent (key text PRIMARY KEY, body jsonb NOT NULL)"
_INSERT = "INSERT INTO intent VALUES (%s, %s)"
LIMIT = "240.00"


def build(dsn: str, initiator: BareInitiator) -> FastAPI:
    """Return the application; each thread has a connection of its own."""
    app, own = FastAPI(), threading.local()

    @app.post("/v1/intents")
    def submit(body: dict[str, Any]) -> dict[str, str]:
        """Keep the intent, then send its order."""
        if not hasattr(own, "link"):
            own.link = psycopg.connect(dsn, autocommit=True)
        key = str(body["client_key"])
        own.link.execute(_INSERT, (key, json.dumps(body)))
        order = ((35, "D"), (11, key), (1, "bare"), (21, "1"), (55, str(body["instrument"])))
        terms = ((54, "1"), (38, str(body["max_qty_lots"])), (40, "2"), (44, LIMIT), (59, "0"))
        initiator.send((*order, *terms, (60, timestamp(wall_us()))))
        return {"result": "approved"}

    @app.get("/readyz")
    def readyz() -> dict[str, bool]:
        """Answer while it serves."""
        return {"ready": True}

    return app


def main() -> int:
    """Serve until ended."""
    folder, port, fix_port = sys.argv[1:]
    server = EmbeddedPostgres(Path(folder) / "state")
    server.start()
    try:
        with server.administration() as dsn:
            with psycopg.connect(dsn, autocommit=True) as link:
                link.execute(_TABLE)
            initiator = BareInitiator(simulator_profile(int(fix_port)), Path(folder) / "fix")
            initiator.start()
            uvicorn.run(build(dsn, initiator), port=int(port), log_level="warning")
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())

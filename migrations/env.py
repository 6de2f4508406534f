"""Alembic's entry: runs on the connection that `audit.store.tables.migrate` hands over."""

from alembic import context
from sqlalchemy import Connection

connection = context.config.attributes.get("connection")
if not isinstance(connection, Connection):
    raise SystemExit("run migrations through audit.store.tables.migrate(dsn)")

context.configure(connection=connection, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()

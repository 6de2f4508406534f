"""A server that does not come up says so."""

import socket

import pytest
from fastapi import FastAPI

import gateway.surfaces.server
from gateway.errors import SettingsError
from gateway.installation.settings import ApiSettings
from gateway.surfaces.server import Server


def test_a_port_that_was_taken_after_the_bind_is_an_error_of_the_start() -> None:
    server = Server(ApiSettings(port=0))
    port = int(server.address.rpartition(":")[2])
    try:
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", port))
            other.listen()
            with pytest.raises(SettingsError, match=f":{port} .*choose another port"):
                server.start(FastAPI())
    finally:
        server.stop()


def test_a_server_that_does_not_come_up_in_time_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway.surfaces.server, "START_WITHIN_S", 0.0)
    server = Server(ApiSettings(port=0))
    try:
        with pytest.raises(SettingsError, match=f"{server.address} after 0 s; start again"):
            server.start(FastAPI())
    finally:
        server.stop()

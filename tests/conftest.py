"""Shared by all tests: asyncio only, sockets limited to loopback."""

import pytest
from pytest_socket import socket_allow_hosts


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _loopback_only() -> None:
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)

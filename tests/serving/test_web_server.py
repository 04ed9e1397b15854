"""The kernel ends connections whose client takes no data."""

import socket
import sys

import pytest

from gangboard.serving.web_server import end_stuck_connections

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")


def test_a_connection_inherits_the_option_of_its_socket() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.socket() as plain,
    ):
        assert end_stuck_connections(7.5) >= 1
        with socket.create_connection(listening.getsockname()):
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 7500
        assert plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0

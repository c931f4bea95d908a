"""Servers in a fork's time: they are imported once, and each start is a process of its own on the streams of whoever asks.

`python nursery.py SOCKET` serves until its standard input ends. Hundreds of starts would take a second of processor time each.
"""

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable

import bank

from servers.shop.__main__ import main as shop

SERVERS: dict[str, Callable[[], int]] = {"shop": shop, "bank": bank.main}


def become(guest: socket.socket) -> None:
    """In the child: the guest's streams, environment and arguments, then the server it wants."""
    words, streams, _flags, _address = socket.recv_fds(guest, 65536, 3)
    while not words.endswith(b"\n"):
        words += guest.recv(65536)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv, environment = json.loads(words)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = SERVERS[sys.argv[0]]()
    sys.stdout.flush()
    os._exit(code)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(sys.argv[1])
        door.listen(16)
        print("open", flush=True)
        while True:
            ready, _, _ = select.select([door, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            guest, _ = door.accept()
            if os.fork() == 0:
                door.close()
                become(guest)
            guest.close()


if __name__ == "__main__":
    main()

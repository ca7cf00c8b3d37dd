"""Opens a listening socket in a container's network namespace and sends it to the engine, which serves its proxy on it.

Either with two arguments, the descriptor of the socket through which it sends the listener, and the pid of a process in
the container, whose namespace it enters; or with one, the name of the engine's socket in its working directory, if the
runtime has started it in that namespace.
"""

from __future__ import annotations

import socket
import sys

from workbench.processes.sandboxed_child import send_listener, send_own_listener


def main() -> None:
    """Send the listener to the engine."""
    if len(sys.argv) == 3:
        send_listener(int(sys.argv[2]), int(sys.argv[1]))
        return
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(sys.argv[1])
        send_own_listener(channel)

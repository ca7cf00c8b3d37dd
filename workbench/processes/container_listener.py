"""Opens a listening socket inside a container's network, and sends it to the engine for its proxy.

Its arguments are the descriptor of the socket to send it through, and the pid of a process in the container.
"""

from __future__ import annotations

import sys

from workbench.processes.sandboxed_child import send_listener


def main() -> None:
    """Send the listener."""
    send_listener(int(sys.argv[2]), int(sys.argv[1]))

"""Opens a listening socket in a container's network namespace and sends it to the engine, which serves its proxy on it.

Its arguments are the descriptor of the socket through which it sends the listener, and the pid of a process in the
container.
"""

from __future__ import annotations

import sys

from workbench.processes.sandboxed_child import send_listener


def main() -> None:
    """Send the listener to the engine."""
    send_listener(int(sys.argv[2]), int(sys.argv[1]))

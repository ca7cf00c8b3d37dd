"""Asks whether to install ohw on another machine that does not have it."""

from __future__ import annotations

import sys
import termios

from workbench import __version__
from workbench.client.ssh_install import install
from workbench.client.ssh_url import SshUrl
from workbench.text import visible


def offer_to_install(url: SshUrl) -> bool:
    """Ask in the terminal whether to install ohw on another machine; after a yes, install it and return True.

    Without a terminal, nothing is asked or installed. Raises WorkbenchError if the installation fails.
    """
    is_confirmed = sys.stdin.isatty() and sys.stderr.isatty() and _is_confirmed(url)
    if is_confirmed:
        install(url)
    return is_confirmed


def _is_confirmed(url: SshUrl) -> bool:
    host = visible(url.destination, lines=False)
    # Text typed before the question is not an answer to it.
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    sys.stderr.write(
        f"ohw is not installed on {host}. Install version {__version__} there for your user?\n"
        "It is copied from here, and `uv tool install` there downloads the packages that it needs. [y/N] "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

"""Installs this version of ohw for the user on another machine: sends its wheel over ssh, and has
uv install it there.
"""

from __future__ import annotations

import shlex
from tempfile import TemporaryFile

from workbench.client.own_wheel import WHEEL_NAME, write_wheel
from workbench.client.ssh import PATHS, run_script
from workbench.client.ssh_url import SshUrl

_INSTALL = f"""{PATHS}set -e
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
wheel="$directory"/{shlex.quote(WHEEL_NAME)}
cat > "$wheel"
uv tool install --force "$wheel" >&2"""


def install(url: SshUrl) -> None:
    """Install ohw on the host of the URL as a tool of uv, which prints its progress. Raises
    WorkbenchError on failure.
    """
    with TemporaryFile() as wheel:
        write_wheel(wheel)
        wheel.seek(0)
        run_script(url, _INSTALL, wheel)

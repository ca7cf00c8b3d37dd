"""Runs a command in a sandbox of a session whose user allows every host.

The arguments are KIND, which is `whole` or `partial`, WORKSPACE and COMMAND ….
The command is an action for the session's integrity guard, which no question showed any protected file.
What the proxy refuses then is what no answer of the user opens: the machine itself and its network.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.walls.open_proxy import LOOPBACK_NAME
from workbench.config.locations import Locations, private_directory
from workbench.processes.spawn import small_python, start
from workbench.sandbox.host_access import HostVerdict
from workbench.sandbox.partial_sandbox import PartialSandbox
from workbench.sandbox.proxy import NetworkProxy
from workbench.sandbox.sandbox import Boundary, Sandbox
from workbench.secrets.secret_names import child_environment
from workbench.session.actions.integrity import IntegrityGuard
from workbench.session.actions.permits import NO_CHANGES
from workbench.web.network import NetworkPolicy


def _resolve(host: str, port: int) -> list[str]:
    """Resolve one name to this machine, as a hostile name server would, and no other."""
    return ["127.0.0.1"] if host == LOOPBACK_NAME else []


KINDS = {"whole": Sandbox, "partial": PartialSandbox}


def main(kind: str, workspace: str, *command: str) -> int:
    """Run the command and return its exit code."""
    proxy = NetworkProxy(lambda request: HostVerdict(True), NetworkPolicy(resolve=_resolve))
    boundary = Boundary(Path(workspace), Locations.from_environment(os.environ), Path.home())
    sandbox = KINDS[kind](boundary, proxy)
    guard = IntegrityGuard(workspace, private_directory(boundary.locations.data / "state/walls"))
    guard.begin(NO_CHANGES)
    try:
        with sandbox.launch(command, workspace, child_environment(os.environ)) as launch:
            supervisor = [*small_python("workbench.processes.foreground"), launch.words, *launch.argv]
            process = start(
                supervisor, cwd=workspace, env=launch.env, is_users=True, pass_fds=tuple(launch.descriptors)
            )
        return process.wait()
    finally:
        guard.end(NO_CHANGES)
        proxy.close()
        sandbox.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

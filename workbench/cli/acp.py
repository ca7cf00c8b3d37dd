"""`ohw acp` serves an editor over standard input and output, using the Agent Client Protocol."""

from __future__ import annotations

import sys
from argparse import Namespace

from workbench.acp.main import serve
from workbench.cli.common import check_models, settings_of
from workbench.config.settings import Settings
from workbench.errors import UsageError


def acp(arguments: Namespace) -> int:
    """Serve an editor until it closes the streams. Raises UsageError if standard input is a terminal, which sends no
    JSON.
    """
    if sys.stdin.isatty():
        raise UsageError("`ohw acp` is started by an editor and speaks JSON with it; see the guide on editors")
    locations, settings = settings_of(arguments)
    check_models(settings)

    def read_settings() -> Settings:
        return settings_of(arguments)[1]

    return serve(locations, read_settings)

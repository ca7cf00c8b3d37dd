"""Determines the files that an action executes or reads as code, with a fingerprint of each.

An approval is bound to `executed_files` and the arguments of the action: if one of them changes, it is void.
"""

from __future__ import annotations

from workbench.risk.executed_files.action_files import executed_files
from workbench.risk.executed_files.server_files import files_started

__all__ = ["executed_files", "files_started"]

"""The tool `delegate`: let a sub-agent work on a part of the task."""

from __future__ import annotations

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "delegate"
AGENTS = "Sub-agents"
"""What the list of tools shows as the origin of a kind of sub-agents."""
MANIFEST = Manifest(
    "definition:DelegateTool",
    "sub_agent",
    Presentation(icon="⇉", noun="sub-agent", headline="[{agent:24}: ]{inputs}", subject="inputs"),
)

__getattr__, __dir__, __all__ = exports_of(__name__)

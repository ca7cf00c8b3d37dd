"""The approval modes: their names, their order, and what the one that never asks means."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MODE_NAMES: Final[Mapping[str, str]] = {
    "medium": "ask from MEDIUM",
    "ask": "ask always",
    "high": "ask from HIGH",
    "never": "never ask",
    "plan": "plan: read only",
}
"""The modes as the interface names them."""
MODES: Final = tuple(MODE_NAMES)
NEVER: Final = "never"
"""The mode that only its name selects, and that is confirmed."""
MODE_CYCLE: Final = ("plan", "ask", "medium", "high")
"""The modes that a key steps through, the strictest first."""
NEVER_MEANS: Final = (
    "Every action the agent proposes from here on runs at once, whatever its risk is. You are asked only about "
    "protected files, about what could not be brought back, and where a rule of yours asks.",
    "What waits for your decision already still waits for it.",
)
"""What the mode that never asks does, in paragraphs, for its confirmation."""

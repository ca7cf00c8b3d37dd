"""The approval modes: their names, their order, and an explanation of the mode that never asks."""

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
"""The name that the interface shows for each mode."""
MODES: Final = tuple(MODE_NAMES)
NEVER: Final = "never"
"""The mode that no key selects, only its name, and that the user has to confirm."""
MODE_CYCLE: Final = ("plan", "ask", "medium", "high")
"""The modes that a key steps through, the strictest first."""
NEVER_MEANS: Final = (
    "Every action the agent proposes from here on runs at once, whatever its risk is. You are asked only about "
    "protected files, about what could not be brought back, and where a rule of yours asks.",
    "What waits for your decision already still waits for it.",
)
"""The paragraphs that explain the mode that never asks when the user has to confirm it."""

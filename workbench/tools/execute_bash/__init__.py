"""The tool `execute_bash`: a persistent shell."""

from workbench.tools.execute_bash.definition import BashTool, ExecuteBashAction, ExecuteBashObservation

__all__ = ["BashTool", "ExecuteBashAction", "ExecuteBashObservation"]

"""Tools as OpenManus defines them: a class with a name, a description, parameters and an async `execute`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from workbench.tools.coercion import checked_name, observed
from workbench.tools.executor import ToolExecutor
from workbench.tools.functions import action_type_from
from workbench.tools.schema import Action, ImageContent, Observation, TextContent
from workbench.tools.tool import ToolDefinition


class ToolResult(Observation):
    """The result of a tool: output or error, and an image; the model gets them as content."""

    output: Any = None
    error: str | None = None
    base64_image: str | None = None
    system: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_content(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or "content" in fields:
            return fields
        error, image = fields.get("error"), fields.get("base64_image")
        text = f"Error: {error}" if error else observed(fields["output"]).text if fields.get("output") else ""
        blocks: list[Any] = [TextContent(text=text)] if text else []
        blocks += [ImageContent(data=image, mime_type="image/png")] if image else []
        return {"is_error": bool(error), **fields, "content": tuple(blocks)}


class ToolFailure(ToolResult):
    """The result of a tool that failed."""


class CLIResult(ToolResult):
    """The result of a command."""


class BaseTool(ToolDefinition[Action, Observation]):
    """A tool by its `execute` method; subclasses set `name` and `description`.

    `parameters` is a JSON schema; without one the parameters are those of `execute`, by its type hints.
    """

    description: str = ""
    parameters: ClassVar[dict[str, Any] | None] = None

    def __init__(self, **options: Any) -> None:
        """Create the tool; `options` are those of ToolDefinition, and come before the attributes of the class."""
        kind = type(self)
        execute, name = self.execute, checked_name(kind)
        named: Mapping[str, str] | None = None
        action_type: Any = self.parameters
        if action_type is None:
            action_type, named = action_type_from(name, execute, {})
        defaults = {"name": name, "description": kind.description or (kind.__doc__ or ""), "action_type": action_type}
        super().__init__(**{**defaults, "executor": _Executing(self, named), **options})

    @abstractmethod
    async def execute(self, **arguments: Any) -> Any:
        """Run the tool and return a ToolResult, or any value that can be shown."""


class _Executing(ToolExecutor[Action, Observation]):
    """Calls `execute` with the arguments of an action."""

    def __init__(self, tool: BaseTool, names: Mapping[str, str] | None) -> None:
        self._tool = tool
        self._names = names

    def __call__(self, action: Action) -> Any:
        """Return the result as an observation; for a coroutine, one that gives it."""
        if self._names is None:
            arguments = action.model_dump(by_alias=True, exclude_unset=True)
        else:
            arguments = {name: getattr(action, attribute) for name, attribute in self._names.items()}
        result: Any = self._tool.execute(**arguments)
        return self._later(result) if isinstance(result, Awaitable) else observed(result)

    async def _later(self, result: Awaitable[Any]) -> Observation:
        return observed(await result)

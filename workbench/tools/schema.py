"""The typed ends of every tool: an Action goes in, an Observation comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from workbench.tools.foreign_models import model_from_schema
from workbench.tools.json_schema import for_models


class TextContent(BaseModel):
    """A block of text."""

    model_config = ConfigDict(frozen=True)
    type: Literal["text"] = "text"
    text: str


class ImageContent(BaseModel):
    """An image, base64 coded."""

    model_config = ConfigDict(frozen=True)
    type: Literal["image"] = "image"
    data: str
    mime_type: str


Content: TypeAlias = Annotated[TextContent | ImageContent, Field(discriminator="type")]


class Schema(BaseModel):
    """A frozen model whose JSON schema is shown to models."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    foreign_schema: ClassVar[dict[str, Any] | None] = None
    """What another program sent, where the model was made from that."""

    @classmethod
    def to_mcp_schema(cls) -> dict[str, Any]:
        """The JSON schema as models read it best: no references, no null branches, no titles, all constraints."""
        foreign = cls.__dict__.get("foreign_schema")  # not of a parent: a subclass may have more fields
        return for_models(cls.model_json_schema() if foreign is None else foreign)

    @classmethod
    def from_mcp_schema(cls, name: str, schema: dict[str, Any]) -> type[Self]:
        """A subclass that accepts what the JSON schema (of another program) describes; raises ValueError."""
        made = model_from_schema(name, schema, cls)
        made.foreign_schema = schema
        return made


class Action(Schema):
    """What a tool is asked to do."""

    can_read_only: ClassVar[bool] = False
    """Whether the tool, although it may write, has actions that only read (`reads_only` tells them)."""

    @property
    def reads_only(self) -> bool:
        """Whether this action of a tool that may write only reads: it is then possible in plan mode."""
        return False


class Observation(Schema):
    """What came of an action."""

    content: Sequence[Content] = ()
    is_error: bool = False

    @classmethod
    def from_text(cls, text: str, *, is_error: bool = False, **fields: Any) -> Self:
        """An observation with one block of text."""
        return cls(content=(TextContent(text=text),), is_error=is_error, **fields)

    @property
    def text(self) -> str:
        """All text blocks, one below the other."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextContent))

    @property
    def to_llm_content(self) -> Sequence[Content]:
        """What the model gets to read."""
        return self.content

"""What a tool renders with Rich is printed without a screen: complete, safe, and as wide and colorful as its stream."""

import io
import os
import pty
from collections.abc import Iterator
from typing import Any

import pytest
from rich.markup import render
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from workbench.plain.narrator import Narrator
from workbench.plain.output import WIDTH, uses_color, width_of
from workbench.protocol.events import ActionObserved, ActionProposed
from workbench.tools import Action, Observation
from workbench.tools.rich_text import rendered_lines
from workbench.tools.tool import ToolAnnotations, ToolDefinition

BAD = "a\x1b[2Jb\x07c\u202ed\x9be\x1b]52;c;eA==\x07"


def table(*rows: str) -> Table:
    made = Table("name", "value")
    for number, row in enumerate(rows):
        made.add_row(str(number), Text(row))
    return made


RENDERABLES: dict[str, Any] = {
    "text": Text(BAD),
    "link": Text("click", style="link https://example.org/\x1b[2J"),
    "markup": render("[bold red]red[/] [link=file:///etc]x[/link]"),
    "table": table(BAD, "plain"),
    "panel": Panel(Text(BAD), title="\x1b[31mtitle"),
    "syntax": Syntax(f"x = {BAD!r}\n{BAD}", "python"),
    "rule": Rule(BAD),
}


@pytest.mark.parametrize("name", RENDERABLES)
@pytest.mark.parametrize("width", [1, 20, 80, 200])
def test_without_colors_nothing_but_text_is_printed(name, width):
    text = "\n".join(rendered_lines(RENDERABLES[name], width=width))
    assert not [
        sign for sign in text if sign != "\n" and (ord(sign) < 32 or 127 <= ord(sign) < 160 or sign == "\u202e")
    ]


@pytest.mark.parametrize("name", RENDERABLES)
def test_with_colors_only_color_sequences_are_printed(name):
    text = "\n".join(rendered_lines(RENDERABLES[name], width=80, color=True))
    rest = Text.from_ansi(text).plain
    assert "\x1b" not in rest
    assert not [part for part in text.split("\x1b")[1:] if not part.startswith("[") or "m" not in part]
    assert "]8;" not in text


@pytest.mark.parametrize("width", [20, 40, 200])
def test_no_word_of_a_text_or_table_is_lost(width):
    words = [f"w{number:03}" for number in range(100)]
    for renderable in (Text(" ".join(words)), Text("\n".join(words)), table(*words)):
        printed = " ".join(rendered_lines(renderable, width=width))
        assert [word for word in words if word not in printed] == []


@pytest.fixture
def terminal() -> Iterator[io.TextIOWrapper]:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        yield stream
    os.close(master)


@pytest.mark.parametrize(
    ("variables", "colored"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
    ids=["plain", "no_color", "empty", "dumb"],
)
def test_colors_are_for_terminals_that_want_them(terminal, monkeypatch, variables, colored):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert uses_color(terminal) is colored
    assert uses_color(io.StringIO()) is False
    assert width_of(io.StringIO()) == WIDTH


class CountAction(Action):
    """Counts words."""

    text: str = ""


class CountObservation(Observation):
    """The counts."""

    counts: dict[str, int] = {}

    @property
    def visualize(self) -> Any:
        if "broken" in self.counts:
            raise RuntimeError("broken")
        return table(*(f"{word} {count}" for word, count in self.counts.items()))


def tool(observation_type: type[Observation]) -> ToolDefinition[Any, Any]:
    return ToolDefinition(
        name="count",
        description="Counts.",
        action_type=CountAction,
        observation_type=observation_type,
        annotations=ToolAnnotations.reading("Count"),
    )


class DrawnAction(CountAction):
    """Counts words, and shows the text."""

    text: str

    @property
    def visualize(self) -> Any:
        if self.text == "broken":
            raise RuntimeError("broken")
        return table(self.text)


class GroupAction(CountAction):
    """Has a renderable that fails when it is printed."""

    @property
    def visualize(self) -> Any:
        return object()


def proposed(action_type: type[Action], arguments: dict[str, Any], error: str = "") -> list[str]:
    out = io.StringIO()
    narrator = Narrator(out.write)
    definition = ToolDefinition(name="count", description="Counts.", action_type=action_type)
    narrator.tools = {"count": definition}
    call = {"action_id": "a", "call_id": "c", "response_id": "r", "tool": "count"}
    narrator.event(ActionProposed(**call, arguments=arguments, error=error))
    return out.getvalue().splitlines()


def test_narration_prints_what_an_action_renders_below_its_line():
    first, *rest = proposed(DrawnAction, {"text": "be\x1b[2Jta"})
    assert first.startswith("▸ count")
    assert [line for line in rest if line.startswith("  ") and "be\\e[2Jta" in line]
    assert "\x1b" not in "".join(rest)


@pytest.mark.parametrize(
    ("action_type", "arguments", "error"),
    [
        (CountAction, {"text": "a"}, ""),
        (DrawnAction, {"text": "broken"}, ""),
        (DrawnAction, {"text": 3}, ""),
        (DrawnAction, {"text": "a"}, "it is wrong"),
        (GroupAction, {}, ""),
    ],
    ids=["none", "fails", "invalid", "refused", "not printable"],
)
def test_narration_of_a_call_without_a_usable_renderable_is_one_line(action_type, arguments, error):
    (line,) = [each for each in proposed(action_type, arguments, error) if each.strip()]
    assert line.startswith("▸ count")


def narrated(observation_type: type[Observation], **fields: Any) -> list[str]:
    out = io.StringIO()
    narrator = Narrator(out.write)
    narrator.tools = {"count": tool(observation_type)}
    content = [{"type": "text", "text": "2 words\nmore"}]
    narrator.event(
        ActionProposed(action_id="a", call_id="c", response_id="r", position=0, batch=1, tool="count", arguments={})
    )
    narrator.event(
        ActionObserved(action_id="a", observation={"content": content, "is_error": False, **fields}, ran=True)
    )
    return out.getvalue().splitlines()


def test_narration_prints_what_a_tool_renders_below_its_first_line():
    lines = narrated(CountObservation, counts={"alpha": 2, "be\x1b[2Jta": 1})
    assert lines[:2] == ["▸ count", "  2 words"]
    assert [line for line in lines if "alpha 2" in line]
    assert [line for line in lines if "be\\e[2Jta 1" in line]


@pytest.mark.parametrize(
    ("observation_type", "fields"),
    [(Observation, {}), (CountObservation, {"counts": {"broken": 1}}), (CountObservation, {"counts": "no"})],
    ids=["none", "fails", "invalid"],
)
def test_narration_without_a_usable_renderable_stays_as_it_was(observation_type, fields):
    assert narrated(observation_type, **fields) == ["▸ count", "  2 words"]

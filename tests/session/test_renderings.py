"""What a tool renders of a call and its result is recorded as text, and shown by every front end without the tool."""

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from tests.session.fake_agent import Harness, calls, says
from workbench.plain.narration import item_lines
from workbench.plain.narrator import Narrator
from workbench.protocol.codec import encode
from workbench.protocol.events import ActionAssessed, ActionObserved, ActionProposed, event_from_json
from workbench.session.storage.store import Store
from workbench.text import visible
from workbench.tools.rich_text import RECORDED_CHARACTERS, RECORDED_WIDTH
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition
from workbench.tui.screen_export import picture
from workbench.view.formatting.cards import RENDERED_LINES, card
from workbench.view.formatting.detail import detail_text
from workbench.view.reducer import apply
from workbench.view.state import SessionState
from workbench.view.transcript.html import page_of
from workbench.view.transcript.markdown import markdown_of
from workbench.view.transcript.transcript import RecordedState

SECRET = "sk-ant-api03-" + "Ab3dEf6hIj" * 5


class Count(Action):
    """Count words."""

    text: str

    @property
    def visualize(self) -> Any:
        if self.text == "exit":
            raise SystemExit(3)
        return Text(f"counting in <{self.text}>")


class Counts(Observation):
    """The words and how often they occur."""

    counts: dict[str, int]

    @property
    def visualize(self) -> Any:
        if "broken" in self.counts:
            raise RuntimeError("broken")
        if "code" in self.counts:
            return Syntax("x = 1\n" * self.counts["code"], "python")
        table = Table("word", "times")
        for word, times in self.counts.items():
            table.add_row(Text(word), str(times))
        return table


def count(action: Count) -> Observation:
    if action.text == "fails":
        return Counts(content="it failed", is_error=True, counts={"a": 1})
    words = action.text.split()
    return Counts(content=f"{len(words)} words", counts={word: words.count(word) for word in words})


def many(action: Count) -> Observation:
    return Counts(content="much", counts={f"w{number}-" + "x" * 50: number for number in range(2_000)})


def tool(executor: Any = count, observation_type: type[Observation] = Counts, **more: Any) -> ToolDefinition:
    return ToolDefinition(
        name="count",
        description="Counts words.",
        action_type=Count,
        observation_type=observation_type,
        executor=executor,
        annotations=ToolAnnotations.reading("Count"),
        **more,
    )


def recorded(harness: Any, text: str, definition: ToolDefinition | None = None) -> list[Any]:
    """Run one call and return the events that the file has after the session and its tools are gone."""
    one: Harness = harness(calls(("count", {"text": text})), says("Done."), tools=(definition or tool(),))
    one.session.send("go")
    one.run()
    path = one.path
    one.close()
    with Store.open(path, readonly=True) as store:
        return list(store.events())


def state_of(events: list[Any]) -> SessionState:
    state = SessionState()
    for event in events:
        apply(state, event)
    return state


def renderings(events: list[Any]) -> tuple[str, str]:
    (call,) = [event.rendering for event in events if isinstance(event, ActionProposed)]
    (result,) = [event.rendering for event in events if isinstance(event, ActionObserved)]
    return call, result


def shown_by(front_end: str, events: list[Any]) -> str:
    state = state_of(events)
    (item,) = state.actions.values()
    match front_end:
        case "card":
            return "\n".join("".join(piece.text for piece in line) for line in card(item, 100))
        case "detail":
            return visible(detail_text(item))  # as the pager does
        case "plain":
            return visible("\n".join(item_lines(item, "/")))  # as the console does
        case "markdown":
            return "\n".join(markdown_of(state))
        case "html":
            return "\n".join(page_of(RecordedState(state))).replace("&lt;", "<").replace("&gt;", ">")
    out = io.StringIO()
    narrator = Narrator(out.write)
    for event in events:
        narrator.event(event)
    return out.getvalue()


FRONT_ENDS = ["card", "detail", "plain", "markdown", "html", "narration"]


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_every_front_end_shows_what_the_tool_rendered(harness, front_end):
    lines = shown_by(front_end, recorded(harness, "alpha beta alpha")).split("\n")
    assert [line for line in lines if "counting in <alpha beta alpha>" in line]
    assert [line for line in lines if "alpha" in line and "2" in line and ("│" in line or "┃" in line)]


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_control_characters_of_a_rendering_never_reach_a_front_end(harness, front_end):
    text = shown_by(front_end, recorded(harness, "a\x1b[2Jb \u202edc\x9bd"))
    assert "\\e[2J" in text
    assert not [sign for sign in text if sign != "\n" and (ord(sign) < 32 or 127 <= ord(sign) < 160)]
    assert "\u202e" not in text


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_a_rendering_in_a_foreign_file_is_escaped_too(harness, front_end):
    events = [
        event_from_json(json.dumps({**json.loads(json.dumps(line)), "rendering": "x\x1b]0;y\x07z"}))
        for line in _lines(recorded(harness, "alpha"))
        if line["kind"] in ("action_proposed", "action_observed")
    ]
    text = shown_by(front_end, events)
    assert "\\e]0;y" in text
    assert "\x1b" not in text


def _lines(events: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(encode(event)) for event in events]


def test_the_screen_shows_it_when_the_session_is_opened_again(harness):
    drawn = ElementTree.fromstring(picture(recorded(harness, "alpha beta"), (120, 40), "ohw-dark"))
    words = "".join(drawn.itertext()).replace("\xa0", " ")
    assert "counting in <alpha beta>" in words
    assert "┃ word  ┃ times ┃" in words


def test_secrets_are_masked_before_a_line_break_can_divide_them(harness):
    call, result = renderings(recorded(harness, f"{'x' * 40}={SECRET} beta"))
    assert not [part for part in (SECRET, SECRET[-20:], SECRET[10:30]) if part in call + result]
    assert "beta" in result


@pytest.mark.parametrize("text", ["fails", "broken", "exit"], ids=["error result", "raises", "exits"])
def test_a_result_that_cannot_be_rendered_shows_its_text(harness, text):
    events = recorded(harness, text)
    call, result = renderings(events)
    assert (call if text == "exit" else result) == ""
    (observed,) = [event for event in events if isinstance(event, ActionObserved)]
    assert observed.ran
    assert ("it failed" if text == "fails" else "1 words") in shown_by("detail", events)


def test_a_rendering_is_cut_after_a_whole_line_which_says_how_many_are_missing(harness):
    _, result = renderings(recorded(harness, "alpha", tool(many)))
    *lines, last = result.split("\n")
    assert RECORDED_CHARACTERS * 0.9 < len("\n".join(lines)) <= RECORDED_CHARACTERS
    assert {len(line) for line in lines} == {RECORDED_WIDTH}
    assert last.startswith("… and ")
    assert last.endswith(" more lines")


def test_a_card_and_plain_mode_show_the_first_lines_and_where_the_rest_is(harness):
    events = recorded(harness, "alpha", tool(many))
    rows = shown_by("card", events).split("\n")
    assert len(rows) == 2 + RENDERED_LINES
    assert rows[-1].rstrip().endswith("⏎")
    assert "/show 1 has all" in shown_by("plain", events)


def test_a_result_of_a_tool_without_a_type_of_its_own_renders_itself(harness):
    _, result = renderings(recorded(harness, "alpha", tool(count, Observation)))
    assert "alpha" in result


def test_tools_without_a_rendering_record_none(harness):
    class Plain(Action):
        """Count."""

        text: str

    definition = ToolDefinition(
        name="count",
        description="Counts.",
        action_type=Plain,
        executor=lambda action: "2 words",
        annotations=ToolAnnotations.reading("Count"),
    )
    assert renderings(recorded(harness, "alpha", definition)) == ("", "")


def test_arguments_that_the_user_changed_have_no_rendering(harness, tmp_path: Path):
    state = state_of(recorded(harness, "alpha"))
    (item,) = state.actions.values()
    assert item.call_rendering
    apply(state, ActionAssessed(action_id=item.action_id, risk="LOW", edited={"text": "beta"}))
    assert item.call_rendering == ""

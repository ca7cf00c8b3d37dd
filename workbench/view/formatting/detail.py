"""The detail page of an action, and a whole question, as plain, searchable text for the pager."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from workbench.durations import measured_duration
from workbench.view.approval.proposal import Proposal
from workbench.view.diff.lines import dotted
from workbench.view.formatting.actions import (
    PHASE_ICONS,
    action_line,
    decision_text,
    outcome,
    result_facts,
    short_path,
    tool_sign,
)
from workbench.view.formatting.approval import (
    StyledLine,
    argument_lines,
    changed_by_others,
    deletion_lines,
    intended_by_agent,
    on_one_line,
    part_lines,
    risk_badge,
    what_runs,
)
from workbench.view.formatting.cards import printed_output
from workbench.view.hooks import hook_line
from workbench.view.state import ActionItem

if TYPE_CHECKING:
    from workbench.protocol.events import ModelResponded

_YOURS = "As you changed it, this is written:"
_PROPOSED = "As the agent proposed it:"


def full_text(action: ActionItem, proposal: Proposal | None = None) -> str:
    """Return what runs, and what the model thought and said; the user's changes precede the proposal."""
    return "\n".join(line.text for line in full_lines(action, proposal))


def full_lines(action: ActionItem, proposal: Proposal | None = None) -> list[StyledLine]:
    """Return the lines of `full_text` with their styles."""
    return list(_lines(action, proposal))


def risk_styles(lines: Iterable[StyledLine]) -> dict[int, str]:
    """Return the style of each line about a risk, by its number."""
    return {number: line.style for number, line in enumerate(lines) if line.style.startswith("risk-")}


def detail_styles(item: ActionItem, text: str) -> dict[int, str]:
    """Return the style of each line about the risk of an action in its detail text, by its number."""
    lines = text.split("\n")
    if RISK not in lines:
        return {}
    first = lines.index(RISK) + 1
    return {first + number: style for number, style in risk_styles(_risk(item)).items()}


def _lines(action: ActionItem, proposal: Proposal | None) -> Iterator[StyledLine]:
    if proposal is not None and proposal.arguments is not None:
        yield from what_runs(action, proposal.arguments)
        yield from map(StyledLine, ("", _PROPOSED))
    yield from what_runs(action)
    if action.preview:
        yield from map(StyledLine, _changed_by_user(action, proposal))
        yield from (StyledLine(""), *argument_lines(action.arguments))
    if action.stale:
        both = (*changed_by_others(action, None), *intended_by_agent(action))
        yield from map(StyledLine, ("", *(f"{sign}{on_one_line(text)}" for sign, text, _ in both)))
    for label, text in (("Summary", action.summary), ("Thought", action.thought)):
        if text:
            yield from map(StyledLine, ("", f"{label}:", *(on_one_line(line) for line in text.split("\n"))))


def _changed_by_user(action: ActionItem, proposal: Proposal | None) -> Iterator[str]:
    """Yield the user's version as a diff between two headings; nothing if no hunk was rejected or edited."""
    if proposal is None or not (proposal.out or proposal.edited):
        return
    yield from ("", _YOURS)
    before = {delta.path: delta.before for delta in action.preview}
    for path, text in proposal.written():
        if text == before[path]:
            yield f"{on_one_line(short_path(path, action.working_dir))}: stays as it is"
            continue
        old, new = ((side or "").splitlines() for side in (before[path], text))
        name = short_path(path, action.working_dir)
        lines = difflib.unified_diff(old, new, name, name, lineterm="")
        yield from (on_one_line(line if line.startswith("+") else dotted(line)) for line in lines)
    yield from ("", _PROPOSED)


_MOST_PICTURES: Final = 20


PICTURES: Final = "PICTURES"
"""The heading above the pictures; an action's output is always indented, so it cannot imitate the heading."""
RISK: Final = "RISK"
"""The heading above the risk."""


def pictures(item: ActionItem) -> list[dict[str, Any]]:
    """Return the images in an action's result, with base64 in `data`."""
    content = item.observation.get("content")
    blocks = content if isinstance(content, list | tuple) else ()
    return [each for each in blocks if isinstance(each, dict) and each.get("type") == "image"][:_MOST_PICTURES]


def picture_lines(item: ActionItem, text: str) -> dict[int, str]:
    """Return each image's base64 data, by the line of the detail text below which it is shown."""
    images = pictures(item)
    lines = text.split("\n") if images else []
    first = lines.index(PICTURES) + 1 if PICTURES in lines else 0
    return {first + number: str(each.get("data", "")) for number, each in enumerate(images)} if first else {}


def _picture(number: int, block: Mapping[str, Any]) -> str:
    kind = str(block.get("mime_type", "image")).removeprefix("image/").upper()
    return f"picture {number}, {kind}, {max(1, len(str(block.get('data', ''))) * 3 // 4000)} kB"


def detail_title(item: ActionItem) -> str:
    """Return one line with the action's number, tool, phase and outcome."""
    ended = outcome(item)
    return f"Action {item.number} · {item.tool} · {item.phase}{f' · {ended}' if ended else ''}"


def detail_text(item: ActionItem, workspace: str = "", steps: Iterable[ActionItem] = ()) -> str:
    """Return the request, why it was allowed, its result, its time and its model; not yet safe to show.

    `steps` are the actions of the sub-agent that it called.
    """
    parts = [*_parts(item, workspace), ("STEPS OF THE SUB-AGENT", "\n".join(_step(each, workspace) for each in steps))]
    return "\n\n".join(f"{title}\n{_indented(body)}" for title, body in parts if body) + "\n"


def _parts(item: ActionItem, workspace: str) -> Iterator[tuple[str, str]]:
    yield "ARGUMENTS", "\n".join(_argument(name, value) for name, value in item.arguments.items())
    yield "CALL AS THE TOOL SHOWS IT", item.call_rendering
    yield "COULD NOT BE READ", item.error
    yield "RESULT AS THE TOOL SHOWS IT", item.rendering
    yield "RESULT", _result(item)
    yield PICTURES, "\n".join(_picture(number, each) for number, each in enumerate(pictures(item), 1))
    yield "CHANGED FILES", "\n".join(short_path(delta.path, workspace) for delta in item.files)
    hint = f"Deleted files were copied first: press b or run `ohw restore {item.copy_id}`"
    yield "COPY", hint if item.copy_id else ""
    yield "SUMMARY", "\n".join(part for part in (item.summary, item.thought) if part)
    yield "REASONING BEFORE IT", item.response.reasoning.strip() if item.response else ""
    yield RISK, "\n".join(line.text for line in _risk(item))
    yield "DECISION", _decision(item)
    yield "HOOKS", "\n".join(map(hook_line, item.hooks))
    yield "RESULT DETAILS", "\n".join(result_facts(item.observation))
    yield "TIMING AND COST", _time_and_model(item)


def _argument(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return f"{name}:\n{_indented(text)}" if "\n" in text else f"{name}: {text}"


def _result(item: ActionItem) -> str:
    text = _words(item) if pictures(item) else item.output or printed_output(item)
    return text or ("running, no output yet" if item.phase == "running" else "")


def _words(item: ActionItem) -> str:
    """Return the text of a result without the names of its pictures, which are listed below it."""
    content = item.observation["content"]
    return "\n".join(str(each["text"]) for each in content if isinstance(each, dict) and "text" in each)


def _risk(item: ActionItem) -> list[StyledLine]:
    if item.by_user:
        return []  # a command of the user's needs no approval
    rated = f"{risk_badge(item.risk)} (agent: {item.model_risk})"
    lines = [StyledLine(rated, f"risk-{item.risk.lower()}")]
    lines += [StyledLine(reason.replace("\n", " ")) for reason in item.reasons]
    return [*lines, *part_lines(item.segments), *deletion_lines(item.deleted)]


def _decision(item: ActionItem) -> str:
    if not item.decided_by:
        if item.asks and item.phase == "waiting":
            return "none needed: waiting for your answer"
        return f"pending, asked by {item.rule}" if item.phase == "waiting" else item.note
    decision = decision_text(item.decided_by, item.decided_rule, is_denied=item.phase == "rejected")
    lines = ["accepted in part by you" if item.part else decision]
    if item.decided_by == "person":
        lines[0] += f"; asked by {item.rule}" if item.rule else ""
        lines += [f"rule saved: {item.decided_rule}"] if item.decided_rule else []
    lines += [f"written: {item.part}"] if item.part else []
    return "\n".join([*lines, *([f"note: {item.note}"] if item.note else [])])


def _time_and_model(item: ActionItem) -> str:
    lines = [f"proposed {item.at:%Y-%m-%d %H:%M:%S} UTC"] if item.at else []
    if item.started:
        lines.append(f"started {item.started:%Y-%m-%d %H:%M:%S} UTC")
    if item.duration is not None:
        lines.append(f"took {measured_duration(item.duration)}")
    if item.working_dir:
        lines.append(f"in {item.working_dir}")
    answer = item.response
    if answer is not None:
        lines += _answer(answer, item.batch)
    return "\n".join(lines)


def _answer(answer: ModelResponded, batch: int) -> Iterator[str]:
    """Yield lines about the model call that proposed the action."""
    usage = answer.usage
    cost = "unknown" if answer.cost is None else f"${answer.cost:.4f}"
    yield f"{answer.model}: {_token_count(usage.input)} tokens in, {_token_count(usage.output)} out, cost {cost}"
    extra = {"from the cache": usage.cached, "written to it": usage.written, "of reasoning": usage.reasoning}
    yield from filter(None, [", ".join(f"{count} {words}" for words, count in extra.items() if count)])
    first = "" if answer.first_token is None else f" · first token {measured_duration(answer.first_token)}"
    yield from [f"response {measured_duration(answer.latency)}{first}"] if answer.latency else []
    yield from [f"fallback model {answer.fallback}: {answer.fallback_reason}"] if answer.fallback else []
    yield from [f"one of {batch} calls of that answer"] if batch > 1 else []


def _step(item: ActionItem, workspace: str) -> str:
    took = "" if item.duration is None else measured_duration(item.duration)
    line = f"{PHASE_ICONS[item.phase][0]} {item.number:>3} {tool_sign(item)} {action_line(item, workspace)}"
    return " · ".join(filter(None, (line, outcome(item), took)))


def _token_count(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.rstrip("\n").split("\n"))

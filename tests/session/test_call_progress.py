"""The progress of a call that the model is writing: what is reported, and how often."""

from __future__ import annotations

import json

import pytest

from workbench.llm.model import Delta
from workbench.llm.stream import Joiner
from workbench.protocol.live import CallProgress
from workbench.session.turn.call_progress import INTERVAL, CallReporter, command_in, path_in


@pytest.mark.parametrize(
    ("head", "path"),
    [
        ('{"command": "create", "path": "/w/a.py", "file_text": "x', "/w/a.py"),
        ('{"path":"/w/\\u00e9 \\"b\\".py"', '/w/é "b".py'),
        ('{"path": "/w/a', ""),
        ('{"command": "ls"}', ""),
        ('{"path": "\\x"}', ""),
        ("", ""),
    ],
    ids=["whole", "escapes", "cut", "none", "broken", "empty"],
)
def test_path_is_read_from_the_beginning_of_the_arguments_once_it_is_whole(head: str, path: str):
    assert path_in(head) == path


@pytest.mark.parametrize(
    ("command", "word"),
    [("view", "view"), ("str_replace", "str_replace"), ("rm -rf /", ""), ("curl -H 'key: abc'", "")],
    ids=["view", "edit", "shell", "secret"],
)
def test_only_a_plain_word_is_passed_on_as_the_command(command: str, word: str):
    assert command_in(json.dumps({"command": command})) == word


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_call_is_reported_at_most_five_times_a_second_and_another_at_once():
    clock, reports = Clock(), list[CallProgress]()
    reporter = CallReporter(reports.append, clock)
    for number in range(1_000):
        clock.now = number / 1_000
        reporter.add(Delta("call", '{"path": "/w/a.py"', tool="edit_file", size=number))
    assert len(reports) <= 1 / INTERVAL + 1
    assert reports[-1].size > 700
    count = len(reports)
    reporter.add(Delta("call", "", tool="edit_file", size=3))
    reporter.add(Delta("call", "", tool="execute_bash", size=4))
    assert [(each.tool, each.size) for each in reports[count:]] == [("edit_file", 3), ("execute_bash", 4)]


def test_call_without_a_name_is_not_reported():
    reports = list[CallProgress]()
    CallReporter(reports.append).add(Delta("call", "", size=9))
    assert reports == []


def test_joiner_passes_on_the_size_and_a_bounded_beginning_of_each_call():
    joiner = Joiner()
    pieces = [{"index": 0, "id": "c1", "function": {"name": "edit_file", "arguments": '{"path": "/w/a.py", "new": "'}}]
    pieces += [{"index": 0, "function": {"arguments": "x" * 1_000}} for _ in range(50)]
    deltas = [
        delta for piece in pieces for delta in joiner.add({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
    ]
    assert {(delta.kind, delta.tool) for delta in deltas} == {("call", "edit_file")}
    assert deltas[-1].size == sum(len(call.arguments) for call in joiner.calls)
    assert path_in(deltas[-1].text) == "/w/a.py"
    assert max(len(delta.text) for delta in deltas) <= 400

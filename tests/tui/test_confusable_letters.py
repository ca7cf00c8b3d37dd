"""What a question shows of a command, its parts and its directory contains no look-alike letters."""

from workbench.protocol.events import Segment
from workbench.view.formatting.actions import action_line
from workbench.view.formatting.approval import what_runs, why_asked
from workbench.view.state import ActionItem

NAME = "p\u0430sswd"


def test_look_alike_letters_in_a_question_are_escaped_and_single_script_names_readable():
    command = f"cat /etc/{NAME} > отчёт.txt"
    item = ActionItem(1, 1, "a1", "execute_bash", {"command": command}, working_dir=f"/w/{NAME}")
    item.segments = (Segment(text=f"cat {NAME}", risk="LOW"), Segment(text="> отчёт.txt", risk="MEDIUM", reason="x"))
    text = "\n".join(line.text for line in (*what_runs(item), *why_asked(item, "ask always")))
    assert NAME not in text
    assert text.count("p\\u0430sswd") == 3
    assert "отчёт.txt" in text


def test_card_and_timeline_escape_letters_like_the_question():
    command, edit = {"command": f"cat {NAME} > отчёт.txt"}, {"command": "create", "path": f"/w/{NAME}"}
    assert action_line(ActionItem(1, 1, "a1", "execute_bash", command)) == "cat p\\u0430sswd > отчёт.txt"
    assert action_line(ActionItem(1, 1, "a1", "str_replace_editor", edit), "/w") == "p\\u0430sswd new"

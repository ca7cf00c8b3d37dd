"""Which golden picture shows what: each screen and state a person meets, where its pictures lie, and words on them."""

import html
import re
from collections import defaultdict

import pytest

from tests.tui.conftest import SNAPSHOTS

TABLE = {
    # what it is: (its pictures, in snapshots/test_<folder>/<name>-SIZE-THEME.svg, and words on each of them)
    "main screen: nothing said yet": ("pictures/empty", ["What shall we work on?"]),
    "main screen: no model set up": ("pictures/no_model", ["/demo"]),
    "main screen: the agent at work, a command with live output": ("pictures/working", ["collected 12 items"]),
    "main screen: finished": ("pictures/finished", ["✓ Finished"]),
    "main screen: a failed command, and a run that ends by an error": ("pictures/failed", ["exit 2", "OPENAI_API_KEY"]),
    "main screen: the engine is gone": ("pictures_states/engine_gone", ["The engine has stopped"]),
    "main screen: not being saved": ("pictures_states/not_saved", ["not being saved"]),
    "main screen: a tiny terminal": ("pictures_states/tiny", ["ohw calc", "Ask anything"]),
    "conversation: cards and reasoning folded and open": ("pictures_timeline/folding", ["The sign is lost."]),
    "conversation: a search": ("pictures_timeline/searching", ["5/7"]),
    "conversation: looked back at, not followed": ("pictures_timeline/looking_back", ["↓ 2 new · ctrl+end"]),
    "conversation: history summed up": ("pictures_models/condensed", ["summed up for the model"]),
    "conversation: another model": ("pictures_models/model_changed", ["Model from here on: fast"]),
    "conversation: the provider is waited for": (
        "pictures_models/waiting_for_the_provider",
        ["the provider limits the rate"],
    ),
    "conversation: a pause at the budget": ("pictures_models/budget_pause", ["Stopped at a limit: paused after"]),
    "timeline: the only panel": ("pictures_states/timeline_alone", ["Timeline"]),
    "conversation: sub-agents, and a command of the person's": (
        "pictures_nested/sub_agents",
        ["↳ tester · $ python -m pytest -q --slow", "sub-agent at work: tester"],
    ),
    "timeline: filtered": ("pictures_timeline/filtering", ["file:calc"]),
    "timeline: a step with all that is known of it": ("pictures/pager", ["ARGUMENTS"]),
    "changes: the panel has the keys": ("pictures_states/changes_open", ["Changes"]),
    "tasks: with the steps that did them": ("pictures/finished", ["✓ Finished"]),
    "status line: what was spent": ("pictures_models/costs", ["Cost of the session", "tool output"]),
    "prompt: an image and a folded paste": ("pictures_states/writing", ["[pasted 214 lines]", "expected.png 640×480"]),
    "prompt: what waits to be read": ("pictures_states/choosing_in_the_queue", ["And say so in the README."]),
    "prompt: vim's keys": ("pictures_nested/vim_keys", ["NORMAL", "Say it in the README, too."]),
    "prompt: commands": ("pictures_prompt/commands", ["Commands", "/mode MODE"]),
    "prompt: an argument of a command": ("pictures_prompt/an_argument", ["Which", "never ask"]),
    "prompt: files": ("pictures_prompt/files", ["Files", "src/calc.py"]),
    "prompt: what was sent before": ("pictures_prompt/sent_before", ["Sent before"]),
    "approval: a command": ("pictures/question_with_command", ["Approve?", "runs what it downloads", "n reject"]),
    "approval: a change": ("pictures/question_with_diff", ["Approve?", "src/calc.py", "n reject"]),
    "approval: the command edited": ("pictures_approval/a_command_edited", ["The command", "ctrl+s keep the text"]),
    "approval: hunks left out": ("pictures_approval/two_of_three_left_out", ["1 of 3 hunks taken", "y approve 1 of 3"]),
    "approval: a hunk being edited": ("pictures_approval/a_hunk_edited", ["new text for line 16"]),
    "approval: a hunk that was edited": ("pictures_approval/a_hunk_after_its_edit", ["2 edited"]),
    "approval: side by side": ("pictures_approval/side_by_side", ["Approve?"]),
    "approval: one of several": ("pictures_approval/batch_of_three", ["of 3"]),
    "approval: all that are below a risk": ("pictures_approval/all_of_a_batch", ["Approve all 2?", "Y approve all 2"]),
    "approval: a reason for a no": ("pictures_approval/a_reason", ["use tox", "Approve?"]),
    "approval: the full text": ("pictures_approval/full_text", ["cat notes.txt", "/ search"]),
    "approval: more than fits": ("pictures_approval/more_below", ["sum_0/g", "end"]),
    "approval: the rule that would be saved": (
        "pictures_approval/always",
        ["This rule would be saved", "2 of the last 9 actions"],
    ),
    "approval: hidden signs made visible": ("pictures_approval/hidden_text", ["holds control codes", "u202e"]),
    "conversation: an edit that was taken in part": ("pictures_stale/in_part", ["1 of 2 hunks"]),
    "approval: the file is another by now": ("pictures_stale/stale_file", ["changed since the agent read it"]),
    "question of the agent: with choices": ("pictures_answer/with_options", ["esc later"]),
    "question of the agent: without": ("pictures_answer/without_options", ["esc later"]),
    "question of the agent: put off": ("pictures_answer/put_off", ["F8"]),
    "diff viewer": ("pictures/diff_viewer", ["test_negative"]),
    "diff viewer: by whom a file was changed": ("pictures_nested/whose_changes", ["src/calc.py", "hunk 1 of 2"]),
    "diff viewer: comments": ("pictures_viewer/reviewing", ["hunk"]),
    "diff viewer: a hunk taken back": ("pictures_viewer/taken_back", ["took back"]),
    "diff viewer: no text": ("pictures_viewer/not_text", ["binary: 51,204 bytes"]),
    "sessions": ("pictures_sessions/list", ["Sessions", "waits for you", "price ?"]),
    "sessions: words searched in all of them": ("pictures_sessions/tests_pass", ["6 found", "enter open"]),
    "settings": ("pictures_form/settings", ["Settings", "does not count"]),
    "settings: a value from a few": ("pictures_form/setting_choices", ["Every action would run without a question"]),
    "settings: a value that is written": ("pictures_form/setting_line", ["esc leaves it"]),
    "settings: a profile of a model": ("pictures_form/setting_profile", ["Profile", "Name", "Temperature"]),
    "settings: a model is added": ("pictures_form/setting_adds", ["Add a model", "✗ write it as PROVIDER/NAME"]),
    "rules": ("pictures_rules/", ["Rules"]),
    "help: keys and guides": ("pictures/help_on_keys", ["Keys here", "alt+enter"]),
    "first run: what was found": ("pictures_first_run/found", ["Welcome to ohw", "The demo"]),
    "first run: nothing was found": ("pictures_first_run/nothing", ["Welcome to ohw", "The demo"]),
    "first run: a call that works": ("pictures_first_run/works", ["✓"]),
    "first run: a call that fails": ("pictures_first_run/fails", ["✗"]),
    "first run: a model by its name": ("pictures_first_run/named", ["esc goes back"]),
    "trust": ("pictures_settings/trust", ["rust"]),
    "models": ("pictures_models/choosing_a_model", ["Model from here on", "t one test call"]),
    "themes: tried in the list": ("pictures_themes/choosing", ["ohw-dusk"]),
    "palette": ("pictures_settings/palette", ["/help"]),
    "palette: some letters typed": ("pictures_settings/palette_typed", ["/mode", "plan: read only"]),
    "tools": ("pictures_tools/tools", ["Tools · 3 of 6 on", "built-in", "issues_create"]),
    "MCP servers": ("pictures_servers/servers", ["off until you approve", "cannot be used"]),
    "MCP servers: a question of one's tool": ("pictures_servers/question_of_a_server", ["a tool of another program"]),
    "MCP servers: a field of a form of one's": (
        "pictures_of_servers_words/form_of_a_server",
        ["Where the issue belongs."],
    ),
    "MCP servers: one asks the model": ("pictures_of_servers_words/sample_for_a_server", ["which costs"]),
    "MCP servers: prompts": ("pictures_of_servers_words/prompts", ["triage"]),
    "MCP servers: a prompt that was taken": ("pictures_of_servers_words/prompt_said", ["the heaviest first"]),
    "MCP servers: resources": ("pictures_of_servers_words/resources", ["Negative amounts lose their sign"]),
    "web: the question about an address": ("pictures_web/question", ["docs.python.org", "reads from the network"]),
    "web: a page that was read": ("pictures_web/answered", ["exact arithmetic"]),
    "browser: a form about to be sent": ("pictures_reach/form", ["y approve"]),
    "a picture among a result": ("pictures_reach/colours", ["▀▀▀"]),
    "a picture among a result, without unicode": ("pictures_reach/ascii", ["picture 1, PNG"]),
}
SIZES = {"80x24", "120x40", "200x60"}
SMALL = ("pictures_viewer/not_text", "pictures_viewer/taken_back")
"""What looks the same at all widths."""
ONCE = {
    "theme dark": "ohw-dark",
    "theme light": "ohw-light",
    "theme of high contrast": "ohw-contrast",
    "theme for colour-blind eyes": "ohw-colour-blind",
    "theme amber": "ohw-amber",
    "theme dusk": "ohw-dusk",
}


def pictures_of(place: str) -> dict[str, str]:
    """Size and theme -> what stands on the picture, line by line."""
    folder, name = place.split("/")
    start = f"{name}-" if name else ""
    found = (SNAPSHOTS / f"test_{folder}").glob(f"{start}[0-9]*.svg")
    return {path.stem.removeprefix(start): words_on(path.read_text(encoding="utf-8")) for path in found}


def words_on(picture: str) -> str:
    lines = defaultdict(list)
    for left, top, words in re.findall(r'<text [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', picture):
        lines[float(top)].append((float(left), html.unescape(words)))
    return "\n".join("".join(words for _, words in sorted(line)) for _, line in sorted(lines.items()))


@pytest.mark.parametrize("state", TABLE)
def test_each_state_has_its_pictures_and_they_show_it(state):
    place, words = TABLE[state]
    pictures = pictures_of(place)
    looks = [name.split("-", 1) for name in pictures]
    assert {size for size, *_ in looks} >= (SIZES - {"200x60"} if place in SMALL else SIZES)
    if place != "pictures_themes/choosing":  # has its themes below
        assert {theme for _, theme in looks} >= {"ohw-dark", "ohw-light"}
    missing = [(name, word) for name, shown in pictures.items() for word in words if word not in shown]
    assert missing == []


@pytest.mark.parametrize("theme", ONCE)
def test_each_theme_has_its_picture(theme):
    picture = (SNAPSHOTS / "test_pictures_themes" / f"{ONCE[theme]}.svg").read_text(encoding="utf-8")
    assert "Conversation" in words_on(picture)


def test_no_picture_is_of_an_unknown_state():
    known = {f"test_{place.split('/')[0]}" for place, _ in TABLE.values()} | {"test_pictures_themes"}
    folders = {path.parent.name for path in SNAPSHOTS.glob("test_*/*.svg")}
    assert folders - known == {"test_pictures_ascii"}

"""The table of golden pictures: each screen and state, where its pictures are, and words on them."""

import html
import re
from collections import defaultdict

import pytest

from tests.tui.conftest import SNAPSHOTS

TABLE = {
    # description: (its pictures, in snapshots/<area>/<state>-SIZE-THEME.svg, and words on each of them)
    "main screen: nothing said yet": ("main/empty", ["What should we work on?"]),
    "main screen: example tasks and recent sessions": ("main/welcome", ["Example tasks", "Resolve the TODO"]),
    "main screen: no model set up": ("main/no_model", ["/demo"]),
    "main screen: the agent at work, a command with live output": ("main/working", ["collected 12 items"]),
    "main screen: finished": ("main/finished", ["✓ Finished"]),
    "main screen: a failed command, and a run that ends by an error": (
        "main/failed",
        ["exit 2", "could not be reached"],
    ),
    "main screen: the engine has ended": ("main_states/engine_gone", ["The agent process stopped"]),
    "main screen: controlled by another screen": (
        "main_states/controlled_by_another_screen",
        ["read-only", "/pen takes control"],
    ),
    "main screen: not saved": ("main_states/not_saved", ["not saved"]),
    "main screen: a tiny terminal": ("main_states/tiny", ["/calc", "Ask anything"]),
    "conversation: cards and reasoning folded and open": ("timeline/folding", ["The sign is lost."]),
    "conversation: a link about to be opened": ("links/link", ["Open this link in the browser?", "y Open"]),
    "main screen: a call is being written": ("links/call", ["editing src/calc.py · 12.4 kB"]),
    "conversation: a search": ("timeline/searching", ["6/8"]),
    "conversation: looked back at, not followed": ("timeline/looking_back", ["↓ 2 new · Ctrl+End"]),
    "conversation: history summed up": ("models/condensed", ["Compacted events"]),
    "conversation: another model": ("models/model_changed", ["Model changed to: fast"]),
    "conversation: the provider is waited for": (
        "models/waiting_for_the_provider",
        ["rate limited"],
    ),
    "conversation: a pause at the budget": ("models/budget_pause", ["Stopped at a limit: paused after"]),
    "timeline: the only panel": ("main_states/timeline_alone", ["Timeline"]),
    "conversation: sub-agents, and a command of the person's": (
        "subagents/sub_agents",
        ["↳ tester · $ python -m pytest -q --slow", "sub-agent running: tester"],
    ),
    "another agent: its calls on the timeline": ("agents/timeline", ["↳ claude-code"]),
    "another agent: a command that it asks about": ("agents/command", ["for the sub-agent claude-code"]),
    "another agent: an edit": ("agents/edit", ["for the sub-agent claude-code"]),
    "another agent: a call in its own words": ("agents/own_words", ["only the agent's own words"]),
    "another agent: its start": ("agents/start", ["It gets ANTHROPIC_API_KEY"]),
    "timeline: filtered": ("timeline/filtering", ["file:calc"]),
    "timeline: a step with all that is known of it": ("main/pager", ["ARGUMENTS"]),
    "changes: the panel has the keys": ("main_states/changes_open", ["Changes"]),
    "tasks: with the steps that did them": ("main/finished", ["✓ Finished"]),
    "prompt: an image and a folded paste": ("main_states/writing", ["[pasted 214 lines]", "expected.png 640×480"]),
    "prompt: what waits to be read": ("main_states/choosing_in_the_queue", ["And say so in the README."]),
    "prompt: vim's keys": ("subagents/vim_keys", ["NORMAL", "Say it in the README, too."]),
    "prompt: commands": ("prompt/commands", ["Commands", "/mode MODE"]),
    "prompt: an argument of a command": ("prompt/an_argument", ["─ /mode ─", "Ask every time"]),
    "prompt: files": ("prompt/files", ["Files", "src/calc.py"]),
    "prompt: what was sent before": ("prompt/sent_before", ["Sent before"]),
    "container: the first line": ("container/first_line", ["container python:3.12"]),
    "container: an image with a long name": ("container/first_line_with_a_long_name", ["container …", "2026-11"]),
    "container: its image is pulled": (
        "container/pulling",
        ["python:3.12 starting", "pulling the image: Copying blob"],
    ),
    "container: the image has no shell": ("container/image_without_a_shell", ["no container", "has no bash"]),
    "container: docker is absent": ("container/docker_absent", ["there is no docker here", "install docker"]),
    "container: its page": ("container/page", ["which is up", "only hosts that you allow"]),
    "container: its page, while it starts": ("container/page_starting", ["is being started"]),
    "container: its page, where there is none": ("container/page_without", ["could not be started", "has no bash"]),
    "blame: lines of two sessions and of the user": ("blame/lines", ["9 agent, 4 you, 3 before", "approved by you"]),
    "blame: an action in another session": ("blame/other_session", ["Enter opens that session"]),
    "rewind: the checkpoints": ("rewind/checkpoints", ["4 checkpoints", "Enter Preview"]),
    "rewind: the preview, with a conflict": ("rewind/preview", ["you changed the same lines", "Esc Back"]),
    "compare: two futures of a session": ("compare/compared", ["Both share 12 events", "failed (exit 1)", "Esc Close"]),
    "compare: the attempts of a race": ("race/ranked", ["Race · 5 attempts", "solved", "Tab Next attempt"]),
    "race: one that was not completed": ("race/offered", ["2 of 5 attempts ended", "y Resume", "d Delete it"]),
    "compare: a change about to be applied": ("compare/applying", ["creates the file", "y Apply"]),
    "diff viewer: a hunk is staged": ("git/not_staged", ["not staged", "Staged hunk 1 of", "a Stage", "C Commit"]),
    "diff viewer: what is staged": ("git/staged", ["staged", "a Unstage"]),
    "worktrees: one that is not removed without a question": (
        "git/worktrees",
        ["negative-amounts", "will be lost", "m Merge"],
    ),
    "time view: an earlier event": ("time_view/earlier_event", ["PAST read-only", "Event", "Return to now"]),
    "time view: a question that waits now": ("time_view/question_meanwhile", ["1 action needs approval", "F8"]),
    "time view: the changes of then": ("time_view/changes_of_then", ["PAST", "test_negative"]),
    "time view: the first event": ("time_view/no_content_yet", ["No messages yet", "Session started"]),
    "approval: a command": ("main/question_with_command", ["Esc Not now", "pipes downloaded code", "n Reject"]),
    "approval: a change": ("main/question_with_diff", ["Esc Not now", "src/calc.py", "n Reject"]),
    "approval: the command edited": ("approval/a_command_edited", ["The command", "Ctrl+S Keep the text"]),
    "approval: hunks left out": ("approval/two_of_three_left_out", ["1 accepted", "y Approve 1 of 3"]),
    "approval: a hunk being edited": ("approval/a_hunk_edited", ["new text for line 16"]),
    "approval: a hunk that was edited": ("approval/a_hunk_after_its_edit", ["1 edited by you"]),
    "approval: side by side": ("approval/side_by_side", ["Esc Not now"]),
    "approval: one of several": ("approval/batch_of_three", ["of 3"]),
    "approval: all that are below a risk": (
        "approval/all_of_a_batch",
        ["Approve 2 of 3?", "HIGH is asked separately", "Y Approve 2 of 3"],
    ),
    "approval: a reason for a no": ("approval/a_reason", ["use tox", "Enter Reject"]),
    "approval: the full text": ("approval/full_text", ["cat notes.txt", "/ Search"]),
    "approval: more than fits": ("approval/more_below", ["sum_0/g", "End, then y"]),
    "a plan that waits for approval": ("plan/plan", ["Plan ready", "y Approve, Ask (medium+)"]),
    "approval: what always would allow": (
        "approval/always",
        ["This command", "with any arguments", "Applies to", "Matches 2 of the last 10 actions"],
    ),
    "approval: edits that always would allow": (
        "approval/always_edits",
        ["All edits in the workspace", "this project"],
    ),
    "approval: why always is not possible": ("approval/always_not_possible", ["Not possible here", "substitution"]),
    "approval: hidden signs made visible": ("approval/hidden_text", ["contains control", "u202e"]),
    "conversation: an edit that was taken in part": ("stale_files/in_part", ["1 of 2 hunks"]),
    "approval: the file is another by now": ("stale_files/stale_file", ["changed since the agent read it"]),
    "question of the agent: with choices": ("answer/with_options", ["Esc Not now"]),
    "question of the agent: without": ("answer/without_options", ["Esc Not now"]),
    "question of the agent: put off": ("answer/postpone", ["F8"]),
    "diff viewer": ("main/diff_viewer", ["test_negative"]),
    "diff viewer: by whom a file was changed": (
        "subagents/whose_changes",
        ["src/calc.py", "edited by the agent and elsewhere"],
    ),
    "diff viewer: comments": ("diff_viewer/reviewing", ["hunk"]),
    "diff viewer: reviewed files": ("diff_viewer/reviewed", ["2 of 4 files to review"]),
    "diff viewer: a hunk taken back": ("diff_viewer/taken_back", ["Reverted hunk"]),
    "diff viewer: no text": ("diff_viewer/not_text", ["binary: 51,204 bytes"]),
    "sessions": ("sessions/list", ["Sessions", "needs you", "unknown"]),
    "sessions: words searched in all of them": ("sessions/tests_pass", ["6 found", "Enter Go to the list"]),
    "settings": ("settings_screen/settings", ["Settings", "1 invalid setting"]),
    "settings: a value from a few": ("settings_screen/setting_choices", ["Actions will run without asking"]),
    "settings: a value that is written": ("settings_screen/setting_line", ["Enter Save", "Esc Cancel"]),
    "settings: the name of a saved model": ("settings_screen/setting_profile", ["Saved model", "Name", "Temperature"]),
    "settings: a model is added": (
        "settings_screen/setting_adds",
        ["Add a model", "✗ Name the model as provider/model"],
    ),
    "rules": ("rules/rules", ["Rules"]),
    "help: keys and guides": ("main/help_on_keys", ["Keys here", "Alt+Enter"]),
    "first run: what was found": ("first_run/found", ["Welcome to ohw", "Demo"]),
    "first run: nothing was found": ("first_run/nothing", ["Welcome to ohw", "Demo"]),
    "first run: a key and its models": ("first_run/key", ["API key", "Esc Back"]),
    "first run: a key that was rejected": ("first_run/rejected", ["✗ 401"]),
    "a session whose key was rejected: the form": ("first_run/form_in_session", ["The model of this session", "✗ 401"]),
    "a session whose key was rejected: the form put off": ("first_run/form_put_off", ["Enter Replace key"]),
    "first run: a call that fails": ("first_run/fails", ["✗"]),
    "first run: a model at a URL": ("first_run/other", ["URL", "Esc Back"]),
    "the question before no action is asked about": ("palette_and_trust/never_ask", ["y Don't ask"]),
    "rules: one tried on all sessions": ("rules/lab_allow", ["6 would run (4 asked then)", "you rejected them"]),
    "rules: one that denies tried on all sessions": ("rules/lab_deny", ["2 would be denied"]),
    "decisions: of this session": ("decisions/session", ["Decisions · this session", "edited and allowed"]),
    "decisions: of all sessions": ("decisions/all", ["Decisions · all sessions · 15 decisions", "Not read: s9"]),
    "decisions: filtered": ("decisions/filtered", ["6 of 15 decisions · by:you"]),
    "usage: of this session": ("usage/session", ["By turn", "And now the tests", "compacts at"]),
    "usage: of all sessions": ("usage/all", ["By day", "By session", "Plan the release"]),
    "trust: the directories": ("decisions/trusted", ["Trusted directories", "changed since"]),
    "trust": ("palette_and_trust/trust", ["rust"]),
    "trust: a directory with sub-agents": ("palette_and_trust/trust_sub_agents", ["contains its own sub-agents"]),
    "trust: a directory with a container of its own": (
        "palette_and_trust/trust_container",
        ["contains its own devcontainer.json and Dockerfile", "the container: image, variables, mounts"],
    ),
    "sign-in with a device code": ("device/waiting", ["ABCD-1234", "c Copy the code", "Esc Cancel"]),
    "sign-in with a device code: refused": ("device/refused", ["You refused", "r New code"]),
    "models": ("models/choosing_a_model", ["Switch model", "Ctrl+T Test", "Anthropic"]),
    "models: a fallback model answered": ("models/fallback_model", ["overloaded"]),
    "themes: tried in the list": ("themes/choosing", ["ohw-dusk"]),
    "palette": ("palette_and_trust/palette", ["/help"]),
    "palette: some letters typed": ("palette_and_trust/palette_typed", ["/mode", "Plan"]),
    "tools": ("tools/tools", ["Tools · 3 of 5 on · 2 of 2 sub-agents", "built-in", "issues_create"]),
    "tools: sub-agents among them": ("tools/sub_agents_among_the_tools", ["reviewer"]),
    "MCP servers": ("servers/servers", ["disabled until approved", "cannot be used"]),
    "MCP servers: a question of one's tool": ("servers/question_of_a_server", ["a tool of another program"]),
    "MCP servers: a field of a form of one's": (
        "server_requests/form_of_a_server",
        ["Where the issue belongs."],
    ),
    "MCP servers: one asks the model": ("server_requests/sample_for_a_server", ["which costs"]),
    "sandbox: a command wants a host": (
        "host_questions/host_of_a_command",
        ["`npm ci` wants registry.npmjs.example:443", "TLS is not opened"],
    ),
    "sandbox: a command left protected files": (
        "host_questions/what_a_command_left",
        ["Put back .envrc, .husky", ".husky · 23 bytes"],
    ),
    "sandbox: a server wants a host": ("host_questions/host_of_a_server", ["registry.npmjs.example:443"]),
    "sandbox: a command sends more": ("host_questions/more_to_a_host", ["10.0 MB"]),
    "sandbox: a command asks to run outside": (
        "sandbox/command_that_asks_to_run_outside",
        ["runs outside the sandbox"],
    ),
    "sandbox: its page": ("sandbox/page", ["Proven at the start"]),
    "sandbox: its page, where there is none": ("sandbox/page_without", ["bubblewrap is not installed"]),
    "doctor: nothing that a session needs is missing": ("doctor/sound", ["proven: 32 attempts"]),
    "hooks: what they did on the timeline": ("hooks/timeline", ["format.sh"]),
    "hooks: a question about what one has changed": ("hooks/changed", ["changed what the agent proposed"]),
    "doctor: what is missing": ("doctor/with_errors", ["no podman and no docker"]),
    "sandbox: its page, with further directories": ("sandbox/page_with_directories", ["/srv/data", "Not applied:"]),
    "sandbox: its page, where it is partial": ("sandbox/page_of_partial", ["bubblewrap is not installed", "Open:"]),
    "sandbox: the first line": ("sandbox/first_line", ["sandbox"]),
    "sandbox: the first line, where there is none": ("sandbox/first_line_without", ["no sandbox"]),
    "sandbox: the first line, where it is partial": ("sandbox/first_line_of_partial", ["partial sandbox"]),
    "MCP servers: prompts": ("server_requests/prompts", ["triage"]),
    "MCP servers: a prompt that was taken": ("server_requests/prompt_said", ["the heaviest first"]),
    "MCP servers: resources": ("server_requests/resources", ["Negative amounts lose their sign"]),
    "web: the question about an address": ("web/question", ["docs.python.org", "reads from the network"]),
    "web: a page that was read": ("web/answered", ["exact arithmetic"]),
    "browser: a form about to be sent": ("cells_and_browser/form", ["y Approve"]),
    "a picture among a result": ("cells_and_browser/colours", ["▀▀▀"]),
    "a picture among a result, without unicode": ("cells_and_browser/ascii", ["picture 1, PNG"]),
    "timeline: a tool of somebody else's package": ("third_party/timeline", ["to team: the parser"]),
    "approval: asked again, since the file changed": ("approval/asked_again", ["has changed since"]),
    "approval: what a command deletes": ("approval/deletions", ["deletes model.bin", "Reject…", "Not now"]),
    "approval: what a command deletes, in full": ("approval/deletions_in_full", ["more than 1,000 files", "Close"]),
    "approval: a tool of somebody else's package": ("third_party/question", ["lunch at noon", "Esc Not now"]),
    "batch watch: a run, one attempt of which waits for an answer": (
        "batch_watch/running",
        ["running", "27 of 48", "1 waiting for an answer", "left", "needs an approval"],
    ),
    "batch watch: a finished run with three models": ("batch_watch/finished", ["126 of 126", "$15.02"]),
    "batch watch: a run that was interrupted, and its failures": (
        "batch_watch/failed",
        ["interrupted", "7 of 9 tasks · failed", "uv: command not found"],
    ),
    "batch watch: an attempt that waits for an answer": ("batch_watch/waiting_attempt", ["question", "a Answer"]),
    "batch watch: the report of a run": ("batch_watch/report", ["Solved by model", "Cost and effort by model"]),
    "batch watch: plots": ("batch_watch/plots", ["Solved attempts", "Cost in US dollars", "p Grid"]),
}
SIZES = {"80x24", "120x40", "200x60"}
ONCE = {
    "theme dark": "ohw-dark",
    "theme light": "ohw-light",
    "theme of high contrast": "ohw-contrast",
    "theme for colour-blind eyes": "ohw-colour-blind",
    "theme amber": "ohw-amber",
    "theme dusk": "ohw-dusk",
}


def pictures_of(place: str) -> dict[str, str]:
    """Return the text on each picture of a state, by its size and theme."""
    area, state = place.split("/")
    pictures = (SNAPSHOTS / area).glob(f"{state}-[0-9]*.svg")
    return {path.stem.removeprefix(f"{state}-"): words_on(path.read_text(encoding="utf-8")) for path in pictures}


def words_on(picture: str) -> str:
    lines = defaultdict(list)
    for left, top, words in re.findall(r'<text [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', picture):
        lines[float(top)].append((float(left), html.unescape(words).replace("\xa0", " ")))
    return "\n".join("".join(words for _, words in sorted(line)) for _, line in sorted(lines.items()))


@pytest.mark.parametrize("state", TABLE)
def test_each_state_has_its_pictures_and_they_show_it(state):
    place, words = TABLE[state]
    pictures = pictures_of(place)
    looks = [name.split("-", 1) for name in pictures]
    assert {size for size, *_ in looks} >= ({"44x11"} if place == "main_states/tiny" else SIZES)
    if place != "main_states/tiny":
        assert "ohw-light" in {theme for _, theme in looks}
    missing = [(name, word) for name, shown in pictures.items() for word in words if word not in shown]
    assert missing == []


@pytest.mark.parametrize("theme", ONCE)
def test_each_theme_has_its_picture(theme):
    assert "Timeline" in pictures_of("themes/finished")[f"120x40-{ONCE[theme]}"]


def test_no_picture_is_of_an_unknown_state():
    listed = {place for place, _ in TABLE.values()} | {"themes/finished"}
    pictures = {f"{path.parent.name}/{re.split('-[0-9]', path.stem)[0]}" for path in SNAPSHOTS.glob("*/*.svg")}
    other = {place for place in pictures - listed if not place.startswith(("ascii/", "readme/"))}
    assert other == set()

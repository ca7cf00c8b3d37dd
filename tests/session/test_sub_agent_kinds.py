"""Kinds of sub-agents in a session: tools, mode, model and steps, also when the session is opened again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec.structs
import pytest

from tests.sandbox import bash, finish, wait_for
from tests.session.test_subagents import Place, question
from workbench.config.modes import MODES
from workbench.protocol.events import ActionDecided, ActionObserved, DelegateStep, SessionStarted
from workbench.session.actions.decide import CommandError
from workbench.session.session_factory import open_session
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import find_session, list_sessions
from workbench.session.storage.store import Store
from workbench.session.storage.store_files import delete_file
from workbench.tools.manifest import BUILTIN_TOOLS
from workbench.tools.trust import AGENTS, fingerprint
from workbench.view.formatting.sessions import title

ALWAYS = {"finish", "think", "task_tracker", "request_condensation"}
READING = {"execute_bash", "str_replace_editor", "glob", "grep"}
WRITES = bash("touch made", risk="LOW")


class KindPlace(Place):
    """A session whose workspace and settings can define kinds."""

    more: dict

    def define(self, text: str, name: str = "tester", directory: str = AGENTS[0], *, is_trusted: bool = True) -> None:
        path = self.directory / directory / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: {name}\ndescription: For tests.\n{text}\n---\nYou test.\n")
        self.more = {"trusted": (fingerprint(self.directory),)} if is_trusted else {}

    def run(self, agents: dict, /, *then: dict, **settings) -> SessionStarted:
        """Drive the session to its end and return the start of the sub-agent's session."""
        self.start(agents, *then, **settings, **self.more)
        self.join()
        (child,) = self.children()
        return self.log(child)[0]

    def observed(self) -> list[ActionObserved]:
        (child,) = self.children()
        return [event for event in self.log(child) if isinstance(event, ActionObserved)]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[KindPlace]:
    opened = KindPlace(tmp_path)
    opened.more = {}
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("reviewer", READING | ALWAYS),
        ("explorer", READING | ALWAYS),
        ("browsing", {"web_read", *ALWAYS}),
        ("writer", set(BUILTIN_TOOLS) - {"delegate"}),
    ],
    ids=["reviewer", "explorer", "browsing", "general"],
)
def test_sub_agent_has_the_tools_of_its_kind(place, kind, expected):
    started = place.run({kind: [finish("Done.")]})
    assert set(started.tools) == expected
    assert started.agent == ("" if kind == "writer" else kind)
    assert place.results() == ["Done."]


@pytest.mark.parametrize(("kind", "prefix"), [("reviewer", "reviewer, "), ("writer", "")], ids=["kind", "general"])
def test_lists_of_sessions_name_the_kind(place, kind, prefix):
    place.run({kind: [finish("Done.")]})
    (child,) = [entry for entry in list_sessions(place.where) if entry.parent]
    assert child.role == f"{prefix}sub-agent of {place.id}"
    assert title(replace(child, title="")) == child.role
    assert find_session(place.where, place.id).role == ""


@pytest.mark.parametrize("written", ["tools: '*'", "tools: grep, bash, python_execute, browser, delegate", ""], ids=str)
def test_a_kind_never_has_a_tool_that_its_parent_lacks(place, written):
    place.define(written)
    started = place.run({"tester": [finish("Done.")]}, tools={"grep": False, "think": False})
    parent = place.log()[0]
    assert set(started.tools) < set(parent.tools)
    assert not {"grep", "think", "python_execute", "browser", "delegate"} & set(started.tools)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["reviewer", "explorer"])
def test_kind_that_only_reads_writes_in_no_mode(place, mode, kind):
    path = str(place.directory / "file.txt")
    edit = {"tool": "str_replace_editor", "arguments": {"command": "create", "path": path, "file_text": "x"}}
    started = place.run({kind: [WRITES, edit, finish("Done.")]}, mode=mode, rules=("allow $ touch *",))
    assert started.mode == mode
    assert [event.ran for event in place.observed()] == [False, False, True]
    for event in place.observed()[:2]:
        assert "calls that change nothing are allowed" in event.observation["content"][0]["text"]
    assert list(place.directory.iterdir()) == []


@pytest.mark.parametrize("mode", ["medium", "never", "plan"])
def test_kind_that_only_reads_runs_commands_that_read(place, mode):
    (place.directory / "file.txt").write_text("hello\n")
    view = {"tool": "str_replace_editor", "arguments": {"command": "view", "path": str(place.directory / "file.txt")}}
    place.run({"explorer": [bash("cat file.txt"), view, finish("Done.")]}, mode=mode)
    assert [event.ran for event in place.observed()] == [True, True, True]
    assert all("hello" in str(event.observation) for event in place.observed()[:2])


@pytest.mark.parametrize("mode", ["bypassPermissions", "acceptEdits", "never"])
def test_a_kind_has_the_mode_of_its_session(place, mode):
    place.define(f"permissionMode: {mode}")
    place.start({"tester": [bash("touch made", risk="HIGH"), finish("Done.")]}, mode="medium", **place.more)
    wait_for(question(place), "the question")
    assert place.opened.delegates.waiting[0].agent == "tester"
    assert not (place.directory / "made").exists()


def test_kind_that_asks_in_the_mode_that_always_asks_is_asked_about_reading(place):
    place.start({"explorer": [bash("ls"), finish("Done.")]}, mode="ask")
    wait_for(question(place), "the question")
    assert place.opened.delegates.waiting[0].agent == "explorer"


@pytest.mark.parametrize("written", ["tools: Read, Bash", "disallowedTools: Write, Edit"], ids=str)
def test_editor_of_a_kind_with_reading_names_does_not_write(place, written):
    place.define(written)
    path = str(place.directory / "file.txt")
    edit = {"tool": "str_replace_editor", "arguments": {"command": "create", "path": path, "file_text": "x"}}
    place.run({"tester": [edit, WRITES, finish("Done.")]}, mode="never")
    assert [event.ran for event in place.observed()] == [False, True, True]
    assert not Path(path).exists()
    decided = [event for event in place.log(place.children()[0]) if isinstance(event, ActionDecided)]
    assert (decided[0].by, decided[0].rule) == ("rule", 'read-only sub-agent "tester"')


@pytest.mark.parametrize("directory", AGENTS)
def test_kind_of_an_untrusted_directory_does_not_count(place, directory):
    place.define("tools: grep\nmodel: other", directory=directory, is_trusted=False)
    started = place.run({"tester": [finish("Done.")]})
    assert started.agent == ""
    assert set(started.tools) == set(BUILTIN_TOOLS) - {"delegate"}
    expected = f"the sub-agents in {place.directory / directory} are ignored: the directory is not trusted"
    assert [line for line in place.opened.notices if expected in line] != []


def test_changed_file_does_not_count_before_the_user_agrees_again(place):
    place.define("tools: grep")
    agreed = place.more
    place.define("tools: grep, terminal")
    place.more = agreed
    assert place.run({"tester": [finish("Done.")]}).agent == ""


def test_file_that_changes_during_the_session_does_not_count(place):
    place.define("tools: grep, terminal")
    place.start({"tester": [finish("Done.")]}, **place.more)
    place.join()
    place.define("")
    kind = place.opened.delegates("tester", "Do your part.", 5)
    started = place.log(kind.session)[0]
    assert kind.text == "Done."
    assert (kind.agent, started.agent) == ("tester", "tester")
    assert set(started.tools) == {"grep", "execute_bash", *ALWAYS}


@pytest.mark.parametrize("model", ["", "inherit", "sonnet", "openai/gpt-5", "scripted/nowhere.toml"])
def test_model_that_is_not_saved_is_not_used(place, model):
    place.define(f"model: {model}")
    started = place.run({"tester": [finish("Done.")]})
    assert started.model == place.log()[0].model
    assert any("is not a saved model" in line for line in place.opened.notices) is (model not in ("", "inherit"))


def saved(place) -> dict:
    """Return settings with a saved model `cheap`, which plays the same script."""
    return {"models": {"cheap": {"model": f"scripted/{place.script}"}}}


def test_saved_model_of_a_kind_is_used(place):
    place.define("model: cheap")
    assert place.run({"tester": [finish("Done.")]}, **saved(place)).model == "cheap"
    assert place.results() == ["Done."]


@pytest.mark.parametrize(("written", "limit"), [("max_steps: 2", 2), ("maxTurns: 40", 3), ("", 3)], ids=["2", "40", ""])
def test_steps_of_a_kind_are_never_more_than_those_of_the_tool(place, written, limit):
    place.define(written)
    work = [bash(f"echo {number}") for number in range(6)]
    place.run({"tester": work}, mode="never", tools={"delegate": {"max_steps": 3}})
    assert f"limit, paused after {limit} model calls" in place.results()[0]


def test_kind_in_the_settings_needs_no_trust(place):
    agents = {"tester": {"prompt": "You test.", "tools": ["terminal"], "read_only": True}}
    started = place.run({"tester": [WRITES, finish("Done.")]}, mode="never", agents=agents)
    assert (started.agent, set(started.tools)) == ("tester", {"execute_bash", *ALWAYS})
    assert not (place.directory / "made").exists()


def test_notices_name_the_file_and_what_is_not_used_once(place):
    place.define("tools: grep, no_such_tool\nmodel: opus\ncolor: red")
    place.run({"tester": [finish("Done.")]})
    path = place.directory / AGENTS[0] / "tester.md"
    own = [line for line in place.opened.notices if str(path) in line]
    assert own == [
        f"{path}: tools: there is no tool no_such_tool; model: opus is not a saved model, so it gets the model of the "
        "session"
    ]


def asked_again(place, verdict: str = "approved") -> SessionStarted:
    """Answer the sub-agent's question after the session was opened again; return the start of its session."""
    place.go_on()
    wait_for(lambda: place.opened.delegates.waiting, "the sub-agent to wait again")
    place.decide(place.waiting()[0], verdict)
    place.join()
    return place.log(place.children()[0])[0]


ASKS = [bash("touch one", risk="HIGH"), bash("touch two", risk="LOW"), finish("Written.")]


@pytest.mark.parametrize("is_gone", [False, True], ids=["there", "gone"])
def test_resumed_sub_agent_keeps_its_kind_or_only_reads(place, is_gone):
    place.define("tools: terminal\nmodel: cheap")
    place.start({"tester": ASKS}, mode="high", **place.more, **saved(place))
    wait_for(question(place), "the question")
    if is_gone:
        (place.directory / AGENTS[0] / "tester.md").unlink()
    place.kill()
    started = asked_again(place, "rejected" if is_gone else "approved")
    assert (started.agent, started.model) == ("tester", "cheap")
    assert (place.directory / "two").exists() is not is_gone
    assert place.results() == ["Written."]
    assert {event.agent for event in place.log() if isinstance(event, DelegateStep)} == {"tester"}


def test_action_of_a_kind_that_is_gone_cannot_be_approved(place):
    place.define("tools: terminal")
    place.start({"tester": ASKS}, mode="high", **place.more)
    wait_for(question(place), "the question")
    (place.directory / AGENTS[0] / "tester.md").unlink()
    place.kill()
    with pytest.raises(CommandError, match='not approved: read-only sub-agent "tester" denies it now'):
        asked_again(place)
    assert not (place.directory / "one").exists()


def test_kind_of_a_sub_agent_that_is_resumed_by_itself_limits_it(place):
    place.define("tools: terminal\nread_only: true")
    place.run({"tester": [finish("Done.")]}, mode="never")
    (child,) = place.children()
    alone = open_session(place.where, place.settings, child, on_event=lambda event: None, on_live=lambda event: None)
    try:
        assert "str_replace_editor" not in alone.session._parts.actions.tools
        assert not any("not defined any more" in line for line in alone.notices)
    finally:
        alone.close()


def test_sub_agent_of_an_older_session_stays_without_a_kind(place):
    place.start({"reviewer": ASKS}, mode="high", agents={"reviewer": {"model": "cheap"}}, **saved(place))
    wait_for(question(place), "the question")
    place.leave()
    place.opened.close()
    (child,) = place.children()
    first, *rest = place.log(child)
    assert first.agent == "reviewer"
    path = session_path(place.where, child)
    delete_file(path)
    older = msgspec.structs.replace(first, agent="", model=place.log()[0].model)
    with Store.create(path) as store:
        store.append(older, *rest)
    place.reopen()
    started = asked_again(place)
    assert (started.agent, started.model) == ("", place.log()[0].model)
    assert (place.directory / "two").exists()
    assert place.results() == ["Written."]

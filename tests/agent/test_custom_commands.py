"""Custom commands: where their files are, what they contain, and the messages made from them."""

import threading
from pathlib import Path

import pytest

from workbench.agent.custom_commands import CommandMessage, CustomCommands, InvalidCommand
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.tools.trust import COMMANDS, agree, brought, fingerprint, untrusted_notices
from workbench.view.approval.trust import TrustQuestion, brings, kind_of


class Project:
    """A user's directories and a workspace."""

    def __init__(self, directory: Path) -> None:
        self.where = Locations(directory / "c", directory / "d", directory / "s", directory / "r")
        self.workspace = directory / "project"
        self.workspace.mkdir()
        self.settings = Settings(models={"cheap": {"model": "openai/fake"}})

    def own(self, name: str, text: str) -> Path:
        return write(self.where.commands / f"{name}.md", text)

    def shared(self, name: str, text: str, directory: str = COMMANDS[0]) -> Path:
        path = write(self.workspace / directory / f"{name}.md", text)
        agree(self.where, self.workspace, fingerprint(self.workspace))
        return path

    @property
    def commands(self) -> CustomCommands:
        return CustomCommands(lambda: self.settings, self.workspace, self.where)

    def message(self, line: str) -> CommandMessage:
        message = self.commands.message(line)
        assert message is not None
        assert message.command is not None
        return message

    def listed(self) -> dict[str, str]:
        commands = self.commands
        commands.refresh()
        return {each.name: each.words for each in commands.listed}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("body", "arguments", "text"),
    [
        ("Review it.", "", "Review it."),
        ("Review it.", "src", "Review it.\n\nArguments: src"),
        ("Review $ARGUMENTS now.", "src tests", "Review src tests now."),
        ("From $1 to $2, $3.", "a 'b c'", "From a to b c, ."),
        ("Pay $10 for $1.", "it", "Pay $10 for it."),
        ("$ARGUMENTS[1] after $ARGUMENTS[0]", "one two", "two after one"),
        ("Say $1.", "it's", "Say it's."),
        ("Say $1.", "$ARGUMENTS", "Say $ARGUMENTS."),
        ("$HOME and $", "", "$HOME and $"),
        ("Status: !`git status`", "", "Status: !`git status`"),
    ],
    ids=["plain", "behind", "all", "single", "price", "indexed", "quote", "not-twice", "others", "not-run"],
)
def test_text_is_filled_in_once(project, body, arguments, text):
    project.own("it", f"---\ndescription: Does it\n---\n{body}\n")
    assert project.message(f"/it {arguments}").text == text


@pytest.mark.parametrize("body", ["!`git log` is the log", "/quit", "!rm -rf x"])
def test_message_never_looks_like_a_command_line(project, body):
    project.own("it", body)
    assert project.message("/it").text == f"# it\n\n{body}"


def test_directories_of_the_user_go_first_and_those_of_a_project_need_trust(project, tmp_path):
    write(tmp_path / "home/.claude/commands/old.md", "Claude's")
    project.own("review", "Mine")
    for directory in COMMANDS:
        write(project.workspace / directory / "review.md", "Theirs")
        write(project.workspace / directory / f"from{directory[1]}.md", f"In {directory}")
    assert project.listed() == {"old": "Claude's (yours)", "review": "Mine (yours)"}
    assert project.commands.message("/froma") is None
    assert any("commands in" in line for line in untrusted_notices(project.workspace, ()))
    agree(project.where, project.workspace, fingerprint(project.workspace))
    assert {name: words for name, words in project.listed().items() if name.startswith("from")} == {
        "froma": "In .agents/commands (project)",
        "fromc": "In .claude/commands (project)",
        "fromo": "In .ohw/commands (project)",
    }
    assert project.message("/review").text == "Mine"
    write(project.workspace / ".claude/commands/fromc.md", "Changed")
    assert project.commands.message("/fromc") is None  # an agreement covers exactly these files


def test_names_follow_directories_and_odd_ones_are_left_out(project):
    for name in ("git/commit", "a/b/c", "README", "two words", ".hidden", "x" * 41):
        project.own(name, "Text")
    assert set(project.listed()) == {"git:commit", "a:b:c"}
    assert project.message("/git:commit the rest").command.name == "git:commit"


@pytest.mark.parametrize("line", ["/etc/passwd is odd", "/other", "review", "/", "/re view"])
def test_other_lines_are_no_command(project, line):
    project.own("review", "Text")
    assert project.commands.message(line) is None


def test_front_matter_gives_description_hint_model_and_tools(project):
    path = project.own(
        "fix",
        "---\ndescription: Fix: an issue\nargument-hint: [number] [branch]\nmodel: cheap\n"
        "allowed-tools: Read, Bash(git add:*), Grep\n---\nFix $1\n",
    )
    message = project.message("/fix 7")
    assert message.command.model == "cheap"
    assert message.command.tools == ("Read", "Bash(git add:*)", "Grep")
    assert message.command.source == str(path)
    assert message.notice == ""
    commands = project.commands
    commands.refresh()
    assert [(each.description, each.hint) for each in commands.listed] == [("Fix: an issue", "[number] [branch]")]


@pytest.mark.parametrize(
    ("entry", "tools"),
    [
        ("", None),
        ("allowed-tools:", None),
        ("allowed-tools: []", ()),
        ("allowed-tools: 7", ()),
        ("allowed_tools: [a, b]", ("a", "b")),
    ],
    ids=["missing", "empty", "none", "number", "list"],
)
def test_unreadable_list_of_tools_allows_none(project, entry, tools):
    project.own("it", f"---\ndescription: x\n{entry}\n---\nText")
    assert project.message("/it").command.tools == tools


@pytest.mark.parametrize("model", ["sonnet", "openai/other"])
def test_model_that_is_not_saved_is_not_used_and_named(project, model):
    project.own("it", f"---\nmodel: {model}\n---\nText")
    message = project.message("/it")
    assert message.command.model == ""
    assert message.notice == f"{model} is not a saved model, so the session's model is used"


@pytest.mark.parametrize("kind", ["empty", "long", "link"])
def test_unusable_file_says_why(project, tmp_path, kind):
    path = project.own("it", {"empty": "---\nmodel: x\n---\n", "long": "x" * 70_000, "link": ""}[kind])
    if kind == "link":
        path.unlink()
        path.symlink_to(write(tmp_path / "secret.md", "secret"))
    expected = {"empty": "has no text", "long": "is longer than 64 kB", "link": "a link that leads elsewhere"}
    with pytest.raises(InvalidCommand, match=expected[kind]):
        project.commands.message("/it")


def test_trust_names_commands_among_what_a_directory_brings(project):
    path = project.shared("review", "Text")
    assert path in brought(project.workspace)
    question = TrustQuestion(project.where, project.workspace, (path,), "", (), set())
    assert brings(question) == "its own commands"
    assert kind_of(str(path.relative_to(project.workspace))) == "a command: a message that you can send"


def test_added_and_removed_commands_are_listed_at_once(project):
    commands = project.commands
    assert list(commands.listed) == []
    path = project.own("review", "Text")
    assert [each.name for each in commands.listed] == ["review"]
    path.unlink()
    assert list(commands.listed) == []


@pytest.mark.parametrize("group", ["git", "git/remote"])
def test_command_added_to_an_existing_subdirectory_is_listed_at_once(project, group):
    project.own(f"{group}/commit", "Text")
    commands = project.commands
    commands.refresh()
    project.own(f"{group}/push", "Text")
    prefix = group.replace("/", ":")
    assert [each.name for each in commands.listed] == [f"{prefix}:commit", f"{prefix}:push"]


def test_commands_are_listed_while_another_thread_reads_them(project, monkeypatch):
    project.own("look", "Look.\n")
    commands, begun, may_end = project.commands, threading.Event(), threading.Event()
    directories = CustomCommands._directories

    def slow(self: CustomCommands):
        if threading.current_thread() is thread:
            begun.set()
            may_end.wait(10)
        return directories(self)

    monkeypatch.setattr(CustomCommands, "_directories", slow)
    thread = threading.Thread(target=commands.refresh)
    thread.start()
    begun.wait(10)
    listed = [each.name for each in commands.listed]
    may_end.set()
    thread.join()
    assert listed == ["look"]

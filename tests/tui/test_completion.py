import asyncio
import threading

import pytest
from textual import events
from textual.message import Message

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from workbench.config.modes import MODES
from workbench.session.file_search import FileIndex, best
from workbench.session.mentions import mentioned
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.key_hints import KeyHints
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.suggestions import Suggestions
from workbench.view.prompt.completion import CompletionRequest, match_offsets, mention_of, request_at
from workbench.view.prompt.remote_files import RemoteFiles


@pytest.fixture
def directory(tmp_path):
    """A repository with an ignored directory and names of several kinds."""
    for name in ("src/calc.py", "src/parser.py", "tests/test_calc.py", "notes of mine.md", "build/calc.o", ".env"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n")
    return tmp_path


def labels(app):
    return [choice.label for choice in app.screen.query_one(Composer)._completer.choices]


def test_letters_in_order_match_and_the_best_match_comes_first():
    paths = ["src/deep/parser_calc.py", "docs/calculus.md", "calc.py", "src/calc.py", "c/a/l/c", "README"]
    assert best("calc", paths, 9) == [
        "calc.py",
        "src/calc.py",
        "docs/calculus.md",
        "src/deep/parser_calc.py",
        "c/a/l/c",
    ]
    assert best("CALC", paths, 1) == ["calc.py"]
    assert best("s/p", ["src/parser.py", "parser.py"], 9) == ["src/parser.py"]
    assert best("zz", paths, 9) == []


def test_matched_letters_are_highlighted_contiguously_if_possible():
    assert list(match_offsets("calc", "c/calc.py")) == [2, 3, 4, 5]
    assert list(match_offsets("cc", "calc")) == [0, 3]
    assert list(match_offsets("x", "calc")) == []


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("/", CompletionRequest("command", "", 0)),
        ("/mo", CompletionRequest("command", "mo", 0)),
        ("/mode pl", CompletionRequest("argument", "pl", 6, "mode")),
        ("/usr/bin", None),
        ("look at @src/ca", CompletionRequest("file", "src/ca", 8)),
        ("@", CompletionRequest("file", "", 0)),
        ('see (@"notes of', CompletionRequest("file", "notes of", 5)),
        ("me@example.org", None),
        ("@src/calc.py ", None),
    ],
)
def test_completion_depends_on_the_text_before_the_cursor(text, wish):
    assert request_at([text], 0, len(text)) == wish


def test_message_mentions_existing_files_only(directory):
    text = 'See @src/calc.py, @"notes of mine.md", @src/calc.py. Not @nothing, a@b, @../other, @/etc/passwd; @tests/'
    assert mentioned(text, directory) == ("src/calc.py", "notes of mine.md", "tests")
    for path in ("src/calc.py", "notes of mine.md", "odd)"):
        (directory / path).touch()
        assert mentioned(f"see {mention_of(path)}: it is", directory) == (path,)


def test_index_excludes_ignored_files_and_includes_directories(directory):
    choices: dict[str, list[str]] = {}
    come = threading.Event()

    def answer(query, paths):
        choices[query] = paths
        come.set()

    index = FileIndex(directory, answer)
    index.ask("")
    assert come.wait(30)
    index.close()
    assert sorted(choices[""]) == [
        ".env",
        ".gitignore",
        "notes of mine.md",
        "src/",
        "src/calc.py",
        "src/parser.py",
        "tests/",
        "tests/test_calc.py",
    ]


async def test_files_of_another_machine_are_asked_for_once_typing_pauses():
    queries: list[str] = []
    answers: list[tuple[str, list[str]]] = []
    files = RemoteFiles(queries.append, lambda query, paths: answers.append((query, paths)))
    for query in ("", "c", "ca"):
        files.ask(query)
    async with asyncio.timeout(30):
        while not queries:
            await asyncio.sleep(0.01)
    assert queries == ["ca"]
    files.receive("ca", ["src/calc.py", "cat.md"])
    files.ask("calc")
    assert answers[-2:] == [("ca", ["src/calc.py", "cat.md"]), ("calc", ["src/calc.py"])]
    files.close()


async def test_slash_lists_commands_and_enter_runs_the_selected_one():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press("/")
        await wait_until(pilot, lambda: app.screen.query_one(Suggestions).display)
        assert "/help" in labels(app)
        assert "/quit" in labels(app)
        await pilot.press(*"cmpct")
        assert await wait_until(pilot, lambda: labels(app) == ["/compact", "/compact undo"])
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("compact",)]
        assert app.screen.query_one(Prompt).text == ""
        await wait_until(pilot, lambda: not app.screen.query_one(Suggestions).display)
        await pilot.press(*"/cmpct", "down", "enter")
        await wait_until(pilot, lambda: len(client.commands) == 2)
        await pilot.press(*"/compact", "space", "u")
        assert await wait_until(pilot, lambda: labels(app) == ["undo"])
        await pilot.press("tab", "enter")
        await wait_until(pilot, lambda: len(client.commands) == 3)
        assert client.commands[1:] == [("compact", "undo"), ("compact", "undo")]


async def test_second_word_that_takes_an_argument_leaves_room_for_it():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press(*"/sandbox", "space", "w")
        assert await wait_until(pilot, lambda: labels(app) == ["write"])
        await pilot.press("tab")
        assert await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "/sandbox write ")
        await pilot.press(*"~/my notes", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("allow_writing", "~/my notes")]


@pytest.mark.parametrize(
    ("typed", "written", "label"),
    [
        ("/hel", "/help", "Run"),
        ("/setti", "/settings ", "Run"),
        ("/sear", "/search ", "Run"),
        ("/cop", "/copy ", "Run"),
        ("/expo", "/export ", "Run"),
        ("/ini", "/init ", "Run"),
        ("/mod", "/mode ", "Complete and continue"),
        ("/them", "/theme ", "Complete and continue"),
    ],
)
async def test_chosen_command_runs_unless_a_list_of_arguments_comes_next(
    typed: str, written: str, label: str, monkeypatch: pytest.MonkeyPatch
):
    app = workbench_app(FakeClient())
    async with app.run_test(size=(120, 40)) as pilot:
        prompt = app.screen.query_one(Prompt)
        sent: list[str] = []
        post = prompt.post_message

        def record(message: Message) -> bool:
            if isinstance(message, Prompt.Submitted):
                sent.append(message.text)
                return True
            return post(message)

        monkeypatch.setattr(prompt, "post_message", record)
        await pilot.press(*typed)
        assert await wait_until(pilot, lambda: labels(app))
        assert await wait_until(pilot, lambda: f"Enter {label}" in str(app.screen.query_one(KeyHints).render()))
        await pilot.press("tab")
        assert prompt.text == written
        prompt.load_text("")
        await pilot.press(*typed)
        assert await wait_until(pilot, lambda: labels(app))
        await pilot.press("enter")
        assert await wait_until(pilot, lambda: sent or prompt.text == written)
        assert sent == ([written.strip()] if label == "Run" else [])


async def test_argument_is_chosen_from_its_list():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        await pilot.press(*"/mod", "enter")
        assert await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "/mode ")
        assert labels(app) == list(MODES)
        await wait_until(pilot, lambda: "/mode" in str(app.screen.query_one(Suggestions).border_title))
        await pilot.press("up", "down", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("mode", "plan")]


async def test_model_not_in_the_list_can_be_typed():
    client = FakeClient()
    models = {"fast": {"model": "openai/a-fast-one"}}
    app = workbench_app(client, set={"models": models})
    async with app.run_test() as pilot:
        await pilot.press(*"/model", "space", *"fas", "enter", *"/model", "space", "f", "tab", "enter")
        await wait_until(pilot, lambda: len(client.commands) == 2)
        assert client.commands == [("model", "fas"), ("model", "fast")]


async def test_files_are_found_while_typing_and_inserted_with_tab(directory):
    client = FakeClient()
    app = workbench_app(client, directory=directory)
    async with app.run_test() as pilot:
        prompt = app.screen.query_one(Prompt)
        await pilot.press(*"see", "space", "@", *"calc")
        await wait_until(pilot, lambda: labels(app) == ["src/calc.py", "tests/test_calc.py"])
        await wait_until(pilot, lambda: "Enter Insert" in str(app.screen.query_one(KeyHints).render()))
        await pilot.press("down", "tab", *"and", "space", "@", *"notes")
        await wait_until(pilot, lambda: labels(app) == ["notes of mine.md"])
        await pilot.press("enter")
        assert await wait_until(pilot, lambda: prompt.text == 'see @tests/test_calc.py and @"notes of mine.md" ')
        assert client.commands == []


async def test_inserted_directory_lists_its_content(directory):
    app = workbench_app(FakeClient(), directory=directory)
    async with app.run_test() as pilot:
        await pilot.press("@", *"sr")
        await wait_until(pilot, lambda: "src/" in labels(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: labels(app) == ["src/calc.py", "src/parser.py"])
        assert app.screen.query_one(Prompt).text == "@src/"


async def test_escape_closes_the_list_for_this_word_and_stops_nothing(directory):
    client = FakeClient()
    app = workbench_app(client, directory=directory)
    async with app.run_test() as pilot:
        await pilot.press("@", "c")
        await wait_until(pilot, lambda: labels(app))
        await pilot.press("escape", "a")
        assert await wait_until(pilot, lambda: labels(app) == [])
        assert app.screen.query_one(Prompt).text == "@ca"
        await pilot.press("space", "@")
        await wait_until(pilot, lambda: labels(app))
        assert client.commands == []


async def test_keys_in_one_burst_are_handled_in_order():
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test() as pilot:
        for key in ("slash", "m", "o", "d", "enter", "p", "l", "enter", "a", "enter"):
            app.post_message(events.Key(key, {"slash": "/"}.get(key, key if len(key) == 1 else None)))
        await wait_until(pilot, lambda: len(client.commands) == 2)
        assert client.commands == [("mode", "plan"), ("send", "a")]


async def test_click_inserts_a_row():
    app = workbench_app(FakeClient())
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"/mode", "space")
        await wait_until(pilot, lambda: app.screen.query_one(Suggestions).size.height == len(MODES))
        await pilot.click(Suggestions, offset=(6, 1))
        assert await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "/mode plan")


async def test_search_never_delays_typing(directory, monkeypatch):
    go_on = threading.Event()
    monkeypatch.setattr("workbench.tools.glob.walk.list_files", lambda *a, **k: iter([str(go_on.wait(30))]))
    app = workbench_app(FakeClient(), directory=directory)
    async with app.run_test() as pilot:
        await pilot.press("@", *"true")
        assert await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "@true")
        assert labels(app) == []
        go_on.set()
        await wait_until(pilot, lambda: labels(app) == ["True"])


def test_hundred_thousand_files_are_searched_letter_by_letter():
    paths = [f"package_{number % 400}/module_{number}/source_{number}.py" for number in range(100_000)]
    assert best("source_99999", paths, 50) == ["package_399/module_99999/source_99999.py"]
    assert len(best("p4m9s", paths, 50)) == 50

"""The settings in the form: names, checks, sources, and a file whose layout is preserved."""

import os
import stat

import pytest

from tests.tui.settings_form import settings_in
from workbench.config.modes import MODES
from workbench.config.settings import load_settings
from workbench.errors import UsageError
from workbench.files.toml_edit import write_settings
from workbench.llm.key_store import KeyStore, key_name
from workbench.tui.settings.settings_model import SettingsModel

FILE = """# how I work
model = "fast"   # the cheap one
mode = "ask"

# never more than this
max_steps = 40

[models.fast]  # of the house
model = "openai/small"
api_base = "http://ada:pw@house:8000/v1"

[keys]
mode = "f7"
"""
THEMES = ["nord", "ohw-dark"]


@pytest.fixture
def where(tmp_path):
    return settings_in(tmp_path, FILE)


def book_of(where, env=None, **flags) -> SettingsModel:
    env = env or {}
    return SettingsModel(where, load_settings(where, env, lenient=True, **flags), env)


def entry(book, name):
    return next(each for each in book.read(THEMES) if each.name == name)


def test_row_shows_the_origin_of_its_value(where):
    book = book_of(where, {"OHW_MODE": "high", "OHW_MAX_COST": "2"}, theme="nord")
    held = {
        name: book.current(entry(book, name)) for name in ("model", "mode", "max_cost", "theme", "max_steps", "calls")
    }
    assert {name: (each.text, each.source) for name, each in held.items()} == {
        "model": ("fast", "your file"),
        "mode": ("high", "environment"),
        "max_cost": ("2", "environment"),
        "theme": ("nord", "command line"),
        "max_steps": ("40", "your file"),
        "calls": ("auto", "default"),
    }
    assert held["mode"].note == "OHW_MODE overrides your file while it is set"
    assert held["max_cost"].note == "OHW_MAX_COST overrides your file while it is set"


def test_secrets_are_neither_shown_nor_written(where):
    book = book_of(where, {"OHW_API_KEY": "sk-very-secret"})
    key = entry(book, "api_key")
    address = book.current(entry(book, "models.fast.api_base"))
    assert book.current(key).text == "set, not shown"
    assert (address.text, address.is_masked) == ("http://house:8000/v1", True)
    assert "secret" not in repr([book.current(each) for each in book.read(THEMES)])
    with pytest.raises(UsageError, match="not stored in settings"):
        book.save(key, "sk-other")
    assert where.settings_file.read_text() == FILE


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("max_steps", "many", "must be a whole number from 1, not 'many'"),
        ("max_steps", "0", "a whole number from 1, not"),
        ("max_steps", "1.5", "a whole number from 1"),
        ("max_observe", "-1", "a whole number from 0"),
        ("max_cost", "-1", "an amount of dollars"),
        ("max_cost", "nan", "an amount of dollars"),
        ("api_base", "localhost", "api_base must be a URL such as"),
        ("api_key_env", "sk-abc-123", "the key itself does not belong here"),
        ("mode", "wild", "must be one of plan, ask"),
        ("terminal.bell", "auto", "yes or no"),
        ("models.fast.temperature", "3", "a number from 0 to 2"),
        ("models.fast.api_key_keyring", "x", "must be SERVICE/NAME"),
        ("models.fast.model", "", "models.fast.model is missing"),
        ("keys.mode", "f77x", "there is no key 'f77x'"),
        ("keys.mode", "f2", "f2 is the key of timeline"),
        ("tools.set", "all", "tools.set must be one of code, plan"),
    ],
)
def test_value_that_cannot_be_saved_gives_the_reason_and_changes_nothing(where, name, text, says):
    book = book_of(where)
    field = entry(book, name)
    assert says in book.check(field, text)
    with pytest.raises(UsageError):
        book.save(field, text)
    assert where.settings_file.read_text() == FILE


def test_saving_keeps_comments_order_and_the_settings_in_effect(where):
    taken = []
    book = book_of(where, theme="nord")
    book.subscribe(taken.append)
    for name, text in {
        "max_steps": "55",
        "mode": "high",
        "max_cost": "0.5",
        "terminal.bell": "no",
        "terminal.title": "yes",
        "max_observe": "40,000",
        "models.fast.temperature": "0.5",
        "keys.viewer.search": "f12",
        "tools.think": "no",
        "trusted": "/a/b, ~/c",
    }.items():
        field = entry(book, name)
        assert book.check(field, text) == ""
        book.save(field, text)
    text = where.settings_file.read_text()
    expected = FILE.replace('"ask"', '"high"').replace("40", "55").splitlines()
    assert [line for line in text.splitlines() if line in expected and line] == [line for line in expected if line]
    assert taken[-1] is book.settings
    assert (taken[-1].theme, taken[-1].from_flags) == ("nord", ("theme",))  # the command line still takes precedence
    after = load_settings(where, {})
    assert (after.max_steps, after.mode, after.max_cost, after.trusted) == (55, "high", 0.5, ("/a/b", "~/c"))
    assert after.max_observe == 40_000
    assert (after.terminal, after.tools) == ({"bell": False, "title": True}, {"think": False})
    assert after.keys == {"mode": "f7", "viewer.search": "f12"}
    assert after.profile("fast").temperature == 0.5


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("context_window", "0", "0 · auto-detected"),
        ("context_window", "65536", "65,536 tokens"),
        ("max_cost", "0", "0 · no limit"),
        ("max_cost", "2.5", "$2.50"),
        ("max_cost", "0.005", "$0.005"),
        ("max_steps", "1", "1 call"),
        ("condense_percent", "80", "80% of the window"),
        ("confirm_unknown", "yes", "yes"),
        *(("mode", name, mode.label) for name, mode in MODES.items()),
        ("models.fast.api_base", "", "the provider's own"),
        ("models.fast.temperature", "0", "0"),
    ],
)
def test_value_is_shown_with_its_unit_and_the_meaning_of_empty(where, name, text, says):
    assert entry(book_of(where), name).explained(text) == says


def test_booleans_are_yes_and_no_in_values_defaults_and_choices(where):
    book = book_of(where)
    field = entry(book, "terminal.ascii")
    assert [name for name, _ in field.choices] == ["auto", "yes", "no"]
    assert book.current(entry(book, "stop_loops")).text == "yes"
    assert [field.read(text) for text in ("auto", "yes", "no", "true")] == ["auto", True, False, True]


def test_empty_text_removes_the_entry_and_keeps_the_rest(where):
    book = book_of(where)
    book.save(entry(book, "max_steps"), "")
    book.save(entry(book, "keys.mode"), "")
    assert where.settings_file.read_text() == FILE.replace("max_steps = 40\n", "").replace('mode = "f7"\n', "")
    assert book.current(entry(book, "max_steps")).source == "default"


def test_error_in_the_file_is_shown_at_its_field_and_fixed_there(where):
    where.settings_file.write_text('max_steps = "many"\n[terminal]\nbell = 3\n')
    book = book_of(where)
    assert book.current(entry(book, "max_steps")).problem == "max_steps must be a whole number from 1, not 'many'"
    assert "must be yes or no, not '3'" in book.current(entry(book, "terminal.bell")).problem
    assert len(book.problems) == 2
    book.save(entry(book, "max_steps"), "7")
    assert book.current(entry(book, "max_steps")).problem == ""
    assert book.settings.max_steps == 7


def test_new_file_is_private_and_an_existing_one_keeps_mode_and_link(where, tmp_path):
    where.settings_file.unlink()
    write_settings(where.settings_file, {("models", "new", "model"): "a/b", ("model",): "new"})
    assert stat.S_IMODE(where.settings_file.stat().st_mode) == 0o600
    assert load_settings(where, {}).profile("new").model == "a/b"
    place = tmp_path / "dotfiles.toml"
    place.write_bytes(b'# mine\r\nmode = "ask"\r\n')
    place.chmod(0o644)
    where.settings_file.unlink()
    where.settings_file.symlink_to(place)
    write_settings(where.settings_file, {("mode",): "plan", ("max_steps",): 3})
    assert where.settings_file.is_symlink()
    assert place.read_bytes() == b'# mine\r\nmode = "plan"\r\nmax_steps = 3\r\n'
    assert stat.S_IMODE(place.stat().st_mode) == 0o644


@pytest.mark.parametrize("text", ["mode = ", 'mode = "a"\nmode = "b"', "model = 3\n[model]"])
def test_unreadable_file_is_left_unchanged(where, text):
    where.settings_file.write_text(text)
    with pytest.raises(UsageError, match="cannot be changed"):
        write_settings(where.settings_file, {("max_steps",): 3})
    assert where.settings_file.read_text() == text


def test_unwritable_directory_is_reported(where):
    if os.geteuid() == 0:
        where.settings_file.unlink()
        where.config.rmdir()
        where.config.write_text("a file where the folder should be")
    else:
        where.config.chmod(0o500)
    with pytest.raises(UsageError, match="cannot be changed"):
        write_settings(where.settings_file, {("max_steps",): 3})


def test_profile_is_added_renamed_and_removed_and_comments_stay(where):
    where.settings_file.write_text(FILE + "\n[models.fast.price]\ninput = 1\noutput = 2 # dollars\n")
    book = book_of(where)
    add = entry(book, "models")
    assert "provider/model" in book.check(add, "gpt-5")
    assert "http://localhost" in book.check(add, "openai/big localhost")
    assert book.save(add, "openai/big http://house:9000/v1") == "big"
    assert book.save(add, "other/big") == "big-2"  # names never clash
    name = entry(book, "models.fast")
    assert book.check(name, "big") == "there is a saved model big already"
    assert "a name is made of" in book.check(name, "a b")
    assert "deletes the saved model" in book.check(name, "")
    assert book.save(name, "quick:1") == "quick:1"
    text = where.settings_file.read_text()
    assert '[models."quick:1"]  # of the house' in text
    assert "output = 2 # dollars" in text
    after = load_settings(where, {})
    assert (after.model, {*after.models}) == ("quick:1", {"quick:1", "big", "big-2"})
    assert (after.profile("big").model, after.profile("big").api_base) == ("openai/big", "http://house:9000/v1")
    assert after.profile("quick:1").price == {"input": 1, "output": 2}
    book.remove(entry(book, "models.quick:1"))
    after = load_settings(where, {})
    assert (after.model, {*after.models}) == (None, {"big", "big-2"})
    assert "# never more than this\nmax_steps = 40" in where.settings_file.read_text()


def test_inline_profile_that_cannot_be_renamed_is_left_unchanged(where):
    text = 'models = { fast = { model = "a/b" } }\n'
    where.settings_file.write_text(text)
    book = book_of(where)
    with pytest.raises(UsageError, match="does not allow this edit"):
        book.save(entry(book, "models.fast"), "quick")
    assert where.settings_file.read_text() == text


def test_fallback_models_are_checked_and_follow_a_renamed_or_deleted_model(where):
    write_settings(where.settings_file, {("models", "big", "model"): "openai/large"})
    book = book_of(where)
    fallbacks = entry(book, "models.big.fallback_models")
    assert "no model is saved as 'fsat'" in book.check(fallbacks, "fsat")
    assert "names big itself" in book.check(fallbacks, "gemini/x, big")
    book.save(fallbacks, "fast, gemini/x")
    assert "leads back to fast" in book.check(entry(book, "models.fast.fallback_models"), "big")
    book.save(entry(book, "models.fast"), "quick")
    assert book.settings.profile("big").fallback_models == ("quick", "gemini/x")
    book.remove(entry(book, "models.quick"))
    assert book.settings.profile("big").fallback_models == ("gemini/x",)
    assert list(book.problems) == []
    assert book.current(entry(book, "models.big.fallback_models")).text == "gemini/x"


def test_fallback_models_that_do_not_count_are_marked_in_the_form(where):
    write_settings(where.settings_file, {("models", "fast", "fallback_models"): ["fast"]})
    book = book_of(where)
    assert "names fast itself" in book.current(entry(book, "models.fast.fallback_models")).problem


def test_url_and_key_rows_show_those_of_the_saved_model_in_use(where):
    write_settings(where.settings_file, {("models", "fast", "api_key_env"): "HOUSE_KEY"})
    book = book_of(where)
    rows = {name: book.current(entry(book, name)) for name in ("api_base", "api_key", "api_key_env")}
    assert {name: (row.text, row.source) for name, row in rows.items()} == {
        "api_base": ("http://house:8000/v1", "saved model"),
        "api_key": ("set, not shown", "saved model"),
        "api_key_env": ("HOUSE_KEY", "saved model"),
    }
    assert all("saved model fast, which is in use" in row.note and row.is_masked for row in rows.values())
    book.write({("model",): "anthropic/large"})
    rows = {name: book.current(entry(book, name)) for name in rows}
    assert [row.text for row in rows.values()] == ["", "not set", ""]


@pytest.mark.parametrize("model", ["fast", "anthropic/large"])
def test_key_row_shows_where_the_saved_key_of_the_model_is(where, model):
    book = book_of(where, model=model)
    profile = book.settings.profile(model)
    assert book.current(entry(book, "api_key")).text == "not set"
    KeyStore(where).save(key_name(profile.model, profile.api_base), "sk-saved", "file")
    row = book.current(entry(book, "api_key"))
    assert (row.text, row.source) == ("set, not shown", "private file")
    in_environment = book_of(where, {"ANTHROPIC_API_KEY": "sk-env"}, model="anthropic/large")
    assert in_environment.current(entry(in_environment, "api_key")).source == "environment"

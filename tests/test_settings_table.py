"""One declaration in the table is all a new setting needs; a project can set none of them."""

import json
import subprocess
import sys

import pytest

from tests.guide_tables import GUIDE, with_table
from tests.sandbox import Sandbox
from workbench.config.setting_kinds import REQUIRED, declared
from workbench.config.settings import Profile, Settings, TerminalSettings, load_settings, read_profile, read_terminal
from workbench.errors import UsageError

ADD_ONE = """
import json, sys, types
from importlib.util import find_spec
from pathlib import Path

origin = find_spec("workbench.config.table").origin
source, anchor = Path(origin).read_text(), "    theme: str = setting("
assert source.count(anchor) == 1
options = 'group="Limits", unit="naps", flag="N"'
added = f'    max_naps: int = setting(7, WholeNumber(1), "Naps", "Naps of one run.", {options})\\n'
table = sys.modules["workbench.config.table"] = types.ModuleType("workbench.config.table")
exec(compile(source.replace(anchor, added + anchor), origin, "exec"), table.__dict__)

import contextlib, io
from tests.guide_tables import settings_table
from workbench.cli.main import main
from workbench.config.locations import Locations
from workbench.config.settings import Settings, load_settings
from workbench.engine.launch import Launch
from workbench.errors import UsageError
from workbench.tui.settings.settings_model import SettingsModel

def printed(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(words)
    return out.getvalue()

where = Locations.from_environment()
where.config.mkdir(parents=True)
where.settings_file.write_text("max_naps = 3\\n")
book = SettingsModel(where, load_settings(where, {}), {})
entry = next(each for each in book.read(["ohw-dark"]) if each.name == "max_naps")
form = [entry.group, entry.title, entry.about, entry.explained("9"), book.check(entry, "0"), book.current(entry).text]
book.save(entry, "4")
try:
    load_settings(where, {"OHW_MAX_NAPS": "none"})
except UsageError as error:
    refused = str(error)
json.dump({
    "default": Settings().max_naps,
    "file": load_settings(where, {}).max_naps,
    "environment": load_settings(where, {"OHW_MAX_NAPS": "5"}).max_naps,
    "refused": refused,
    "flag": printed("config", "--max-naps", "6"),
    "help": printed("--help"),
    "form": form,
    "saved": where.settings_file.read_text(),
    "guide": settings_table(),
    "engine": Launch.from_json(Launch(where, load_settings(where, {}), "s").to_json()).settings.max_naps,
}, sys.stdout)
"""


def test_one_declaration_covers_file_environment_flag_form_and_guide(sandbox: Sandbox):
    done = subprocess.run([sys.executable, "-c", ADD_ONE], env=sandbox.env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert (result["default"], result["file"], result["environment"], result["engine"]) == (7, 4, 5, 4)
    assert result["refused"] == "max_naps must be a whole number from 1, not 'none'"
    assert [line.split() for line in result["flag"].splitlines() if "naps" in line] == [
        ["max_naps", "6", "(--max-naps)"]
    ]
    assert "--max-naps N          naps of one run" in result["help"]
    assert result["form"] == [
        *("Limits", "Naps", "Naps of one run.", "9 naps"),
        *("max_naps must be a whole number from 1, not '0'", "3"),
    ]
    assert result["saved"] == "max_naps = 4\n"
    assert "| `max_naps` | `7` | Naps of one run. Flag: `--max-naps`. |" in result["guide"]


def test_guide_contains_the_current_table():
    assert with_table(GUIDE.read_text()) == GUIDE.read_text(), "run python -m tests.guide_tables"


def test_every_setting_has_a_description_and_a_valid_default():
    for table in (Settings, TerminalSettings, Profile):
        for name, each in declared(table).items():
            assert each.title
            assert each.about.endswith(".")
            if each.default not in (REQUIRED, None):
                assert each.kind.check(name, each.default) == each.default
    assert vars(read_terminal({})) == {name: each.default for name, each in declared(TerminalSettings).items()}
    profile = vars(read_profile("x", {"model": "a/b"}))
    assert {**profile, "model": REQUIRED} == {"name": "x"} | {n: each.default for n, each in declared(Profile).items()}


def test_projects_and_internal_names_set_nothing(sandbox: Sandbox):
    for name in ("settings.toml", ".ohw/settings.toml", "ohw/settings.toml", ".config/ohw/settings.toml"):
        path = sandbox.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('mode = "never"\nmodel = "x/evil"\napi_base = "http://evil:1"\ntrusted = ["/"]\n')
    done = sandbox.ohw("config")
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert (rows["mode"].endswith("medium  (default)"), rows["model"].endswith("–  (default)")) == (True, True)
    assert {line.rpartition("(")[2] for line in rows.values()} == {"default)", "OHW_SANDBOX)"}
    for name in ("from_flags", "accepts_foreign", "problems", "rules"):
        assert f"OHW_{name.upper()}" not in {each.variable for each in declared(Settings).values()}
        assert not getattr(load_settings(sandbox.locations, {f"OHW_{name.upper()}": "x"}), name)


def test_config_command_hides_keys_and_reports_invalid_settings(sandbox: Sandbox):
    sandbox.locations.settings_file.parent.mkdir(parents=True)
    sandbox.locations.settings_file.write_text('mode = "hihg"\n[mcpServers.a]\ncommand = "x"\nenv = { T = "s3cret" }\n')
    done = sandbox.command("config", OHW_API_KEY="sk-very-secret")
    assert done.returncode == 1
    assert "did you mean 'high'?" in done.stderr
    assert "s3cret" not in done.stdout
    assert "sk-very" not in done.stdout
    assert "set, not shown  (OHW_API_KEY)" in done.stdout


def test_pasted_key_is_refused_in_the_form_without_being_repeated():
    kind = declared(Settings)["api_key_env"].kind
    with pytest.raises(UsageError, match="the key itself does not belong here") as error:
        kind.parse("api_key_env", "sk-abc-123")
    assert "sk-abc" not in str(error.value)

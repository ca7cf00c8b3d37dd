import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from workbench.config.locations import Locations, private_directory
from workbench.config.settings import load_settings
from workbench.engine.launch import Launch
from workbench.errors import UsageError


def places(home: Path, **env: str) -> Locations:
    return Locations.from_environment({"HOME": str(home), **env})


def written(home: Path, text: str) -> Locations:
    where = places(home)
    where.config.mkdir(parents=True)
    where.settings_file.write_text(text, encoding="utf-8")
    return where


def test_directories_follow_xdg_and_ignore_relative_paths(tmp_path: Path):
    where = places(tmp_path, XDG_DATA_HOME="/somewhere/data", XDG_CONFIG_HOME="relative")
    assert where.sessions == Path("/somewhere/data/ohw/sessions")
    assert where.config == tmp_path / ".config/ohw"


def test_long_runtime_directory_is_not_used_because_of_socket_names(tmp_path: Path):
    assert places(tmp_path, XDG_RUNTIME_DIR="/run/user/7").runtime == Path("/run/user/7/ohw")
    assert len(str(places(tmp_path, XDG_RUNTIME_DIR="/" + "x" * 90).runtime)) < 80


def test_private_runtime_directory_is_the_fallback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.config.locations._SYSTEMD", str(tmp_path / "missing" / "{}"))
    runtime = places(tmp_path).runtime
    assert runtime.name == f"ohw-{os.getuid()}"
    assert runtime.parent in (Path(tempfile.gettempdir()), Path("/tmp"))


def test_runtime_directory_of_systemd_is_found_without_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A login over ssh may not set it, and `ohw attach` has to find the sockets of the desktop's sessions."""
    monkeypatch.setattr("workbench.config.locations._SYSTEMD", "/tmp/{}-ohw-test")
    directory = Path(f"/tmp/{os.getuid()}-ohw-test")
    directory.mkdir(exist_ok=True)
    try:
        assert places(tmp_path).runtime == directory / "ohw"
    finally:
        directory.rmdir()


def test_settings_are_utf8_in_every_locale(tmp_path: Path):
    written(tmp_path, 'theme = "sch\u00f6n"\n')
    code = (
        "from workbench.config.locations import *; from workbench.config.settings import *; "
        "print(ascii(load_settings(Locations.from_environment()).theme))"
    )
    env = {"HOME": str(tmp_path), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (ascii("sch\u00f6n"), "")


def test_flags_override_the_environment_which_overrides_the_file(tmp_path: Path):
    where = written(tmp_path, 'model = "a/file"\nmode = "ask"\nmax_steps = 3\n')
    env = {"OHW_MODEL": "b/environment", "OHW_MODE": "high"}
    settings = load_settings(where, env, model="c/flag", mode=None)
    assert (settings.model, settings.mode, settings.max_steps) == ("c/flag", "high", 3)
    assert settings.from_flags == ("model",)


def test_limits_and_switches_are_parsed_from_text(tmp_path: Path):
    env = {
        "OHW_TOKEN_LIMIT": "5000",
        "OHW_MAX_OBSERVE": "900",
        "OHW_TOOL_CHOICE": "required",
        "OHW_STOP_LOOPS": "False",
        "OHW_MAX_COST": "0.5",
    }
    settings = load_settings(places(tmp_path), env)
    assert (settings.token_limit, settings.max_observe, settings.max_cost) == (5000, 900, 0.5)
    assert (settings.tool_choice, settings.stop_loops) == ("required", False)
    assert load_settings(places(tmp_path), {}).stop_loops is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle = 1", "no setting 'modle'"),
        ("model = 1", "must be text"),
        ('api_base = "localhost:8000"', "api_base must be a URL such as http://"),
        ('api_base = "http:///v1"', "api_base must be a URL"),
        ('mode = "wild"', "mode must be one of plan, ask, medium, edits, high, never, not 'wild'"),
        ("max_steps = 0", "whole number"),
        ("max_steps = true", "whole number"),
        ("max_observe = -1", "max_observe must be a whole number from 0"),
        ("token_limit = -1", "token_limit must be a whole number from 0"),
        ("token_limit = 1.5", "token_limit must be a whole number"),
        ("max_cost = -1", "max_cost must be an amount of dollars"),
        ("max_cost = true", "max_cost must be an amount of dollars"),
        ("max_cost = nan", "max_cost must be an amount of dollars"),
        ('tool_choice = "any"', "tool_choice must be one of none, auto, required, not 'any'"),
        (
            'mode = "hihg"',
            "mode must be one of plan, ask, medium, edits, high, never, not 'hihg'; did you mean 'high'?",
        ),
        ('tool_choice = "requird"', "must be one of none, auto, required, not 'requird'; did you mean 'required'?"),
        ('calls = "nativ"', "must be one of auto, native, text, not 'nativ'; did you mean 'native'?"),
        ("[tools]\nset = 'pln'", "must be one of code, plan, not 'pln'; did you mean 'plan'?"),
        ("[models.a]\nmodel = 'x/y'\nreasoning_effort = 'hgih'", "not 'hgih'; did you mean 'high'?"),
        ("[models.a]\nmodle = 'x/y'", "price, reasoning_effort, temperature; did you mean 'model'?"),
        ("stop_loops = 3", "stop_loops must be true or false"),
        ("keys = 3", "table"),
        ("from_flags = ['model']", "no setting 'from_flags'"),
        ("model = ", "settings.toml:1: this is not a value"),
        ("trusted = '/a'", "trusted must be a list of directories"),
        ("trusted = [3]", "trusted must be a list of directories"),
        ("tools = 3", "tools must be a table"),
        ("[tools]\nset = 'all'", "tools.set must be one of code, plan, not 'all'"),
        ("[tools]\nbash = 'off'", "tools.bash must be true, false or a table of parameters, not 'off'"),
        (
            "[tools]\nfilter_tools_regex = '(a'",
            "tools.filter_tools_regex must be a regular expression, not '(a': missing )",
        ),
        ("[tools]\nfilter_tools_regex = true", "tools.filter_tools_regex must be text in one line"),
        ("[agents.a]\nfilter_tools_regex = '*'", "agents.a.filter_tools_regex must be a regular expression, not '*'"),
        ("[tools]\nbash = 0", "tools.bash must be true, false"),
        ("[tools.bash]\nsince = 2026-11-21", "tools.bash.since must not contain a date"),
        ("[tools.bash.a]\nb = [2026-11-21]", "tools.bash.a.b must not contain a date"),
    ],
)
def test_error_in_the_settings_file_is_explained(tmp_path: Path, text: str, message: str):
    with pytest.raises(UsageError, match=re.escape(message)) as error:
        load_settings(written(tmp_path, text), {})
    assert "\n" not in str(error.value)
    if "tools" in text or "trusted" in text:
        assert str(error.value).startswith(f"{tmp_path}/.config/ohw/settings.toml:")


def test_tools_and_trusted_directories_come_from_the_file_and_reach_the_engine(tmp_path: Path):
    text = (
        'trusted = ["/a", "~/b"]\n[tools]\nset = "plan"\nthink = false\n[tools.execute_bash]\nno_change_timeout = 60\n'
    )
    where = written(tmp_path, text)
    settings = load_settings(where, {"OHW_TOOLS": "x", "OHW_TRUSTED": "/c"})
    assert settings.trusted == ("/a", "~/b")
    assert settings.tools == {"set": "plan", "think": False, "execute_bash": {"no_change_timeout": 60}}
    assert Launch.from_json(Launch(where, settings, "s").to_json()).settings == settings


def test_key_is_not_shown_in_the_settings(tmp_path: Path):
    assert "sk-secret" not in repr(load_settings(places(tmp_path), {"OHW_API_KEY": "sk-secret"}))


def test_private_directories_have_mode_0700(tmp_path: Path):
    directory = tmp_path / "a"
    directory.mkdir(mode=0o755)
    assert private_directory(directory).stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(directory)
    with pytest.raises(UsageError):
        private_directory(tmp_path / "link")


def test_invalid_entries_are_reported_with_their_line_and_others_apply(tmp_path: Path):
    text = (
        'model = "scripted/demo"\nmodee = "ask"\nmax_steps = 0\n\n[tools]\nthink = false\nglob = "off"\n\n'
        '[models.fast]\nmodel = "openai/small"\n\n[models.odd]\nmodell = "x"\n'
    )
    where = written(tmp_path, text)
    settings = load_settings(where, {}, lenient=True)
    assert (settings.model, settings.max_steps, settings.mode) == ("scripted/demo", 100, "medium")
    assert settings.tools == {"think": False}
    assert list(settings.models) == ["fast"]
    begins = [line.removeprefix(f"{where.settings_file}:") for line in settings.problems]
    assert begins[0] == "2: there is no setting 'modee'; did you mean 'mode'?"
    assert begins[1].startswith("3: max_steps must be a whole number")
    assert begins[2].startswith("7: tools.glob must be")
    assert begins[3].startswith("12: models.odd has no entry 'modell'")
    with pytest.raises(UsageError, match="did you mean 'mode'"):
        load_settings(where, {})

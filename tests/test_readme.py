import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.readme_pictures import DIRECTORY, PICTURES, readme_with_pictures
from workbench.cli import main as cli
from workbench.config.locations import Locations
from workbench.config.settings import load_settings
from workbench.tools import BUILTIN_TOOLS, ToolContext
from workbench.tools.selection import select_tools
from workbench.tui.app import WorkbenchApp
from workbench.tui.keys import all_bindings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str = "") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_readme_example_runs_tools_from_plain_python(tmp_path):
    _, example = blocks("python")
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("42\n", "", 0)


def test_agent_in_the_readme_runs_in_15_lines(local_sandbox):
    example, _ = blocks("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 15
    script = [Turn(calls=[Called("weather", {"city": "Rome", "days": 2})]), Turn(text="Two days of sun.")]
    with ModelServer(script) as server:
        code = example.replace("http://localhost:8000/v1", server.base_url)
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=local_sandbox.project, env=local_sandbox.env, timeout=60
        )
    assert (done.stdout, done.stderr, done.returncode) == ("Two days of sun.\n", "", 0)
    assert "Rome: sun for 2 days" in str(server.requests[1].body)


def test_settings_in_the_readme_are_valid(tmp_path, monkeypatch):
    (example,) = blocks("toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    places = Locations.from_environment()
    places.settings_file.parent.mkdir()
    places.settings_file.write_text(re.sub("^# ", "", example, flags=re.MULTILINE))
    settings = load_settings(places, {})
    assert settings.model == "anthropic/claude-sonnet-4-5"
    assert settings.trusted == ("/home/me/project",)
    selection = select_tools(settings, places.settings_file, ToolContext(str(tmp_path)))
    selection.close()
    assert tuple(selection.tools) == BUILTIN_TOOLS
    assert selection.notices == ()


def test_commands_and_options_in_the_readme_exist(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    output = capsys.readouterr().out
    assert set(re.findall(r"^(ohw \w+)  ", README, re.MULTILINE)) <= set(re.findall(r"ohw \w+", output))
    assert set(re.findall(r"`(--[a-z-]+)", README)) <= set(re.findall(r"--[a-z-]+", output)) | {"--json"}


def test_settings_guide_names_every_key_binding_of_the_main_screen():
    guide = (ROOT / "workbench/guide/settings.md").read_text()
    (names,) = re.findall(r"main screen are `([^`]+)`", guide)
    assert WorkbenchApp.BINDINGS  # loaded, so that its own names are known
    assert sorted(names.split()) == sorted({each.id for each in all_bindings() if each.id and "." not in each.id})


def test_readme_pictures_are_todays_golden_ones_and_request_no_other_site():
    assert readme_with_pictures(README) == README, "run python -m tests.readme_pictures"
    for picture in PICTURES:
        for theme in ("dark", "light"):
            drawn = picture.drawn(theme)
            assert (ROOT / picture.file(theme)).read_text() == drawn, "run python -m tests.readme_pictures"
            assert "@font-face" not in drawn
            assert "url(http" not in drawn
    assert {path.name for path in (ROOT / DIRECTORY).iterdir()} == {
        picture.file(theme).name for picture in PICTURES for theme in ("dark", "light")
    }


def test_pictures_and_directories_in_the_readme_exist():
    for path in re.findall(r"\]\(([^):]+)\)", README):
        assert (ROOT / path).is_file(), path

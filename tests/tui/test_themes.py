from pathlib import Path

import pytest
from textual.color import Color

from tests.tui.fake_link import FakeLink
from tests.tui.trial import wait_until, workbench_app
from workbench.tui.themes import load_themes, read_theme, shipped_folder, variable_defaults

SHIPPED = {path.stem: path for path in shipped_folder().glob("*.toml")}
TEXTS = ["foreground", "primary", "secondary", "accent", "error", "success", "warning"]
OWN_TEXTS = [name for name in variable_defaults(True) if not name.startswith("diff-")] + ["diff-gutter"]


def colours(name: str) -> dict[str, str]:
    theme = read_theme(SHIPPED[name])
    return {**variable_defaults(theme.dark), **theme.to_color_system().generate()}


def luminance(colour: str) -> float:
    parts = [part / 255 for part in Color.parse(colour).rgb]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(text: str, ground: str) -> float:
    lighter, darker = sorted((luminance(text), luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_dark_light_and_high_contrast_are_there():
    assert {"ohw-dark", "ohw-light", "ohw-contrast"} <= set(SHIPPED)
    assert load_themes(shipped_folder()).problems == ()


@pytest.mark.parametrize("name", sorted(SHIPPED))
@pytest.mark.parametrize("ground", ["background", "surface", "panel"])
def test_every_text_colour_can_be_read_on_every_ground(name, ground):
    found = colours(name)
    weak = {text: ratio(found[text], found[ground]) for text in [*TEXTS, *OWN_TEXTS]}
    assert {text: value for text, value in weak.items() if value < 4.5} == {}


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_text_can_be_read_on_the_colours_of_a_diff(name):
    found = colours(name)
    grounds = ["diff-added", "diff-removed", "diff-added-word", "diff-removed-word"]
    weak = {ground: ratio(found["foreground"], found[ground]) for ground in grounds}
    assert {ground: value for ground, value in weak.items() if value < 4.5} == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name = "x"\nprimary = "no colour"', "no colour"),
        ('primary = "#ffffff"', "name"),
        ('name = "x"\nprimary = "#fff"\nglow = 1', "glow"),
        ('name = "x"\nprimary = "#fff"\n[variables]\ndim = "grey-ish"', "grey-ish"),
        ('name = "x"\nprimary = 3', "int"),
        ("name = ", "Invalid"),
    ],
)
def test_a_bad_theme_is_reported_and_left_out(tmp_path, text, says):
    (tmp_path / "bad.toml").write_text(text)
    (tmp_path / "good.toml").write_text('name = "good"\nprimary = "#336699"')
    themes = load_themes(tmp_path)
    assert [theme.name for theme in themes.usable] == ["good"]
    assert len(themes.problems) == 1
    assert "bad.toml" in themes.problems[0]
    assert says in themes.problems[0]


def test_a_folder_that_is_not_there_is_no_problem():
    assert load_themes(Path("/nowhere/at/all")).problems == ()


@pytest.mark.parametrize("theme", [*sorted(SHIPPED), "nord", "mine"])
async def test_each_theme_can_be_shown(theme, tmp_path):
    (tmp_path / "mine.toml").write_text('name = "mine"\nprimary = "#336699"\ndark = false')
    app = workbench_app(FakeLink(), set={"theme": theme}, themes=tmp_path)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.theme == theme)
        assert app.get_css_variables()["risk-high"]


async def test_an_unknown_theme_is_reported_and_the_usual_one_shown():
    app = workbench_app(FakeLink(), set={"theme": "nosuch"})
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app._notifications)
        assert app.theme == "ohw-dark"
        assert any("nosuch" in notice.message for notice in app._notifications)

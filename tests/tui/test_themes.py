from pathlib import Path

import pytest
from textual.color import Color

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from workbench.tui.theme_manager import no_such_theme
from workbench.tui.themes import builtin_directory, load_themes, read_theme, variable_defaults

SHIPPED = {path.stem: path for path in builtin_directory().glob("*.toml")}
TEXTS = ["foreground", "primary", "secondary", "accent", "error", "success", "warning"]
OWN_TEXTS = [name for name in variable_defaults(True) if not name.startswith("diff-")] + ["diff-gutter"]


def colours(name: str) -> dict[str, str]:
    theme = read_theme(SHIPPED[name])
    return {**variable_defaults(theme.dark), **theme.to_color_system().generate(), **theme.variables}


def luminance(colour: str) -> float:
    parts = [part / 255 for part in Color.parse(colour).rgb]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(text: str, ground: str) -> float:
    lighter, darker = sorted((luminance(text), luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_six_builtin_themes_exist():
    assert {"ohw-dark", "ohw-light", "ohw-contrast", "ohw-colour-blind", "ohw-amber", "ohw-dusk"} == set(SHIPPED)
    assert load_themes(builtin_directory()).problems == ()


@pytest.mark.parametrize("name", sorted(SHIPPED))
@pytest.mark.parametrize("ground", ["background", "surface", "panel"])
def test_every_text_color_is_readable_on_every_background(name, ground):
    palette = colours(name)
    weak = {text: ratio(palette[text], palette[ground]) for text in [*TEXTS, *OWN_TEXTS]}
    assert {text: value for text, value in weak.items() if value < 4.5} == {}


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_text_is_readable_on_the_colors_of_a_diff(name):
    palette = colours(name)
    grounds = ["diff-added", "diff-removed", "diff-added-word", "diff-removed-word"]
    weak = {ground: ratio(palette["foreground"], palette[ground]) for ground in grounds}
    assert {ground: value for ground, value in weak.items() if value < 4.5} == {}


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_selected_and_marked_text_is_readable_and_symbols_stand_out(name):
    palette = colours(name)
    pairs = [
        ("block-cursor-foreground", "block-cursor-background", 4.5),
        ("primary", "block-cursor-background", 3.0),
        ("foreground", "input-selection-background", 4.5),
        ("input-cursor-foreground", "input-cursor-background", 4.5),
        ("dim", "diff-added", 3.0),
        ("dim", "diff-removed", 3.0),
        ("border", "background", 3.0),
        ("border", "surface", 3.0),
        ("input-cursor-background", "background", 3.0),
        ("scrollbar-active", "scrollbar-background", 3.0),
    ]
    weak = {(one, other): ratio(palette[one], palette[other]) for one, other, least in pairs}
    assert {(one, other) for one, other, least in pairs if weak[one, other] < least} == set()


KINDS_OF_SIGHT = {
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}


def seen_by(sight: str, colour: str) -> list[float]:
    rgb = [(part / 255) ** 2.2 for part in Color.parse(colour).rgb]
    seen = [sum(row[at] * rgb[at] for at in range(3)) for row in KINDS_OF_SIGHT[sight]]
    return [255 * min(1.0, max(0.0, part)) ** (1 / 2.2) for part in seen]


@pytest.mark.parametrize("sight", KINDS_OF_SIGHT)
@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        ("risk-low", "risk-medium", 60),
        ("risk-medium", "risk-high", 45),
        ("risk-low", "risk-high", 60),
        ("sign-ok", "sign-failed", 60),
        ("diff-added", "diff-removed", 20),
        ("diff-added-word", "diff-removed-word", 35),
    ],
)
def test_no_kind_of_color_blindness_makes_two_meanings_look_the_same(sight, one, other, least):
    palette = colours("ohw-colour-blind")
    apart = [abs(a - b) for a, b in zip(seen_by(sight, palette[one]), seen_by(sight, palette[other]), strict=True)]
    assert max(apart) >= least


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name = "x"\n# of one colour\nprimary = "no colour"', "bad.toml:3: primary = 'no colour' is not a color"),
        ('primary = "#ffffff"', "needs a name"),
        ('name = "x"', "primary"),
        ('name = "x"\nprimary = "#fff"\nglow = 1', "bad.toml:3: there is no 'glow'"),
        ('name = "x"\nprimary = "#fff"\nsurfaces = "#000"', "did you mean 'surface'?"),
        ('name = "x"\nprimary = "#fff"\n[variables]\ndim = "grey-ish"', "bad.toml:4: dim = 'grey-ish' is not a color"),
        (
            'name = "x"\nprimary = "#fff"\n[variables]\nrisk-hight = "#f00"',
            "bad.toml:4: there is no variable 'risk-hight'",
        ),
        ('name = "x"\nprimary = "#fff"\n[variables]\nrisk-hight = "#f00"', "did you mean 'risk-high'?"),
        ('name = "x"\nprimary = "#fff"\nvariables = 3', "bad.toml:3: variables is a table"),
        ('name = "x"\nprimary = "#fff"\ndark = "yes"', "bad.toml:3: dark is true or false"),
        ('name = "x"\nprimary = 3', "bad.toml:2: primary = 3 is not a color"),
        ('name = "x"\nprimary = "#fff"\nerror = "red"\nglow = 1\nshine = 2', "bad.toml:5: there is no 'shine'"),
        ('name = "x"\nprimry = "#fff"', "bad.toml:2: there is no 'primry' in a theme; did you mean 'primary'?; "),
        ('\nnaem = "x"\nprimary = "#fff"', "bad.toml:2: there is no 'naem' in a theme; did you mean 'name'?; "),
        ('name = 3\nprimary = "#fff"', "bad.toml:1: a theme needs a name"),
        ('name = "x"\nprimary = = 3', "bad.toml:2: this is not a value"),
        ("name = ", "bad.toml:1: this is not a value"),
    ],
)
def test_invalid_theme_is_reported_and_skipped(tmp_path, text, says):
    (tmp_path / "bad.toml").write_text(text)
    (tmp_path / "good.toml").write_text('name = "good"\nprimary = "#336699"')
    themes = load_themes(tmp_path)
    assert [theme.name for theme in themes.usable] == ["good"]
    assert says in "\n".join(themes.problems)
    assert all(mistake.startswith(f"{tmp_path / 'bad.toml'}:") for mistake in themes.problems)
    assert themes.problems[-1].endswith("; theme skipped until fixed")


def test_missing_theme_directory_is_no_problem():
    assert load_themes(Path("/nowhere/at/all")).problems == ()


@pytest.mark.parametrize("theme", [*sorted(SHIPPED), "nord", "mine"])
async def test_each_theme_can_be_shown(theme, tmp_path):
    (tmp_path / "mine.toml").write_text('name = "mine"\nprimary = "#336699"\ndark = false')
    app = workbench_app(FakeClient(), set={"theme": theme}, themes=tmp_path)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.theme == theme)
        assert app.get_css_variables()["risk-high"]


async def test_users_theme_is_reloaded_when_its_file_changes(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('name = "mine"\nprimary = "#336699"')
    app = workbench_app(FakeClient(), set={"theme": "mine"}, themes=tmp_path)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.current_theme.primary == "#336699")
        mine.write_text('name = "mine"\nprimary = "#aa5500"')
        await wait_until(pilot, lambda: app.current_theme.primary == "#aa5500")
        mine.write_text('name = "mine"\nprimary = "#a5500g"')
        await wait_until(pilot, lambda: any("mine.toml:2: " in notice.message for notice in app._notifications))
        assert app.theme == "mine"
        assert app.current_theme.primary == "#aa5500"
        (tmp_path / "new.toml").write_text('name = "new"\nprimary = "#123456"')
        await wait_until(pilot, lambda: "new" in app.available_themes)


async def test_theme_is_previewed_while_choosing_and_kept_with_enter():
    app = workbench_app(FakeClient())
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"/theme", "enter")
        await wait_until(pilot, lambda: app.screen.id == "theme-choice")
        await pilot.press("down")
        await wait_until(pilot, lambda: app.theme == "ohw-dusk")
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen.id != "theme-choice")
        assert app.theme == "ohw-dark"
        await pilot.press(*"/theme", "enter")
        await wait_until(pilot, lambda: app.screen.id == "theme-choice")
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: app.screen.id != "theme-choice" and app.theme == "ohw-dusk")


async def test_theme_can_be_chosen_by_name_and_an_unknown_one_is_reported():
    app = workbench_app(FakeClient())
    async with app.run_test() as pilot:
        await pilot.press(*"/theme", "space", *"nord", "enter")
        await wait_until(pilot, lambda: app.theme == "nord")
        await pilot.press(*"/theme", "space", *"zzz", "enter")
        await wait_until(pilot, lambda: any("zzz" in notice.message for notice in app._notifications))
        assert app.theme == "nord"


async def test_unknown_theme_is_reported_and_the_default_shown():
    app = workbench_app(FakeClient(), set={"theme": "nosuch"})
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app._notifications)
        assert app.theme == "ohw-dark"
        assert any("nosuch" in notice.message for notice in app._notifications)


def test_unknown_theme_set_in_the_file_is_reported_with_its_line(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('mode = "ask"\ntheme = "ohw-drak"\n')
    message = "there is no theme ohw-drak; did you mean 'ohw-dark'?; using ohw-dark"
    assert no_such_theme("ohw-drak", SHIPPED, file) == f"{file}:2: {message}"
    file.write_text('theme = "ohw-dusk"\n')
    assert no_such_theme("ohw-drak", SHIPPED, file) == message
    assert no_such_theme("ohw-drak", SHIPPED, tmp_path / "none") == message

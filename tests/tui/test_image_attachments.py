"""Images by mention or pasted path: a chip with the size above the prompt, and one in the conversation."""

import pytest
from msgspec.structs import replace
from textual import events as keys

from tests.sample_images import png
from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.client.client import CommandRefused
from workbench.session.mentions import message
from workbench.tui.widgets.composer import Attachments
from workbench.tui.widgets.prompt import Prompt
from workbench.view.prompt.attachments import images_named, pasted_images
from workbench.view.reducer import apply


@pytest.fixture
def directory(tmp_path):
    place = tmp_path / "project"
    place.mkdir()
    (place / "shot.png").write_bytes(png(640, 480))
    (place / "my photo.png").write_bytes(png())
    (tmp_path / "beside.png").write_bytes(png())
    (place / "fake.png").write_text("words")
    (place / "large.png").write_bytes(png(extra=b"\0" * 4_000_000))
    (place / "a.py").touch()
    return place


def test_pasted_image_paths_become_mentions_and_nothing_else_does(directory):
    beside = directory.parent / "beside.png"
    for pasted, written in [
        (f"{directory}/shot.png", "@shot.png "),
        (f"'{directory}/my photo.png' ", '@"my photo.png" '),
        (f"{directory}/my\\ photo.png\n{beside}", f'@"my photo.png" @{beside} '),
        (f"{directory}/my photo.png", '@"my photo.png" '),
        (f"file://{directory}/my%20photo.png\r\n", '@"my photo.png" '),
        ("shot.png", "@shot.png "),
        ("missing.png", ""),
        ("see shot.png", ""),
        ("a.py", ""),
        ("x = 'shot.png", ""),
        ("", ""),
    ]:
        assert pasted_images(pasted, directory) == written, pasted


def test_image_mentions_end_before_punctuation():
    text = 'See @shot.png, @"my photo.PNG" and @a.py. (@deep/x.webp) @shot.png!'
    assert images_named(text) == ["shot.png", "my photo.PNG", "deep/x.webp"]


async def test_chips_show_attached_images_and_refused_ones(directory):
    client = FakeClient()
    app = workbench_app(client, directory=directory)
    async with app.run_test(size=(120, 40)) as pilot:
        chips, prompt = app.screen.query_one(Attachments), app.screen.query_one(Prompt)
        prompt.post_message(keys.Paste(str(directory.parent / "beside.png")))
        await wait_until(pilot, lambda: chips.images)
        assert prompt.text == f"@{directory.parent}/beside.png "
        await pilot.press(*"@shot.png", "escape", "space", *"@large.png", "escape", "space", *"@fake.png", "escape")
        await wait_until(pilot, lambda: len(chips.images) == 4)
        assert [image.words for image in chips.images] == [
            "beside.png 4×3 · 1 kB",
            "shot.png 640×480 · 1 kB",
            "large.png 4×3 · 4.0 MB, too large: at most 3.5 MB",
            "fake.png contains no image; it is only named",
        ]
        assert [image.is_refused for image in chips.images] == [False, False, True, True]
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands and not chips.display)
        (sent,) = client.commands
        assert sent[2] == (f"{directory.parent}/beside.png", "shot.png", "large.png", "fake.png")
        client.bring(CommandRefused("m takes no images; choose another model, or omit shot.png"))
        await wait_until(pilot, lambda: prompt.text == sent[1] and len(chips.images) == 4)
        prompt.load_text("as in")
        prompt.move_cursor(prompt.document.end)
        prompt.post_message(keys.Paste("shot.png"))
        await wait_until(pilot, lambda: prompt.text == "as in @shot.png " and len(chips.images) == 1)


def test_conversation_keeps_the_chip_and_not_the_image(directory):
    script = Script().start()
    state = script.state()
    content = message(str(directory), "look at @shot.png", ["shot.png"])
    apply(state, replace(content, seq=2))
    (item,) = state.items
    assert item.images == ("shot.png 640×480 · 1 kB",)
    assert len(repr(item)) < 500

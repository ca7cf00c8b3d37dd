"""What an editor puts into a prompt: images, embedded files and links arrive in the message as `ohw` has them."""

from __future__ import annotations

import base64

import acp
import pytest

from tests.acp.editor import editor
from tests.acp.test_prompts import log
from tests.sample_images import png
from tests.sandbox import Sandbox, finish
from workbench.protocol.events import FileText, UserMessage


async def sent(sandbox: Sandbox, *blocks) -> UserMessage:
    """Send a prompt with these blocks and return the message in the log."""
    async with editor(sandbox, "--model", sandbox.script(finish())) as ide:
        assert await ide.prompt(await ide.new(sandbox), *blocks) == "end_turn"
    (message,) = [each for each in log(sandbox) if isinstance(each, UserMessage)]
    return message


async def test_image_goes_with_the_message(sandbox: Sandbox):
    data = base64.b64encode(png(4, 4)).decode()
    message = await sent(sandbox, "what is this?", acp.image_block(data, "image/png"))
    assert message.text == "what is this?"
    assert message.images == (f"data:image/png;base64,{data}",)


async def test_embedded_file_is_sent_as_the_editor_has_it(sandbox: Sandbox):
    (sandbox.project / "a.txt").write_text("saved")
    uri = (sandbox.project / "a.txt").as_uri()
    resource = acp.resource_block(acp.embedded_text_resource(uri, "not saved yet"))
    message = await sent(sandbox, "look at ", resource)
    expected = "look at a.txt\n\n[The user mentions a.txt. It contained this then:]\nnot saved yet\n[end of a.txt]"
    assert message.text == expected
    assert message.attached == ()


async def test_link_to_a_file_of_the_workspace_mentions_it(sandbox: Sandbox):
    (sandbox.project / "my notes.txt").write_text("saved")
    (sandbox.home / "other.txt").write_text("not in the workspace")
    message = await sent(
        sandbox,
        "compare ",
        acp.resource_link_block("notes", (sandbox.project / "my notes.txt").as_uri()),
        " with ",
        acp.resource_link_block("other", (sandbox.home / "other.txt").as_uri()),
    )
    assert message.text == f'compare @"my notes.txt" with other ({(sandbox.home / "other.txt").as_uri()})'
    assert message.attached == (FileText(path="my notes.txt", text="saved"),)


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (acp.text_block("  "), "the prompt is empty"),
        (acp.image_block("?", "image/png"), "not valid base64"),
        (acp.image_block(base64.b64encode(b"<svg/>").decode(), "image/png"), "none of PNG, JPEG, GIF and WebP"),
        (acp.audio_block("AAAA", "audio/wav"), "audio cannot be sent"),
        (acp.resource_block(acp.embedded_blob_resource("file:///x.bin", "AAAA")), "neither text nor an image"),
    ],
)
async def test_content_that_cannot_be_sent_is_an_error_and_sends_nothing(sandbox: Sandbox, block, reason: str):
    async with editor(sandbox, "--model", sandbox.script(finish())) as ide:
        session = await ide.new(sandbox)
        with pytest.raises(acp.RequestError, match=reason):
            await ide.prompt(session, block)
        assert await ide.prompt(session, "go") == "end_turn"

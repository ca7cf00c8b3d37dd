"""Images are sent to models that accept them; for others this is reported and the run continues without them."""

import contextlib

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Fault, Turn
from tests.fakes.request_checks import openai_faults
from tests.llm.conftest import KEY, Caller
from tests.session.fake_agent import Harness, LookAction
from workbench.agent.agent import Agent
from workbench.llm.call import has_pictures, is_blind
from workbench.llm.client import ProviderModel
from workbench.llm.model import ModelError, ModelRequest
from workbench.llm.retry import Patience
from workbench.llm.route import Tuning
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import ImageContent, Observation, TextContent
from workbench.tools.tool import ToolAnnotations, ToolDefinition

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
LOOK = ModelRequest([{"role": "user", "content": [{"type": "text", "text": "what is this?"}, PICTURE]}])


class Camera(ToolExecutor[LookAction, Observation]):
    def __call__(self, action: LookAction) -> Observation:
        return Observation(content=[TextContent(text="taken"), ImageContent(data="QUJD", mime_type="image/png")])


@contextlib.contextmanager
def asking(*script, **known):
    patience = Patience(idle=20, tries=2, first_wait=0.01)
    with ModelServer(script) as server:
        tuning = Tuning(overrides=known)
        model = ProviderModel("openai/x", api_base=server.base_url, api_key=KEY, patience=patience, tuning=tuning)
        with contextlib.closing(model):
            yield Caller(server, model)


def test_model_that_may_have_vision_gets_the_image():
    with asking(Turn("a cat")) as caller:
        caller.model.respond(LOOK, caller.deltas.append, caller.cancel)
    (request,) = caller.server.requests
    assert request.messages == LOOK.messages
    assert caller.streamed("status") == ""


def test_model_without_vision_gets_a_note_in_place_of_the_image():
    with asking(Turn("I cannot see it"), mode="chat") as caller:
        caller.model.respond(LOOK, caller.deltas.append, caller.cancel)
    (request,) = caller.server.requests
    assert not has_pictures(request.messages)
    assert request.messages[0]["content"].startswith("what is this?\n[An image was here.")
    assert "openai/x takes no images; they are not sent" in caller.streamed("status")
    assert has_pictures(LOOK.messages), "the history keeps it"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, "Invalid content type. image_url is only supported by certain models."),
        Fault(404, "No endpoints found that support image input"),
        Fault(400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"),
        Fault(422, "messages[0].content must be a string"),
    ],
)
def test_refused_image_is_left_out_once_and_that_is_reported(fault):
    with asking(fault, Turn("without it, then")) as caller:
        response = caller.model.respond(LOOK, caller.deltas.append, caller.cancel)
    assert response.text == "without it, then"
    assert [has_pictures(request.messages) for request in caller.server.requests] == [True, False]
    assert f"rejected the images, so they are omitted: {fault.message}" in caller.streamed("status")


def test_refusal_of_a_request_without_images_is_an_ordinary_error():
    with asking(Fault(400, "no image was given")) as caller, pytest.raises(ModelError, match="no image was given"):
        caller.ask()
    assert len(caller.server.requests) == 1


def test_image_from_a_tool_follows_its_result(tmp_path):
    with asking(
        Turn(calls=(Called("camera", {}),)), Turn("a cat"), Fault(400, "no image please"), Turn("ok")
    ) as caller:
        d = Harness(tmp_path)
        reads = ToolAnnotations(readOnlyHint=True)
        d.tools["camera"] = ToolDefinition(
            name="camera", description="c", action_type=LookAction, executor=Camera(), annotations=reads
        )
        d.agent = Agent(caller.model, d.tools, tmp_path)
        d.reopen()
        for text in ("look", "and again?"):
            d.session.send(text)
            d.run()
        d.close()
    _, seen, refused, blind = (request.messages for request in caller.server.requests)
    assert [message["role"] for message in seen[-2:]] == ["tool", "user"]
    assert seen[-1]["content"][1] == PICTURE
    assert has_pictures(refused)
    assert not has_pictures(blind)
    assert "An image was here" in str(blind)
    assert [openai_faults(request.messages) for request in caller.server.requests] == [[]] * 4


def test_only_listed_chat_models_can_lack_vision():
    assert is_blind({"mode": "chat"})
    assert not is_blind({"mode": "chat", "supports_vision": True})
    assert not is_blind({"max_input_tokens": 5})
    assert not is_blind(None)

"""Reasoning signed by its provider is sent back to it with the calls it led to, and to nobody else."""

import pytest

from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.request_checks import anthropic_faults
from tests.llm.conftest import KEY
from tests.session.fake_agent import Harness
from workbench.agent.agent import Agent
from workbench.llm.client import ProviderModel
from workbench.llm.litellm_setup import load_litellm
from workbench.llm.model import ToolCall
from workbench.llm.retry import Patience
from workbench.llm.signatures import ThinkingBlocks, bare_id, unsigned
from workbench.llm.stream import Joiner
from workbench.protocol.events import ActionObserved, ActionProposed, ModelResponded, RawToolCall, UserMessage
from workbench.session.turn.message_history import messages


@pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated
def test_thinking_is_sent_back_before_the_call_it_led_to(tmp_path):
    with AnthropicServer(thinks="first") as server:
        model = ProviderModel("anthropic/claude-x", api_base=server.base_url, api_key=KEY, patience=Patience(tries=1))
        d = Harness(tmp_path, max_steps=2)
        d.agent = Agent(model, d.tools, tmp_path)
        d.reopen()
        d.session.send("go")
        d.run()
        d.close()
        model.close()
    first, second = server.requests
    assert anthropic_faults(first.messages) == anthropic_faults(second.messages) == []
    blocks = second.messages[1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert (blocks[0]["thinking"], blocks[0]["signature"]) == ("Let me see.", "signed-1")
    assert blocks[1]["data"] == "secret-2"


def test_thinking_without_a_signature_is_dropped():
    blocks = ThinkingBlocks()
    for pieces in ([{"type": "thinking", "thinking": "a"}], None, "odd", [7], [{"type": "else"}]):
        blocks.add(pieces)
    assert blocks.whole == ()
    blocks.add([{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "thinking", "thinking": "b"}])
    assert blocks.whole == ({"type": "thinking", "thinking": "a", "signature": "s"},)


def test_signature_hidden_in_an_id_is_removed():
    joiner = Joiner()
    piece = {"index": 0, "id": "call_1__thought__c2ln", "function": {"name": "look", "arguments": "{}"}}
    joiner.add({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
    assert joiner.calls == (ToolCall("call_1", "look", "{}", "c2ln"),)
    assert bare_id("call_1") == "call_1"


def test_messages_without_a_signature_are_unchanged():
    plain = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "ok"}]
    assert all(sent is given for sent, given in zip(unsigned(plain), plain, strict=True))


def test_gemini_gets_the_signature_back_with_its_call():
    load_litellm()
    from litellm.llms.vertex_ai.gemini.transformation import gemini_convert_messages_with_history as as_gemini

    signed = ModelResponded(
        response_id="r", model="g", tool_calls=(RawToolCall(id="c", name="look", arguments="{}", signature="c2ln"),)
    )
    proposed = ActionProposed(action_id="c", response_id="r", call_id="c", tool="look")
    result = ActionObserved(action_id="c", observation={"content": [{"type": "text", "text": "seen"}]})
    _, called, _ = as_gemini(
        messages=messages([UserMessage(text="go"), signed, proposed, result]), model="gemini-3-pro"
    )
    (part,) = called["parts"]
    assert (part["function_call"]["name"], part["thoughtSignature"]) == ("look", "c2ln")

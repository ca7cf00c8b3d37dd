"""API keys in fields for something else."""

import pytest

from workbench.secrets.pasted_keys import split_key

KEYS = {
    "openai": "sk-proj-first-0123456789abcdef",
    "anthropic": "sk-ant-api03-abcdefghijABCDEFGHIJ0123456789",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "groq": "gsk_abcdefghijklmnopqrstuvwxyz0123456789ABCD",
    "xai": "xai-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
    "cerebras": "csk-abcdefghijklmnopqrstuvwxyz0123456789abcd",
    "perplexity": "pplx-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF",
    "hugging-face": "hf_abcdefghijklmnopqrstuvwxyz01234567",
    "random": "Ab3defghijklmnopqrstuvwxyz012345",
    "hex": "0123456789abcdef0123456789abcdef",
}


@pytest.mark.parametrize("provider", KEYS)
def test_key_is_taken_out_of_a_name_or_a_url(provider):
    key = KEYS[provider]
    assert split_key(key) == (key, "")
    assert split_key(f"  {key}\n") == (key, "")
    assert split_key(f"https://api.example.com/v1 {key}") == (key, "https://api.example.com/v1")
    assert split_key(f"https://api.example.com/v1?api_key={key}") == (key, "https://api.example.com/v1")


@pytest.mark.parametrize(
    "text",
    [
        *("", "gpt-5-mini", "claude-sonnet-4-5-20250929", "qwen3-coder:30b", "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8"),
        *("accounts/fireworks/models/llama-v3p1-405b-instruct", "https://api.x.ai/v1", "http://127.0.0.1:8123/v1"),
        *("http://user:hunter2secret@proxy.example/v1", "••••3fA9", "ft:gpt-4o-mini-2024-07-18:acme::9ABCdef0"),
    ],
    ids=lambda text: text[:12],
)
def test_names_and_urls_are_no_keys(text):
    assert split_key(text) == ("", text)

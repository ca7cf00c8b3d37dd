"""What went wrong in a model call, in the one line that tells the person what to do; used by `client` and screens."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from workbench.llm.faults import Fault, Kind, code_words
from workbench.llm.model import ContextOverflow, ModelError
from workbench.text import first_line

_UNNAMED = re.compile(r"\W")


def model_error(fault: Fault, model: str, api_base: str | None) -> ModelError:
    """The error for the person: what happened and what to do."""
    where = shown_address(api_base) or f"the provider of {model}"
    detail = f": {first_line(fault.text, 300)}" if fault.text else ""
    if fault.kind == "context":
        return ContextOverflow(
            f"the conversation is larger than the window of {model}{detail}: choose a model with a larger window, or "
            "begin a new session"
        )
    lines: dict[Kind, str] = {
        "key": _about_key(fault, model, api_base, where),
        "refused": f"nothing answers at {where}: start the server there or correct --api-base",
        "unreachable": f"cannot reach {where}{detail}: check the network and the address",
        "stalled": f"{where} stopped answering: send the message again, or choose another model",
        "lost": f"the connection to {where} broke: send the message again",
        "rate": f"{where} still limits the rate: wait{_for(fault.retry_after)} and send the message again",
        "quota": f"the account at {where} has no credit left{detail}",
        "busy": f"{where} is failing{code_words(fault.status)}{detail}: send the message again later",
        "unknown": f"{where} does not know the model {model}{detail}: check its name{_or_base(api_base)}",
        "alien": f"{where} does not answer like a model: check --api-base (it mostly ends in /v1)",
        "redirected": f"{where} sends the conversation on to another address{detail}: it was not sent there; if you "
        "trust that address, set it as `api_base`",
        "filtered": f"{where} does not take this conversation (content filter){detail}: put the last message in other "
        "words, or choose another model",
        "missing": f"{model} needs a package that is not installed{detail}",
        "provider": f"no provider is known for the model {model!r}: write it as PROVIDER/NAME, for example "
        "openai/gpt-5 or ollama_chat/qwen3; for a compatible server openai/NAME with --api-base",
    }
    return ModelError(lines.get(fault.kind, f"the call to {model} failed{code_words(fault.status)}{detail}"))


def _about_key(fault: Fault, model: str, api_base: str | None, where: str) -> str:
    usual = key_variable(model)
    if fault.status and api_base:
        return (
            f"{where} refused the key{code_words(fault.status)}: name the variable that holds its key with "
            f"`api_key_env` in settings.toml ({usual} goes to the provider's own address only)"
        )
    said = (
        f"{where} refused the key{code_words(fault.status)}: set the right one in"
        if fault.status
        else f"no key for {model}: set"
    )
    return f"{said} {usual}, or name another variable with `api_key_env` in settings.toml"


def key_variable(model: str) -> str:
    """The environment variable that holds the key of the model's provider, as a rule."""
    provider, slash, _ = model.partition("/")
    return f"{_UNNAMED.sub('_', provider).upper()}_API_KEY" if slash else "OPENAI_API_KEY"


def shown_address(api_base: str | None) -> str:
    """The address without a user name or password in it."""
    if not api_base:
        return ""
    try:
        parts = urlsplit(api_base)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return first_line(api_base, 200)
    return first_line(parts._replace(netloc=host, query="", fragment="").geturl(), 200)


def _for(seconds: float | None) -> str:
    return f" {seconds:.0f} s" if seconds else ""


def _or_base(api_base: str | None) -> str:
    return " and --api-base (it mostly ends in /v1)" if api_base else ""

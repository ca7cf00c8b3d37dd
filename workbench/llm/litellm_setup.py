"""Imports litellm quietly and early, for the models that need it, and restricts redirects and retries of its clients.

The import takes seconds of CPU: it is done inside a function and, before a session's first call, in a thread.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import resource
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from workbench.config.settings import NO_MODEL, Profile
from workbench.llm.exchange import limit_body, owned_call, record_response, stay_here, watch_request
from workbench.llm.model import ModelError
from workbench.llm.openai_compatible import OPENING, own_server
from workbench.llm.stream_check import check_body
from workbench.secrets.secret_names import OWN_VARIABLES

_import_lock = threading.Lock()
QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
    "LITELLM_LOG": "CRITICAL",
    # Otherwise it reads .env files of the working directory.
    "LITELLM_MODE": "PRODUCTION",
}
"""Environment variables for the import, so that it makes no requests, reads no .env file and prints nothing."""


def load_litellm() -> Any:
    """Import litellm once and return it, without network access, telemetry or output."""
    with _import_lock:
        return _imported()


def load_for(profile: Profile) -> None:
    """Import the modules that the first call of the profile's model through litellm would import."""
    # A call that comes sooner waits: two threads must not import the same modules at once.
    with _import_lock:
        _imported()
        import httpcore  # noqa: F401

        if profile.model.partition("/")[0] in ("openai", profile.model):
            import openai.resources  # noqa: F401


@cache
def _imported() -> Any:
    for name in QUIET.keys() - os.environ.keys():
        os.environ[name] = OWN_VARIABLES[name] = QUIET[name]
    with _no_collections():
        import litellm

    _watch_clients(litellm)
    _keep_clients_apart()
    _leave_retries_to_us()
    _load_no_unused_parts(litellm)
    litellm.telemetry = False
    # Counts that the provider does not send would be estimated from all messages, at every step; we omit estimates.
    litellm.disable_token_counter = True
    litellm.suppress_debug_info = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    for message in ("Item .* using the `ReadOnly` qualifier", "Pydantic serializer warnings"):
        warnings.filterwarnings("ignore", message=message, category=UserWarning)
    return litellm


_REQUEST_HOOKS = (watch_request,)
_RESPONSE_HOOKS = (stay_here, limit_body, record_response, check_body)


def _watch_clients(litellm: Any) -> None:
    """Add our hooks to every client that the library creates.

    It then follows no redirect to another host, reads no endless body and no broken piece, and its connections are
    closed with the call.
    """
    from litellm.llms.custom_httpx.http_handler import HTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM

    def watched(make: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **more: Any) -> Any:
            client = make(*args, **more)
            if client is not None and stay_here not in client.event_hooks["response"]:
                hooks = client.event_hooks
                client.event_hooks = {
                    "request": [*hooks["request"], *_REQUEST_HOOKS],
                    "response": [*hooks["response"], *_RESPONSE_HOOKS],
                }
                if call := owned_call():
                    call.connections.add(client)
            return client

        return wrapper

    HTTPHandler.create_client = watched(HTTPHandler.create_client)
    BaseOpenAILLM._get_sync_http_client = staticmethod(watched(BaseOpenAILLM._get_sync_http_client))
    watched(lambda: litellm.module_level_client.client)()


def _keep_clients_apart() -> None:
    """Keep the clients that the library caches apart by model, so that closing the connections of one ends no call of
    another.
    """
    from litellm.caching.llm_caching_handler import LLMClientCache

    key_of = LLMClientCache.update_cache_key_with_event_loop

    def own_key(self: Any, key: Any) -> Any:
        call = owned_call()
        return key_of(self, key if call is None else f"{key}-{call.connections.number}")

    LLMClientCache.update_cache_key_with_event_loop = own_key


def _leave_retries_to_us() -> None:
    """Turn off the retries of OpenAI's SDK.

    `drop_params` drops `max_retries` for providers that do not list it (NVIDIA, DeepInfra, SambaNova …). The SDK would
    then wait and retry unseen, where no cancel reaches it.
    """
    from litellm.llms.openai.openai import OpenAIChatCompletion

    make = OpenAIChatCompletion._get_openai_client

    def with_one_try(self: Any, is_async: bool, *args: Any, **more: Any) -> Any:
        return make(self, is_async, *args, **(more if args else {**more, "max_retries": 0}))

    OpenAIChatCompletion._get_openai_client = with_one_try


class _LateEncoding:
    """The tokenizer with which litellm estimates missing token counts; its table of 100,000 tokens is read on first
    use.
    """

    def __getattr__(self, name: str) -> Any:
        from litellm.utils import get_default_encoding

        return getattr(get_default_encoding(), name)


def _load_no_unused_parts(litellm: Any) -> None:
    """Keep the first call from loading parts of the library that it does not use, which takes a tenth of the import.

    Every call gets the tokenizer, though few use it. For IDs of uploaded files, which we never send, it imports the
    types of litellm's own proxy server.
    """
    litellm.main.encoding = _LateEncoding()
    litellm.main.update_messages_with_model_file_ids = lambda messages, **_: messages


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Suspend garbage collection while a million lasting objects are created, and exclude them from it afterwards."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


_NAME = "import-model"
_LEAST_MEMORY = 1_000_000 * 1024
"""Bytes of address space that litellm and a session's threads need; 700,000 kB were sometimes not enough."""


def import_early(profile: Profile) -> threading.Thread | None:
    """Start and return a thread that imports litellm for the profile's model; None if its calls do not need it.

    Calls wait for the import. Raises ModelError if the memory limit is too low: an import that runs out of memory may
    never return.
    """
    needs_none = profile.model in ("", NO_MODEL) or profile.model.startswith("scripted/")
    if needs_none or own_server(profile.model, profile.api_base):
        return None
    _check_memory_limit()
    thread = threading.Thread(target=load_for, args=(profile,), name=_NAME, daemon=True)
    thread.start()
    return thread


def _check_memory_limit() -> None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit not in (resource.RLIM_INFINITY, -1) and limit < _LEAST_MEMORY:
        raise ModelError(
            f"the memory limit of {limit // 1024:,} kB is too low for this model: "
            f"set it to {_LEAST_MEMORY // 1024:,} kB at least (ulimit -v), or to unlimited"
        )


def is_importing() -> bool:
    """Return whether the import of litellm, or of httpx for an early connection, may still be running; Python's own
    exit could then wait forever for a lock that it holds.
    """
    return any(thread.name in (_NAME, OPENING) for thread in threading.enumerate())

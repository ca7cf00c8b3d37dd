"""Imports litellm quietly and early, for the models that need it, and restricts redirects and retries of its clients.

The import takes seconds of CPU time. It is done inside a function: usually in a thread, before a session's first call.
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
    """Import the modules that the first call of this saved model through litellm would import."""
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
    """Add our hooks to every HTTP client that litellm creates.

    A client then refuses redirects to other hosts, bodies that are too long and malformed pieces of a stream, and its
    connections can be closed when a call is canceled.
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
    """Make litellm cache separate HTTP clients for each model, so that closing the connections of one model ends no
    call of another.
    """
    from litellm.caching.llm_caching_handler import LLMClientCache

    key_of = LLMClientCache.update_cache_key_with_event_loop

    def own_key(self: Any, key: Any) -> Any:
        call = owned_call()
        return key_of(self, key if call is None else f"{key}-{call.connections.number}")

    LLMClientCache.update_cache_key_with_event_loop = own_key


def _leave_retries_to_us() -> None:
    """Turn off the retries of OpenAI's SDK.

    litellm's `drop_params` drops `max_retries` for providers that do not list it (NVIDIA, DeepInfra, SambaNova …). The
    SDK would then wait and retry without our knowledge, and canceling the call would not stop it.
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
    """Keep the first call from loading parts of litellm that it does not use; this saves a tenth of the import's time.

    The tokenizer would be loaded although few calls use it, and the types of litellm's proxy server for the IDs of
    uploaded files, which we never send.
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
"""Bytes of address space that litellm and a session's threads need; 700,000 kB was sometimes not enough."""


def import_early(profile: Profile) -> threading.Thread | None:
    """Start and return a thread that imports litellm for a saved model; None if calls of this model do not need it.

    A call that is made meanwhile waits for the import. Raises ModelError if the process's memory limit is too low,
    because an import that runs out of memory may never return.
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
    """Return whether the import of litellm, or of httpx for an early connection, may still be running.

    A normal exit of Python could then wait forever for a lock that the importing thread holds.
    """
    return any(thread.name in (_NAME, OPENING) for thread in threading.enumerate())

"""Switches the model of a session in plain mode, after a sign-in by device code if the provider needs one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial

from workbench.client.client import Client
from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.llm.device_sign_in import needs_sign_in, request_code, wait_for_token
from workbench.protocol.commands import ChangeSettings
from workbench.text import visible


class ModelSwitch:
    """Switches the model; a sign-in runs in the background, and the next switch cancels it."""

    def __init__(
        self,
        client: Client,
        print_lines: Callable[..., None],
        model_of: Callable[[str], str],
        ended: Callable[[asyncio.Task[None]], None],
    ) -> None:
        """`model_of` returns the `provider/model` of a saved model; `ended` is called with the task of a finished
        sign-in.
        """
        self._client = client
        self._print = print_lines
        self._model_of = model_of
        self._ended = ended
        self._cancelled = threading.Event()
        self._task: asyncio.Task[None] | None = None

    def use(self, name: str) -> None:
        """Switch to the named model now or, if needed, once the user has signed in."""
        self._cancelled.set()
        self._cancelled = threading.Event()
        model = self._model_of(name)
        if needs_sign_in(model):
            self._task = asyncio.create_task(self._sign_in(name, model, self._cancelled))
            self._task.add_done_callback(self._ended)
        else:
            self._client.send(ChangeSettings(model=name))

    async def _sign_in(self, name: str, model: str, cancelled: threading.Event) -> None:
        try:
            code = await in_daemon(request_code)
            self._print(
                f"GitHub Copilot needs a sign-in for {visible(model, lines=False)}.",
                f"Open {visible(code.url, lines=False)} and enter the code {visible(code.user_code, lines=False)}.",
                "Waiting for GitHub. The next /model cancels this.",
            )
            is_signed_in = await in_daemon(partial(wait_for_token, code, cancelled))
        except WorkbenchError as error:
            self._print(f"Not signed in: {visible(str(error), lines=False)}")
            return
        if is_signed_in:
            self._print("Signed in.")
            self._client.send(ChangeSettings(model=name))

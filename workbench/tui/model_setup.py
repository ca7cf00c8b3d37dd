"""Lets the user choose the model of the session on screen: the first one, another one, or a new API key for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.llm.device_sign_in import needs_sign_in
from workbench.protocol.commands import ChangeSettings, ReopenModel
from workbench.text import visible
from workbench.tui.open_screens import open_device_sign_in, open_first_run, open_models
from workbench.tui.settings.model_offers import ListedModels, listed_offers, with_own_servers
from workbench.tui.settings.providers import OpenForm, way_of, without_key_of

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.session_switcher import SessionSwitcher
    from workbench.tui.settings.model_offers import ModelOffer
    from workbench.tui.settings.providers import Way


class ModelSetup:
    """Opens the forms for models and keys, and uses the model or key that the user has chosen."""

    def __init__(self, app: WorkbenchApp, switcher: SessionSwitcher) -> None:
        self._app = app
        self._switcher = switcher
        self.listed = ListedModels(self._find_ways, lambda way: listed_offers(way, app.settings))

    def choose_first(self) -> None:
        """Let the user choose a model to start with, and save it in the settings if possible."""
        if self._switcher.sources.ways is not None:
            open_first_run(self._app, self._switcher.sources.ways, self._begin_on)

    async def choose(self) -> None:
        """Let the user choose another model: a saved one, or one that a provider or server lists."""
        app = self._app
        find_ways = self._find_ways if self._switcher.sources.ways is not None else None
        open_models(app, app.settings, app.state.model, find_ways, self._use_offer)

    def offer_default(self, current: str, use: Callable[[ModelOffer], Awaitable[None]]) -> None:
        """Offer the same models for new sessions; `use` is awaited with the chosen one unless it is `current`."""
        find_ways = self._find_ways if self._switcher.sources.ways is not None else None
        open_models(self._app, self._app.settings, current, find_ways, use, title="Model of new sessions")

    def _find_ways(self) -> Sequence[Way]:
        """Return the ways to use a model, with the servers of the session's model and the saved ones."""
        app, find_ways = self._app, self._switcher.sources.ways
        own = way_of(app.state.model, app.settings, app.state.api_base)
        return with_own_servers(find_ways() if find_ways is not None else (), own, app.settings)

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield the arguments of `/model` with descriptions: saved models, then those that were listed last."""
        settings = self._app.settings
        for name in settings.models:
            yield name, settings.profile(name).model
        for offer in self.listed.offers:
            if offer.name not in settings.models:
                yield offer.name, " · ".join(filter(None, (offer.group, offer.about)))

    async def use_named(self, name: str) -> None:
        """Use the model of that name: a saved one, one that a provider or server lists, or any other."""
        offer = None if name in self._app.settings.models else self.listed.offer_of(name)
        await (self.use(name) if offer is None else self._use_offer(offer))

    async def use(self, name: str) -> None:
        """Change the model of the session to the named one, after a sign-in if its provider needs one; if there is no
        session, begin one with it.
        """
        model = self._app.settings.profile(name).model

        def signed_in(is_signed_in: bool | None) -> None:
            if is_signed_in:
                self._app.run_worker(self._use_now(name))

        if needs_sign_in(model):
            open_device_sign_in(self._app, model, signed_in)
        else:
            await self._use_now(name)

    async def _use_now(self, name: str) -> None:
        if self._app.session.client is not None:
            self._app.session.client.send(ChangeSettings(model=name))
        else:
            await self._switcher.begin_on_model(name)

    async def _use_offer(self, offer: ModelOffer) -> None:
        """Use a chosen model; one at a server's URL is saved first, unless the session's model is at this URL too."""
        app, name = self._app, offer.name
        if offer.way is not None and app.settings_model is not None:
            try:
                name = app.settings_model.save_for_session(
                    offer.way, way_of(app.state.model, app.settings, app.state.api_base)
                )
            except WorkbenchError as error:
                app.notify(visible(f"the model is not saved: {error}"), severity="warning", markup=False)
                return
        await self.use(name)

    def replace_key(self, *, is_unasked: bool = False) -> None:
        """Open the form of the model whose key was rejected; `is_unasked` if the user did not ask for it.

        With a key that works, the session uses the model from its next call on.
        """
        app, rejected = self._app, self._app.state.rejected_key
        if rejected is None or self._switcher.sources.ways is None:
            return
        if app.session.machine:
            # A key that is saved here would not be the one that the engine uses.
            where = f"the key is that of {app.session.machine}: change it there, then send a message"
            app.notify(visible(where), severity="warning", markup=False)
            return
        way = way_of(rejected.model, app.settings, app.state.api_base)
        if needs_sign_in(way.model):
            open_device_sign_in(app, way.model, self._signed_in_again)
            return
        use = partial(self._use_in_session, rejected.model, way)
        form = OpenForm(way, rejected.error, self._switcher.type_in if is_unasked else None)
        find_ways = self._switcher.sources.ways
        open_first_run(app, lambda: without_key_of(way, find_ways()), use, form)

    def _signed_in_again(self, is_signed_in: bool | None) -> None:
        """Let the session use the token from its next call on."""
        client = self._app.session.client
        if is_signed_in and client is not None:
            client.send(ReopenModel())
            self._app.state.rejected_key = None
            self._switcher.main.refresh_status()

    async def _begin_on(self, way: Way | None) -> None:
        from workbench.tui.screens.first_run import DEMO

        settings_model = self._app.settings_model
        if way is None or settings_model is None:
            return
        if way is DEMO:
            await self._switcher.begin_demo()
            return
        name, problem = settings_model.save_model(way)
        if problem:
            self._app.notify(visible(f"it is not saved: {problem}"), severity="warning", markup=False)
        await self._switcher.begin_on_model(name)

    async def _use_in_session(self, before: str, instead_of: Way, way: Way | None) -> None:
        """Use a model in this session in place of the one named `before`; the default model does not change."""
        from workbench.tui.screens.first_run import DEMO

        app = self._app
        if way is DEMO:
            await self._switcher.begin_demo()
        if way is None or way is DEMO or app.settings_model is None or app.session.client is None:
            return
        try:
            name = app.settings_model.save_for_session(way, instead_of)
        except WorkbenchError as error:
            app.notify(visible(f"the model is not saved: {error}"), severity="warning", markup=False)
            return
        app.session.client.send(ReopenModel())
        if name != before:
            app.session.client.send(ChangeSettings(model=name))
        app.state.rejected_key = None
        self._switcher.main.refresh_status()

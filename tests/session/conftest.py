from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.session.fake_agent import Harness


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point the home elsewhere: sessions watch protected files of the home directory, never those of the real user."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Callable[..., Harness]]:
    made: list[Harness] = []

    def make(*script, **more) -> Harness:
        made.append(Harness(tmp_path, *script, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()

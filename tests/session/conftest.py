from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.session.fake_agent import Desk


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions watch over protected files of the home directory: never those of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(*script, **more) -> Desk:
        made.append(Desk(tmp_path, *script, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()

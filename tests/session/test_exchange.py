import pytest

from workbench.protocol.events import SessionStarted, UserMessage
from workbench.session.storage.exchange import export_lines, import_lines
from workbench.session.storage.store import Store, StoreError


@pytest.fixture
def lines(tmp_path):
    with Store.create(tmp_path / "a.ohw") as store:
        store.append(SessionStarted(id="a", workspace="/x", model="m", mode="ask"), UserMessage(text="é" * 20_000))
        return list(export_lines(store))


def test_an_exported_session_comes_back_the_same(lines, tmp_path):
    with (
        import_lines([*lines, "\n"], tmp_path / "b.ohw", model="m", mode="ask") as again,
        Store.open(tmp_path / "a.ohw") as first,
    ):
        assert list(again.events())[:2] == list(first.events())


@pytest.mark.parametrize("bad", ["{", '{"kind": "unknown"}', "[]", "\x00"])
def test_a_bad_line_is_named_and_leaves_no_file(lines, tmp_path, bad):
    with pytest.raises(StoreError, match="event 3 of the import"):
        import_lines([*lines, bad], tmp_path / "b.ohw", model="m", mode="ask")
    assert not (tmp_path / "b.ohw").exists()


def test_a_source_that_fails_leaves_no_file(lines, tmp_path):
    def broken():
        yield lines[0]
        raise OSError("the disk went away")

    with pytest.raises(OSError, match="went away"):
        import_lines(broken(), tmp_path / "two.ohw", model="m", mode="ask")
    assert not (tmp_path / "two.ohw").exists()


def test_a_missing_line_is_said(lines, tmp_path):
    with pytest.raises(StoreError, match="event 1 of the import is missing"):
        import_lines(lines[1:], tmp_path / "b.ohw", model="m", mode="ask")

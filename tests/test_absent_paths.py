"""Absent paths are noticed as soon as something exists there, without a look at each of them."""

import pytest

from workbench.files.absent_paths import AbsentPaths


@pytest.fixture
def absent(tmp_path):
    (tmp_path / "home").mkdir()
    absent = AbsentPaths()
    for name in ("home/.vimrc", "home/.config/nvim/init.lua", "elsewhere/x"):
        absent.add(str(tmp_path / name))
    assert absent.refresh()
    return absent


@pytest.mark.parametrize("name", ["home/.vimrc", "home/.config/nvim/init.lua", "home/.config", "elsewhere"])
@pytest.mark.parametrize("kind", ["file", "directory", "broken link"])
def test_anything_that_appears_is_noticed_once(absent, tmp_path, name, kind):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        path.touch()
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    assert not absent.refresh()
    assert str(path) not in absent
    assert absent.refresh()


def test_other_names_in_the_same_directory_do_not_matter(absent, tmp_path):
    (tmp_path / "home/other").touch()
    assert absent.refresh()
    assert str(tmp_path / "home/.vimrc") in absent


def test_paths_of_a_directory_that_disappears_are_no_longer_absent_for_sure(absent, tmp_path):
    (tmp_path / "home").rename(tmp_path / "away")
    assert not absent.refresh()
    assert str(tmp_path / "home/.vimrc") not in absent
    assert str(tmp_path / "elsewhere/x") in absent


@pytest.mark.parametrize("target", ["nowhere", "file"])
def test_path_behind_something_that_is_no_directory_is_not_added(absent, tmp_path, target):
    (tmp_path / "file").touch()
    (tmp_path / "home/.idea").symlink_to(tmp_path / target)
    absent.add(str(tmp_path / "home/.idea/tasks.xml"))
    assert str(tmp_path / "home/.idea/tasks.xml") not in absent


def test_directory_of_another_link_is_another_directory(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two/x").touch()
    (tmp_path / "link").symlink_to("one")
    absent = AbsentPaths()
    absent.add(str(tmp_path / "link/x"))
    assert absent.refresh()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("two")
    assert not absent.refresh()

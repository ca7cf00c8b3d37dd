"""Paths that become free when files are removed."""

from pathlib import Path

from workbench.files.replaced_paths import is_vacated


def test_path_is_free_once_all_that_is_there_is_removed(tmp_path: Path):
    (tmp_path / "directory/deep").mkdir(parents=True)
    inner, link, file = tmp_path / "directory/deep/a", tmp_path / "directory/link", tmp_path / "file"
    inner.touch()
    link.symlink_to("/etc")
    file.touch()
    assert not is_vacated(tmp_path / "directory", {str(inner)})
    assert is_vacated(tmp_path / "directory", {str(inner), str(link)})
    assert is_vacated(link / "hosts", {str(link)})
    assert is_vacated(file / "a/b", {str(file)})
    assert not is_vacated(file / "a/b", {str(inner)})
    assert not is_vacated(file, {str(inner)})
    assert not is_vacated(file / ".." / ".." / "etc", {str(file)}), "it may lead elsewhere"
    inner.unlink()
    link.unlink()
    assert not is_vacated(tmp_path / "directory", {str(file)}), "an empty directory is the user's"

"""What tools keep survives a kill in the middle of writing it."""

from pathlib import Path

from workbench.tools.blob_store import BlobStore


def test_a_short_content_of_the_same_length_keeps_its_file(tmp_path: Path):
    kept = BlobStore(tmp_path)
    kept.put("shown/a", b"1" * 64)
    before = (tmp_path / "shown/a").stat()
    kept.put("shown/a", b"2" * 64)
    after = (tmp_path / "shown/a").stat()
    assert kept.get("shown/a") == b"2" * 64
    assert (after.st_ino, after.st_mode & 0o777) == (before.st_ino, 0o600)


def test_another_length_or_a_long_content_replaces_it_whole(tmp_path: Path):
    kept = BlobStore(tmp_path)
    for first, second in ((b"1" * 64, b"2" * 65), (b"1" * 65, b"2"), (b"1" * 600, b"2" * 600), (b"1", b"")):
        kept.put("shown/a", first)
        before = (tmp_path / "shown/a").stat().st_ino
        kept.put("shown/a", second)
        assert kept.get("shown/a") == second
        assert (tmp_path / "shown/a").stat().st_ino != before
        assert [path.name for path in (tmp_path / "shown").iterdir()] == ["a"]


def test_a_link_in_its_place_is_not_written_through(tmp_path: Path):
    (tmp_path / "shown").mkdir()
    (tmp_path / "theirs").write_bytes(b"1" * 64)
    (tmp_path / "shown/a").symlink_to(tmp_path / "theirs")
    BlobStore(tmp_path).put("shown/a", b"2" * 64)
    assert (tmp_path / "theirs").read_bytes() == b"1" * 64

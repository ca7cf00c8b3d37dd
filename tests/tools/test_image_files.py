"""Kind and size of an image from its first bytes, for any bytes at all."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from tests.sample_images import jpeg_head, png, webp_heads
from tests.tui.sample_session import STEADY
from workbench.files.images import kind_of, pixels_of


def test_format_and_dimensions_of_all_supported_images():
    gif = b"GIF89a" + struct.pack("<HH", 640, 480)
    heads = [png(640, 480), gif, jpeg_head(640, 480), jpeg_head(640, 480, note=60_000), *webp_heads(640, 480)]
    assert [pixels_of(head) for head in heads] == [(640, 480)] * 7
    kinds = [kind_of(head) for head in heads]
    assert kinds == ["image/png", "image/gif", "image/jpeg", "image/jpeg", *["image/webp"] * 3]
    assert kind_of(b"%PDF-1.7") is None


@STEADY
@given(st.sampled_from([png(), jpeg_head(9, 9), *webp_heads(9, 9), b"GIF89a", b"\xff\xd8\xff"]), st.binary(max_size=40))
def test_no_bytes_raise_an_exception(head, rest):
    for end in range(len(head) + 1):
        size = pixels_of(head[:end] + rest)
        assert size is None or min(size) >= 0

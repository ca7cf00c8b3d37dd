"""Small real image files, made by hand, for the tests of messages with images."""

import struct
import zlib


def png(width: int = 4, height: int = 3, extra: bytes = b"") -> bytes:
    """Return a black picture; `extra` bytes follow its end."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = (b"\0" + b"\0\0\0" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body + extra


def jpeg_head(width: int, height: int, note: int = 0) -> bytes:
    """Return the beginning of a photograph with `note` bytes of camera data in front of the frame."""
    app = b"\xff\xe1" + struct.pack(">H", note + 2) + b"n" * note
    return b"\xff\xd8" + app + b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\0" * 9


def webp_heads(width: int, height: int) -> list[bytes]:
    """Return the beginnings of the three WebP forms."""
    riff = b"RIFF\0\0\0\0WEBP"
    extended = b"VP8X" + b"\0" * 8 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    lossless = b"VP8L" + b"\0" * 4 + b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little")
    lossy = b"VP8 " + b"\0" * 4 + b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return [riff + extended, riff + lossless, riff + lossy]

"""What may pass as the image of an item, and PNG bytes that are the same on every machine."""

import struct
import warnings
import zlib
from collections.abc import Sequence
from io import BytesIO
from typing import Literal

MAX_BYTES = 10_000_000
MAX_PIXELS = 40_000_000


def image_format(data: bytes) -> Literal["JPEG", "PNG"] | None:
    """Tell the format by the first bytes of a file; None: neither JPEG nor PNG."""
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    return "PNG" if data.startswith(b"\x89PNG\r\n\x1a\n") else None


def image_fault(data: bytes) -> str | None:
    """Say why bytes are not an image that an item may carry; None: they are.

    The whole image is decoded once, so that a file cut short or a picture that unfolds to gigabytes is found here and
    not in front of a model.
    """
    from PIL import Image

    if len(data) > MAX_BYTES:
        return f"image of more than {MAX_BYTES:,} bytes"
    kind = image_format(data)
    if kind is None:
        return "image that is neither JPEG nor PNG"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data), formats=(kind,)) as image:
                if image.width * image.height > MAX_PIXELS:
                    return f"image of more than {MAX_PIXELS:,} pixels"
                image.verify()
            with Image.open(BytesIO(data), formats=(kind,)) as image:
                image.load()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return f"image of more than {MAX_PIXELS:,} pixels"
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error, zlib.error) as error:
        return f"image that cannot be decoded ({type(error).__name__})"
    return None


def encode_png(width: int, height: int, palette: Sequence[tuple[int, int, int]], pixels: bytes) -> bytes:
    """Encode an image of at most 16 colours, without compression.

    Compressed bytes differ between zlib and its forks, even stored ones between versions; here every byte follows from
    the PNG and zlib formats alone.

    Args:
        width: Pixels a row, even.
        height: Rows.
        palette: Red, green and blue of each colour, 0 to 255.
        pixels: One palette index a byte, row by row, `width * height` in all.

    Raises:
        ValueError: If the sizes do not fit together.

    Source: W3C PNG specification (third edition), RFC 1950 and RFC 1951.
    """
    if width % 2 or len(pixels) != width * height or len(palette) > 16:
        raise ValueError(f"{width} x {height} pixels of {len(palette)} colours do not fit {len(pixels)} bytes")
    packed = bytes(high << 4 | low for high, low in zip(pixels[::2], pixels[1::2], strict=True))
    stride = width // 2
    raw = b"".join(b"\0" + packed[y * stride : (y + 1) * stride] for y in range(height))
    blocks = [raw[i : i + 0xFFFF] for i in range(0, len(raw), 0xFFFF)]
    stored = b"".join(
        struct.pack("<BHH", block is blocks[-1], len(block), len(block) ^ 0xFFFF) + block for block in blocks
    )
    header = struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"PLTE", b"".join(map(bytes, palette)))
        + _chunk(b"IDAT", b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(raw)))
        + _chunk(b"IEND", b"")
    )


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

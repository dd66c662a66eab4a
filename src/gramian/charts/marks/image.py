"""A PNG image inside a chart: one mark instead of thousands of squares."""

import struct
import zlib
from base64 import b64encode

import numpy as np
from numpy.typing import NDArray


def png(indices: NDArray[np.uint8], colours: list[str]) -> str:
    """A PNG as a data URL: the colour of each pixel by its index in a list of at most 256.

    >>> png(np.zeros((2, 2), dtype=np.uint8), ["#ffffff"])[:26]
    'data:image/png;base64,iVBO'
    """
    height, width = indices.shape
    table = b"".join(bytes.fromhex(colour[1:]) for colour in colours)
    lines = np.zeros((height, width + 1), dtype=np.uint8)  # each line begins with its filter, 0 for none
    lines[:, 1:] = indices
    body = b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", table),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        ]
    )
    return "data:image/png;base64," + b64encode(body).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

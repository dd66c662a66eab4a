"""One file for named arrays and a header: a zip of a JSON document and a safetensors body, with a digest."""

import hashlib
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

FORMAT = 1
MAX_HEADER_BYTES = 2**24
_MEMBERS = ["gramian.json", "arrays.safetensors"]
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same values give the same bytes


def write_arrays(path: Any, kind: str, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write atomically: a complete file takes the old one's place, or the old one stays."""
    path = Path(path)
    body = save_tensors({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    header = {"format": FORMAT, "kind": kind, "sha256": hashlib.sha256(body).hexdigest(), "facts": facts}
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                text = json.dumps(header, sort_keys=True, allow_nan=False).encode()
                for name, content in zip(_MEMBERS, (text, body), strict=True):
                    archive.writestr(zipfile.ZipInfo(name, _EPOCH), content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_arrays(path: Any, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of such a file; anything else is refused before use."""
    with open(path, "rb") as file:
        try:
            return _read(file, os.fstat(file.fileno()).st_size, kind)
        except Exception as error:
            raise ValueError(f"{path} is not a {kind} file of Gramian, or is damaged: {error}.") from error


def _read(file: BinaryIO, size: int, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with zipfile.ZipFile(file) as archive:
        if sorted(archive.namelist()) != sorted(_MEMBERS):
            raise ValueError("it has other members than a header and its arrays")
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > size:
                raise ValueError("a member is compressed or larger than the file")
        if archive.getinfo(_MEMBERS[0]).file_size > MAX_HEADER_BYTES:
            raise ValueError("its header is too large")
        header = json.loads(archive.read(_MEMBERS[0]))
        body = archive.read(_MEMBERS[1])
    if not isinstance(header, dict) or header.get("kind") != kind:
        raise ValueError(f"it does not hold {kind}")
    if header.get("format") != FORMAT:
        raise ValueError(f"its format is {header.get('format')!r}; this version reads format {FORMAT}")
    if hashlib.sha256(body).hexdigest() != header.get("sha256"):
        raise ValueError("its digest does not match its content: the file is damaged")
    return header["facts"], load_tensors(body)

"""LAPACK without the interpreter lock, which SciPy's own wrappers hold: parts in other threads go on meanwhile."""

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from gramian._core.types import Floats

INTEGERS = {"int": ctypes.c_int, "long": ctypes.c_long, "long long": ctypes.c_longlong, "int64_t": ctypes.c_int64}


def tridiagonalize(S: Floats) -> tuple[Floats, Floats, Floats]:
    """S = Q T Qᵀ of a symmetric matrix in Fortran's order: the diagonal of T, what is beside it, and Q's scales.

    The lower half of S is overwritten by the reflectors of Q.
    """
    n = len(S)
    d, e, scales, size = np.empty(n), np.empty(max(n - 1, 1)), np.empty(max(n - 1, 1)), np.empty(1)
    given = (b"L", n, S, max(n, 1), d, e, scales)
    _call("dsytrd", *given, size, -1)
    _call("dsytrd", *given, np.empty(int(size[0])), int(size[0]))
    return d, e, scales


def times_reflectors(S: Floats, scales: Floats, C: Floats, *, transposed: bool = False) -> None:
    """Q C or Qᵀ C in the place of C, in Fortran's order, with Q as `tridiagonalize` has left it in S."""
    (n, columns), size = C.shape, np.empty(1)
    if not columns:
        return
    given = (b"L", b"L", b"T" if transposed else b"N", n, columns, S, max(n, 1), scales, C, max(n, 1))
    _call("dormtr", *given, size, -1)
    _call("dormtr", *given, np.empty(int(size[0])), int(size[0]))


def _call(name: str, *arguments: Any) -> None:
    """Call a routine with all its arguments by reference; its `info`, the last one, must be 0."""
    function, integer = _routine(name)
    info = integer(0)
    boxes = [box if isinstance(box, np.ndarray | bytes) else integer(box) for box in arguments]
    function(*(_address(box) for box in (*boxes, info)))
    if info.value:
        raise ValueError(f"{name} of LAPACK refused its argument {-info.value}.")


def _address(box: Any) -> int:
    if isinstance(box, np.ndarray):
        assert box.dtype == np.float64
        assert box.flags.f_contiguous
        assert box.flags.writeable
        return int(box.ctypes.data)
    return ctypes.addressof(box) if not isinstance(box, bytes) else _LETTERS[box]


@cache
def _routine(name: str) -> tuple[Any, Any]:
    """A routine of the LAPACK that SciPy is linked to, and the type of its whole numbers, which its signature says."""
    api, capsule = ctypes.pythonapi, cython_lapack.__pyx_capi__[name]
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = api.PyCapsule_GetName(capsule)
    kinds = signature.decode().partition("(")[2].rstrip(")").split(",")
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(api.PyCapsule_GetPointer(capsule, signature))
    return function, INTEGERS[kinds[-1].split("*")[0].strip()]


_BOXES = {letter: ctypes.create_string_buffer(letter) for letter in (b"L", b"N", b"T")}
_LETTERS = {letter: ctypes.addressof(box) for letter, box in _BOXES.items()}

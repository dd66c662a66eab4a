"""What a fit says when its answer is less than it should be, and where it says it: at the user's line."""

import os
import sys
import sysconfig
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from types import FrameType

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning


class ConvergenceWarning(_SklearnConvergenceWarning):
    """A fit stopped before its certificate holds; the message says which quantity is how far off."""


class PrecisionWarning(UserWarning):
    """The data or the sums given cannot carry the digits that the answer would need."""


_muted: ContextVar[tuple[type[Warning], ...]] = ContextVar("muted", default=())


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the line of the user's code which led to it, however deep the call is.

    That line is the innermost one outside this package, scikit-learn, joblib and the standard library, so that a fit
    inside a `Pipeline` or a `GridSearchCV` is located where the search was started; in a thread that libraries have
    started, the line at which the main thread waits for it.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("The columns are nearly dependent.", PrecisionWarning)
    >>> caught[0].filename == warn_user.__code__.co_filename
    False
    """
    if issubclass(category, _muted.get()):
        return
    here = sys._getframe(1)
    waiting = sys._current_frames().get(threading.main_thread().ident or 0)  # for the threads it has started
    frame = _user_frame(here) or _user_frame(waiting) or here
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    where = (frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "<unknown>"))
    warnings.warn_explicit(message, category, *where, registry)


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost caller that is not of a library."""
    while frame is not None and _is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@contextmanager
def muted(*categories: type[Warning]) -> Iterator[None]:
    """No warning of these categories from this package inside, in this thread alone.

    `warnings.catch_warnings` changes the filters of the whole process, so that fits in several threads would undo
    each other's.

    >>> with muted(PrecisionWarning):
    ...     warn_user("Not shown.", PrecisionWarning)
    """
    token = _muted.set((*_muted.get(), *categories))
    try:
        yield
    finally:
        _muted.reset(token)


def _package_directory(name: str) -> str:
    spec = find_spec(name)
    return os.path.dirname(spec.origin) + os.sep if spec is not None and spec.origin is not None else os.sep


_STANDARD = os.path.join(sysconfig.get_path("stdlib"), "")
_LIBRARIES = (os.path.join(os.path.dirname(__file__), ""), *map(_package_directory, ("sklearn", "joblib")))


def _is_library(filename: str) -> bool:
    """Whether a file is of this package, of scikit-learn or joblib, which call it, or of Python itself."""
    if filename.startswith("<frozen "):
        return True
    if filename.startswith(_STANDARD):
        return not filename.startswith(("site-packages", "dist-packages"), len(_STANDARD))
    return filename.startswith(_LIBRARIES)


__all__ = ["ConvergenceWarning", "PrecisionWarning"]

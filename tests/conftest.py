"""What holds of every test: a warning of the package points at a line of the test that led to it."""

import warnings
from types import SimpleNamespace

import pytest

import gramian.warnings


@pytest.fixture(autouse=True)
def warnings_point_at_the_test(monkeypatch):
    """Every warning, wherever in the package it is issued, is located in a test and not in a library."""
    misplaced = []

    def located(message, category, filename, lineno, module, registry):
        if "/tests/" not in filename and not filename.startswith("<"):
            misplaced.append(f"{category.__name__} at {filename}:{lineno}: {message}")
        warnings.warn_explicit(message, category, filename, lineno, module, registry)

    monkeypatch.setattr(gramian.warnings, "warnings", SimpleNamespace(warn_explicit=located))
    yield
    assert not misplaced, misplaced

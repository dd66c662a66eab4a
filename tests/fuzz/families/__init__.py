"""Families of random cases: a module has `FAMILIES` (name → function of a seed that gives a `Verdict`), or `case`."""

"""Moments as a value: save and load, equality, merging across sites; accuracy far from zero."""

import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import gramian as gm
from oracles import digits


@pytest.fixture
def sums():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((50, 3)), columns=["a", "ö", "<b>"])
    return gm.moments(frame, pd.Series(rng.standard_normal(50), name="y"), sample_weight=rng.random(50))


def test_save_and_load(sums, tmp_path):
    path = tmp_path / "sums.gm"
    sums.save(path)
    again = gm.Moments.load(path)
    assert again == sums
    assert again.names == ("a", "ö", "<b>")
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir()] == ["sums.gm"]
    np.testing.assert_array_equal(gm.Ridge(0.1).fit(again).coef_, gm.Ridge(0.1).fit(sums).coef_)


def test_damaged_files_are_refused(sums, tmp_path):
    path = tmp_path / "sums.gm"
    sums.save(path)
    whole = path.read_bytes()
    for length in [0, 1, 10, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="not a moments file"):
            gm.Moments.load(path)
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(whole), 60):
        broken = bytearray(whole)
        broken[at] ^= 0x55
        path.write_bytes(broken)
        # A bit flipped outside every content, such as a zip date, may go unseen; any other is refused.
        with suppress(ValueError):
            assert gm.Moments.load(path) == sums
    path.write_bytes(b"\x80\x04\x95 this is a pickle")
    with pytest.raises(ValueError, match="not a moments file"):
        gm.Moments.load(path)
    with pytest.raises(FileNotFoundError):
        gm.Moments.load(tmp_path / "nothing.gm")


def rewrite(path, change):
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    change(content)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"kind": "moments"', b'"kind": "weights"', "does not hold moments"),
        (b'"format": 1', b'"format": 9', "reads format 1"),
        (b'"d": 3', b'"d": 2', "shapes"),
        (b'"sha256": "', b'"sha256": "x', "digest"),
    ],
)
def test_other_content_is_refused(sums, tmp_path, old, new, message):
    path = tmp_path / "sums.gm"
    sums.save(path)
    rewrite(path, lambda c: c.update({"gramian.json": c["gramian.json"].replace(old, new)}))
    with pytest.raises(ValueError, match=message):
        gm.Moments.load(path)


def test_other_members_and_compression_are_refused(sums, tmp_path):
    path = tmp_path / "sums.gm"
    sums.save(path)
    rewrite(path, lambda c: c.update({"../evil": b""}))
    with pytest.raises(ValueError, match="other members"):
        gm.Moments.load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("gramian.json", b"{}" * 10_000)
        archive.writestr("arrays.safetensors", b"")
    with pytest.raises(ValueError, match="compressed"):
        gm.Moments.load(path)


def test_a_failed_save_leaves_the_old_file(sums, tmp_path, monkeypatch):
    path = tmp_path / "sums.gm"
    sums.save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        sums.save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_equality_and_text(sums):
    assert sums == sums._copy()
    assert sums != gm.moments([[0.0]])
    assert sums != "sums"
    assert "weight" in repr(sums)
    assert "target y" in repr(sums)
    with pytest.raises(TypeError):
        hash(sums)
    with pytest.raises(ValueError, match="columns differ"):
        sums + gm.moments(np.zeros((2, 3)), [0.0, 1.0])


def test_merged_sites_fit_as_one():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((300, 4)), rng.standard_normal(300)
    sites = [gm.moments(X[i::3], y[i::3]) for i in range(3)]
    a, b = gm.LinearRegression().fit(sum(sites)), gm.LinearRegression().fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-11)
    np.testing.assert_allclose(a.summary().coefficients["error"], b.summary().coefficients["error"], rtol=1e-10)


def test_select():
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((60, 5)), rng.standard_normal((60, 2))
    a, b = gm.moments(X, Y).select([3, 1], [1]), gm.moments(X[:, [3, 1]], Y[:, [1]])
    np.testing.assert_allclose(a.cross, b.cross, rtol=1e-12)
    assert a.t == 1


@pytest.mark.parametrize(("mean", "deviation"), [(1e9, 1e-3), (1e7, 0.1), (-1e12, 1e-2)])
def test_deviations_far_from_zero(mean, deviation):
    x = mean + deviation * np.random.default_rng(3).standard_normal((20_000, 1))
    exact = (x.astype(np.longdouble) - mean).var() * 20_000
    for chunk in (7, 1000, 20_000):
        total = sum(gm.moments(x[i : i + chunk]) for i in range(0, 20_000 if chunk > 7 else 2100, chunk))
        expected = exact if chunk > 7 else (x[:2100].astype(np.longdouble) - mean).var() * 2100
        assert total.cross[0, 0] == pytest.approx(float(expected), rel=1e-6)


ANOVA = Path(scipy.stats.__file__).parent / "tests" / "data" / "nist_anova"


@pytest.mark.skipif(not ANOVA.exists(), reason="this SciPy came without its test data")
@pytest.mark.parametrize(
    ("name", "ratio", "least"),
    [(f"SmLs0{i + 1}", (21, 201, 2001)[i % 3], (14, 10, 4)[i // 3]) for i in range(9)],
)
def test_nist_variances_with_constant_leading_digits(name, ratio, least):
    """F of NIST's SmLs sets from streamed group moments: 1, 7 and 13 constant leading digits."""
    table = np.loadtxt(ANOVA / f"{name}.dat", skiprows=60)
    parts = []
    for group in np.unique(table[:, 0]):
        x = table[table[:, 0] == group, 1:]
        parts.append(sum(gm.moments(x[i : i + 97]) for i in range(0, len(x), 97)))
    within = sum(part.cross[0, 0] for part in parts)
    # The means of the groups, as one weighted moment: what lies between them.
    first = parts[0].mean_high
    means = np.array([(part.mean_high - first) + part.mean_low for part in parts])
    between = gm.moments(means, sample_weight=[part.weight for part in parts]).cross[0, 0]
    found = (between / (len(parts) - 1)) / (within / (len(table) - len(parts)))
    assert digits(found, np.array(float(ratio))) >= least


def test_cross_products_beyond_float64_are_refused():
    big = gm.moments(np.random.default_rng(4).standard_normal((10, 1)) * 1e200)
    with pytest.raises(OverflowError, match=r"use \.scaled"):
        _ = big.cross
    assert gm.moments([[1e-200], [2e-200]]).cross[0, 0] == 0.0
    assert gm.moments([[1e-200], [2e-200]]).scaled[0, 0] > 0


def test_rows_with_no_weight():
    X = np.random.default_rng(5).standard_normal((10_000, 2))
    w = np.zeros(10_000)
    w[9_000:] = 1.0
    a, b = gm.moments(X, sample_weight=w), gm.moments(X[9_000:])
    assert a.n == b.n == 1000
    np.testing.assert_allclose(a.cross, b.cross, rtol=1e-10)

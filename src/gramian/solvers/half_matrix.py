"""Products with a symmetric matrix of which half is stored: every number is read once, and serves twice."""

from typing import Any

from gramian._core.numerics.compiled import njit

TOGETHER = 4  # rows


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def upper_times(K: Any, start: int, stop: int, v: Any, out: Any) -> None:  # pragma: no cover - compiled
    """out (t, n − start) += what rows start … stop of K, on and above the diagonal, add to v K for v (t, n)."""
    n = K.shape[1]
    for i in range(start, stop, TOGETHER):
        last = min(i + TOGETHER, stop)
        for c in range(v.shape[0]):
            for k in range(i, last):
                out[c, k - start] += K[k, k] * v[c, k]
                for j in range(k + 1, last):
                    out[c, k - start] += K[k, j] * v[c, j]
                    out[c, j - start] += K[k, j] * v[c, k]
            if last - i == TOGETHER:
                _four(K[i, last:], K[i + 1, last:], K[i + 2, last:], K[i + 3, last:], i - start, i, v[c], out[c], last)
            else:
                for k in range(i, last):
                    for j in range(last, n):
                        out[c, k - start] += K[k, j] * v[c, j]
                        out[c, j - start] += K[k, j] * v[c, k]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _four(
    first: Any, second: Any, third: Any, fourth: Any, at: int, i: int, v: Any, out: Any, last: int
) -> None:  # pragma: no cover - compiled
    """Four rows of K beyond their corner: their own sums, and what they add to the others'."""
    others, far = v[last:], out[at + TOGETHER :]
    a, b, c, d = v[i], v[i + 1], v[i + 2], v[i + 3]
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    for j in range(len(others)):
        w = others[j]
        p += first[j] * w
        q += second[j] * w
        r += third[j] * w
        s += fourth[j] * w
        far[j] += (first[j] * a + second[j] * b) + (third[j] * c + fourth[j] * d)
    out[at] += p
    out[at + 1] += q
    out[at + 2] += r
    out[at + 3] += s

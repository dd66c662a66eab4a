"""Axes: the logarithmic one of alpha that path and scores share, and those of iterations and of plain numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._core.types import Chart, Floats
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.text import tick_format, tick_text, ticks
from gramian.charts.theme import LEFT, WIDTH, Theme, rows

TITLE = "← stronger penalty\u2003·\u2003alpha\u2003·\u2003weaker penalty →"
MAX_LINEAR_STEPS = 60


@dataclass(frozen=True)
class AlphaAxis:
    """A logarithmic axis of alpha; alpha = 0 is drawn a decade beyond the smallest positive one."""

    low: float
    high: float
    zero: float | None
    title: str = TITLE

    @classmethod
    def over(cls, *grids: Floats, title: str = TITLE) -> "AlphaAxis":
        alphas = np.concatenate(grids)
        positive = alphas[alphas > 0]
        low, high = (float(positive.min()), float(positive.max())) if positive.size else (1.0, 1.0)
        zero = low / 10.0 if (alphas <= 0).any() else None
        low = low if zero is None else zero
        return cls(low / 2.0, high * 2.0, zero, title) if high <= low * 1.001 else cls(low, high, zero, title)

    def place(self, alphas: Floats) -> Floats:
        return alphas if self.zero is None else np.where(alphas > 0, alphas, self.zero)

    def share(self, alpha: float) -> float:
        """How far along the axis, from 0 (left, strong) to 1."""
        at = float(self.place(np.array([alpha]))[0])
        return float((np.log(self.high) - np.log(at)) / (np.log(self.high) - np.log(self.low)))

    def encoding(self, width: int = WIDTH) -> Chart:
        shown = ticks(self.low if self.zero is None else self.zero * 10.0, self.high, max_ticks=width // 60)
        texts = {tick: tick_text(tick) for tick in shown}
        if self.zero is not None:
            texts[self.zero] = "0"
        return alt.X(
            "alpha:Q",
            scale=alt.Scale(type="log", domain=[self.low, self.high], reverse=True, nice=False),
            axis=alt.Axis(title=self.title, grid=False, **_tick_texts(texts)),
        )

    def rule(
        self, alpha: float, text: str, colour: str, *, side: str = "auto", dashed: bool = False, width: int = WIDTH
    ) -> Chart:
        """A vertical line at an alpha with a label above it, on its left or right side or where there is room."""
        share = self.share(alpha)
        if side == "auto":
            side = "right" if share > 0.75 else "left" if share < 0.25 else "center"
        at = float(self.place(np.array([alpha]))[0])
        base = alt.Chart(rows([{"alpha": at, "text": text}])).encode(x=self.encoding(width))
        line = base.mark_rule(color=colour, strokeWidth=1.5, strokeDash=[4, 4] if dashed else [1, 0])
        label = base.mark_text(
            align=side, baseline="bottom", dx={"left": -1, "right": 1, "center": 0}[side], color=colour, fontSize=12
        ).encode(y=alt.value(-5), text="text:N")
        return line + label


def vertical_rule(
    field: str, at: float, text: str, x: Chart, theme: Theme, *, dashed: bool = False, align: str = "center"
) -> list[Chart]:
    """A vertical line at a value of a field, with a label above it."""
    base = alt.Chart(rows([{field: at, "text": text}])).encode(x=x)
    line = base.mark_rule(color=theme.ink, strokeWidth=1.2 if dashed else 1.5, strokeDash=[4, 4] if dashed else [1, 0])
    label = base.mark_text(align=align, baseline="bottom", color=theme.ink, fontSize=12)
    return [line, label.encode(y=alt.value(-4), text="text:N")]


def log_axis(title: str | None, low: float, high: float, *, max_ticks: int = 9, **options: Any) -> Chart:
    """An axis of a logarithmic scale, its ticks round numbers that are written shortly."""
    return alt.Axis(
        title=title, **_tick_texts({tick: tick_text(tick) for tick in ticks(low, high, max_ticks)}), **options
    )


def step_encoding(last: int, title: str, field: str = "step", width: int = WIDTH) -> Chart:
    """A horizontal axis of iterations from 0: linear where they are few, else logarithmic from 1 on."""
    if last <= MAX_LINEAR_STEPS:
        axis = alt.Axis(title=title, tickMinStep=1, format="d", grid=False, tickCount=width // 60)
        return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, max(last, 1)], nice=False), axis=axis)
    values = [0, *(10**power for power in range(len(str(last))))]
    values += [last // values[-1] * values[-1]] if last >= 3 * values[-1] else []
    axis = alt.Axis(title=title, values=values, format=",d", grid=False)
    scale = alt.Scale(type="symlog", constant=1, domain=[0, last], nice=False)
    return alt.X(f"{field}:Q", scale=scale, axis=axis)


def _tick_texts(texts: dict[float, str]) -> dict[str, Any]:
    """Ticks at these values with these labels."""
    tests = " : ".join(f"abs(datum.value / {tick!r} - 1) < 1e-9 ? '{text}'" for tick, text in texts.items())
    return {"values": list(texts), "labelExpr": f"{tests} : ''"}


def linear_axis(title: str | None, low: float, high: float, **options: Any) -> Chart:
    """An axis whose ticks are as short as its range allows."""
    zero = "datum.value === 0 ? '0' : datum.label"  # not 0e+0
    return alt.Axis(title=title, format=tick_format(low, high), labelExpr=zero, **options)


@dataclass(frozen=True)
class ValueAxis:
    """A vertical axis over the range of the data, a little wider."""

    low: float
    high: float
    title: str

    @classmethod
    def over(cls, low: float, high: float, title: str) -> "ValueAxis":
        pad = 0.05 * (high - low) or max(abs(high), 1.0) * 0.5
        return cls(low - pad, high + pad, title)

    def encoding(self, field: str) -> Chart:
        return alt.Y(
            f"{field}:Q",
            scale=alt.Scale(domain=[self.low, self.high], nice=False, zero=False),
            axis=linear_axis(self.title, self.low, self.high, tickCount=6, minExtent=LEFT),
        )

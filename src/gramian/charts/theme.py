"""The themes of all charts, light and dark: colours, fonts, sizes."""

from dataclasses import dataclass

from gramian._core.types import Chart, Record
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.text import NO_BREAK, wrapped

WIDTH = 560
SIDE = 400  # of square charts
FONT = "Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif"
MAX_LINE_LENGTH = 92  # of a subtitle
MAX_FACT_LENGTH = 40  # up to which a fact of a subtitle stays on one line
LEFT = 52  # room for the labels of a vertical axis, so that charts above each other line up


@dataclass(frozen=True)
class Theme:
    """Colours of one theme; the palette is distinguishable with any colour vision, and readable as text."""

    background: str
    ink: str
    muted: str
    grid: str
    faint: str
    palette: tuple[str, ...]

    @property
    def accent(self) -> str:
        return self.palette[0]

    @property
    def second(self) -> str:
        return self.palette[1]

    def of_class(self, place: int) -> str:
        """The colour of a class; colours repeat after the last."""
        return self.palette[place % len(self.palette)]

    def tint(self, colour: str, strength: float) -> str:
        """A colour mixed with the background, 0 for the background alone."""
        ends = zip(_parts(self.background), _parts(colour), strict=True)
        return "#" + "".join(f"{round(a + (b - a) * strength):02x}" for a, b in ends)

    def on(self, colour: str) -> str:
        """Ink or background, whichever is easier to read on a colour."""
        return max(self.ink, self.background, key=lambda text: _contrast(text, colour))


THEMES = {
    "light": Theme(
        background="#ffffff",
        ink="#1b1f24",
        muted="#5c6570",
        grid="#e8eaed",
        faint="#c3c8ce",
        palette=("#0064a8", "#c24a00", "#00935c", "#a45fd6", "#7a0f1e", "#3d2bb8", "#5a6068"),
    ),
    "dark": Theme(
        background="#14171c",
        ink="#eceff3",
        muted="#9aa4b1",
        grid="#2a2f38",
        faint="#4a525e",
        palette=("#62b6f0", "#ff9350", "#4f9e68", "#f3d3ae", "#d3de3c", "#b870f5", "#8f899c"),
    ),
}


def _parts(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def _contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _parts(colour))
        ]
        return 0.05 + sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    return max(light(one), light(other)) / min(light(one), light(other))


def title(text: str, *subtitles: str) -> Chart:
    """A title with the finding, and subtitles under it; empty ones are left out."""
    lines = [line for part in subtitles if part for line in wrapped(_facts_unbroken(part), MAX_LINE_LENGTH)]
    return alt.TitleParams(wrapped(text, 66), subtitle=lines)


def panel_title(text: str, theme: Theme, offset: int = 8) -> Chart:
    """The title of one of several panels side by side."""
    return alt.TitleParams(text, fontSize=12, fontWeight="normal", color=theme.muted, offset=offset)


def _facts_unbroken(text: str) -> str:
    """Facts between dots, of which no short one is broken over two lines and no line begins with a dot."""
    facts = text.split(" · ")
    if len(facts) == 1:
        return text
    return f"{NO_BREAK}· ".join(part.replace(" ", NO_BREAK) if len(part) <= MAX_FACT_LENGTH else part for part in facts)


def rows(records: list[Record]) -> Chart:
    """Inline data, to which Altair's limit on rows does not apply; a tuple, which it does not copy for every layer."""
    return {"values": tuple(records)}


def finished(parts: list[Chart], theme: Theme) -> Chart:
    """One chart of one or several, one above the other, in this theme."""
    chart = parts[0] if len(parts) == 1 else alt.vconcat(*parts, spacing=28)
    axis = {
        "domainColor": theme.faint,
        "gridColor": theme.grid,
        "tickColor": theme.faint,
        "labelColor": theme.muted,
        "titleColor": theme.muted,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelPadding": 6,
        "labelLimit": 240,
        "labelFlush": False,
        "tickSize": 4,
    }
    heading = {
        "anchor": "start",
        "frame": "group",
        "color": theme.ink,
        "fontSize": 16,
        "fontWeight": "bold",
        "lineHeight": 20,
        "subtitleColor": theme.muted,
        "subtitleFontSize": 12,
        "subtitleLineHeight": 16,
        "subtitlePadding": 6,
        "offset": 22,
        "limit": 0,
    }
    legend = {
        "labelColor": theme.ink,
        "labelFontSize": 12,
        "labelLimit": 0,
        "titleColor": theme.muted,
        "symbolSize": 70,
    }
    return chart.configure(
        background=theme.background,
        font=FONT,
        padding=18,
        axis=axis,
        title=heading,
        legend=legend,
        view={"stroke": None},
    )

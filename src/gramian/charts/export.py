"""Charts as PNG and HTML files that work offline."""

import json
from html import escape
from pathlib import Path
from typing import Any

from gramian._core.types import Chart

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 0; background: {background}; }} #chart {{ display: block; overflow-x: auto; }}</style>
<script>{bundle}</script>
</head>
<body>
<div id="chart"></div>
<script>vegaEmbed("#chart", {spec}, {{actions: false, renderer: "svg"}}).catch(console.error);</script>
</body>
</html>
"""


def save_png(chart: Chart, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a chart as a PNG with `scale` pixels per pixel of the chart."""
    chart.save(str(path), format="png", scale_factor=scale)
    return Path(path)


def save_html(chart: Chart, path: str | Path, *, title: str = "Gramian") -> Path:
    """Write a chart as a self-contained HTML page that works offline."""
    import altair as alt
    import vl_convert

    spec = chart.to_dict()
    bundle: Any = vl_convert.javascript_bundle  # its stub asks for an argument that it does not need
    version = "_".join(alt.SCHEMA_VERSION.split(".")[:2])
    page = PAGE.format(
        title=escape(title),
        background=spec["config"].get("background", "#ffffff"),
        bundle=bundle(vl_version=version),
        # A name such as </script> must not end the script element.
        spec=json.dumps(spec).replace("<", "\\u003c"),
    )
    Path(path).write_text(page, encoding="utf-8")
    return Path(path)

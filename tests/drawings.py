"""What tests look for in a chart."""

from gramian.charts.marks.text import NO_BREAK


def walk(part):
    """Every dictionary of a specification, however deep."""
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from walk(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from walk(value)


def tables(drawn):
    """Inline data of each layer, in the order of drawing."""
    spec = drawn.to_dict()
    parts = walk({key: value for key, value in spec.items() if key != "datasets"})
    sources = [part["data"] for part in parts if isinstance(part.get("data"), dict)]
    return [
        data["values"] if "values" in data else spec["datasets"][data["name"]]
        for data in sources
        if "values" in data or "name" in data
    ]


def layers(drawn):
    """(mark, records) of every layer in order."""
    spec = drawn.to_dict()
    sources = [(layer["mark"], layer.get("data", spec.get("data"))) for layer in spec["layer"]]
    return [(mark, data["values"] if "values" in data else spec["datasets"][data["name"]]) for mark, data in sources]


def heading(drawn, *, validate=True):
    """Title and subtitle, each in one line with plain spaces."""
    title = drawn.to_dict(validate=validate)["title"]
    return tuple(" ".join(title.get(part, [])).replace(NO_BREAK, " ") for part in ("text", "subtitle"))


def png_size(path):
    """Width and height of a PNG file."""
    start = path.read_bytes()[:24]
    assert start[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(start[16:20], "big"), int.from_bytes(start[20:24], "big")

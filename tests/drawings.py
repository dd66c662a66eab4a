"""What tests look for in a chart."""


def tables(drawn):
    """Inline data of each layer, in the order of drawing."""
    spec = drawn.to_dict()
    found = []

    def walk(part):
        if isinstance(part, dict):
            data = part.get("data", {})
            if "values" in data or "name" in data:
                found.append(data["values"] if "values" in data else spec["datasets"][data["name"]])
            for value in part.values():
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    walk({key: value for key, value in spec.items() if key != "datasets"})
    return found

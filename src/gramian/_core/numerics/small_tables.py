"""Tables so small that NumPy goes through them about as fast as compiled loops: nothing is compiled for them."""

SMALL = 2**15  # numbers of a loop


def is_small(numbers: int) -> bool:
    """Whether an array of so many numbers is not worth the seconds that a compilation takes."""
    return 0 < numbers <= SMALL

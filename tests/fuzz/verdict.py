"""What a random case shows."""

from typing import NamedTuple


class Verdict(NamedTuple):
    """`outcome` is "right", "uncertified" (the fit says that it has not converged) or "wrong"; `text` says of what."""

    outcome: str
    text: str

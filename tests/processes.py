"""What tests ask a Python process of its own."""

import subprocess
import sys


def output_of(code):
    """What the code prints in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

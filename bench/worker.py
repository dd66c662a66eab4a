"""One row of one task in a process of its own: warm up, make the data, time the runs, judge the result."""

import gc
import sys
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.task import Task

SILENT = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)


def status_mb(field: str) -> float | None:
    """A figure of /proc/self/status in MB; None where there is no /proc."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":")), None)


def reset_peak() -> bool:
    """Set VmHWM back to what is resident now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def enough(seconds: list[float], repeats: int) -> bool:
    """Whether there are enough runs: two when one takes over 5 s, one when it takes over 10 s."""
    longest = max(seconds)
    return len(seconds) >= min(repeats, 1 if longest > 10 else 2 if longest > 5 else repeats)


def work(channel: Connection, task: Task, row: str, scale: float, repeats: int) -> None:
    peer = task.peers[row]
    channel.send({"stage": "warm-up"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer(task.data(min(task.warm, scale)))
    data = task.data(scale)
    result: Any = None
    seconds: list[float] = []
    peak = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        while not seconds or not enough(seconds, repeats):
            del result
            gc.collect()
            before = status_mb("VmRSS")
            resettable = not seconds and reset_peak()
            channel.send({"stage": "run"})
            start = time.perf_counter()
            result = peer(data)
            seconds.append(time.perf_counter() - start)
            after = status_mb("VmHWM")
            if resettable and before is not None and after is not None:
                peak = max(0.0, after - before)
            channel.send({"seconds": seconds[-1], "peak_mb": peak})
    heard = {warning.category.__name__ for warning in caught if not issubclass(warning.category, SILENT)}
    notes = [*([result["note"]] if result and result.get("note") else []), *sorted(heard)]
    channel.send({"stage": "quality", "notes": notes})
    quality = {name: float(value) for name, value in task.quality(data, result).items()} if result else {}
    channel.send({"stage": "done", "quality": quality})


def main(file_descriptor: str, name: str, row: str, scale: str, repeats: str) -> None:
    channel = Connection(int(file_descriptor), readable=False)
    try:
        work(channel, Task.load(name), row, float(scale), int(repeats))
    except Exception as error:
        sentence = (str(error).strip() or "no message").splitlines()[0]
        channel.send({"failed": f"{type(error).__name__}: {sentence[:200]}"})
        raise
    finally:
        channel.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

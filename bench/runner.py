"""Start a worker for one row, listen to it, and end it when its time is over."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

from bench.machine import CORES, ROOT, busy
from bench.task import Task

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
BUSY = 0.1  # share of the cores in use by others from which times are called disturbed
SETUP = 300.0  # seconds for imports, warm-up and data, and again for the quality, which are not timed


@dataclass
class Row:
    """What is known about one peer on one task."""

    peer: str
    seconds: list[float] = field(default_factory=list)
    quality: dict[str, float] = field(default_factory=dict)
    peak_mb: float | None = None
    over: float | None = None  # stopped after so many seconds
    busy: float = 0.0  # share of the cores that other processes used just before
    notes: list[str] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        return median(self.seconds) if self.seconds else None

    @property
    def disturbed(self) -> bool:
        return self.busy > BUSY

    @property
    def fastest(self) -> float | None:
        return min(self.seconds, default=None)


def run(task: Task, peer: str, *, scale: float, repeats: int, limit: float) -> Row:
    """Time one peer in a fresh process with all cores; whatever goes wrong becomes a note in its row."""
    row = Row(peer, busy=busy())
    listen, speak = Pipe(duplex=False)
    environment = os.environ | {name: str(CORES) for name in THREADS}
    command = [sys.executable, "-m", "bench.worker", str(speak.fileno()), task.name, peer, str(scale), str(repeats)]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            pass_fds=[speak.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        speak.close()
        try:
            _listen(listen, row, limit)
        finally:
            _end(process, patience=0 if row.over else 5)
        if not (row.seconds or row.over or row.notes):
            errors.seek(0)
            last = (errors.read().strip().splitlines() or ["no message"])[-1]
            row.notes.append(f"died with code {process.returncode}: {last[:200]}")
    return row


def _listen(channel: "Connection[Any, Any]", row: Row, limit: float) -> None:
    stage, deadline = "start", time.monotonic() + SETUP
    while stage != "done":
        if not channel.poll(max(0.0, deadline - time.monotonic())):
            if stage == "run" and not row.seconds:
                row.over = limit
            else:
                row.notes.append(f"{stage} over {limit if stage == 'run' else SETUP:g} s")
            return
        try:
            message = channel.recv()
        except EOFError:
            if row.seconds:
                row.notes.append(f"died during {stage}")
            return
        if "failed" in message:
            row.notes.append(message["failed"])
            return
        if "seconds" in message:
            row.seconds.append(message["seconds"])
            row.peak_mb = message["peak_mb"]
        row.notes += message.get("notes", [])
        row.quality = message.get("quality", {})
        if "stage" in message:
            stage = message["stage"]
            deadline = time.monotonic() + (limit if stage == "run" else SETUP)


def _end(process: "subprocess.Popen[bytes]", patience: float) -> None:
    """Wait a moment for a worker that has said all it had to say; end it and its children otherwise."""
    try:
        process.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

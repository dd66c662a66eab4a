"""Where rows come from, and one pass over them: a pass is a sum."""

from gramian.rows.base import Basis, Block, Computed, Rows
from gramian.rows.blas_threads import single_threaded_blas, thread_count, threads
from gramian.rows.folds import CountedFolds, Folds, LabelledFolds
from gramian.rows.memory import MemoryRows, replacement_index
from gramian.rows.reduce import parallel_map
from gramian.rows.source import scan
from gramian.rows.workspace import workspace

__all__ = [
    "Basis",
    "Block",
    "Computed",
    "CountedFolds",
    "Folds",
    "LabelledFolds",
    "MemoryRows",
    "Rows",
    "parallel_map",
    "replacement_index",
    "scan",
    "single_threaded_blas",
    "thread_count",
    "threads",
    "workspace",
]

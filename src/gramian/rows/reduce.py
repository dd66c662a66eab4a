"""Sums over many leaves in one fixed binary tree, spread over threads."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from gramian.rows.blas_threads import keep_to_one_thread, single_threaded_blas, thread_count


def tree_sum(count: int, leaf: Callable[[int], Any]) -> Any:
    """Sum of `leaf(0) … leaf(count - 1)`, merged in a tree that depends on `count` alone.

    >>> tree_sum(5, lambda i: i)
    10
    """
    workers = _workers(count)
    with single_threaded_blas():
        if workers <= 1:
            return _merge_in_order(leaf(i) for i in range(count))
        return _merge_in_order(_in_order(_pool(workers), leaf, count, ahead=2 * workers))


def parallel_map(f: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """[f(item) for item in items] over the threads of a pass, with BLAS kept to one thread in each.

    >>> parallel_map(abs, [-1, 2])
    [1, 2]
    """
    workers = _workers(len(items))
    with single_threaded_blas():
        if workers <= 1:
            return [f(item) for item in items]
        return list(_in_order(_pool(workers), lambda i: f(items[i]), len(items), ahead=len(items)))


_pools: dict[int, ThreadPoolExecutor] = {}
_making = threading.Lock()


class _Place(threading.local):
    in_leaf: bool = False


_place = _Place()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads do not survive a fork


def _workers(count: int) -> int:
    """Threads for so many leaves; one inside a leaf of another sum, which has the threads already."""
    return 1 if _place.in_leaf else min(thread_count(), count)


def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads that wait for the next pass: starting them takes longer than a small one."""
    with _making:
        if workers not in _pools:
            _pools[workers] = ThreadPoolExecutor(workers, thread_name_prefix="gramian", initializer=_enter_leaf)
        return _pools[workers]


def _enter_leaf() -> None:
    _place.in_leaf = True
    keep_to_one_thread()


def _in_order(pool: ThreadPoolExecutor, task: Callable[[int], Any], count: int, ahead: int) -> Iterator[Any]:
    """Results of `task` in order, with only a few under way, so that memory stays bounded."""
    waiting: deque[Future[Any]] = deque()
    try:
        for index in range(count):
            waiting.append(
                pool.submit(copy_context().run, task, index)
            )  # np.errstate and muted warnings hold there too
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _merge_in_order(values: Iterator[Any]) -> Any:
    """Binary-counter merge: neighbours of equal height are added as soon as both are there."""
    stack: list[tuple[int, Any]] = []
    for value in values:
        height = 0
        while stack and stack[-1][0] == height:
            value = add(stack.pop()[1], value)
            height += 1
        stack.append((height, value))
    total = stack.pop()[1]
    while stack:
        total = add(stack.pop()[1], total)
    return total


def add(left: Any, right: Any) -> Any:
    """left + right, in place where left is one of our own statistics."""
    absorb = getattr(left, "_absorb", None)
    return left + right if absorb is None else absorb(right)

# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hook for conftest.py: what modules hold is not garbage, and is not looked through again."""

import gc


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    # Traced programs are many objects, few of them garbage.
    gc.set_threshold(100_000, 20, 20)

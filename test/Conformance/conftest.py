# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of the conformance tests."""


def pytest_addoption(parser):
    parser.addoption(
        "--programs", type=int, default=300, help="random programs of each kind to compare"
    )
    parser.addoption("--first-seed", type=int, default=0, help="seed of the first program")

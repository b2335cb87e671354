# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published training runs as steps of weft.models: what benchmarks/predict.py is made of.

    sources        what the tables of each source leave unsaid
    columns        what columns are called, and what their fields say
    architectures  sizes of models by their names
    rows           a row as settings of weft.models, and what it measured
    steps          a step through the compiler and the simulator
    memory         what frameworks keep in the memory of a rank
    accuracy       errors over rows, and those of the best constant
"""

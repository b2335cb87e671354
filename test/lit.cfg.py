# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import os

import lit.formats

config.name = "Weft"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.weft_binary_dir, "test")
config.excludes = ["Unit", "Property", "inputs"]

config.environment["PATH"] = os.path.pathsep.join(
    [
        os.path.join(config.weft_binary_dir, "bin"),
        config.llvm_tools_dir,
        config.environment["PATH"],
    ]
)
config.substitutions.append(("%examples", os.path.join(config.weft_source_dir, "examples")))
config.substitutions.append(("%source", config.weft_source_dir))
# What tests of derivatives do not look at: they compare what is computed.
config.substitutions.append(
    ("%strip_origins",
     r"sed -e 's/ {weft\.origin = #weft\.origin<[^}]*}//' -e 's/ {weft\.parameter}//g'"
     r" -e 's/, weft\.origin = #weft\.origin<[^}]*}/}/'"))

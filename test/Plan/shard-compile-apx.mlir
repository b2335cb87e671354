// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A processor with APX, which no feature of a plan names: its code has none of
// the registers beyond r15, and no operation with three general registers.

// RUN: shard-compile %s -o %t.plan --target=cpu:diamondrapids
// RUN: perl -0777 -pe 's/.*?(?=\x7fELF)//s' %t.plan > %t.so
// RUN: llvm-objdump -d --no-show-raw-insn %t.so | FileCheck %s

// CHECK: <{{.*}}>:
// CHECK-NOT: %r{{1[6-9]|2[0-9]|3[01]}}
// CHECK-NOT: {nf}
// CHECK-NOT: {{(addq|subq|imulq|leaq|andq|orq)}} %r{{[a-z0-9]+}}, %r{{[a-z0-9]+}}, %r

func.func @f(%x: tensor<37x100xf32>) -> tensor<37x100xf32> {
  %i = weft.iota dim = 1 : tensor<37x100xi32>
  %j = weft.iota dim = 0 : tensor<37x100xi32>
  %k = arith.muli %i, %j : tensor<37x100xi32>
  %c = arith.sitofp %k : tensor<37x100xi32> to tensor<37x100xf32>
  %y = math.tanh %x : tensor<37x100xf32>
  %z = arith.addf %y, %c : tensor<37x100xf32>
  %s = weft.reduce sum %z dims = [1] : tensor<37x100xf32> -> tensor<37xf32>
  %b = weft.broadcast %s dims = [0] : tensor<37xf32> -> tensor<37x100xf32>
  %r = arith.divf %z, %b : tensor<37x100xf32>
  return %r : tensor<37x100xf32>
}

//===- HeldVersions.h - In which shardings values are there -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a function is gone through in program order: for every value the
// versions there are, the one that its op made and those resharded for users
// seen so far, and from which of them the next is made. Nothing of the program
// is changed here.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_HELDVERSIONS_H
#define WEFT_LIB_PARTITION_HELDVERSIONS_H

#include "OpChoices.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

/// A constraint, or a reshard of the input: its result shares the versions of
/// its operand.
bool isMarker(mlir::Operation *op);
/// What the value was defined as, without markers.
mlir::Value rootOf(mlir::Value value);

/// In which shardings the users of a value need it, in program order, each
/// once; those of a marker count for its operand.
struct ValueNeeds {
  llvm::SmallSetVector<ReshardPrices::Id, 4> needs;
  /// The shardings of its markers.
  llvm::SmallSetVector<ReshardPrices::Id, 2> marked;
};
using Needs = llvm::DenseMap<mlir::Value, ValueNeeds>;
Needs findNeeds(mlir::func::FuncOp function, const OpChoices &choices,
                ReshardPrices &prices);

/// What an op can exchange elements of along a split dimension is not needed
/// whole there, though propagation gathers it: no need is left, but of sums of
/// the `late` ops that are brought into another order that of other axes.
void needInShards(Needs &needs, mlir::Operation *op,
                  const llvm::DenseSet<mlir::Operation *> &late,
                  ReshardPrices &prices);

class HeldVersions {
public:
  using Id = ReshardPrices::Id;

  explicit HeldVersions(ReshardPrices &prices) : prices(prices) {}

  /// `value` is there as `made`.
  void define(mlir::Value value, Id made);
  /// `value` is `other` in all its versions.
  void share(mlir::Value value, mlir::Value other);
  /// `wide` is `narrow` in a type that takes more bytes and holds no more.
  void widen(mlir::Value wide, mlir::Value narrow);

  /// `value` will be needed as `needs` says of it. Versions that others are
  /// made of at little cost can be made before them.
  void plan(mlir::Value value, const Needs &needs);
  /// What is to be provided before `need` is, in this order.
  llvm::SmallVector<Id, 1> firstFor(mlir::Value value, Id need) const;

  /// The versions of a value; the first is the one that its op made. Numbers of
  /// groups are given in the order of definition.
  size_t groupOf(mlir::Value value) const { return groups.at(value); }
  llvm::ArrayRef<Id> versionsOf(mlir::Value value) const {
    return all[groupOf(value)].versions;
  }
  /// The type in which the value moves where nothing is reduced.
  mlir::RankedTensorType typeToMove(mlir::Value value) const;
  /// The version as its op made it; but where this are partial sums of which
  /// somebody has made the sum, the sum, which need not be sent again.
  size_t versionToKeep(mlir::Value value) const;

  /// How a version came to be.
  struct Provision {
    /// The number of the version among those of the value.
    size_t version = 0;
    /// It was there already.
    bool wasThere = false;
    /// The version that is resharded; of `narrow`, if there is one.
    size_t source = 0;
    /// What is moved in place of the value, and converted afterwards.
    mlir::Value narrow;
    /// The version of `narrow` that is converted, and whether it was there.
    size_t narrowVersion = 0;
    bool narrowWasThere = false;
    double seconds = 0;
    /// Bytes that each device sends.
    int64_t wireBytes = 0;
  };
  /// Adds the version `need` of the value if it is not there yet.
  Provision provide(mlir::Value value, Id need);

private:
  struct Group {
    /// As it was defined; constraints on it do not count.
    mlir::Value value;
    llvm::SmallVector<Id, 2> versions;
    /// Null if it was not converted from a narrower type.
    mlir::Value narrow;
    /// Versions to make before others, in this order.
    llvm::SmallVector<Id, 1> planned;
  };
  struct Nearest {
    size_t version;
    double seconds;
    int64_t wireBytes;
  };

  double secondsOfAll(const Group &group, llvm::ArrayRef<Id> needs) const;
  std::optional<Nearest> findNearest(const Group &group, Id need,
                                     bool mayReduce) const;
  bool moveNarrow(const Group &group, Id need, Provision &provision);

  ReshardPrices &prices;
  llvm::DenseMap<mlir::Value, size_t> groups;
  std::vector<Group> all;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_HELDVERSIONS_H

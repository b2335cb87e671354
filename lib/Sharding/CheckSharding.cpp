//===- CheckSharding.cpp - The legality rules of a sharding ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Sharding.h"

#include "llvm/ADT/STLExtras.h"

namespace weft::sharding {

namespace {

/// An axis list of a sharding and what it is called in a message.
struct NamedAxes {
  std::string name;
  llvm::ArrayRef<AxisRef> axes;
};

class Checker {
public:
  Checker(const Mesh &mesh, const Sharding &sharding)
      : mesh(mesh), sharding(sharding) {
    for (auto [index, dim] : llvm::enumerate(sharding.dims))
      lists.push_back({"dim " + std::to_string(index), dim.axes});
    lists.push_back({"replicated", sharding.replicated});
    lists.push_back({"unreduced", sharding.unreduced});
  }

  std::vector<std::string> check(size_t rank) {
    checkRank(rank);
    checkPriorities();
    // The later rules look axes up in the mesh and divide by their sizes.
    if (!checkFactors())
      return problems;
    checkPairs();
    for (const NamedAxes &list : lists)
      checkNeighbours(list);
    checkOrder(lists[lists.size() - 2]);
    checkOrder(lists.back());
    return problems;
  }

private:
  void report(std::string text) { problems.push_back(std::move(text)); }

  void checkRank(size_t rank) {
    if (sharding.dims.size() != rank)
      report("sharding has " + std::to_string(sharding.dims.size()) +
             " dimensions but the tensor has rank " + std::to_string(rank));
  }

  void checkPriorities() {
    for (auto [index, dim] : llvm::enumerate(sharding.dims)) {
      if (!dim.priority)
        continue;
      std::string has = "dim " + std::to_string(index) + " has priority " +
                        std::to_string(*dim.priority);
      if (*dim.priority < 0)
        report(has + ", priorities start at 0");
      if (dim.axes.empty() && dim.closed)
        report(has + " but is empty and closed: remove the priority, or open "
                     "the dimension with ?");
    }
  }

  /// Every reference names an axis of the mesh and a digit of it.
  bool checkFactors() {
    size_t before = problems.size();
    for (const NamedAxes &list : lists)
      for (const AxisRef &ref : list.axes)
        checkFactor(list, ref);
    return problems.size() == before;
  }

  void checkFactor(const NamedAxes &list, const AxisRef &ref) {
    if (ref.axis < 0 || size_t(ref.axis) >= mesh.axes().size()) {
      report("axis number " + std::to_string(ref.axis) + " of " + list.name +
             " is not one of the " + std::to_string(mesh.axes().size()) +
             " axes of the mesh");
      return;
    }
    if (mesh.isFull(ref) && ref.pre == 1)
      return;
    int64_t size = mesh.axisSize(ref.axis);
    if (ref.pre < 1 || ref.size < 2 || size % ref.next() != 0)
      report("sub-axis " + mesh.print(ref) + " of " + list.name +
             " does not factor axis \"" + mesh.axisName(ref.axis).str() +
             "\" of size " + std::to_string(size));
  }

  void checkPairs() {
    struct Use {
      const NamedAxes *list;
      AxisRef ref;
    };
    std::vector<Use> uses;
    for (const NamedAxes &list : lists)
      for (const AxisRef &ref : list.axes) {
        for (const Use &earlier : uses)
          checkPair(*earlier.list, earlier.ref, list, ref);
        uses.push_back({&list, ref});
      }
  }

  void checkPair(const NamedAxes &list1, const AxisRef &ref1,
                 const NamedAxes &list2, const AxisRef &ref2) {
    std::string first = mesh.print(ref1), second = mesh.print(ref2);
    if (ref1 == ref2)
      report("axis " + first + " is used by " + list1.name + " and again by " +
             list2.name);
    else if (ref1.overlaps(ref2))
      report("axis " + first + " of " + list1.name + " overlaps " + second +
             " of " + list2.name);
    else if (!ref1.canCoexistWith(ref2))
      report("sub-axes " + first + " of " + list1.name + " and " + second +
             " of " + list2.name + " are not parts of one factorization");
  }

  void checkNeighbours(const NamedAxes &list) {
    for (auto [major, minor] :
         llvm::zip(list.axes, list.axes.drop_front(!list.axes.empty())))
      if (major.canMergeWith(minor))
        report("neighbours " + mesh.print(major) + " and " + mesh.print(minor) +
               " of " + list.name + " are one axis: write " +
               mesh.print(major.mergedWith(minor)));
  }

  void checkOrder(const NamedAxes &list) {
    if (llvm::is_sorted(list.axes))
      return;
    AxisList sorted(list.axes);
    llvm::sort(sorted);
    report(list.name + " axes " + mesh.print(list.axes) +
           " are not in mesh order: write " + mesh.print(sorted));
  }

  const Mesh &mesh;
  const Sharding &sharding;
  llvm::SmallVector<NamedAxes, 6> lists;
  std::vector<std::string> problems;
};

} // namespace

std::vector<std::string> checkSharding(const Mesh &mesh,
                                       const Sharding &sharding, size_t rank) {
  return Checker(mesh, sharding).check(rank);
}

} // namespace weft::sharding

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
struct Place {
  std::string name;
  llvm::ArrayRef<AxisRef> axes;
};

class Checker {
public:
  Checker(const Mesh &mesh, const Sharding &sharding)
      : mesh(mesh), sharding(sharding) {
    for (auto [index, dim] : llvm::enumerate(sharding.dims))
      places.push_back({"dim " + std::to_string(index), dim.axes});
    places.push_back({"replicated", sharding.replicated});
    places.push_back({"unreduced", sharding.unreduced});
  }

  std::vector<std::string> check(size_t rank) {
    checkRank(rank);
    checkPriorities();
    // The later rules look axes up in the mesh and divide by their sizes.
    if (!checkFactors())
      return problems;
    checkPairs();
    for (const Place &place : places)
      checkNeighbours(place);
    checkOrder(places[places.size() - 2]);
    checkOrder(places.back());
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
    for (const Place &place : places)
      for (const AxisRef &ref : place.axes)
        checkFactor(place, ref);
    return problems.size() == before;
  }

  void checkFactor(const Place &place, const AxisRef &ref) {
    if (ref.axis < 0 || size_t(ref.axis) >= mesh.axes().size()) {
      report("axis number " + std::to_string(ref.axis) + " of " + place.name +
             " is not one of the " + std::to_string(mesh.axes().size()) +
             " axes of the mesh");
      return;
    }
    if (mesh.isFull(ref) && ref.pre == 1)
      return;
    int64_t size = mesh.axisSize(ref.axis);
    if (ref.pre < 1 || ref.size < 2 || size % ref.next() != 0)
      report("sub-axis " + mesh.print(ref) + " of " + place.name +
             " does not factor axis \"" + mesh.axisName(ref.axis).str() +
             "\" of size " + std::to_string(size));
  }

  void checkPairs() {
    struct Use {
      const Place *place;
      AxisRef ref;
    };
    std::vector<Use> uses;
    for (const Place &place : places)
      for (const AxisRef &ref : place.axes) {
        for (const Use &earlier : uses)
          checkPair(*earlier.place, earlier.ref, place, ref);
        uses.push_back({&place, ref});
      }
  }

  void checkPair(const Place &place1, const AxisRef &ref1, const Place &place2,
                 const AxisRef &ref2) {
    std::string first = mesh.print(ref1), second = mesh.print(ref2);
    if (ref1 == ref2)
      report("axis " + first + " is used by " + place1.name + " and again by " +
             place2.name);
    else if (ref1.overlaps(ref2))
      report("axis " + first + " of " + place1.name + " overlaps " + second +
             " of " + place2.name);
    else if (!ref1.canCoexistWith(ref2))
      report("sub-axes " + first + " of " + place1.name + " and " + second +
             " of " + place2.name + " are not parts of one factorization");
  }

  void checkNeighbours(const Place &place) {
    for (auto [major, minor] :
         llvm::zip(place.axes, place.axes.drop_front(!place.axes.empty())))
      if (major.canMergeWith(minor))
        report("neighbours " + mesh.print(major) + " and " + mesh.print(minor) +
               " of " + place.name + " are one axis: write " +
               mesh.print(major.mergedWith(minor)));
  }

  void checkOrder(const Place &place) {
    if (llvm::is_sorted(place.axes))
      return;
    AxisList sorted(place.axes);
    llvm::sort(sorted);
    report(place.name + " axes " + mesh.print(place.axes) +
           " are not in mesh order: write " + mesh.print(sorted));
  }

  const Mesh &mesh;
  const Sharding &sharding;
  llvm::SmallVector<Place, 6> places;
  std::vector<std::string> problems;
};

} // namespace

std::vector<std::string> checkSharding(const Mesh &mesh,
                                       const Sharding &sharding, size_t rank) {
  return Checker(mesh, sharding).check(rank);
}

} // namespace weft::sharding

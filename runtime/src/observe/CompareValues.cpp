//===- CompareValues.cpp - What the ranks computed, checked op by op ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/CompareValues.h"

#include "observe/Numbers.h"
#include "plan/Roles.h"
#include "plan/Text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace weft::runtime {

using Observed = plan::ObservedValue;
using Kind = plan::ObservedKind;

/// Sums are held to no more terms than this: docs/Numerics.md.
static constexpr double mostTerms = 1024;
/// Roundings of an element that is no sum, in each of both plans.
static constexpr double roundings = 4;

static constexpr std::string_view valuePrefix = "weft.value ",
                                  givenPrefix = "weft.given ";

static std::string valueName(const Observed &value) {
  return fmt::format("{}{}", valuePrefix, value.number());
}

static std::string givenName(uint32_t number) {
  return fmt::format("{}{}", givenPrefix, number);
}

/// Of an input that stands for a value, the output that is the value.
static std::string valueGivenBy(const std::string &input) {
  return input.starts_with(givenPrefix)
             ? fmt::format("{}{}", valuePrefix,
                           input.substr(givenPrefix.size()))
             : "";
}

static const plan::Entry &contentsOf(const Plan &plan, const EntrySpec &entry) {
  return *plan.contents().entries()->Get(entry.number);
}

//===----------------------------------------------------------------------===//
// Whether plan and reference belong together
//===----------------------------------------------------------------------===//

static bool isSame(const ValueSpec *value, const ValueSpec &other) {
  return value && value->dtype == other.dtype &&
         value->globalShape == other.globalShape;
}

Status checkReference(const Plan &plan, const Plan &reference,
                      const std::string &name) {
  const EntrySpec *entry = plan.entry(name);
  if (!entry)
    return invalidArgument(fmt::format("the plan has no entry \"{}\"", name));
  const auto *observed = contentsOf(plan, *entry).observed();
  if (!observed)
    return invalidArgument(fmt::format(
        "entry \"{}\" of the plan was not made to be verified; compile it with "
        "--reference=FILE",
        name));
  const EntrySpec *other = reference.entry(name);
  const auto mismatch = [&](const std::string &what) {
    return invalidArgument(
        fmt::format("the reference is of another program: {}", what));
  };
  if (reference.ranks() != 1 || !other)
    return mismatch(fmt::format("it has no entry \"{}\" for one device", name));
  for (const Observed *value : *observed) {
    const ValueSpec &held = entry->outputs[value->output()];
    const ValueSpec *made = other->output(valueName(*value));
    if (!made || made->globalShape != held.globalShape)
      return mismatch(fmt::format("it does not compute value {}, {} as {}",
                                  value->number(), view(value->name()),
                                  typeName(held.dtype, held.globalShape)));
  }
  for (const ValueSpec &input : other->inputs)
    if (!isSame(entry->input(input.name), input) &&
        !isSame(other->output(valueGivenBy(input.name)), input))
      return mismatch(fmt::format("it takes \"{}\" as {}", input.name,
                                  typeName(input.dtype, input.globalShape)));
  return {};
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

/// An observed value as the ranks hold it.
struct Held {
  const Observed *value = nullptr;
  const plan::TensorType *type = nullptr;
  std::vector<Holding> holdings;
  /// The whole, of copies the first, and the magnitudes of its terms.
  Numbers whole, magnitudes;
  /// Whether other copies have other bits, be they within the bound.
  bool hasOtherCopies = false;

  DType dtype() const { return dtypeOf(type->dtype()); }
  int64_t terms() const { return groupSize(axesOf(type->unreduced())); }
  bool isOn(int64_t rank) const {
    return std::ranges::any_of(holdings, [&](const Holding &holding) {
      return std::ranges::count(holding.ranks, rank) != 0;
    });
  }
};

class Comparer {
public:
  Comparer(Session &ranks, Session &reference, const EntrySpec &entry)
      : ranks(ranks), reference(reference), entry(entry),
        contents(contentsOf(ranks.plan(), entry)),
        mesh(ranks.plan().contents()), roles(ranks.plan().contents(), mesh) {}

  Result<Comparison> run(const std::map<std::string, Array> &inputs);

private:
  Status runRanks(const std::map<std::string, Array> &inputs);
  Status hold();
  void chooseGiven();
  Status runReference(bool ofMagnitudes, std::map<uint32_t, Numbers> &made);
  Status computeMissing(bool ofMagnitudes);
  Status compareAll();
  bool usesOthers(const Held &held) const;
  double roundingOfOperands(const Held &held) const;
  std::optional<WrongValue> compare(const Held &held);
  Numbers boundsOf(const Held &held, const Numbers &expected) const;
  std::optional<WrongValue> compare(const Held &held, const Numbers &expected,
                                    const Numbers &bounds);
  void describe(const Held &held, const Numbers &bounds,
                WrongValue &wrong) const;

  Session &ranks, &reference;
  const EntrySpec &entry;
  const plan::Entry &contents;
  Mesh mesh;
  Roles roles;
  Comparison result;
  std::vector<Held> held;
  /// Of the outputs of the reference for them.
  std::set<std::string> observedNames;
  /// What the reference is given: its own inputs, and for each number the place
  /// of the observed value.
  std::map<std::string, Array> arguments;
  std::map<uint32_t, uint32_t> given;
  /// What the reference made of values, and of their magnitudes.
  std::map<uint32_t, Numbers> made, madeOfMagnitudes;
  std::map<uint32_t, WrongValue> wrong;
};

} // namespace

static bool isRight(double value, double expected, double bound) {
  return std::abs(value - expected) <= bound || value == expected ||
         (std::isnan(value) && std::isnan(expected));
}

static Numbers magnitudesOf(Numbers numbers) {
  for (double &number : numbers)
    number = std::abs(number);
  return numbers;
}

/// Sets all inputs, keeping their values for the reference.
Status Comparer::runRanks(const std::map<std::string, Array> &inputs) {
  for (const ValueSpec &input : entry.inputs) {
    const auto found = inputs.find(input.name);
    if (found == inputs.end() && !input.isState)
      return invalidArgument(fmt::format(
          "input \"{}\" ({}) of entry \"{}\" is missing", input.name,
          typeName(input.dtype, input.globalShape), entry.name));
    if (found != inputs.end())
      WEFT_RETURN_IF_ERROR(
          input.isState
              ? ranks.setState(input.name, found->second)
              : ranks.setInput(entry.name, input.name, found->second));
    if (!reference.plan().entry(entry.name)->input(input.name))
      continue;
    if (found != inputs.end()) {
      arguments[input.name] = found->second;
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(arguments[input.name], ranks.getState(input.name));
  }
  return ranks.run(entry.name);
}

Status Comparer::hold() {
  for (const Observed *value : *contents.observed()) {
    Held &each = held.emplace_back();
    each.value = value;
    observedNames.insert(valueName(*value));
    const plan::Binding &output = *contents.outputs()->Get(value->output());
    each.type = output.type();
    std::map<int64_t, Array> shards;
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
      if (bufferOf(contents, output, roles.of(rank))) {
        WEFT_ASSIGN_OR_RETURN(
            shards[rank],
            ranks.getShard(entry.outputs[value->output()].name, rank));
      }
    each.holdings = holdingsOf(*each.type, mesh, [&](int64_t rank) {
      const auto shard = shards.find(rank);
      return shard == shards.end() ? nullptr : &shard->second;
    });
    const size_t size =
        elementCountOf(entry.outputs[value->output()].globalShape);
    each.whole.resize(size);
    each.magnitudes.resize(size);
    // In reverse, so that the first copy stays.
    for (auto holding = each.holdings.rbegin(); holding != each.holdings.rend();
         ++holding)
      for (size_t i = 0; i < holding->where.size(); ++i) {
        each.whole[holding->where[i]] = holding->numbers[i];
        each.magnitudes[holding->where[i]] = holding->magnitudes[i];
      }
    each.hasOtherCopies =
        std::ranges::any_of(each.holdings, [&](const Holding &holding) {
          for (size_t i = 0; i < holding.where.size(); ++i)
            if (!isRight(holding.numbers[i], each.whole[holding.where[i]], 0))
              return true;
          return false;
        });
  }
  return {};
}

/// The first of the versions of each value that is no partial sums, if there is
/// one.
void Comparer::chooseGiven() {
  for (uint32_t place = 0; place < held.size(); ++place) {
    const auto [chosen, isNew] =
        given.try_emplace(held[place].value->number(), place);
    if (!isNew && held[chosen->second].terms() > 1 && held[place].terms() == 1)
      chosen->second = place;
  }
}

/// Runs the reference. Values that the ranks do not have, because a pass made
/// other ops of those that make them, it is given once it has made them.
Status Comparer::computeMissing(bool ofMagnitudes) {
  const EntrySpec &spec = *reference.plan().entry(entry.name);
  std::map<std::string, Array> missing;
  for (const ValueSpec &input : spec.inputs)
    if (const std::string value = valueGivenBy(input.name);
        !value.empty() && !observedNames.contains(value))
      missing[input.name] = Array(input.dtype, input.globalShape);
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (const auto &[name, array] : missing)
      WEFT_RETURN_IF_ERROR(reference.setInput(entry.name, name, array));
    WEFT_RETURN_IF_ERROR(reference.run(entry.name));
    for (auto &[name, array] : missing) {
      WEFT_ASSIGN_OR_RETURN(Array made,
                            reference.getOutput(valueGivenBy(name)));
      if (ofMagnitudes && isFloat(made.dtype))
        made = toArray(magnitudesOf(toNumbers(made)), made.dtype, made.shape);
      isNew |= made.data != array.data;
      array = std::move(made);
    }
  }
  return {};
}

Status Comparer::runReference(bool ofMagnitudes,
                              std::map<uint32_t, Numbers> &into) {
  const EntrySpec &spec = *reference.plan().entry(entry.name);
  const auto set = [&](const std::string &name, Numbers numbers) -> Status {
    const ValueSpec *input = spec.input(name);
    if (!input)
      return {};
    if (ofMagnitudes && isFloat(input->dtype))
      numbers = magnitudesOf(std::move(numbers));
    return reference.setInput(
        entry.name, name, toArray(numbers, input->dtype, input->globalShape));
  };
  for (const auto &[name, array] : arguments) {
    if (ofMagnitudes)
      WEFT_RETURN_IF_ERROR(set(name, toNumbers(array)));
    else
      WEFT_RETURN_IF_ERROR(reference.setInput(entry.name, name, array));
  }
  for (const auto &[number, place] : given) {
    const Held &from = held[place];
    WEFT_RETURN_IF_ERROR(set(givenName(number), ofMagnitudes && from.terms() > 1
                                                    ? from.magnitudes
                                                    : from.whole));
  }
  WEFT_RETURN_IF_ERROR(computeMissing(ofMagnitudes));
  for (const Held &each : held) {
    WEFT_ASSIGN_OR_RETURN(const Array array,
                          reference.getOutput(valueName(*each.value)));
    into[each.value->number()] = toNumbers(array);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// Whether the value was made of another version of an operand than the
/// reference is given, and one with other bits.
bool Comparer::usesOthers(const Held &each) const {
  if (each.value->kind() == Kind::Moved || !each.value->sources())
    return false;
  return std::ranges::any_of(*each.value->sources(), [&](uint32_t source) {
    const uint32_t chosen = given.at(held[source].value->number());
    return chosen != source && held[chosen].whole != held[source].whole;
  });
}

/// Half a unit in the last place of 1 in the coarsest type in which the
/// reference was given an operand that the ranks hold as more digits, in a
/// finer type or as partial sums; 0 if there is none.
double Comparer::roundingOfOperands(const Held &each) const {
  double coarsest = 0;
  if (each.value->sources())
    for (const uint32_t source : *each.value->sources()) {
      const Held &from = held[given.at(held[source].value->number())];
      const ValueSpec *input = reference.plan()
                                   .entry(entry.name)
                                   ->input(givenName(from.value->number()));
      if (input && (from.terms() > 1 ||
                    roundingOf(input->dtype) > roundingOf(from.dtype())))
        coarsest = std::max(coarsest, roundingOf(input->dtype));
    }
  return coarsest;
}

/// How far each element may be from what is expected.
Numbers Comparer::boundsOf(const Held &each, const Numbers &expected) const {
  const Observed &value = *each.value;
  double rounding = roundingOf(each.dtype());
  Numbers bounds(expected.size(), 0);
  if (rounding == 0)
    return bounds;
  if (value.kind() == Kind::Moved) {
    const Held &source = held[value.sources()->Get(0)];
    if (source.terms() > 1)
      for (size_t i = 0; i < bounds.size(); ++i)
        bounds[i] = (source.terms() + 1) * rounding * source.magnitudes[i];
    return bounds;
  }
  const DType ofGraph =
      reference.plan().entry(entry.name)->output(valueName(value))->dtype;
  rounding = std::max(rounding, roundingOf(ofGraph));
  const double ofSums = std::min(rounding, roundingOf(DType::F32));
  // In a product two factors are off by it: (1 + u)^2 - 1 <= 2 u (1 + u).
  const double ofOperand = roundingOfOperands(each),
               ofOperands = ofOperand * (1 + ofOperand);
  const double smallest =
      std::max(smallestOf(each.dtype()), smallestOf(ofGraph));
  const Numbers &magnitudes = madeOfMagnitudes.at(value.number());
  double largest = 0;
  for (double number : expected)
    largest = std::max(largest, std::abs(number));
  for (size_t i = 0; i < bounds.size(); ++i) {
    const double size = std::abs(expected[i]);
    double terms = size;
    if (value.kind() == Kind::Sum || each.terms() > 1 || ofOperands > 0)
      terms =
          std::max(size, std::isfinite(magnitudes[i]) ? std::abs(magnitudes[i])
                                                      : largest);
    bounds[i] =
        2 * (roundings * rounding * size + ofOperands * terms + smallest);
    // Processors' matmuls of bf16 take numbers below the smallest normal one
    // for 0.
    if (value.kind() == Kind::Sum)
      bounds[i] +=
          2 * std::min<double>(value.terms(), mostTerms) * ofSums * terms +
          2 * value.terms() * 0x1p-126;
    if (value.kind() == Kind::Attention)
      bounds[i] += 2 * (roundings * rounding + mostTerms * ofSums) * largest;
    if (each.terms() > 1)
      bounds[i] += (each.terms() + 2 * roundings) * rounding *
                   (terms + each.magnitudes[i]);
  }
  return bounds;
}

std::optional<WrongValue> Comparer::compare(const Held &each) {
  const bool isMoved = each.value->kind() == Kind::Moved;
  const Numbers &expected = isMoved ? held[each.value->sources()->Get(0)].whole
                                    : made.at(each.value->number());
  return compare(each, expected, boundsOf(each, expected));
}

/// How far beyond its bound an element is.
static double excess(double value, double expected, double bound) {
  const double error = std::abs(value - expected);
  if (!std::isfinite(error))
    return std::numeric_limits<double>::infinity();
  return bound > 0 ? error / bound : error > 0 ? 0x1p1000 * error : 0;
}

std::optional<WrongValue> Comparer::compare(const Held &each,
                                            const Numbers &expected,
                                            const Numbers &bounds) {
  WrongValue found;
  std::set<int64_t> wrongRanks;
  std::vector<bool> isWrong(expected.size());
  std::optional<int64_t> worst;
  double furthest = -1, largest = 0;
  for (const Holding &holding : each.holdings)
    for (size_t i = 0; i < holding.where.size(); ++i) {
      const int64_t at = holding.where[i];
      const double value = holding.numbers[i];
      if (isRight(value, expected[at], bounds[at])) {
        if (bounds[at] > 0 && std::isfinite(bounds[at]) &&
            value != expected[at])
          largest =
              std::max(largest, std::abs(value - expected[at]) / bounds[at]);
        continue;
      }
      isWrong[at] = true;
      wrongRanks.insert(holding.ranks.begin(), holding.ranks.end());
      const double beyond = excess(value, expected[at], bounds[at]);
      if (beyond > furthest) {
        furthest = beyond;
        worst = at;
        found.value = value;
      }
    }
  if (!worst) {
    if (std::isfinite(largest))
      result.largest = std::max(result.largest, largest);
    return std::nullopt;
  }
  found.expected = expected[*worst];
  found.bound = bounds[*worst];
  found.elements = std::ranges::count(isWrong, true);
  found.of = static_cast<int64_t>(expected.size());
  found.ranks.assign(wrongRanks.begin(), wrongRanks.end());
  const auto &shape = entry.outputs[each.value->output()].globalShape;
  int64_t rest = *worst;
  for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
    found.index.insert(found.index.begin(), rest % shape[dim]);
  describe(each, bounds, found);
  return found;
}

/// The whole axes of the mesh.
static std::vector<plan::AxisRef> axesOfMesh(const plan::Plan &plan) {
  std::vector<plan::AxisRef> axes;
  for (uint32_t axis = 0; axis < plan.mesh()->size(); ++axis)
    axes.emplace_back(axis, 1, plan.mesh()->Get(axis)->size());
  return axes;
}

static bool uses(const plan::TensorType &type, const plan::AxisRef &axis) {
  const auto has = [&](const plan::AxisList *list) {
    return std::ranges::any_of(axesOf(list), [&](const plan::AxisRef &ref) {
      return ref.axis() == axis.axis();
    });
  };
  return has(type.unreduced()) || std::ranges::any_of(*type.dim_axes(), has);
}

/// What the ranks that are wrong have in common, and where copies differ.
void Comparer::describe(const Held &each, const Numbers &bounds,
                        WrongValue &found) const {
  const plan::Plan &plan = ranks.plan().contents();
  std::vector<std::string> common;
  size_t spanned = 1;
  for (const plan::AxisRef &axis : axesOfMesh(plan)) {
    std::set<int64_t> positions;
    for (int64_t rank : found.ranks)
      positions.insert(mesh.position(rank, {axis}));
    spanned *= positions.size();
    const std::string name = plan.mesh()->Get(axis.axis())->name()->str();
    if (static_cast<int64_t>(positions.size()) < axis.size())
      common.push_back(
          fmt::format("{} = {}", name, fmt::join(positions, " or ")));
  }
  if (spanned == found.ranks.size())
    found.where = fmt::format("{}", fmt::join(common, ", "));
  std::map<int64_t, const Holding *> holdingOf;
  for (const Holding &holding : each.holdings)
    for (int64_t rank : holding.ranks)
      holdingOf[rank] = &holding;
  for (const plan::AxisRef &axis : axesOfMesh(plan)) {
    if (uses(*each.type, axis))
      continue;
    const bool differs = std::ranges::any_of(holdingOf, [&](const auto &pair) {
      const auto first = holdingOf.find(mesh.rankAt(pair.first, {axis}, 0));
      // Of a pipeline one stage has it.
      if (first == holdingOf.end())
        return false;
      const Holding &a = *pair.second, &b = *first->second;
      for (size_t i = 0; i < a.where.size(); ++i)
        if (!isRight(a.numbers[i], b.numbers[i], bounds[a.where[i]]))
          return true;
      return false;
    });
    if (differs)
      found.differing.push_back(plan.mesh()->Get(axis.axis())->name()->str());
  }
  if (each.value->sources())
    for (const uint32_t source : *each.value->sources())
      if (!held[source].isOn(found.ranks.front()))
        found.received.push_back(held[source].value->name()->str());
}

Status Comparer::compareAll() {
  WEFT_RETURN_IF_ERROR(runReference(/*ofMagnitudes=*/true, madeOfMagnitudes));
  std::vector<uint32_t> pending;
  for (uint32_t place = 0; place < held.size(); ++place)
    pending.push_back(place);
  std::set<uint32_t> tried;
  while (!pending.empty()) {
    WEFT_RETURN_IF_ERROR(runReference(/*ofMagnitudes=*/false, made));
    std::vector<uint32_t> next;
    for (uint32_t place : pending) {
      std::optional<WrongValue> found = compare(held[place]);
      if (!found)
        continue;
      // What it is made of may have been added up in another order.
      if (usesOthers(held[place]) && !tried.contains(place))
        next.push_back(place);
      else
        wrong.emplace(place, *std::move(found));
    }
    pending = std::move(next);
    if (pending.empty())
      break;
    tried.insert(pending.front());
    for (uint32_t source : *held[pending.front()].value->sources())
      given[held[source].value->number()] = source;
  }
  return {};
}

Result<Comparison> Comparer::run(const std::map<std::string, Array> &inputs) {
  WEFT_RETURN_IF_ERROR(runRanks(inputs));
  WEFT_RETURN_IF_ERROR(hold());
  chooseGiven();
  WEFT_RETURN_IF_ERROR(compareAll());
  result.entry = entry.name;
  result.ranks = mesh.ranks();
  result.values = static_cast<int64_t>(held.size());
  for (auto &[place, found] : wrong) {
    const Observed &value = *held[place].value;
    found.place = place;
    found.name = view(value.name());
    found.isMoved = value.kind() == Kind::Moved;
    const bool isBehind =
        value.sources() &&
        std::ranges::any_of(*value.sources(), [&](uint32_t source) {
          return wrong.contains(source) || held[source].hasOtherCopies;
        });
    if (isBehind)
      ++result.behind;
    else
      result.wrong.push_back(found);
  }
  // Copies of what they are made of differ, within the bound.
  if (result.wrong.empty() && !wrong.empty()) {
    result.wrong.push_back(wrong.begin()->second);
    --result.behind;
  }
  return std::move(result);
}

Result<Comparison> compareValues(Session &ranks, Session &reference,
                                 const std::string &entry,
                                 const std::map<std::string, Array> &inputs) {
  WEFT_RETURN_IF_ERROR(checkReference(ranks.plan(), reference.plan(), entry));
  return Comparer(ranks, reference, *ranks.plan().entry(entry)).run(inputs);
}

} // namespace weft::runtime

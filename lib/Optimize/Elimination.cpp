//===- Elimination.cpp - Bucket elimination of a cost network -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Order: the variable whose table takes least work comes next, the first of the
// program among equals. So a chain of layers is consumed from its ends, and a
// layer is worked out once.
//
//===----------------------------------------------------------------------===//

#include "Elimination.h"

#include <algorithm>
#include <memory>
#include <numeric>

using namespace weft::optimize;

Elimination::Elimination(KnownParts &known, std::vector<size_t> sizes,
                         const std::vector<Factor> &factors, size_t maxTable,
                         CostNetwork::Assignment incumbent, bool nearIncumbent)
    : known(known), tables(known.tables), sizes(std::move(sizes)),
      maxTable(maxTable), incumbent(std::move(incumbent)),
      nearIncumbent(nearIncumbent) {
  factorsOf.resize(this->sizes.size());
  workOf.resize(this->sizes.size(), -1);
  isEliminated.resize(this->sizes.size(), false);
  mayBeDominated.resize(this->sizes.size(), true);
  for (size_t size : this->sizes) {
    valuesOf.emplace_back(size);
    std::iota(valuesOf.back().begin(), valuesOf.back().end(), 0);
  }
  for (const Factor &factor : factors)
    addFactor(factor);
}

void Elimination::addFactor(Factor factor) {
  for (Variable variable : factor.scope) {
    factorsOf[variable].push_back(static_cast<int32_t>(factors.size()));
    mayBeDominated[variable] = true;
  }
  factors.push_back(std::move(factor));
}

void Elimination::removeFactor(int32_t factor) {
  for (Variable variable : factors[factor].scope)
    std::erase(factorsOf[variable], factor);
  factors[factor].scope.clear();
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

Elimination::Bucket Elimination::bucketOf(Variable variable) const {
  Bucket bucket;
  bucket.factors = factorsOf[variable];
  bucket.neighbours.reserve(2 * bucket.factors.size());
  for (int32_t factor : bucket.factors)
    for (Variable other : factors[factor].scope)
      if (other != variable)
        bucket.neighbours.push_back(other);
  std::sort(bucket.neighbours.begin(), bucket.neighbours.end());
  bucket.neighbours.erase(
      std::unique(bucket.neighbours.begin(), bucket.neighbours.end()),
      bucket.neighbours.end());
  return bucket;
}

/// Of the table over the neighbours.
double Elimination::entriesOf(const Bucket &bucket) const {
  double entries = 1;
  for (Variable neighbour : bucket.neighbours)
    entries *= static_cast<double>(sizes[neighbour]);
  return entries;
}

Elimination::Shape Elimination::shapeOf(Variable variable,
                                        const Bucket &bucket) const {
  // Where each factor begins among the numbers of all.
  std::vector<size_t> starts;
  Shape numbers;
  for (int32_t factor : bucket.factors) {
    starts.push_back(numbers.size());
    numbers.push_back(factors[factor].table);
    for (Variable other : factors[factor].scope)
      numbers.push_back(other == variable
                            ? -1
                            : std::lower_bound(bucket.neighbours.begin(),
                                               bucket.neighbours.end(), other) -
                                  bucket.neighbours.begin());
    numbers.push_back(-2);
  }
  auto endOf = [&](size_t start) {
    return std::find(numbers.begin() + start, numbers.end(), -2);
  };
  std::sort(starts.begin(), starts.end(), [&](size_t a, size_t b) {
    return std::lexicographical_compare(numbers.begin() + a, endOf(a),
                                        numbers.begin() + b, endOf(b));
  });
  Shape shape;
  shape.reserve(1 + bucket.neighbours.size() + numbers.size());
  shape.push_back(static_cast<int64_t>(sizes[variable]));
  for (Variable neighbour : bucket.neighbours)
    shape.push_back(static_cast<int64_t>(sizes[neighbour]));
  for (size_t start : starts) {
    shape.push_back(-2);
    shape.insert(shape.end(), numbers.begin() + start, endOf(start));
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Fewer values
//===----------------------------------------------------------------------===//

/// The table of a factor with the values of one of its variables first: a row
/// for each of them.
std::vector<Cost> Elimination::rowsOf(const Factor &factor,
                                      Variable variable) const {
  const std::vector<Cost> &table = tables[factor.table];
  auto position = std::find(factor.scope.begin(), factor.scope.end(), variable);
  size_t inner = 1, outer = 1, size = sizes[variable];
  for (auto it = factor.scope.begin(); it != position; ++it)
    outer *= sizes[*it];
  for (auto it = position + 1; it != factor.scope.end(); ++it)
    inner *= sizes[*it];
  std::vector<Cost> rows;
  rows.reserve(table.size());
  for (size_t value = 0; value < size; ++value)
    for (size_t i = 0; i < outer; ++i)
      for (size_t j = 0; j < inner; ++j)
        rows.push_back(table[(i * size + value) * inner + j]);
  return rows;
}

Elimination::Selection Elimination::only(Variable variable,
                                         std::vector<int32_t> values) const {
  Selection selection;
  selection.numbers.assign(sizes[variable], -1);
  for (size_t i = 0; i < values.size(); ++i)
    selection.numbers[values[i]] = static_cast<int32_t>(i);
  selection.values = std::move(values);
  return selection;
}

/// Leaves the variable some of its values.
void Elimination::keep(Variable variable, const Selection &selection) {
  const std::vector<int32_t> &values = selection.values;
  for (int32_t number : factorsOf[variable]) {
    Factor &factor = factors[number];
    size_t position =
        std::find(factor.scope.begin(), factor.scope.end(), variable) -
        factor.scope.begin();
    Shape key = {factor.table, static_cast<int64_t>(position)};
    for (Variable other : factor.scope)
      key.push_back(static_cast<int64_t>(sizes[other]));
    // The end of the scope: its sizes could be values.
    key.push_back(-1);
    key.insert(key.end(), values.begin(), values.end());
    auto [entry, isNew] = known.kept.try_emplace(std::move(key), 0);
    if (isNew) {
      size_t inner = 1;
      for (size_t i = position + 1; i < factor.scope.size(); ++i)
        inner *= sizes[factor.scope[i]];
      const std::vector<Cost> &table = tables[factor.table];
      size_t outer = table.size() / (inner * sizes[variable]);
      std::vector<Cost> smaller;
      smaller.reserve(outer * values.size() * inner);
      for (size_t i = 0; i < outer; ++i)
        for (int32_t value : values) {
          auto row = table.begin() + (i * sizes[variable] + value) * inner;
          smaller.insert(smaller.end(), row, row + inner);
        }
      known.numEntries += smaller.size();
      entry->second = tables.intern(std::move(smaller));
    }
    factor.table = entry->second;
    for (Variable other : factor.scope)
      mayBeDominated[other] = other != variable || mayBeDominated[other];
  }
  std::vector<int32_t> originals;
  for (int32_t value : values)
    originals.push_back(valuesOf[variable][value]);
  valuesOf[variable] = std::move(originals);
  sizes[variable] = values.size();
  incumbent[variable] = selection.numbers[incumbent[variable]];
  steps.push_back({variable, {}, nullptr, selection});
}

/// For each value the sum of the least that it costs in every table by itself.
std::vector<Cost> Elimination::lowerBounds(Variable variable) const {
  size_t size = sizes[variable];
  std::vector<Cost> least(size, 0);
  for (int32_t number : factorsOf[variable]) {
    std::vector<Cost> rows = rowsOf(factors[number], variable);
    size_t width = rows.size() / size;
    for (size_t value = 0; value < size; ++value) {
      auto row = rows.begin() + value * width;
      least[value] = std::min(
          least[value] + *std::min_element(row, row + width), forbidden);
    }
  }
  return least;
}

/// What each value costs while all other variables are as in the incumbent.
std::vector<Cost> Elimination::costsAtIncumbent(Variable variable) const {
  std::vector<Cost> costs(sizes[variable], 0);
  for (int32_t number : factorsOf[variable]) {
    const Factor &factor = factors[number];
    size_t index = 0, step = 0;
    for (Variable other : factor.scope) {
      bool isIt = other == variable;
      index = index * sizes[other] + (isIt ? 0 : incumbent[other]);
      step = isIt ? 1 : step * sizes[other];
    }
    for (size_t value = 0; value < costs.size(); ++value)
      costs[value] = std::min(
          costs[value] + tables[factor.table][index + value * step], forbidden);
  }
  return costs;
}

/// Leaves the variable the better half of its values, and the incumbent's.
void Elimination::giveUpValues(Variable variable) {
  exact = false;
  size_t size = sizes[variable];
  std::vector<Cost> costs =
      nearIncumbent ? costsAtIncumbent(variable) : lowerBounds(variable);
  std::vector<int32_t> values(size);
  std::iota(values.begin(), values.end(), 0);
  std::stable_sort(values.begin(), values.end(), [&](int32_t a, int32_t b) {
    bool aStays = a == incumbent[variable], bStays = b == incumbent[variable];
    return aStays != bStays ? aStays : costs[a] < costs[b];
  });
  values.resize((size + 1) / 2);
  std::sort(values.begin(), values.end());
  keep(variable, only(variable, std::move(values)));
}

//===----------------------------------------------------------------------===//
// Elimination
//===----------------------------------------------------------------------===//

/// The table with the values of the variable at `position` next to each other.
static std::vector<Cost> withColumns(const std::vector<Cost> &table,
                                     const std::vector<size_t> &sizes,
                                     size_t position) {
  size_t inner = 1, size = sizes[position];
  for (size_t i = position + 1; i < sizes.size(); ++i)
    inner *= sizes[i];
  std::vector<Cost> columns(table.size());
  for (size_t start = 0; start < table.size(); start += size * inner)
    for (size_t value = 0; value < size; ++value)
      for (size_t i = 0; i < inner; ++i)
        columns[start + i * size + value] = table[start + value * inner + i];
  return columns;
}

namespace {

/// A factor of a variable: costs of its values for those of its neighbours.
struct Operand {
  /// The values next to each other; `columns` if those of the table are not.
  const Cost *costs;
  std::vector<Cost> columns;
  /// By neighbour.
  std::vector<size_t> strides;
  size_t index = 0;
};

} // namespace

static Operand operandOf(const CostNetwork::Factor &factor,
                         const CostTables &tables,
                         const std::vector<size_t> &sizes,
                         CostNetwork::Variable variable,
                         const std::vector<CostNetwork::Variable> &neighbours) {
  Operand operand;
  operand.strides.resize(neighbours.size(), 0);
  std::vector<size_t> scopeSizes;
  for (CostNetwork::Variable other : factor.scope)
    scopeSizes.push_back(sizes[other]);
  size_t position = 0, stride = sizes[variable];
  for (size_t i = factor.scope.size(); i-- > 0;) {
    if (factor.scope[i] == variable) {
      position = i;
      continue;
    }
    auto neighbour =
        std::lower_bound(neighbours.begin(), neighbours.end(), factor.scope[i]);
    operand.strides[neighbour - neighbours.begin()] = stride;
    stride *= scopeSizes[i];
  }
  const std::vector<Cost> &table = tables[factor.table];
  if (position + 1 < factor.scope.size())
    operand.columns = withColumns(table, scopeSizes, position);
  operand.costs =
      operand.columns.empty() ? table.data() : operand.columns.data();
  return operand;
}

static void clampToForbidden(std::vector<Cost> &costs) {
  for (Cost &cost : costs)
    cost = std::min(cost, forbidden);
}

/// Adds columns of operands to sums that are at most forbidden; afterwards they
/// are up to 16 times that.
static void addColumns(std::vector<Cost> &sums, const Operand *begin,
                       const Operand *end, size_t valueOfLast) {
  // This many terms and a sum that is at most forbidden fit in 64 bits.
  constexpr size_t mostTerms = 16;
  for (const Operand *operand = begin; operand != end; ++operand) {
    const Cost *costs = operand->costs + operand->index;
    if (valueOfLast > 0)
      costs += valueOfLast * operand->strides.back();
    for (size_t value = 0; value < sums.size(); ++value)
      sums[value] += costs[value];
    if ((operand - begin) % mostTerms == mostTerms - 1)
      clampToForbidden(sums);
  }
}

Elimination::Eliminated Elimination::combine(Variable variable,
                                             const Bucket &bucket) {
  const size_t numNeighbours = bucket.neighbours.size();
  std::vector<Operand> operands;
  for (int32_t number : bucket.factors)
    operands.push_back(
        operandOf(factors[number], tables, sizes, variable, bucket.neighbours));
  // The last neighbour's values come one after the other; what does not depend
  // on it is added up once for all of them.
  const size_t last = numNeighbours == 0 ? 1 : sizes[bucket.neighbours.back()];
  size_t numOuter = operands.size();
  if (numNeighbours > 0)
    numOuter = std::stable_partition(operands.begin(), operands.end(),
                                     [](const Operand &operand) {
                                       return operand.strides.back() == 0;
                                     }) -
               operands.begin();
  const Operand *inner = operands.data() + numOuter;
  const Operand *end = operands.data() + operands.size();
  const size_t entries = static_cast<size_t>(entriesOf(bucket));
  std::vector<Cost> table(entries);
  auto best = std::make_unique<Best>(entries);
  std::vector<size_t> position(numNeighbours, 0);
  std::vector<Cost> outer(sizes[variable]), sums(sizes[variable]);
  for (size_t entry = 0; entry < entries;) {
    std::fill(outer.begin(), outer.end(), 0);
    addColumns(outer, operands.data(), inner, 0);
    clampToForbidden(outer);
    for (size_t value = 0; value < last; ++value, ++entry) {
      sums = outer;
      addColumns(sums, inner, end, value);
      auto least = std::min_element(sums.begin(), sums.end());
      const bool isPossible = *least < forbidden;
      table[entry] = isPossible ? *least : forbidden;
      (*best)[entry] =
          isPossible ? static_cast<uint16_t>(least - sums.begin()) : 0;
    }
    for (size_t i = std::max<size_t>(numNeighbours, 1) - 1; i-- > 0;) {
      bool wraps = ++position[i] == sizes[bucket.neighbours[i]];
      for (Operand &operand : operands)
        operand.index += wraps ? 0 : operand.strides[i];
      if (!wraps)
        break;
      for (Operand &operand : operands)
        operand.index -= operand.strides[i] * (position[i] - 1);
      position[i] = 0;
    }
  }
  // Equal parts differ by what came before them only.
  Cost least = *std::min_element(table.begin(), table.end());
  if (least < forbidden)
    for (Cost &cost : table)
      cost = cost == forbidden ? forbidden : cost - least;
  known.numEntries += entries;
  known.bests.push_back(std::move(best));
  return {tables.intern(std::move(table)), known.bests.back().get()};
}

void Elimination::enqueue(Variable variable) {
  double work =
      entriesOf(bucketOf(variable)) * static_cast<double>(sizes[variable]);
  if (work == workOf[variable])
    return;
  if (workOf[variable] >= 0)
    queue.erase({workOf[variable], variable});
  workOf[variable] = work;
  queue.insert({workOf[variable], variable});
}

/// After a variable has fewer values.
void Elimination::enqueueAround(Variable variable) {
  std::vector<Variable> neighbours = bucketOf(variable).neighbours;
  dropIfDecided(variable);
  enqueue(variable);
  for (Variable neighbour : neighbours)
    enqueue(neighbour);
}

void Elimination::eliminate(Variable variable) {
  Bucket bucket = bucketOf(variable);
  auto [entry, isNew] = known.eliminated.try_emplace(shapeOf(variable, bucket));
  if (isNew)
    entry->second = combine(variable, bucket);
  for (int32_t factor : bucket.factors)
    removeFactor(factor);
  steps.push_back({variable, bucket.neighbours, entry->second.best, {}});
  queue.erase({workOf[variable], variable});
  isEliminated[variable] = true;
  if (!bucket.neighbours.empty())
    addFactor({bucket.neighbours, entry->second.table});
  for (Variable neighbour : bucket.neighbours)
    enqueue(neighbour);
}

/// Takes a variable that has one value left out of all factors: their tables
/// have a row for it either way.
void Elimination::dropIfDecided(Variable variable) {
  if (sizes[variable] != 1)
    return;
  for (int32_t number : factorsOf[variable]) {
    std::vector<Variable> &scope = factors[number].scope;
    if (scope.size() > 1)
      scope.erase(std::find(scope.begin(), scope.end(), variable));
  }
  std::erase_if(factorsOf[variable], [&](int32_t number) {
    return factors[number].scope.front() != variable ||
           factors[number].scope.size() != 1;
  });
}

void Elimination::allowOnly(const std::vector<std::vector<int32_t>> &allowed) {
  for (size_t variable = 0; variable < allowed.size(); ++variable)
    if (allowed[variable].size() < sizes[variable])
      keep(static_cast<Variable>(variable),
           only(static_cast<Variable>(variable), allowed[variable]));
}

void Elimination::prepare() {
  removeDominated();
  for (Variable variable = 0; variable < static_cast<Variable>(sizes.size());
       ++variable) {
    dropIfDecided(variable);
    enqueue(variable);
  }
}

void Elimination::reduce() {
  prepare();
  while (!queue.empty()) {
    Variable next = queue.begin()->second;
    if (entriesOf(bucketOf(next)) > static_cast<double>(maxTable))
      return;
    eliminate(next);
  }
}

std::vector<Elimination::Variable> Elimination::remaining() const {
  std::vector<Variable> variables;
  for (const auto &[work, variable] : queue)
    variables.push_back(variable);
  std::sort(variables.begin(), variables.end());
  return variables;
}

std::vector<int32_t>
Elimination::numbersLeft(Variable variable,
                         const std::vector<int32_t> &values) const {
  std::vector<int32_t> numbers;
  for (size_t i = 0; i < sizes[variable]; ++i)
    if (std::binary_search(values.begin(), values.end(), valuesOf[variable][i]))
      numbers.push_back(static_cast<int32_t>(i));
  return numbers;
}

CostNetwork::Assignment
Elimination::project(CostNetwork::Assignment assignment) const {
  for (const Step &step : steps)
    if (!step.best)
      assignment[step.variable] =
          step.selection.numbers[assignment[step.variable]];
  return assignment;
}

/// Goes back through the steps: the values of a variable had other numbers
/// before some were given up.
CostNetwork::Assignment
Elimination::lift(CostNetwork::Assignment assignment) const {
  std::vector<size_t> sizesThen = sizes;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    int32_t &value = assignment[step->variable];
    if (!step->best) {
      value = step->selection.values[value];
      sizesThen[step->variable] = step->selection.numbers.size();
      continue;
    }
    size_t index = 0;
    for (Variable neighbour : step->neighbours)
      index = index * sizesThen[neighbour] + assignment[neighbour];
    value = (*step->best)[index];
  }
  return assignment;
}

CostNetwork::Assignment Elimination::run() {
  prepare();
  while (!queue.empty()) {
    Variable next = queue.begin()->second;
    Bucket bucket = bucketOf(next);
    if (entriesOf(bucket) <= static_cast<double>(maxTable)) {
      eliminate(next);
      continue;
    }
    // What is left may tell more values apart than there was at first.
    if (removeDominated())
      continue;
    Variable largest = *std::max_element(
        bucket.neighbours.begin(), bucket.neighbours.end(),
        [&](Variable a, Variable b) { return sizes[a] < sizes[b]; });
    giveUpValues(largest);
    enqueueAround(largest);
  }
  return lift(CostNetwork::Assignment(sizes.size(), 0));
}

//===- CollectiveTest.cpp - Every collective against its definition -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"
#include "Values.h"

#include <algorithm>
#include <string>
#include <tuple>

using namespace weft::runtime;

//===----------------------------------------------------------------------===//
// Textbook examples
//===----------------------------------------------------------------------===//

TEST(CollectiveExample, AllReduceSumOfFourRanks) {
  runCollective(4, [](Communicator &ranks) {
    std::vector<float> x = {0, 1, 2, 3};
    for (float &value : x)
      value += static_cast<float>(ranks.rank());
    std::vector<float> y(4);
    Status status =
        ranks.allReduce(x.data(), y.data(), 4, DType::F32, Reduction::Sum, {});
    EXPECT_EQ(y, (std::vector<float>{6, 10, 14, 18}));
    return status;
  });
}

TEST(CollectiveExample, ReduceScatterGivesEachRankItsElement) {
  runCollective(4, [](Communicator &ranks) {
    std::vector<float> x = {0, 1, 2, 3};
    for (float &value : x)
      value += static_cast<float>(ranks.rank());
    float y = 0;
    Status status =
        ranks.reduceScatter(x.data(), &y, 1, 1, DType::F32, Reduction::Sum, {});
    EXPECT_EQ(y, std::vector<float>({6, 10, 14, 18})[ranks.rank()]);
    return status;
  });
}

TEST(CollectiveExample, AllToAllTransposesTheRanks) {
  runCollective(3, [](Communicator &ranks) {
    const int r = ranks.rank();
    std::vector<int32_t> x = {10 * r, 10 * r + 1, 10 * r + 2}, y(3);
    Status status =
        ranks.allToAll(x.data(), y.data(), 1, 1, 1, true, DType::I32, {});
    EXPECT_EQ(y, (std::vector<int32_t>{r, 10 + r, 20 + r}));
    return status;
  });
}

//===----------------------------------------------------------------------===//
// Ranks x elements x types
/// By hand, with 9 GB of memory: mpirun -n 2 weft_mpi_test
/// --gtest_also_run_disabled_tests --gtest_filter=*DISABLED*
TEST(CollectiveExample, DISABLED_MoreThan2To31Elements) {
  constexpr int64_t count = 2'200'000'001;
  const auto value = [](int rank, int64_t i) {
    return static_cast<int8_t>(i % 61 + rank);
  };
  runCollective(2, [&](Communicator &group) -> Status {
    std::vector<int8_t> x(count), y(count);
    for (int64_t i = 0; i < count; ++i)
      x[i] = value(group.rank(), i);
    const int other = 1 - group.rank();
    CallContext patient;
    patient.timeout = std::chrono::minutes(10);
    WEFT_RETURN_IF_ERROR(
        group.permute(x.data(), y.data(), count, DType::I8, other, patient));
    for (int64_t i = 0; i < count; ++i)
      if (y[i] != value(other, i))
        return internalError("permuted element " + std::to_string(i));
    WEFT_RETURN_IF_ERROR(group.allReduce(x.data(), x.data(), count, DType::I8,
                                         Reduction::Sum, patient));
    for (int64_t i = 0; i < count; ++i)
      if (x[i] != value(0, i) + value(1, i))
        return internalError("sum of elements " + std::to_string(i));
    return {};
  });
}

/// The same of those that split what they move.
TEST(CollectiveExample, DISABLED_MoreThan2To31ElementsOfParts) {
  constexpr int64_t half = 1'100'000'003;
  const auto value = [](int rank, int64_t i) {
    return static_cast<int8_t>(i % 61 + rank);
  };
  runCollective(2, [&](Communicator &group) -> Status {
    const int rank = group.rank();
    std::vector<int8_t> x(2 * half), y(2 * half);
    for (int64_t i = 0; i < 2 * half; ++i)
      x[i] = value(rank, i);
    CallContext patient;
    patient.timeout = std::chrono::minutes(10);
    WEFT_RETURN_IF_ERROR(
        group.allGather(x.data(), y.data(), 1, half, DType::I8, patient));
    for (int64_t i = 0; i < 2 * half; ++i)
      if (y[i] != value(i < half ? 0 : 1, i % half))
        return internalError("gathered element " + std::to_string(i));
    WEFT_RETURN_IF_ERROR(group.allToAll(x.data(), y.data(), 1, 1, half, true,
                                        DType::I8, patient));
    for (int64_t i = 0; i < 2 * half; ++i)
      if (y[i] != value(i < half ? 0 : 1, i % half + rank * half))
        return internalError("exchanged element " + std::to_string(i));
    WEFT_RETURN_IF_ERROR(group.reduceScatter(
        x.data(), y.data(), 1, half, DType::I8, Reduction::Sum, patient));
    for (int64_t i = 0; i < half; ++i)
      if (y[i] != value(0, i + rank * half) + value(1, i + rank * half))
        return internalError("scattered sum " + std::to_string(i));
    return {};
  });
}

//===----------------------------------------------------------------------===//

using Parameters = std::tuple<int, int64_t, DType>;

class Collective : public testing::TestWithParam<Parameters> {
protected:
  int size() const { return std::get<0>(GetParam()); }
  int64_t count() const { return std::get<1>(GetParam()); }
  DType dtype() const { return std::get<2>(GetParam()); }

  Values input(int rank, int64_t elements) const {
    return makeValues(dtype(), rank, elements);
  }
  double at(int rank, int64_t index) const {
    return valueAt(dtype(), rank, index);
  }
  std::vector<Reduction> reductions() const {
    if (dtype() == DType::Pred)
      return {Reduction::Max, Reduction::Min};
    return {Reduction::Sum, Reduction::Max, Reduction::Min};
  }
  /// The reduction of element `index` over all ranks.
  double reduced(Reduction reduction, int64_t index) const {
    double result = at(0, index);
    for (int rank = 1; rank < size(); ++rank) {
      const double value = at(rank, index);
      result = reduction == Reduction::Sum   ? result + value
               : reduction == Reduction::Max ? std::max(result, value)
                                             : std::min(result, value);
    }
    return result;
  }
  /// Expects result[i] == expected(i) for all i; reports the first difference.
  template <typename Expected>
  static void expectAll(const Values &result, Expected &&expected) {
    for (int64_t i = 0; i < result.count(); ++i)
      if (result[i] != expected(i)) {
        ADD_FAILURE() << "element " << i << " is " << result[i] << ", expected "
                      << expected(i);
        return;
      }
  }
};

TEST_P(Collective, AllReduce) {
  for (Reduction reduction : reductions())
    runCollective(size(), [&](Communicator &ranks) {
      const Values x = input(ranks.rank(), count());
      Values y(dtype(), count());
      Status status =
          ranks.allReduce(x.data(), y.data(), count(), dtype(), reduction, {});
      expectAll(y, [&](int64_t i) { return reduced(reduction, i); });
      return status;
    });
}

TEST_P(Collective, AllReduceInPlace) {
  runCollective(size(), [&](Communicator &ranks) {
    Values x = input(ranks.rank(), count());
    Status status = ranks.allReduce(x.data(), x.data(), count(), dtype(),
                                    Reduction::Max, {});
    expectAll(x, [&](int64_t i) { return reduced(Reduction::Max, i); });
    return status;
  });
}

TEST_P(Collective, ReduceScatter) {
  constexpr int64_t outer = 3;
  for (Reduction reduction : reductions())
    runCollective(size(), [&](Communicator &ranks) {
      const Values x = input(ranks.rank(), outer * size() * count());
      Values y(dtype(), outer * count());
      Status status = ranks.reduceScatter(x.data(), y.data(), outer, count(),
                                          dtype(), reduction, {});
      expectAll(y, [&](int64_t i) {
        const int64_t row = i / count(), column = i % count();
        return reduced(reduction,
                       (row * size() + ranks.rank()) * count() + column);
      });
      return status;
    });
}

TEST_P(Collective, ReduceScatterOfManyShortRows) {
  const Reduction reduction = reductions()[0];
  runCollective(size(), [&](Communicator &ranks) {
    const Values x = input(ranks.rank(), count() * size() * 2);
    Values y(dtype(), count() * 2);
    Status status = ranks.reduceScatter(x.data(), y.data(), count(), 2, dtype(),
                                        reduction, {});
    expectAll(y, [&](int64_t i) {
      return reduced(reduction, (i / 2 * size() + ranks.rank()) * 2 + i % 2);
    });
    return status;
  });
}

TEST_P(Collective, ReduceScatterThenAllGatherIsAllReduce) {
  const Reduction reduction = reductions()[0];
  runCollective(size(), [&](Communicator &ranks) {
    const int64_t whole = size() * count();
    const Values x = input(ranks.rank(), whole);
    Values part(dtype(), count()), gathered(dtype(), whole),
        direct(dtype(), whole);
    WEFT_RETURN_IF_ERROR(ranks.reduceScatter(x.data(), part.data(), 1, count(),
                                             dtype(), reduction, {}));
    WEFT_RETURN_IF_ERROR(
        ranks.allGather(part.data(), gathered.data(), 1, count(), dtype(), {}));
    WEFT_RETURN_IF_ERROR(ranks.allReduce(x.data(), direct.data(), whole,
                                         dtype(), reduction, {}));
    EXPECT_TRUE(whole == 0 || std::memcmp(gathered.data(), direct.data(),
                                          whole * byteSize(dtype())) == 0);
    return Status();
  });
}

TEST_P(Collective, AllGather) {
  constexpr int64_t outer = 2;
  runCollective(size(), [&](Communicator &ranks) {
    const Values x = input(ranks.rank(), outer * count());
    Values y(dtype(), outer * size() * count());
    Status status =
        ranks.allGather(x.data(), y.data(), outer, count(), dtype(), {});
    expectAll(y, [&](int64_t i) {
      const int64_t column = i % count(), block = i / count();
      return at(static_cast<int>(block % size()),
                block / size() * count() + column);
    });
    return status;
  });
}

TEST_P(Collective, AllToAllBothLayouts) {
  const int64_t outer = 2, middle = 3, group = size();
  for (bool splitFirst : {true, false})
    for (auto [m, inner] : {std::pair(middle, count()), {count(), int64_t(1)}})
      runCollective(size(), [&, m = m, inner = inner](Communicator &ranks) {
        const int64_t whole = outer * group * m * inner;
        const Values x = input(ranks.rank(), whole);
        Values y(dtype(), whole);
        Status status = ranks.allToAll(x.data(), y.data(), outer, m, inner,
                                       splitFirst, dtype(), {});
        // Offsets of (o, g, j, k) in the two layouts of plan.fbs.
        const auto groupFirst = [&](int64_t o, int64_t g, int64_t j,
                                    int64_t k) {
          return ((o * group + g) * m + j) * inner + k;
        };
        const auto middleFirst = [&](int64_t o, int64_t g, int64_t j,
                                     int64_t k) {
          return ((o * m + j) * group + g) * inner + k;
        };
        int64_t wrong = 0;
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t g = 0; g < group; ++g)
            for (int64_t j = 0; j < m; ++j)
              for (int64_t k = 0; k < inner; ++k) {
                const int64_t from = splitFirst
                                         ? groupFirst(o, ranks.rank(), j, k)
                                         : middleFirst(o, ranks.rank(), j, k);
                const int64_t to = splitFirst ? middleFirst(o, g, j, k)
                                              : groupFirst(o, g, j, k);
                wrong += y[to] != at(static_cast<int>(g), from);
              }
        EXPECT_EQ(wrong, 0) << "split first: " << splitFirst;
        return status;
      });
}

TEST_P(Collective, PermuteInARingAndFromOneRank) {
  runCollective(size(), [&](Communicator &ranks) {
    const Values x = input(ranks.rank(), count());
    Values y(dtype(), count());
    const int left = (ranks.rank() + size() - 1) % size();
    WEFT_RETURN_IF_ERROR(
        ranks.permute(x.data(), y.data(), count(), dtype(), left, {}));
    expectAll(y, [&](int64_t i) { return at(left, i); });
    WEFT_RETURN_IF_ERROR(
        ranks.permute(x.data(), y.data(), count(), dtype(), 0, {}));
    expectAll(y, [&](int64_t i) { return at(0, i); });
    return Status();
  });
}

static std::string parameterName(const testing::TestParamInfo<Parameters> &i) {
  return "on" + std::to_string(std::get<0>(i.param)) + "_" +
         std::to_string(std::get<1>(i.param)) + "_" +
         std::string(name(std::get<2>(i.param)));
}

static const auto allTypes =
    testing::Values(DType::F32, DType::BF16, DType::I32, DType::I64,
                    DType::Pred, DType::F64, DType::F16, DType::I8, DType::I16);

INSTANTIATE_TEST_SUITE_P(Small, Collective,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 8),
                                          testing::Values(0, 1, 3, 7, 1023),
                                          allTypes),
                         parameterName);

// Several blocks a rank, the last one odd.
INSTANTIATE_TEST_SUITE_P(
    Large, Collective,
    testing::Combine(testing::Values(2, 7), testing::Values(65537),
                     testing::Values(DType::F32, DType::BF16, DType::F16,
                                     DType::I8)),
    parameterName);

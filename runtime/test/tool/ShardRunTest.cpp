//===- ShardRunTest.cpp - The command line tool -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the binary on plans built by hand and looks at what it prints, writes
// and returns.
//
//===----------------------------------------------------------------------===//

#include "ShardRunFixture.h"
#include "weft/runtime/Safetensors.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(ShardRun, Help) {
  const Outcome outcome = run("--help");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("--metrics"));
}

TEST_F(ShardRun, BadCommandLines) {
  EXPECT_EQ(run("").status, 2);
  EXPECT_EQ(run(plan + " --no-such-option").status, 2);
  const Outcome outcome = run(plan + " --input x");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("must be NAME=FILE, got 'x'"));
}

TEST_F(ShardRun, BadNumbers) {
  const auto expectError = [&](const std::string &option,
                               const std::string &message) {
    const Outcome outcome = run(plan + " " + option);
    EXPECT_EQ(outcome.status, 2) << option;
    EXPECT_THAT(outcome.text, HasSubstr(message + "\n"));
  };
  const std::string least = ": must be an integer of at least ";
  expectError("--steps=-1", "--steps" + least + "0, got \"-1\"");
  expectError("--steps abc", "--steps" + least + "0, got \"abc\"");
  expectError("--steps 1.5", "--steps" + least + "0, got \"1.5\"");
  expectError("--steps 99999999999999999999",
              "--steps: must be an integer of at most 9223372036854775807, got "
              "\"99999999999999999999\"");
  expectError("--device=-1", "--device" + least + "0, got \"-1\"");
  expectError("--threads 0", "--threads" + least + "1, got \"0\"");
  expectError("--threads=-99999999999",
              "--threads" + least + "1, got \"-99999999999\"");
  expectError("--threads 1000000", "--threads: must be an integer of at most "
                                   "1024, got \"1000000\"");
  expectError("--trace-runs 0", "--trace-runs" + least + "1, got \"0\"");
  for (const char *seconds : {"0", "nan", "soon"})
    expectError(std::string("--deadline ") + seconds,
                std::string("--deadline: must be from 0.001 to 1e9 seconds "
                            "or inf, got \"") +
                    seconds + "\"");
  for (const char *seconds : {"0.5", "inf", "soon"})
    expectError(std::string("--heartbeat ") + seconds,
                std::string("--heartbeat: must be 0 or from 1 to 1e9 seconds, "
                            "got \"") +
                    seconds + "\"");
  EXPECT_THAT(run(plan + " --init init --steps 010 --input x=" +
                  writeArray("x.npy", countingArray({32})))
                  .text,
              HasSubstr("step 10/10 "));
}

TEST_F(ShardRun, OptionsWithoutEffect) {
  for (const char *option : {"--device 0", "--cuda-graphs", "--no-cuda-graphs",
                             "--processors-for-collectives 4",
                             "--serialize-collectives", "--register-arena"}) {
    const Outcome outcome = run(plan + " " + option);
    EXPECT_EQ(outcome.status, 2) << option;
    const std::string name =
        std::string(option).substr(0, std::string(option).find(' '));
    EXPECT_THAT(outcome.text,
                HasSubstr("shard-run: error: " + name +
                          " is for plans for GPUs, but the plan is for "
                          "\"cpu\"\n"));
  }
  const Outcome outcome = run(plan + " --trace-runs 2");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("--trace-runs requires --trace"));
}

TEST_F(ShardRun, BadPlans) {
  Outcome outcome = run(path("none.plan"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("shard-run: error: " + path("none.plan") +
                                      ": cannot open the file: No such file"));
  std::ofstream(path("text.plan")) << "a text file";
  outcome = run(path("text.plan") + " --dump");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("is not a plan: 11 bytes"));
}

TEST_F(ShardRun, Dump) {
  const std::string whole = SamplePlan(2).build().dump();
  EXPECT_EQ(run(plan + " --dump").text, whole);
  EXPECT_EQ(run("--dump " + plan).text, whole);
  const Outcome section = run("--dump=groups " + plan);
  EXPECT_EQ(section.status, 0);
  EXPECT_EQ(section.text, "groups 1\n  group 0 {\"data\"} size 2\n");
  const Outcome none = run("--dump=nothing " + plan);
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.text, HasSubstr("the plan has no section \"nothing\""));
}

TEST_F(ShardRun, LostStandardOutputIsAFailure) {
  const std::string x = writeArray("x.npy", countingArray({32}));
  for (const std::string &arguments :
       {std::string("--dump"), "--init init --input x=" + x}) {
    // The comment sign hides the redirection that run() appends.
    const Outcome outcome =
        run(plan + " " + arguments + " 3>&1 >/dev/full 2>&3 #");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.text,
                HasSubstr("error: cannot write to standard output"));
  }
}

TEST_F(ShardRun, StepsAndMetrics) {
  const std::string x = writeArray("x.npy", countingArray({32}, 0));
  const Outcome outcome =
      run(plan + " --init init --steps 3 --input x=" + x + " --metrics " +
          path("m.csv") + " --save " + path("end.safetensors") +
          " --output loss=" + path("loss.npy"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  // w triples in each step; loss = 2 * sum of w before it.
  EXPECT_THAT(outcome.text, HasSubstr("step 1/3 loss 240\nstep 2/3 loss "
                                      "720\nstep 3/3 loss 2160\n3 steps in "));
  EXPECT_EQ(contents(path("m.csv")), "step,loss\n0,240\n1,720\n2,2160\n");
  const auto saved = SafetensorsFile::open(path("end.safetensors"));
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  ASSERT_EQ(saved->tensors().size(), 1u);
  EXPECT_EQ(floats(*saved->read("w")), floats(countingArray({16}, 27)));
  EXPECT_EQ(saved->metadata().count("weft.plan"), 1u);
  EXPECT_EQ(floats(*readNpy(path("loss.npy"))), std::vector<float>{2160});
}

TEST_F(ShardRun, TimesOfSteps) {
  const std::string x = writeArray("x.npy", countingArray({32}, 0));
  const Outcome outcome = run(plan + " --init init --steps 2 --input x=" + x +
                              " --times " + path("t.csv"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  double first = 0, second = 0;
  // A CPU has nothing to enqueue.
  ASSERT_EQ(std::sscanf(contents(path("t.csv")).c_str(),
                        "step,seconds,enqueue_seconds\n0,%lf,0.000000000\n"
                        "1,%lf,0.000000000\n",
                        &first, &second),
            2);
  EXPECT_GT(std::min(first, second), 0);
  EXPECT_LT(std::max(first, second), 60);
}

TEST_F(ShardRun, MetricsAsLinesOfJson) {
  const std::string x = writeArray("x.npy", countingArray({32}, 0));
  const Outcome outcome =
      run(plan + " --init init --steps 2 --input x=" + x + " --metrics " +
          path("m.jsonl") + " --checkpoint " + path("c"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(contents(path("m.jsonl")),
            "{\"step\": 0, \"loss\": 240}\n{\"step\": 1, \"loss\": 720}\n");
  const std::string resumed = plan + " --steps 3 --input x=" + x +
                              " --checkpoint " + path("c") +
                              " --resume --metrics " + path("m.jsonl");
  EXPECT_EQ(run(resumed).status, 0);
  EXPECT_EQ(contents(path("m.jsonl")),
            "{\"step\": 0, \"loss\": 240}\n{\"step\": 1, \"loss\": 720}\n"
            "{\"step\": 2, \"loss\": 2160}\n");
  std::ofstream(path("m.jsonl")) << "something else\n";
  const Outcome other =
      run(plan + " --steps 4 --input x=" + x + " --checkpoint " + path("c") +
          " --resume --metrics " + path("m.jsonl"));
  EXPECT_THAT(other.text, HasSubstr("m.jsonl: is not of this run: its first "
                                    "line is not that of step 0"));
}

TEST_F(ShardRun, MeasuredSteps) {
  const std::string x = writeArray("x.npy", countingArray({32}, 0));
  const Outcome outcome =
      run(plan + " --init init --steps 2 --input x=" + x + " --metrics " +
          path("m.csv") + " --measure --tokens 32 --peak-tflops 1");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  std::istringstream lines(contents(path("m.csv")));
  std::string header, line;
  std::getline(lines, header);
  EXPECT_EQ(header, "step,loss,seconds,tokens_per_second,mfu,exposed_seconds,"
                    "resident_bytes,straggler,seconds_0,seconds_1,"
                    "wait_seconds_0,wait_seconds_1");
  std::getline(lines, line);
  double seconds = 0, tokens = 0, mfu = -1, exposed = 0, resident = 0;
  ASSERT_EQ(std::sscanf(line.c_str(), "0,240,%lf,%lf,%lf,%lf,%lf,", &seconds,
                        &tokens, &mfu, &exposed, &resident),
            5)
      << line;
  EXPECT_NEAR(tokens * seconds, 32, 1e-4);
  EXPECT_GE(mfu, 0);
  EXPECT_GT(exposed, 0);
  EXPECT_LT(exposed, seconds);
  EXPECT_GT(resident, 1 << 20);
  EXPECT_THAT(run(plan + " --measure").text,
              HasSubstr("--measure requires --metrics"));
  EXPECT_THAT(run(plan + " --metrics m --measure --peak-tflops 0").text,
              HasSubstr("--peak-tflops: must be a positive number, got \"0\""));
}

TEST_F(ShardRun, MetricsHaveAllDigits) {
  const std::string x = writeArray("x.npy", countingArray({32}, 0.1f));
  const Outcome outcome = run(plan + " --init init --quiet --input x=" + x +
                              " --metrics " + path("m.csv"));
  EXPECT_EQ(outcome.text, "");
  float loss = 0;
  ASSERT_EQ(
      std::sscanf(contents(path("m.csv")).c_str(), "step,loss\n0,%f", &loss),
      1);
  EXPECT_NEAR(loss, 240 + 49.6f, 1e-3);
  EXPECT_GE(contents(path("m.csv")).size(), 20u);
}

TEST_F(ShardRun, StackOfInputs) {
  Array stack(DType::F32, {2, 32});
  for (int i = 32; i < 64; ++i)
    stack.as<float>()[i] = 1;
  Array w(DType::F32, {16});
  const Outcome outcome = run(
      plan + " --steps 3 --input x=" + writeArray("x.npy", stack) +
      " --input w=" + writeArray("w.npy", w) + " --metrics " + path("m.csv"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  // Slices 0, 1, 0: after step 1 w is 2 everywhere.
  EXPECT_EQ(contents(path("m.csv")), "step,loss\n0,0\n1,32\n2,64\n");
}

TEST_F(ShardRun, SavedStatesContinueExactly) {
  const std::string x =
      " --input x=" + writeArray("x.npy", countingArray({32}, 0.01f));
  ASSERT_EQ(run(plan + " --init init --steps 4 --save " + path("a") + x).status,
            0);
  ASSERT_EQ(run(plan + " --init init --steps 2 --save " + path("b") + x).status,
            0);
  ASSERT_EQ(
      run(plan + " --steps 2 --load " + path("b") + " --save " + path("c") + x)
          .status,
      0);
  EXPECT_EQ(contents(path("a")), contents(path("c")));
  // The same states on another mesh.
  const std::string other = writePlan("other.plan", SamplePlan(1));
  EXPECT_EQ(
      run(other + " --steps 0 --load " + path("a") + " --save " + path("d"))
          .status,
      0);
  EXPECT_EQ(floats(*SafetensorsFile::open(path("d"))->read("w")),
            floats(*SafetensorsFile::open(path("a"))->read("w")));
}

TEST_F(ShardRun, AllProblemsAtOnce) {
  const std::vector<std::string> before = filesIn();
  Outcome outcome = run(plan + " --metrics " + path("m.csv") + " --save " +
                        path("s.safetensors") + " --trace " + path("t.json"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(
      outcome.text,
      AllOf(HasSubstr("input \"x\" (f32[32]) of entry \"train_step\" is "
                      "missing: give it with --input x=FILE.npy"),
            HasSubstr("state \"w\" of entry \"train_step\" is never set: use "
                      "--init init, --load or --input\n")));
  EXPECT_EQ(filesIn(), before);

  const std::string wrong = writeArray("wrong.npy", countingArray({7}));
  outcome = run(plan + " --init init --input x=" + wrong +
                " --input y=" + wrong + " --input w=" + path("none.npy") +
                " --output z=" + path("z.npy") + " --metrics " + path("m.csv"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(
      outcome.text,
      AllOf(HasSubstr("--input x: " + wrong +
                      " holds f32[7], the plan wants "
                      "f32[32] or a stack of them"),
            HasSubstr("--input y: neither a state nor an input of the entries "
                      "that run"),
            HasSubstr("--input w: " + path("none.npy")),
            HasSubstr("--output z: entry \"train_step\" has no such output")));
  EXPECT_FALSE(std::filesystem::exists(path("m.csv")));

  outcome = run(plan + " --init init --input x=" +
                writeArray("int.npy", Array(DType::I32, {32})) +
                " --input x=" + wrong);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("holds i32[32], the plan wants "
                                            "f32[32]"),
                                  HasSubstr("--input x: given twice")));
}

TEST_F(ShardRun, WrongEntries) {
  Outcome outcome = run(plan + " --init start --entry step");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("--init: the plan has no entry \"start\"; it "
                              "has: init, train_step"),
                    HasSubstr("--entry: the plan has no entry \"step\"")));
  SamplePlan renamed(2);
  renamed.step().name = "advance";
  const std::string other = writePlan("renamed.plan", renamed);
  outcome = run(other);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("choose an entry with --entry; the plan "
                                      "has: init, advance"));
  // The only entry that is not --init needs no name.
  outcome = run(other + " --init init");
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("of entry \"advance\" is missing"),
                                  Not(HasSubstr("choose an entry"))));
}

TEST_F(ShardRun, CheckpointsThatDoNotFit) {
  SamplePlan sample(2);
  sample.state("v", sample.type(DType::F32, {4}));
  sample.state("u", sample.type(DType::F32, {4}));
  const std::string other = writePlan("other.plan", sample);
  const Array w = countingArray({8}), v = countingArray({4});
  const std::vector<NamedTensor> tensors = {{"w", w}, {"v", v}, {"extra", v}};
  ASSERT_TRUE(writeSafetensors(path("bad"), tensors).ok());
  const Outcome outcome = run(other + " --load " + path("bad") + " --input x=" +
                              writeArray("x.npy", countingArray({32})));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("has \"w\" as f32[8], the plan wants f32[16]"),
                    HasSubstr("has no state \"u\""),
                    HasSubstr("has \"extra\", which is no state of the plan"),
                    Not(HasSubstr("\"v\""))));
  EXPECT_EQ(run(plan + " --load " + path("none")).status, 2);
}

TEST_F(ShardRun, UnwritableOutputsAreFoundFirst) {
  const std::string x =
      " --init init --input x=" + writeArray("x.npy", countingArray({32}));
  const std::vector<std::string> before = filesIn();
  const Outcome outcome =
      run(plan + x + " --save " + path("none/s") + " --metrics " + directory +
          " --output loss=" + path("none/l.npy") + " --trace " + plan + "/t");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text, "shard-run: error: --save: cannot write " +
                              path("none/s") + ": folder " + path("none") +
                              ": No such file or directory\n" +
                              "shard-run: error: --metrics: cannot write " +
                              directory + ": it is a folder\n" +
                              "shard-run: error: --trace: cannot write " +
                              plan + "/t: Not a directory\n" +
                              "shard-run: error: --output loss: cannot write " +
                              path("none/l.npy") + ": folder " + path("none") +
                              ": No such file or directory\n");
  EXPECT_EQ(filesIn(), before);
}

TEST_F(ShardRun, WritesToADeviceAsItIs) {
  const std::string x =
      " --init init --input x=" + writeArray("x.npy", countingArray({32}));
  EXPECT_EQ(run(plan + x + " --trace /dev/null").status, 0);
}

TEST_F(ShardRun, EveryOutputHasItsOwnFile) {
  const std::string file = writeArray("x.npy", countingArray({32}));
  const std::string x = " --init init --input x=" + file;
  const std::string bytes = contents(file);
  Outcome outcome =
      run(plan + x + " --save " + path("a") + " --trace " + directory +
          "/./a --metrics " + path("b") + " --output loss=" + path("b"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("--trace: " + directory +
                              "/./a is also written "
                              "for --save; give each its own file"),
                    HasSubstr("--output loss: " + path("b") +
                              " is also written for --metrics")));
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  EXPECT_FALSE(std::filesystem::exists(path("b")));

  std::filesystem::create_symlink(file, path("link"));
  outcome = run(plan + x + " --metrics " + path("link") + " --save " + plan +
                " --output loss=" + file);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(
      outcome.text,
      AllOf(HasSubstr("--metrics: " + path("link") +
                      " is also read (--input x) and would be overwritten; "
                      "give another file"),
            HasSubstr("--save: " + plan + " is also read (the plan)"),
            HasSubstr("--output loss: " + file + " is also ")));
  EXPECT_EQ(contents(file), bytes);

  // Resuming in place is no accident.
  ASSERT_EQ(run(plan + x + " --save " + path("s")).status, 0);
  const std::string load = plan + " --input x=" + file + " --load " + path("s");
  EXPECT_EQ(run(load + " --save " + path("s")).status, 0);
  EXPECT_EQ(run(load + " --trace " + path("s")).status, 2);
}

TEST_F(ShardRun, NamesAreQuotedAndEscaped) {
  SamplePlan sample(2);
  sample.step().outputs.back()->name = "a,\"b\"\n\x1b[2J";
  const Outcome outcome =
      run(writePlan("names.plan", sample) + " --init init --metrics " +
          path("m.csv") +
          " --input x=" + writeArray("x.npy", countingArray({32}, 0)));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("step 1/1 a,\"b\"\\x0a\\x1b[2J 240\n"));
  EXPECT_EQ(contents(path("m.csv")), "step,\"a,\"\"b\"\"\n\x1b[2J\"\n0,240\n");
}

TEST_F(ShardRun, UnsetStatesAreOneProblem) {
  SamplePlan sample(2);
  EntryBuilder readsAll = sample.entry("evaluate");
  readsAll.state("w", true, false);
  for (const char *name : {"v", "u"}) {
    sample.state(name, sample.type(DType::F32, {4}));
    readsAll.state(name, true, false);
  }
  const std::string other = writePlan("other.plan", sample);
  // No entry sets all three.
  Outcome outcome = run(other + " --entry evaluate");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text,
            "shard-run: error: states \"w\", \"v\", \"u\" of entry "
            "\"evaluate\" are never set: use --load or --input\n");
  outcome = run(other + " --entry evaluate --init init");
  EXPECT_THAT(outcome.text, HasSubstr("states \"v\", \"u\" of entry"));
}

TEST_F(ShardRun, ManyUnsetStatesAreCounted) {
  SamplePlan sample(2);
  EntryBuilder readsAll = sample.entry("evaluate");
  for (int i = 0; i < 20; ++i) {
    const std::string name = "v" + std::to_string(i);
    sample.state(name, sample.type(DType::F32, {4}));
    readsAll.state(name, true, false);
  }
  EXPECT_THAT(
      run(writePlan("many.plan", sample) + " --entry evaluate").text,
      HasSubstr("\"v6\", \"v7\" and 12 more of entry \"evaluate\" are never"));
}

TEST_F(ShardRun, OnlySetStatesAreSaved) {
  SamplePlan sample(2);
  for (const char *name : {"v", "u"})
    sample.state(name, sample.type(DType::F32, {4}));
  const std::string other = writePlan("other.plan", sample);
  const std::string x =
      " --input x=" + writeArray("x.npy", countingArray({32}));
  const std::string save = " --save " + path("s");
  Outcome outcome = run(other + " --init init" + x + save);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text, "shard-run: error: --save: states \"v\", \"u\" are "
                          "never set: use --load or --input\n");
  EXPECT_FALSE(std::filesystem::exists(path("s")));
  const std::string v = writeArray("v.npy", countingArray({4}));
  outcome = run(other + " --steps 0 --input v=" + v + " --input u=" + v + save);
  EXPECT_EQ(outcome.text, "shard-run: error: --save: state \"w\" is never set: "
                          "use --init init, --load or --input\n");
  EXPECT_EQ(
      run(other + " --init init --input v=" + v + " --input u=" + v + x + save)
          .status,
      0);
}

TEST_F(ShardRun, OutputsNeedAStep) {
  const Outcome outcome =
      run(plan + " --init init --steps 0 --output loss=" + path("loss.npy"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text,
            "shard-run: error: --output loss: --steps 0 leaves no output; run "
            "at least one step\n");
}

TEST_F(ShardRun, InitThatNeedsWhatNothingSets) {
  ASSERT_EQ(run(plan + " --init init --steps 0 --save " + path("s")).status, 0);
  const Outcome outcome = run(plan + " --init train_step --load " + path("s"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text,
            "shard-run: error: input \"x\" (f32[32]) of entry \"train_step\" "
            "is missing: give it with --input x=FILE.npy\n"
            "shard-run: error: state \"w\" of entry \"train_step\" is never "
            "set before --init: use --init init or --input\n");
  EXPECT_EQ(run(plan + " --init train_step --input x=" +
                writeArray("x.npy", countingArray({32})) +
                " --input w=" + writeArray("w.npy", countingArray({16})))
                .status,
            0);
}

TEST_F(ShardRun, FailedRuns) {
  SamplePlan sample(2);
  sample.table.target->features = {"levitation"};
  const std::string other = writePlan("other.plan", sample);
  const std::string x =
      " --init init --input x=" + writeArray("x.npy", countingArray({32}));
  const Outcome outcome = run(other + x);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, HasSubstr("levitation"));
}

TEST_F(ShardRun, Deadline) {
  SamplePlan sample(2);
  plan::LaunchT &launch = *sample.instruction(0).operation.AsLaunch();
  launch.kernel = sample.kernel("sleepOnOne");
  launch.buffers = {sample.t};
  launch.access = {write};
  launch.positions.push_back(sample.axes({"data"}));
  const Outcome outcome =
      run(writePlan("slow.plan", sample) + " --deadline 0.1 --init init" +
          " --input x=" + writeArray("x.npy", countingArray({32})));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              HasSubstr("step 1 all_reduce on rank 0: rank 1 did not arrive"));
}

TEST_F(ShardRun, Trace) {
  const Outcome outcome = run(
      plan + " --init init --steps 5 --trace-runs 2 --trace " + path("t.json") +
      " --input x=" + writeArray("x.npy", countingArray({32})));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(contents(path("t.json")),
              AllOf(HasSubstr("\"gradient of w, summed over data\""),
                    HasSubstr("\"rank 1\"")));
}

TEST_F(ShardRun, LongRunsPrintFewLines) {
  const Outcome outcome = run(plan + " --init init --steps 1000 --input x=" +
                              writeArray("x.npy", countingArray({32}, 0)));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_LE(std::count(outcome.text.begin(), outcome.text.end(), '\n'), 23);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("step 1/1000 "), HasSubstr("step 1000/1000 ")));
}

TEST_F(ShardRun, PipesAreNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", path("pipe.safetensors"));
  const std::string x =
      " --init init --input x=" + writeArray("x.npy", countingArray({32}));
  for (const std::string &arguments :
       {path("pipe"), plan + " --init init --input x=" + path("pipe"),
        plan + " --init init --input x=" + path("pipe.safetensors"),
        plan + x + " --load " + path("pipe")}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.text, HasSubstr(": not a regular file\n"));
  }
}

/// An entry whose result is x, of 16-bit floats.
PlanBuilder bf16Plan() {
  PlanBuilder builder({{"data", 2}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::BF16, {16});
  entry.copy(entry.input("x", type), entry.output("y", type));
  return builder;
}

TEST_F(ShardRun, SafetensorsInAndOut) {
  const std::string e = writePlan("bf16.plan", bf16Plan());
  Array stack(DType::BF16, {3, 16});
  for (size_t i = 0; i < stack.data.size(); ++i)
    stack.data[i] = static_cast<std::byte>(i);
  const NamedTensor tensors[] = {{"x", stack}};
  ASSERT_TRUE(writeSafetensors(path("in.safetensors"), tensors).ok());
  const std::string input = " --steps 2 --input x=" + path("in.safetensors");

  Outcome outcome = run(e + input + " --output y=" + path("y.npy"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.text,
            "shard-run: error: --output y: an .npy file cannot hold bf16; "
            "write y=FILE.safetensors\n");
  outcome = run(e + input + " --output y=" + path("y.safetensors"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  const auto written = SafetensorsFile::open(path("y.safetensors"));
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(
      written->read("y")->data,
      std::vector<std::byte>(stack.data.begin() + 32, stack.data.begin() + 64));
  // Of another name.
  outcome = run(e + " --input x=" + path("y.safetensors"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("--input x: " + path("y.safetensors") +
                                      " has no tensor \"x\""));
}

/// A name that has no room for the end of another one.
TEST_F(ShardRun, AFailingOutputDoesNotKeepStatesFromBeingSaved) {
  const Outcome outcome = run(plan + " --init init --input x=" +
                              writeArray("x.npy", countingArray({32}, 0)) +
                              " --output loss=" + path(std::string(250, 'y')) +
                              " --save " + path("end.safetensors"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, HasSubstr("cannot create the file: File name too "
                                      "long"));
  EXPECT_TRUE(SafetensorsFile::open(path("end.safetensors")).ok());
}

/// A file of more than 64 blocks of 512 bytes cannot be written.
TEST_F(ShardRun, FailingMetricsDoNotStopTheSteps) {
  const std::string x = writeArray("x.npy", countingArray({32}, 0));
  const Outcome outcome =
      shell("ulimit -f 64; trap '' XFSZ; " WEFT_SHARD_RUN " " + plan +
            " --init init --steps 6000 --input x=" + x + " --metrics " +
            path("m.csv") + " --save " + path("end.safetensors"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("step 6000/6000 "),
                    HasSubstr("m.csv: cannot write: File too large")));
  EXPECT_TRUE(SafetensorsFile::open(path("end.safetensors")).ok());
}

TEST_F(ShardRun, SavingThroughALinkKeepsIt) {
  std::filesystem::create_symlink("end.safetensors", path("last"));
  const Outcome outcome =
      run(plan + " --init init --input x=" +
          writeArray("x.npy", countingArray({32})) + " --save " + path("last"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(std::filesystem::is_symlink(path("last")));
  EXPECT_TRUE(SafetensorsFile::open(path("end.safetensors")).ok());
}

} // namespace
} // namespace weft::runtime

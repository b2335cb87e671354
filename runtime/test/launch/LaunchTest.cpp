//===- LaunchTest.cpp - How the processes of a job were started -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Launch.h"
#include "launch/SlurmNodes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <map>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Result<Launch> detect(const Variables &variables,
                      const LaunchOptions &options = {}) {
  return detectLaunch(options, [&](const char *name) -> const char * {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables torchrun() {
  return {{"RANK", "5"},
          {"WORLD_SIZE", "8"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "4"},
          {"MASTER_ADDR", "node1"},
          {"MASTER_PORT", "29511"},
          {"TORCHELASTIC_RUN_ID", "run7"},
          {"TORCHELASTIC_RESTART_COUNT", "2"}};
}

Variables slurm() {
  return {{"SLURM_JOB_ID", "8100"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", "6"},
          {"SLURM_LOCALID", "2"},
          {"SLURM_NODEID", "1"},
          {"SLURM_STEP_NUM_TASKS", "7"},
          {"SLURM_STEP_NODELIST", "n[03-04]"},
          {"SLURM_STEP_TASKS_PER_NODE", "4,3"}};
}

std::string messageOf(const Result<Launch> &launch) {
  return launch.status().message();
}

TEST(Launch, NoLauncher) {
  const Result<Launch> launch = detect({{"PATH", "/bin"}});
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->world, 1);
  EXPECT_EQ(launch->rank, 0);
}

TEST(Launch, Torchrun) {
  const Result<Launch> launch = detect(torchrun());
  ASSERT_TRUE(launch.ok()) << messageOf(launch);
  EXPECT_EQ(launch->rank, 5);
  EXPECT_EQ(launch->world, 8);
  EXPECT_EQ(launch->localRank, 1);
  EXPECT_EQ(launch->localWorld, 4);
  EXPECT_EQ(launch->restart, 2);
  EXPECT_EQ(launch->job, "run7");
  EXPECT_EQ(launch->meeting.toString(), "tcp://node1:29511");
  EXPECT_GT(launch->meeting.ports, 1);
}

TEST(Launch, VariablesOfTorchrunMustAgreeWithMpirun) {
  Variables variables{{"RANK", "0"},
                      {"WORLD_SIZE", "1"},
                      {"MASTER_ADDR", "node1"},
                      {"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"}};
  EXPECT_EQ(messageOf(detect(variables)),
            "the variables of torchrun: WORLD_SIZE=1, but "
            "OMPI_COMM_WORLD_SIZE=2 by mpirun; unset RANK, WORLD_SIZE and "
            "MASTER_ADDR, or give all processes the same by both; the "
            "variables of torchrun: RANK=0, but OMPI_COMM_WORLD_RANK=1 by "
            "mpirun; unset RANK, WORLD_SIZE and MASTER_ADDR, or give all "
            "processes the same by both");
  // mpirun may start torchrun.
  variables["TORCHELASTIC_RUN_ID"] = "run7";
  EXPECT_TRUE(detect(variables).ok());
}

TEST(Launch, OpenMpiOnOneHostMeetsAtAPortOfTheParent) {
  const Result<Launch> launch = detect({{"OMPI_COMM_WORLD_RANK", "1"},
                                        {"OMPI_COMM_WORLD_SIZE", "2"},
                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  ASSERT_TRUE(launch.ok()) << messageOf(launch);
  EXPECT_EQ(launch->rank, 1);
  EXPECT_EQ(launch->localRank, 1);
  EXPECT_EQ(launch->meeting.host, "127.0.0.1");
  EXPECT_EQ(launch->job, fmt::format("mpirun-{}", getppid()));
}

TEST(Launch, MpichOnSeveralHostsNeedsARendezvous) {
  Variables variables{{"PMI_RANK", "3"},
                      {"PMI_SIZE", "4"},
                      {"MPI_LOCALRANKID", "1"},
                      {"MPI_LOCALNRANKS", "2"}};
  EXPECT_EQ(messageOf(detect(variables)),
            "the variables of MPICH name 4 ranks on several hosts, but no "
            "rendezvous; set MASTER_ADDR and MASTER_PORT to the host of rank "
            "0 and a free port of it, or name one");
  variables["MASTER_ADDR"] = "n1";
  const Result<Launch> launch = detect(variables);
  ASSERT_TRUE(launch.ok()) << messageOf(launch);
  EXPECT_EQ(launch->rank, 3);
  EXPECT_EQ(launch->localWorld, 2);
  EXPECT_EQ(launch->meeting.toString(), "tcp://n1:29500");
}

TEST(Launch, Slurm) {
  const Result<Launch> launch = detect(slurm());
  ASSERT_TRUE(launch.ok()) << messageOf(launch);
  EXPECT_EQ(launch->rank, 6);
  EXPECT_EQ(launch->world, 7);
  EXPECT_EQ(launch->localRank, 2);
  EXPECT_EQ(launch->localWorld, 3);
  EXPECT_EQ(launch->job, "slurm-8100.0");
  EXPECT_EQ(launch->meeting.toString(),
            fmt::format("tcp://n03:{}", 61440 + 8100 % 4032));
}

TEST(Launch, SlurmStartsBothMpis) {
  Variables variables = slurm();
  EXPECT_EQ(detect(variables)->mpi, "");
  variables["PMIX_RANK"] = "6"; // srun --mpi=pmix
  EXPECT_EQ(detect(variables)->mpi, "openmpi");
  variables = slurm();
  variables["PMI_RANK"] = "6"; // srun --mpi=pmi2
  variables["PMI_SIZE"] = "7";
  const Result<Launch> launch = detect(variables);
  ASSERT_TRUE(launch.ok()) << messageOf(launch);
  EXPECT_EQ(launch->mpi, "mpich");
  EXPECT_EQ(launch->rank, 6);
  EXPECT_EQ(launch->localWorld, 3);
  EXPECT_EQ(launch->job, "slurm-8100.0");
  EXPECT_EQ(launch->launcher, "the variables of Slurm");
}

TEST(Launch, MpirunThatStartsItsAgentsBySrun) {
  Variables variables = slurm();
  variables["PMI_RANK"] = "1";
  variables["PMI_SIZE"] = "2";
  variables["MPI_LOCALRANKID"] = "1";
  variables["MPI_LOCALNRANKS"] = "2";
  variables["PMIX_RANK"] = "0"; // of a shell in srun --mpi=pmix
  const Result<Launch> launch = detect(variables);
  ASSERT_TRUE(launch.ok()) << messageOf(launch);
  EXPECT_EQ(launch->mpi, "mpich");
  EXPECT_EQ(launch->world, 2);
  EXPECT_EQ(launch->launcher, "the variables of MPICH");
}

TEST(Launch, BatchScriptOfSlurmIsOneProcess) {
  Variables variables = slurm();
  variables.erase("SLURM_STEP_NUM_TASKS");
  const Result<Launch> launch = detect(variables);
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ(launch->world, 1);
}

TEST(Launch, NumbersAreChecked) {
  Variables variables = torchrun();
  variables["RANK"] = "8";
  EXPECT_EQ(messageOf(detect(variables)),
            "the variables of torchrun: the variable RANK is \"8\", need an "
            "integer from 0 to 7");
  variables = torchrun();
  variables["MASTER_PORT"] = "99999";
  EXPECT_THAT(messageOf(detect(variables)),
              HasSubstr("the variable MASTER_PORT is \"99999\", need an "
                        "integer from 1 to 65535"));
  variables = slurm();
  variables["SLURM_STEP_NODELIST"] = "n[3";
  EXPECT_EQ(messageOf(detect(variables)),
            "the variables of Slurm: cannot read the node list \"n[3\" of "
            "Slurm; expected the form n1, n1,n2 or n[01-04,07]");
  variables = slurm();
  variables["SLURM_STEP_TASKS_PER_NODE"] = "2(y3)";
  EXPECT_EQ(messageOf(detect(variables)),
            "the variables of Slurm: cannot read the tasks of nodes "
            "\"2(y3)\" of Slurm; expected the form 4 or 4(x2),3");
}

TEST(Launch, RendezvousOverridesTheLauncher) {
  const Result<Launch> launch = detect(
      torchrun(), {.rendezvous = "tcp://[::1]:4000", .rank = 1, .world = 2});
  ASSERT_TRUE(launch.ok()) << messageOf(launch);
  EXPECT_EQ(launch->rank, 1);
  EXPECT_EQ(launch->world, 2);
  EXPECT_EQ(launch->localRank, -1);
  EXPECT_EQ(launch->meeting.host, "::1");
  EXPECT_EQ(launch->meeting.port, 4000);
  EXPECT_EQ(launch->meeting.ports, 1);
  const Result<Launch> ranked =
      detect(torchrun(), {.rendezvous = "tcp://node1:4000"});
  ASSERT_TRUE(ranked.ok());
  EXPECT_EQ(ranked->rank, 5);
  EXPECT_EQ(ranked->meeting.toString(), "tcp://node1:4000");
}

TEST(Launch, OptionsAreChecked) {
  for (const char *wrong : {"tcp://host", "tcp://:80", "tcp://h:0", "file:///x",
                            "http://h:80", "tcp://h:65536"})
    EXPECT_EQ(
        messageOf(detect({}, {.rendezvous = wrong, .rank = 0, .world = 2})),
        fmt::format("the rendezvous must be tcp://HOST:PORT, got \"{}\"",
                    wrong));
  EXPECT_EQ(messageOf(detect({}, {.rendezvous = "tcp://h:80"})),
            "a rendezvous needs both the rank of this process and the number "
            "of all; give both, or start the processes with a launcher that "
            "says them");
  EXPECT_EQ(messageOf(detect({}, {.rank = 0, .world = 2})),
            "rank and world are for a rendezvous, which is not given; name "
            "one, or leave both to the launcher");
  EXPECT_EQ(messageOf(detect(
                {}, {.rendezvous = "tcp://h:80", .rank = 2, .world = 2})),
            "rank 2 of 2 processes does not exist");
}

TEST(Launch, ProblemsComeTogether) {
  Variables variables = torchrun();
  variables["RANK"] = "8";
  variables["MASTER_PORT"] = "x";
  EXPECT_EQ(messageOf(detect(
                variables, {.rendezvous = "somewhere", .rank = 2, .world = 2})),
            "the variables of torchrun: the variable RANK is \"8\", need an "
            "integer from 0 to 7; the variables of torchrun: the variable "
            "MASTER_PORT is \"x\", need an integer from 1 to 65535; the "
            "rendezvous must be tcp://HOST:PORT, got \"somewhere\"; rank 2 of "
            "2 processes does not exist");
}

TEST(SlurmNodes, FirstNode) {
  const std::map<std::string, std::string> firstOf{
      {"n1", "n1"},
      {"n1,n2", "n1"},
      {"n[01-04,07]", "n01"},
      {"n[7]", "n7"},
      {"rack[2-3]-n[09,11],x1", "rack2-n09"},
      {"gpu-a,gpu-b[1-2]", "gpu-a"}};
  for (const auto &[list, first] : firstOf) {
    const Result<std::string> node = firstSlurmNode(list);
    ASSERT_TRUE(node.ok()) << list;
    EXPECT_EQ(*node, first);
  }
  for (const char *wrong : {"", ",n1", "n[", "n[]", "n[a-b]", "n]1"})
    EXPECT_FALSE(firstSlurmNode(wrong).ok()) << wrong;
}

TEST(SlurmNodes, TasksOfNodes) {
  EXPECT_THAT(*slurmTasksOfNodes("4"), ElementsAre(4));
  EXPECT_THAT(*slurmTasksOfNodes("4(x2),3"), ElementsAre(4, 4, 3));
  for (const char *wrong : {"", "x", "4(x", "4(x0)", "0", "4,", "1(x99999999)"})
    EXPECT_FALSE(slurmTasksOfNodes(wrong).ok()) << wrong;
}

} // namespace
} // namespace weft::runtime

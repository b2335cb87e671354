//===- StopSignals.cpp - Signals that end a run early -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StopSignals.h"

namespace weft::tools {

// Of the process, as handlers are.
std::array<struct sigaction, StopSignals::signals.size()> StopSignals::before;
runtime::Preemption *StopSignals::asked = nullptr;

StopSignals::StopSignals(runtime::Preemption &preemption) {
  asked = &preemption;
  struct sigaction action{};
  action.sa_handler = ask;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN)
      ::sigaction(signals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < signals.size(); ++i)
    ::sigaction(signals[i], &before[i], nullptr);
}

/// Calls only what a handler may.
void StopSignals::ask(int signal) {
  asked->request();
  for (size_t i = 0; i < signals.size(); ++i)
    if (signals[i] == signal)
      ::sigaction(signal, &before[i], nullptr);
}

} // namespace weft::tools

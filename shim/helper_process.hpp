// SPDX-License-Identifier: Apache-2.0
// Child processes that do what may be held up for long.
#pragma once

#include <sys/types.h>

#include <functional>
#include <initializer_list>

namespace fsr::shim {

// Forks a child that calls `work` and ends. The child keeps only the descriptors `kept` (-1: none), so that a reader of a pipe or
// socket never waits for it. It may outlive its parent. Signals are as usual there. -1 and errno: no process.
pid_t start_helper(std::initializer_list<int> kept, const std::function<void()>& work);

}  // namespace fsr::shim

// SPDX-License-Identifier: Apache-2.0
// Headers that most files include, compiled once: a build from nothing takes a third less. Files still include what they use;
// tests/integration/project/source_checks.py reads this list and notices where one does not.
#ifndef FSR_UNITY  // many files that are compiled as one take longer with it
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>
#endif

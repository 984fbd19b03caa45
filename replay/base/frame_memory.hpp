// SPDX-License-Identifier: Apache-2.0
// Memory for coroutine frames. A frame that holds an operation is larger than what malloc(3) caches for a thread. So each thread
// keeps some frames for its next coroutines. Thread-safe; another thread may give a frame back.
#pragma once

#include <cstddef>

namespace fsr {

// Returns memory for a frame. Throws std::bad_alloc.
void* take_frame(size_t size);
// Gives a frame back. `size`: as for take_frame().
void give_frame(void* frame, size_t size) noexcept;

}  // namespace fsr

// SPDX-License-Identifier: Apache-2.0
// Memory of coroutine frames. A frame that holds an operation is larger than what malloc(3) keeps at hand for a thread. So each
// thread keeps some of its own for the next coroutine. Thread-safe; a frame may be given back by another thread.
#pragma once

#include <cstddef>

namespace fsr {

// Throws std::bad_alloc.
void* take_frame(size_t size);
// `size`: as it was taken.
void give_frame(void* frame, size_t size) noexcept;

}  // namespace fsr

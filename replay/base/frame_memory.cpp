// SPDX-License-Identifier: Apache-2.0
#include "base/frame_memory.hpp"

#include <new>

namespace fsr {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// Sanitizers detect the use of a destroyed frame only if its memory is freed.
void* take_frame(size_t size) { return ::operator new(size); }
void give_frame(void* frame, size_t) noexcept { ::operator delete(frame); }

#else

namespace {

constexpr size_t kStep = 256, kClasses = 16;  // frames up to 4096 bytes are kept, in classes of 256, 512, ... 4096 bytes
constexpr size_t kMostKept = 256 * 1024;      // bytes of the frames of one class, enough for 128 operations of several frames

struct Free {
  Free* next;
};

// Frames that a thread keeps. Needs no destructor, so that it can be used until the very end of the thread.
struct Kept {
  Free* first[kClasses];
  unsigned count[kClasses];
  bool is_watched, is_over;
};
constinit thread_local Kept kept{};

// Frees the kept frames when the thread ends.
struct Watch {
  ~Watch() {
    kept.is_over = true;
    for (Free*& first : kept.first)
      while (first) {
        Free* next = first->next;
        ::operator delete(first);
        first = next;
      }
  }
};

size_t class_of(size_t size) { return (size - 1) / kStep; }

}  // namespace

void* take_frame(size_t size) {
  const size_t number = class_of(size);
  if (number >= kClasses) return ::operator new(size);
  if (Free* frame = kept.first[number]) {
    kept.first[number] = frame->next;
    --kept.count[number];
    return frame;
  }
  return ::operator new((number + 1) * kStep);
}

void give_frame(void* frame, size_t size) noexcept {
  const size_t number = class_of(size);
  if (number >= kClasses || kept.count[number] * (number + 1) * kStep >= kMostKept || kept.is_over)
    return ::operator delete(frame);
  if (!kept.is_watched) {
    thread_local Watch watch;
    kept.is_watched = true;
  }
  kept.first[number] = new (frame) Free{kept.first[number]};
  ++kept.count[number];
}

#endif

}  // namespace fsr

// SPDX-License-Identifier: Apache-2.0
#include "identities.hpp"

#include <utility>

namespace fsr::shim {

namespace {

constexpr uint64_t kMarkBits = (uint64_t(1) << 56) - 1;

}  // namespace

size_t Identities::Part::slot_of(uint64_t mark) const {
  const size_t mask = slots_.size() - 1;
  size_t i = mark & mask;
  while (slots_[i].id() != 0 && slots_[i].mark() != mark) i = (i + 1) & mask;
  return i;
}

void Identities::Part::grow() {
  std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.id() != 0) slots_[slot_of(slot.mark())] = slot;
}

ObjectId Identities::Part::find_or_add(uint64_t mark, ObjectId fresh) {
  if ((used_ + 1) * 5 > slots_.size() * 4) grow();
  Slot& slot = slots_[slot_of(mark)];
  if (slot.id() == 0) {
    slot = {uint32_t(mark), uint32_t(mark >> 32) << 8 | (uint32_t(fresh >> 32) & 0xff), uint32_t(fresh)};
    ++used_;
  }
  return slot.id();
}

void Identities::Part::erase(uint64_t mark) {
  if (slots_.empty()) return;
  const size_t mask = slots_.size() - 1;
  size_t i = slot_of(mark);
  if (slots_[i].id() == 0) return;
  // Closes the gap: a later entry moves here unless this slot lies before the entry's home slot.
  for (size_t next = (i + 1) & mask; slots_[next].id() != 0; next = (next + 1) & mask) {
    const size_t home = slots_[next].mark() & mask;
    if (((next - home) & mask) < ((next - i) & mask)) continue;
    slots_[i] = std::exchange(slots_[next], {});
    i = next;
  }
  slots_[i] = {};
  --used_;
}

ObjectId Identities::find_or_add(uint64_t mark, ObjectId fresh) {
  return parts_[mark >> 56].find_or_add(mark & kMarkBits, fresh);
}

void Identities::erase(uint64_t mark) { parts_[mark >> 56].erase(mark & kMarkBits); }

size_t Identities::size() const {
  size_t all = 0;
  for (const Part& part : parts_) all += part.size();
  return all;
}

size_t Identities::memory() const {
  size_t all = 0;
  for (const Part& part : parts_) all += part.memory();
  return all;
}

}  // namespace fsr::shim

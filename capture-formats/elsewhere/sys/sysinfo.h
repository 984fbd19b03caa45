// SPDX-License-Identifier: Apache-2.0
#include "../elsewhere.h"

struct sysinfo {
  uint64_t totalram, mem_unit;
};
static inline int sysinfo(struct sysinfo* memory) {
  memory->totalram = (uint64_t)sysconf(_SC_PHYS_PAGES);
  memory->mem_unit = (uint64_t)sysconf(_SC_PAGESIZE);
  return 0;
}

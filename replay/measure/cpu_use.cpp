// SPDX-License-Identifier: Apache-2.0
#include "measure/cpu_use.hpp"

#include <cstdio>
#include <utility>

namespace fsr {

CpuUse CpuMeter::next() {
  FILE* file = fopen(path_, "re");
  if (!file) return {};
  unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, stolen = 0;
  const int got =
      fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &soft, &stolen);
  fclose(file);
  if (got < 7) return {};
  const double u = double(user + nice - std::exchange(user_, user + nice));
  const double s = double(system + irq + soft - std::exchange(system_, system + irq + soft));
  const double w = double(wait) - double(std::exchange(wait_, wait));  // the kernel's counter may decrease
  const double i = double(idle) - double(std::exchange(idle_, idle));
  const double taken = double(stolen) - double(std::exchange(stolen_, stolen));
  const double all = (u + s + w + i) / 100, whole = all + taken / 100;
  if (whole <= 0) return {};
  return all > 0 ? CpuUse{u / all, s / all, w / all, i / all, taken / whole} : CpuUse{.stolen = taken / whole};
}

}  // namespace fsr

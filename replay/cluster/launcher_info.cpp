// SPDX-License-Identifier: Apache-2.0
#include "cluster/launcher_info.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "cluster/mpi/module.hpp"

namespace fsr {

namespace {

unsigned number_in(const char* variable) {
  const char* value = getenv(variable);
  return value ? unsigned(strtoul(value, nullptr, 10)) : 0;
}

// Returns the directory above the program's, which in a build tree is the build directory.
std::string build_directory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path().string();
}

}  // namespace

LauncherInfo launch() {
  struct {
    const char *size, *rank, *implementation;
  } const kinds[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "openmpi"}, {"PMI_SIZE", "PMI_RANK", "mpich"}};
  for (const auto& kind : kinds)
    if (const unsigned size = number_in(kind.size)) return {number_in(kind.rank), size, kind.implementation};
  return {};
}

std::unique_ptr<Transport> join_launched(const LauncherInfo& launch) {
  const std::string file = fmt::format("fsr-mpi-{}.so", launch.implementation);
  // RTLD_GLOBAL, because MPI's plugins need the symbols of its library.
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!module) module = dlopen((build_directory() + "/replay/cluster/" + file).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!module) module = dlopen((FSR_MODULES "/" + file).c_str(), RTLD_NOW | RTLD_GLOBAL);
  const auto fail = [&](const std::string& why) {
    throw std::runtime_error(
        fmt::format("started as {} ranks by a launcher of {}, but {}", launch.size, launch.implementation, why));
  };
  if (!module) {
    const std::string why = dlerror();
    const bool missing = why.find(file + ": cannot open shared object file: No such file") != std::string::npos;
    fail(missing ? fmt::format("the module for that MPI is missing: apt install fsreplay-mpi, or configure the build again with "
                               "lib{}-dev installed",
                               launch.implementation)
                 : why);
  }
  const auto open = reinterpret_cast<OpenTransport*>(dlsym(module, kOpenTransport));
  if (!open) fail(file + " is not a module of this program");
  std::string why;
  Transport* transport = open(FSR_VERSION, &why);
  if (!transport) fail(why);
  return std::unique_ptr<Transport>(transport);
}

}  // namespace fsr

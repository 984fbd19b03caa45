// SPDX-License-Identifier: Apache-2.0
#include "hooks.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "../capabilities.hpp"
#include "../capture_error.hpp"
#include "util/unique_fd.hpp"
#include "witness.skel.h"

namespace fsr::shim {

namespace {

// Hooks of which one is enough; the first is better.
constexpr struct {
  std::string_view first, second;
} kVariants[] = {{"filp_flush", "filp_close"}, {"path_parentat", "__filename_parentat"}};

// Functions of 6.1 and their names since 7.0, with the same arguments.
constexpr struct {
  std::string_view old_name;
  const char* new_name;
} kRenamed[] = {{"do_mkdirat", "filename_mkdirat"}, {"do_mknodat", "filename_mknodat"},   {"do_linkat", "filename_linkat"},
                {"do_rmdir", "filename_rmdir"},     {"do_unlinkat", "filename_unlinkat"}, {"do_renameat2", "filename_renameat2"}};

// Programs for functions whose arguments are others in some kernels, which their number tells. One of them must fit.
constexpr struct {
  std::string_view program;
  unsigned arguments;
} kShapes[] = {{"others_create_ended", 5}, {"others_create_4_ended", 4}};

// Hooks that a kernel without the feature lacks. A compiler may also have given the function another name, so that what it does
// is not seen (WitnessHooks::absent()).
constexpr std::string_view kOfFeatures[] = {"io_read",   "io_write",        "io_wq_submit_work", "aio_read",
                                            "aio_write", "aio_complete_rw", "unix_bind"};

// Hooks of functions that older kernels do not have, where others see the same.
constexpr std::string_view kOfNewer[] = {"vfs_set_acl", "vfs_get_acl", "vfs_remove_acl"};

// Hooks of page faults.
constexpr std::string_view kOfFaults[] = {"handle_mm_fault", "filemap_fault", "shmem_fault", "filemap_map_pages"};

bool is_one_of(std::string_view function, std::span<const std::string_view> hooks) {
  return std::find(hooks.begin(), hooks.end(), function) != hooks.end();
}

// The first line of libbpf that names a program or a reason. One thread loads at a time.
std::string g_said;

int keep_line(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN || !g_said.empty()) return 0;
  char line[256];
  vsnprintf(line, sizeof line, format, arguments);
  g_said = line;
  g_said.resize(std::min(g_said.find('\n'), g_said.size()));
  return 0;
}

// True: the kernel may be locked down so far that no program may read its memory. Without securityfs that is not known.
bool may_be_locked_down() {
  std::ifstream file("/sys/kernel/security/lockdown");
  std::string state;
  return !std::getline(file, state) || state.find("[confidentiality]") != state.npos;
}

// Returns the names of the capabilities that this process lacks.
std::string missing_capabilities() {
  constexpr struct {
    int number;
    const char* name;
  } kNeeded[] = {{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {CAP_PERFMON, "CAP_PERFMON"}, {CAP_BPF, "CAP_BPF"}};
  const uint64_t effective = effective_capabilities(gettid());
  std::string missing;
  for (const auto& needed : kNeeded)
    if (!(effective & capability(needed.number))) missing += (missing.empty() ? "" : ", ") + std::string(needed.name);
  return missing;
}

// True: this process is in the machine's first pid namespace, whose numbers the programs in the kernel compare. The inode is
// PROC_PID_INIT_INO of include/linux/proc_ns.h.
bool in_first_pid_namespace() {
  struct stat found;
  return stat("/proc/self/ns/pid", &found) == 0 && found.st_ino == 0xEFFFFFFC;
}

// Records after which drain() returns: a busy command would otherwise keep the reader from writing, and from its limits.
constexpr size_t kMostRecordsAtOnce = 8192;

constexpr const char* kOption = "--via kernel: ";

CaptureError refused(const std::string& why) { return CaptureError(kOption + why); }

// Says why the kernel did not load the programs. `error`: an errno.
CaptureError not_loaded(int error) {
  if (const std::string missing = missing_capabilities(); !missing.empty())
    return refused("the kernel refuses eBPF without " + missing + "; run as root, or leave --via out");
  if (error == EPERM && may_be_locked_down())
    return refused(
        "the kernel refuses eBPF programs that read its memory (lockdown=confidentiality); boot with lockdown=integrity or none, "
        "or "
        "leave --via out");
  return refused("the kernel does not load the programs: " + std::string(strerror(error)) +
                 (g_said.empty() ? "" : " (" + g_said + ")") + "; leave --via out");
}

// Returns the function that a program is attached to: "fexit/vfs_read" is vfs_read's. Empty: a tracepoint or an iterator, which
// all kernels have.
std::string_view function_of(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  const size_t slash = section.find('/');
  return section.starts_with("tp_btf") || section.starts_with("iter") || slash == section.npos ? std::string_view()
                                                                                               : section.substr(slash + 1);
}

// The functions of this kernel, by its description of its types.
class KernelFunctions {
 public:
  KernelFunctions() : types_(btf__load_vmlinux_btf(), btf__free) {
    if (!types_ || libbpf_get_error(types_.get()) != 0)
      throw refused(
          "the kernel has no description of its types (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF); leave --via out");
  }
  bool has(std::string_view function) const { return find(function) > 0; }
  unsigned arguments(std::string_view function) const {
    return btf_vlen(btf__type_by_id(types_.get(), btf__type_by_id(types_.get(), uint32_t(find(function)))->type));
  }

 private:
  int find(std::string_view function) const {
    return btf__find_by_name_kind(types_.get(), std::string(function).c_str(), BTF_KIND_FUNC);
  }
  const std::unique_ptr<btf, void (*)(btf*)> types_;
};

// Attaches the program to the function under its new name, if this kernel has it under that name.
bool follow_name(bpf_program* program, std::string_view function, const KernelFunctions& kernel) {
  for (const auto& [old_name, new_name] : kRenamed) {
    if (old_name != function || kernel.has(old_name) || !kernel.has(new_name)) continue;
    if (bpf_program__set_attach_target(program, 0, new_name) != 0)
      throw refused(std::string("no program can be attached to ") + new_name + "; leave --via out");
    return true;
  }
  return false;
}

// Leaves out programs for other kernels. Returns the hooks of features that this kernel lacks. Throws CaptureError with the names
// of others.
std::vector<std::string> choose(bpf_object* object) {
  const KernelFunctions kernel;
  std::string missing;
  std::map<std::string, bool> fitted;  // functions of kShapes: whether a program is for their arguments
  std::vector<std::string> absent;
  bpf_program* program;
  bpf_object__for_each_program(program, object) {
    const std::string_view function = function_of(program);
    if (function.empty()) continue;
    if (follow_name(program, function, kernel)) continue;
    bool wanted = true;
    for (const auto& shape : kShapes)
      if (shape.program == bpf_program__name(program) && kernel.has(function)) {
        wanted = kernel.arguments(function) == shape.arguments;
        fitted[std::string(function)] |= wanted;
      }
    for (const auto& variant : kVariants)
      if (function == variant.second && kernel.has(variant.first)) wanted = false;
    bool excused = false;
    for (const auto& variant : kVariants) excused = excused || (function == variant.first && kernel.has(variant.second));
    const bool optional = is_one_of(function, kOfFeatures);
    if (wanted && !kernel.has(function)) {
      wanted = false;
      if (optional && std::find(absent.begin(), absent.end(), function) == absent.end()) absent.emplace_back(function);
      excused = excused || optional || is_one_of(function, kOfNewer);
      if (!excused) missing += (missing.empty() ? "" : ", ") + std::string(function);
    }
    bpf_program__set_autoload(program, wanted);
  }
  for (const auto& [function, fits] : fitted)
    if (!fits) missing += (missing.empty() ? "" : ", ") + function + " with these arguments";
  if (!missing.empty()) throw refused("this kernel has no hook " + missing + "; leave --via out");
  return absent;
}

// Before the programs are loaded.
void configure(witness& programs, const WitnessScope& scope) {
  auto& constant = *programs.rodata;
  constant.capture_command = uint32_t(scope.command);
  constant.everywhere = scope.everywhere;
  constant.own_process = uint32_t(getpid());
  constant.page_size = uint32_t(sysconf(_SC_PAGESIZE));
  constant.cgroups = uint32_t(scope.cgroups.size());
  constant.early_kinds = scope.filter ? scope.filter.kinds : 0;
  constant.unwanted_kinds = scope.filter.unwanted;
  constant.id_rules = scope.filter.id_rules;
  bpf_map__set_max_entries(programs.maps.chosen_cgroups, std::max(1U, uint32_t(scope.cgroups.size())));
  bpf_map__set_max_entries(programs.maps.chosen_ids, std::max(1U, uint32_t(scope.filter.ids.size())));
  bpf_map__set_max_entries(programs.maps.open_files, scope.everywhere ? kWitnessOpenFiles : 1);
}

void fill_maps(witness& programs, const WitnessScope& scope) {
  for (uint32_t i = 0; i < scope.cgroups.size(); ++i)
    if (bpf_map_update_elem(bpf_map__fd(programs.maps.chosen_cgroups), &i, &scope.cgroups[i], BPF_ANY) != 0)
      throw refused("the kernel does not take the control group: " + std::string(strerror(errno)));
  constexpr uint32_t kIsChosen = 1;
  for (const witness_id& id : scope.filter.ids)
    if (bpf_map_update_elem(bpf_map__fd(programs.maps.chosen_ids), &id, &kIsChosen, BPF_ANY) != 0)
      throw refused("the kernel does not take a rule of --only or --exclude: " + std::string(strerror(errno)));
}

// Returns how often the kernel left out programs: those of page faults, or the others.
uint64_t misses(bpf_object* object, bool of_faults) {
  uint64_t misses = 0;
  bpf_program* program;
  bpf_object__for_each_program(program, object) {
    bpf_prog_info info{};
    uint32_t size = sizeof info;
    if (bpf_program__autoload(program) && is_one_of(function_of(program), kOfFaults) == of_faults &&
        bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
      misses += info.recursion_misses;
  }
  return misses;
}

}  // namespace

struct WitnessHooks::Loaded {
  Receiver receiver;
  size_t received = 0;  // by this drain()
  std::unique_ptr<witness, void (*)(witness*)> programs{nullptr, witness::destroy};
  std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring{nullptr, ring_buffer__free};
};

WitnessHooks::WitnessHooks(const WitnessScope& scope, size_t ring_bytes, Receiver receiver) : loaded_(new Loaded) {
  if (!in_first_pid_namespace())
    throw refused("possible only in the machine's first pid namespace, outside containers; leave --via out");
  loaded_->receiver = std::move(receiver);
  g_said.clear();
  libbpf_set_print(keep_line);
  loaded_->programs.reset(witness::open());
  if (!loaded_->programs) throw not_loaded(errno);
  witness& programs = *loaded_->programs;
  absent_ = choose(programs.obj);
  configure(programs, scope);
  bpf_map__set_max_entries(programs.maps.ring, uint32_t(ring_bytes));
  if (const int error = witness::load(&programs); error != 0) throw not_loaded(-error);
  fill_maps(programs, scope);
  auto receive = [](void* self, void* data, size_t) {
    auto& loaded = *static_cast<Loaded*>(self);
    loaded.receiver(*static_cast<const witness_record*>(data));
    return ++loaded.received < kMostRecordsAtOnce ? 0 : -1;  // libbpf counts this record as consumed, and stops
  };
  loaded_->ring.reset(ring_buffer__new(bpf_map__fd(programs.maps.ring), receive, loaded_.get(), nullptr));
  if (!loaded_->ring) throw not_loaded(errno);
}

WitnessHooks::~WitnessHooks() = default;

void WitnessHooks::attach(const std::function<void()>& look) {
  witness& programs = *loaded_->programs;
  bpf_program* program;
  bpf_object__for_each_program(program, programs.obj) {
    if (!bpf_program__autoload(program)) continue;
    bpf_link* const link = bpf_program__attach(program);
    const int error = errno;
    if (!link)
      throw refused("the kernel does not attach the hook " + std::string(bpf_program__section_name(program)) + ": " +
                    strerror(error) + "; leave --via out");
    // The skeleton's links are in the order of its programs; it destroys those that it has.
    for (int i = 0; i < programs.skeleton->prog_cnt; ++i)
      if (*programs.skeleton->progs[i].prog == program) *programs.skeleton->progs[i].link = link;
    ++attached_;
  }
  programs.bss->capture_finder = uint32_t(gettid());
  look();
  if (programs.bss->fence_mount == 0)
    throw refused("the programs in the kernel do not see the captured directory; leave --via out");
}

void WitnessHooks::tell_unended() {
  if (attached_ == 0) return;
  const UniqueFd list(bpf_iter_create(bpf_link__fd(loaded_->programs->links.unended_call)));
  char nothing[64];
  ssize_t got = list ? 1 : -1;
  while (got > 0 || (got < 0 && list && (errno == EAGAIN || errno == EINTR))) got = read(list.get(), nothing, sizeof nothing);
  unended_known_ = got == 0;
}

void WitnessHooks::detach() {
  witness::detach(loaded_->programs.get());
  detached_ = true;
}

uint64_t WitnessHooks::unended() const {
  if (!detached_) return 0;
  const int map = bpf_map__fd(loaded_->programs->maps.requests);
  uint64_t unended = 0, last = 0, next;
  for (const uint64_t* key = nullptr; bpf_map_get_next_key(map, key, &next) == 0; key = &last) {
    last = next;
    ++unended;
  }
  return unended;
}

witness_place WitnessHooks::root() const { return loaded_->programs->bss->root_place; }

bool WitnessHooks::drain() {
  loaded_->received = 0;
  ring_buffer__consume(loaded_->ring.get());
  return loaded_->received >= kMostRecordsAtOnce;
}

static uint64_t loaded(const __u64& counter) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); }

std::array<uint64_t, kWitnessLosses> WitnessHooks::losses() const {
  std::array<uint64_t, kWitnessLosses> losses;
  std::transform(std::begin(loaded_->programs->bss->losses), std::end(loaded_->programs->bss->losses), losses.begin(), loaded);
  return losses;
}

WitnessCounters WitnessHooks::counters() const {
  const auto* now = loaded_->programs->bss;
  return {.losses = losses(),
          .async = loaded(now->unseen_async),
          .mappings = loaded(now->unseen_mappings),
          .crossings = loaded(now->crossings),
          .others = loaded(now->names_of_others),
          .faults = loaded(now->unseen_faults) + misses(loaded_->programs->obj, true)};
}

std::array<uint64_t, kOpKinds> WitnessHooks::left_out() const {
  std::array<uint64_t, kWitnessKinds> counts{};
  for (size_t kind = 0; kind < counts.size(); ++kind)
    counts[kind] = __atomic_load_n(&loaded_->programs->bss->left_out_kinds[kind], __ATOMIC_RELAXED);
  return left_out_by_kind(counts);
}

uint64_t WitnessHooks::skipped() const { return misses(loaded_->programs->obj, false); }

std::string witness_problem() {
  try {
    WitnessHooks({.command = 1, .cgroups = {}, .filter = {}}, 1 << 16, {});
    return {};
  } catch (const CaptureError& e) {
    return std::string(e.what()).substr(strlen(kOption));
  }
}

}  // namespace fsr::shim

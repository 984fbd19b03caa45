// SPDX-License-Identifier: Apache-2.0
// fstrace mix: the mix of NFS requests that stands for a trace, as a mixfile.
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>

#include "json_out.hpp"
#include "mix/linux_client.hpp"
#include "mix/mountstats.hpp"
#include "mix/nfsstat_writer.hpp"
#include "mix/op_procedures.hpp"
#include "mix/procedures.hpp"
#include "mix/traits.hpp"
#include "subcommand.hpp"
#include "trace_output.hpp"
#include "util/status_line.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

struct MixCommandOptions {
  std::vector<std::string> files;
  std::string layout = "linux", model = "none";
  unsigned nfs_version = 0;
  std::string rsize, wsize, acregmin, acregmax, acdirmin, acdirmax, readahead;
  bool json = false;
};

// The counts to print.
struct Counted {
  std::vector<uint64_t> calls;  // as nfs_procedures(version)
  uint64_t compounds = 0;
  uint64_t operations = 0;
  uint64_t without = 0;  // operations that the version has no procedure for
  MixTraits traits;      // without a model
};

// The requests that the mount below the capture counted meanwhile.
struct OfMount {
  Mountstats start, end;
};

std::optional<OfMount> of_mount(const TraceReader& reader) {
  OfMount mount;
  if (!reader.closing() || !parse_mountstats(reader.header().nfs.mountstats, &mount.start) ||
      !parse_mountstats(reader.closing()->nfs.mountstats, &mount.end))
    return std::nullopt;
  return mount;
}

uint64_t calls_of(const Mountstats& stats, std::string_view name) {
  for (const auto& [known, n] : stats.calls)
    if (known == name) return n;
  return 0;
}

void set_size(const std::string& text, const char* option, uint64_t* value) {
  if (text.empty()) return;
  *value = parse_size(text);
  if (*value < 1024 || *value > 1 << 30) throw std::runtime_error(fmt::format("{} {}: expected 1k to 1g", option, text));
}

void set_time(const std::string& text, const char* option, int64_t* value) {
  if (text.empty()) return;
  *value = parse_duration(text);
  if (*value < 0) throw std::runtime_error(fmt::format("{} {}: expected a time of 0 or more", option, text));
}

LinuxClientOptions client_options(const MixCommandOptions& options, unsigned version, const TraceReader& reader,
                                  const std::optional<OfMount>& mount) {
  LinuxClientOptions client;
  if (mount) {
    client.apply_mount_options(mount->end.options);
    if (mount->end.dtsize >= 1024) client.dtsize = mount->end.dtsize;
  } else if (reader.header().mount_type.starts_with("nfs")) {
    client.apply_mount_options(reader.header().mount_options);
  }
  client.nfs_version = version;
  set_size(options.rsize, "--rsize", &client.rsize);
  set_size(options.wsize, "--wsize", &client.wsize);
  if (!options.readahead.empty()) client.readahead = parse_size(options.readahead);
  if (client.readahead > 1 << 30) throw std::runtime_error("--readahead " + options.readahead + ": expected at most 1g");
  set_time(options.acregmin, "--acregmin", &client.acregmin);
  set_time(options.acregmax, "--acregmax", &client.acregmax);
  set_time(options.acdirmin, "--acdirmin", &client.acdirmin);
  set_time(options.acdirmax, "--acdirmax", &client.acdirmax);
  client.acregmax = std::max(client.acregmin, client.acregmax);
  client.acdirmax = std::max(client.acdirmin, client.acdirmax);
  return client;
}

// With `model`: by one modelled client for each client of a merged trace.
Counted count(TraceReader& reader, unsigned version, const LinuxClientOptions* model) {
  Counted counted;
  std::map<uint32_t, LinuxClient> clients;
  TraitCounts traits;
  counted.calls.resize(nfs_procedures(version).size());
  StatusLine line(false);
  OpBatch batch;
  while (reader.next(batch)) {
    for (const Op& op : batch.ops) {
      ++counted.operations;
      if (model) {
        clients.try_emplace(op.who ? op.who->client : 0, *model).first->second.apply(op);
        continue;
      }
      traits.add(op);
      const int procedure = nfs_procedure_of(version, op);
      if (procedure >= 0)
        ++counted.calls[size_t(procedure)];
      else
        ++counted.without;
    }
    line.bar("mix", reader.position_bytes(), reader.file_bytes());
  }
  line.clear();
  if (model) {
    WireCalls sent;
    for (const auto& [id, client] : clients) sent += client.sent();
    counted.calls = sent.calls(version);
    counted.compounds = sent.compounds();
  } else {
    for (uint64_t n : counted.calls) counted.compounds += n;
    counted.traits = traits.traits();
  }
  return counted;
}

// The model beside what the mount counted, which also had to serve the recorder: docs/mixfile.md.
void compare(const Counted& counted, unsigned version, const OfMount& mount) {
  if (mount.end.nfs_version != version || version == 4) {
    fmt::print(stderr, "fstrace: the captured directory is an NFSv{} mount, whose counts can't be compared with NFSv{}\n",
               mount.end.nfs_version, version);
    return;
  }
  uint64_t model = 0, real = 0;
  const auto names = nfs_procedures(version);
  std::vector<uint64_t> counts;
  for (const char* name : names) {
    const uint64_t before = calls_of(mount.start, name), after = calls_of(mount.end, name);
    counts.push_back(after > before ? after - before : 0);
    real += counts.back();
  }
  for (uint64_t n : counted.calls) model += n;
  auto share = [](uint64_t n, uint64_t of) { return of ? double(n) / double(of) * 100 : 0; };
  double off = 0;
  fmt::print(stderr, "{:<14}{:>12}{:>9}{:>12}{:>9}\n", "procedure", "model", "", "mount", "");
  for (size_t i = 0; i < names.size(); ++i) {
    const double a = share(counted.calls[i], model), b = share(counts[i], real);
    off += std::abs(a - b);
    if (counted.calls[i] || counts[i])
      fmt::print(stderr, "{:<14}{:>12}{:>8.2f}%{:>12}{:>8.2f}%\n", names[i], format_count(counted.calls[i]), a,
                 format_count(counts[i]), b);
  }
  fmt::print(stderr, "{:<14}{:>12}{:>9}{:>12}{:>9}  shares differ by {:.2f} % in all\n", "total", format_count(model), "",
             format_count(real), "", off);
}

void put_traits(JsonOut& json, const MixTraits& traits) {
  if (traits.failed_lookups) json.member("failed_lookups_share", *traits.failed_lookups);
  for (const auto& [share, sizes, of] : {std::tuple("sequential_reads_share", "read_sizes", &traits.reads),
                                         std::tuple("sequential_writes_share", "write_sizes", &traits.writes)}) {
    if (!of->known()) continue;
    json.member(share, of->sequential);
    json.key(sizes);
    json.open('{');
    for (const auto& [which, list] : {std::pair("sequential", &of->sequential_sizes), std::pair("other", &of->sizes)}) {
      json.key(which);
      json.open('{');
      for (const SizeWeight& size : *list) json.member(std::to_string(size.bytes), size.weight);
      json.close('}');
    }
    json.close('}');
  }
}

void print_mix_json(const MixCommandOptions& options, const Counted& counted, unsigned version,
                    const std::optional<OfMount>& mount) {
  fmt::memory_buffer out;
  JsonOut json(out);
  const auto names = nfs_procedures(version);
  uint64_t total = 0;
  for (uint64_t n : counted.calls) total += n;
  json.open('{');
  json.member_text("file", options.files[0]);
  json.member_text("client_model", options.model);
  json.member("nfs_version", version);
  json.member("operations", counted.operations);
  json.member("without_procedure", counted.without);
  json.member("calls", total);
  if (version == 4) json.member("compounds", counted.compounds);
  json.key("procedures");
  json.open('{');
  for (size_t i = 0; i < names.size(); ++i) json.member(names[i], counted.calls[i]);
  json.close('}');
  put_traits(json, counted.traits);
  if (mount) {
    json.key("mountstats");
    json.open('{');
    json.member("nfs_version", mount->end.nfs_version);
    json.key("calls");
    json.open('{');
    for (const auto& [name, after] : mount->end.calls) {
      const uint64_t before = calls_of(mount->start, name);
      json.key(json_text(name));
      json.number(after > before ? after - before : 0);
    }
    json.close('}');
    json.close('}');
  }
  json.close('}');
  out.push_back('\n');
  fwrite(out.data(), 1, out.size(), stdout);
}

int mix(const MixCommandOptions& options) {
  const bool sunos = options.layout == "sunos";
  if (sunos && options.nfs_version > 2)
    throw std::runtime_error(fmt::format("--layout sunos: only for NFSv2, not for --nfs-version {}", options.nfs_version));
  const unsigned version = options.nfs_version ? options.nfs_version : sunos ? 2 : 3;
  const bool modelled = options.model == "linux";
  for (const std::string* text : {&options.rsize, &options.wsize, &options.acregmin, &options.acregmax, &options.acdirmin,
                                  &options.acdirmax, &options.readahead})
    if (!modelled && !text->empty())
      throw std::runtime_error("mount options (--rsize, --acregmin and others) require --client-model linux");
  auto reader = open_trace(options.files);
  const auto mount = of_mount(*reader);
  LinuxClientOptions client;
  if (modelled) client = client_options(options, version, *reader, mount);
  const Counted counted = count(*reader, version, modelled ? &client : nullptr);
  if (options.json)
    print_mix_json(options, counted, version, mount);
  else if (sunos)
    fmt::print("{}", sunos_nfsstat_text(counted.calls));
  else
    fmt::print("{}{}", linux_nfsstat_text(version, counted.calls, counted.compounds), traits_text(counted.traits));
  fflush(stdout);
  if (counted.without > 0)
    fmt::print(stderr, "fstrace: {} of {} operations have no procedure in NFSv{} and are not in the mix\n",
               format_count(counted.without), format_count(counted.operations), version);
  if (modelled && mount && !options.json) compare(counted, version, *mount);
  return report_damage(options.files[0], *reader);
}

}  // namespace

Run add_mix(Command& command) {
  auto options = std::make_shared<MixCommandOptions>();
  add_files(command, options->files);
  command
      .add("--layout", options->layout, "write the layout linux (default) or sunos, which the original nhfsstone reads (NFSv2)")
      .one_of({"linux", "sunos"});
  command.add("--nfs-version", options->nfs_version, "write this NFS version: 2, 3 (default) or 4").stands_for("N").within(2, 4);
  command
      .add("--client-model", options->model,
           "model no client (none, default: one request for each operation), or a Linux client with its caches (linux)")
      .one_of({"none", "linux"});
  command.add("--rsize", options->rsize, "limit the bytes of a READ (default: as the captured mount, or 1m)");
  command.add("--wsize", options->wsize, "limit the bytes of a WRITE (default: as the captured mount, or 1m)");
  command.add("--acregmin", options->acregmin, "cache file attributes at least so long (default: as the captured mount, or 3s)");
  command.add("--acregmax", options->acregmax, "cache file attributes at most so long (default: as the captured mount, or 60s)");
  command.add("--acdirmin", options->acdirmin,
              "cache directory attributes at least so long (default: as the captured mount, or 30s)");
  command.add("--acdirmax", options->acdirmax,
              "cache directory attributes at most so long (default: as the captured mount, or 60s)");
  command.add("--readahead", options->readahead, "set how far the client reads ahead (default 128k)");
  command.flag("--json", options->json, "print JSON on standard output instead of a mixfile");
  return [options] { return mix(*options); };
}

}  // namespace fsr::fstrace

// SPDX-License-Identifier: Apache-2.0
#include "mix/mix.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mix/dialect.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

using namespace mix;

// The first one that recognises a file reads it: a more special dialect stands before those whose marks it also has.
constexpr const Dialect* kDialects[] = {&kLinuxRaw, &kFreeBsdJson, &kLinuxList, &kLinux, &kFreeBsd, &kSolaris, &kSunOs};

const Dialect* recognise(std::string_view text) {
  for (const Dialect* dialect : kDialects)
    if (dialect->sniff(text)) return dialect;
  return nullptr;
}

std::string describe(const Block& block) {
  return fmt::format("{}, {}, NFSv{}", block.what, block.client ? "client" : "server", block.nfs_version);
}

// Points at the procedures where there are any, else at the first line that says something.
[[noreturn]] void not_understood(const MixText& mix) {
  const Lines lines(mix);
  size_t first = lines.size();
  for (size_t at = 0; at < lines.size(); ++at) {
    const auto list = words(lines[at]);
    if (std::find(list.begin(), list.end(), "getattr") != list.end())
      lines.fail(at, "a line that says what is counted, such as 'Server nfs v3:', is missing above these names");
    if (first == lines.size() && !list.empty()) first = at;
  }
  if (first == lines.size()) throw MixError(mix.name + ": not a mixfile: empty file");
  throw MixError(
      fmt::format("{}:{}: not a mixfile: expected output of nfsstat, such as 'Server nfs v3:', or a copy of "
                  "/proc/net/rpc/nfsd or nfs, found '{}'",
                  mix.name, first + 1, escape_text(lines[first].substr(0, 40))));
}

std::vector<Block> read_blocks(const MixText& mix) {
  const Dialect* dialect = recognise(mix.text);
  if (!dialect) not_understood(mix);
  auto blocks = dialect->parse(Lines(mix));
  if (blocks.empty())
    throw MixError(fmt::format("{}: bad mix format: no NFS counters found in this output of {}", mix.name, dialect->name));
  return blocks;
}

// The block that the options ask for.
Block choose(std::vector<Block>& blocks, const MixText& mix, const MixReadOptions& options) {
  std::vector<std::string> notes;
  // A second block of the same kind is another snapshot: the first counts, as for the original.
  std::vector<Block> different;
  for (Block& block : blocks) {
    const bool again = std::any_of(different.begin(), different.end(), [&](const Block& other) {
      return other.nfs_version == block.nfs_version && other.client == block.client;
    });
    if (again)
      notes.push_back(fmt::format("line {}: not used, because counters of an NFSv{} {} stand further up in the file",
                                  block.line + 1, block.nfs_version, block.client ? "client" : "server"));
    else
      different.push_back(std::move(block));
  }
  auto has = [&](auto wanted) { return std::any_of(different.begin(), different.end(), wanted); };
  bool client = options.client;
  if (!client && !has([](const Block& b) { return !b.client; })) {
    client = true;
    notes.push_back("counters of a client, because the file has none of a server");
  }
  Block* best = nullptr;
  for (Block& block : different) {
    if (block.client != client || (options.nfs_version != 0 && block.nfs_version != options.nfs_version)) continue;
    if (!best || block.rank > best->rank || (block.rank == best->rank && block.nfs_version > best->nfs_version)) best = &block;
  }
  if (!best) {
    std::string there;
    for (const Block& block : different) there += (there.empty() ? "" : "; ") + describe(block);
    throw MixError(fmt::format("{}: no counters of {}{}, only: {}", mix.name,
                               options.nfs_version ? fmt::format("NFSv{} of ", options.nfs_version) : "",
                               client ? "a client" : "a server", there));
  }
  std::string others;
  for (const Block& block : different)
    if (&block != best && block.sum() > 0)
      others += fmt::format("{}{} NFSv{} ({} calls)", others.empty() ? "" : ", ", block.client ? "client" : "server",
                            block.nfs_version, format_count(block.rank));
  if (!others.empty()) notes.push_back("not used, but also in the file: " + others);
  Block chosen = std::move(*best);
  chosen.notes.insert(chosen.notes.begin(), notes.begin(), notes.end());
  return chosen;
}

// Leaves what was counted between two snapshots.
void subtract(Block& now, const Block& then, const MixText& mix, const MixText& since) {
  constexpr uint64_t kWrap = uint64_t(1) << 32;  // the Linux server's counters have 32 bits
  auto wrapped = [](uint64_t before, uint64_t after) { return before < kWrap && before >= kWrap / 2 && after < kWrap / 2; };
  unsigned wraps = 0;
  for (size_t i = 0; i < now.counts.size(); ++i) {
    const uint64_t before = then.counts[i], after = now.counts[i];
    if (after < before && !wrapped(before, after))
      throw MixError(fmt::format("{}: '{}' went down from {} to {} since {}: the counters began anew, no difference can be taken",
                                 mix.name, nfs_procedures(now.nfs_version)[i], before, after, since.name));
    wraps += after < before;
    now.counts[i] = after < before ? after + kWrap - before : after - before;
  }
  if (wraps) now.notes.push_back(fmt::format("{} counters passed 2^32 since {} and were corrected", wraps, since.name));
  now.printed_calls = now.printed_calls >= then.printed_calls ? now.printed_calls - then.printed_calls : 0;
  now.rank = now.rank >= then.rank ? now.rank - then.rank : now.sum();
}

void subtract_all(std::vector<Block>& blocks, const MixText& mix, const MixText& since) {
  const auto earlier = read_blocks(since);
  std::vector<Block> differences;
  for (Block& now : blocks) {
    const auto then = std::find_if(earlier.begin(), earlier.end(), [&](const Block& other) {
      return other.nfs_version == now.nfs_version && other.client == now.client;
    });
    if (then == earlier.end()) continue;
    subtract(now, *then, mix, since);
    differences.push_back(std::move(now));
  }
  if (differences.empty())
    throw MixError(fmt::format("{}: no counters in common with {}, so no difference can be taken", since.name, mix.name));
  blocks = std::move(differences);
}

// The original calls a procedure as often as the rounded percentage says, of the number of calls that stands in front.
void keep_whole_percents(const Block& block, const std::string& name, Mix& mix) {
  const uint64_t calls = block.printed_calls ? block.printed_calls : mix.calls;
  double total = 0;
  unsigned dropped = 0;
  for (MixProcedure& p : mix.procedures) {
    const double percent = double(uint64_t((double(p.count) * 1000 / double(calls) + 5) / 10));
    dropped += p.count > 0 && percent == 0;
    p.weight = percent;
    total += percent;
  }
  if (!(total > 0)) throw MixError(name + ": no procedure has 0.5 % of the calls or more");
  for (MixProcedure& p : mix.procedures) p.weight /= total;
  mix.notes.push_back(
      fmt::format("shares rounded to whole percents, {} % in total; {} procedures below 0.5 % are never called", total, dropped));
}

MixTraits read_traits(const MixText& mix) {
  MixTraits traits;
  const Lines lines(mix);
  for (size_t at = 0; at < lines.size(); ++at)
    if (lines[at].starts_with(kTraitMark))
      if (const std::string wrong = add_trait(lines[at], &traits); !wrong.empty()) lines.fail(at, wrong);
  for (const auto& [name, of] : {std::pair("read", &traits.reads), std::pair("write", &traits.writes)})
    if (of->sequential > 0 && !of->known())
      throw MixError(fmt::format("{}: bad mix format: '{} sequential' without '{} sizes'", mix.name, name, name));
  return traits;
}

std::string slurp(const std::string& file) {
  const bool standard_input = file == "-";
  const int fd = standard_input ? dup(STDIN_FILENO) : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw MixError(fmt::format("{}: {}", file, strerror(errno)));
  std::string text;
  char buffer[65536];
  ssize_t n = 0;
  while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) {
    if (n > 0) text.append(buffer, size_t(n));
    if (text.size() > kMixFileMax) break;
  }
  const int error = n < 0 ? errno : 0;
  close(fd);
  if (error) throw MixError(fmt::format("{}: {}", file, strerror(error)));
  if (text.size() > kMixFileMax)
    throw MixError(fmt::format("{}: too large for a mixfile, more than {} bytes", file, kMixFileMax));
  return text;
}

}  // namespace

Mix read_mix(const MixText& text, const MixReadOptions& options, const MixText* since) {
  auto blocks = read_blocks(text);
  if (since) subtract_all(blocks, text, *since);
  Block block = choose(blocks, text, options);
  Mix mix;
  mix.nfs_version = block.nfs_version;
  mix.dialect = describe(block);
  mix.calls = block.sum();
  mix.notes = std::move(block.notes);
  if (mix.calls == 0)
    throw MixError(since ? fmt::format("{}: no calls since {}", text.name, since->name)
                         : fmt::format("{}: no calls were counted ({})", text.name, mix.dialect));
  if (since) mix.notes.push_back(fmt::format("the {} calls since {}", format_count(mix.calls), since->name));
  const auto names = nfs_procedures(block.nfs_version);
  for (size_t i = 0; i < names.size(); ++i)
    mix.procedures.push_back({names[i], double(block.counts[i]) / double(mix.calls), block.counts[i]});
  if (options.compat)
    keep_whole_percents(block, text.name, mix);
  else
    mix.traits = read_traits(text);
  return mix;
}

Mix load_mix(const std::string& file, const MixReadOptions& options, const std::string& since) {
  struct stat st;
  if (file != "-" && stat(file.c_str(), &st) < 0 && errno == ENOENT) {
    if (const Mix* mix = built_in_mix(file)) {
      if (!since.empty()) throw MixError(file + ": a built-in mix has no earlier snapshot");
      if (options.nfs_version && options.nfs_version != mix->nfs_version)
        throw MixError(fmt::format("{}: a mix of NFSv{}, not of NFSv{}", file, mix->nfs_version, options.nfs_version));
      return *mix;
    }
    throw MixError(fmt::format("{}: no such file, and no built-in mix ({})", file, built_in_mix_names()));
  }
  const std::string text = slurp(file);
  const std::string name = file == "-" ? "standard input" : file;
  if (since.empty()) return read_mix({text, name}, options);
  const std::string earlier = slurp(since);
  const MixText before{earlier, since == "-" ? "standard input" : since};
  return read_mix({text, name}, options, &before);
}

bool sniff_mix(std::string_view first_bytes) { return recognise(first_bytes.substr(0, 4096)) != nullptr; }

bool may_be_mix(std::string_view first_bytes) {
  return !first_bytes.empty() && first_bytes.find('\0') == std::string_view::npos &&
         std::none_of(first_bytes.begin(), first_bytes.end(), [](char c) { return c > 0 && c < ' ' && !strchr("\t\n\r\f", c); });
}

}  // namespace fsr

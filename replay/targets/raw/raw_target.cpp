// SPDX-License-Identifier: Apache-2.0
#include "targets/raw/raw_target.hpp"

#include <cstring>
#include <mutex>
#include <stdexcept>

#include "targets/raw/raw_ops.hpp"
#include "targets/raw/session.hpp"

namespace fsr {

namespace raw {

namespace {

// Returns the fidelity on a device with the largest block size. A real device may need fewer requests to be widened.
Fidelity stated(const Op& op, bool) { return fidelity(op, kExtentAlign); }

constexpr OpMapping kMappings[] = {{"raw", stated, requests}};

struct Settings {
  std::string path, layout;  // layout: a file to write the extents to; empty: none
  bool wrap = false;
  bool whole = false;  // each file of the run is the complete device, and no header is written
  Access access = Access::read_write;
};

class RawTarget final : public Target {
 public:
  RawTarget(Settings settings, const TargetOptions& options)
      : settings_(std::move(settings)), shared_(std::make_shared<Shared>()) {
    shared_->options = options;
    shared_->device = open_device(settings_.path, options.force, settings_.access, settings_.whole);
    if (settings_.whole) shared_->whole = Extent{.length = shared_->device.size};
    RawSession probe(shared_);
  }

  std::string name() const override { return "raw:" + settings_.path; }
  Fidelity fidelity(const Op& op) const override { return raw::fidelity(op, shared_->device.block); }
  const OpMapping* mapping() const override { return &kMappings[0]; }

  std::unique_ptr<TargetSession> open_session() override {
    std::lock_guard lock(mutex_);
    if (!marked_ && !settings_.whole) write_header(shared_->device);
    marked_ = true;
    return std::make_unique<RawSession>(shared_);
  }

  Space space() override { return {shared_->device.size, shared_->device.size - (settings_.whole ? 0 : kHeaderBytes)}; }

  bool places_files() const override { return !settings_.whole; }
  void place_files(std::span<const FileUse> files) override {
    try {
      shared_->layout = Layout(files, kHeaderBytes, shared_->device.size, settings_.wrap);
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(settings_.path + ": " + e.what());
    }
    if (!settings_.layout.empty()) save_layout(shared_->layout, settings_.layout);
  }

  std::vector<std::pair<std::string, uint64_t>> counters() const override {
    const Counters& c = shared_->counters;
    const Layout& layout = shared_->layout;
    uint64_t last = kHeaderBytes;
    for (const Extent& e : layout.extents()) last = std::max(last, e.start + e.length);
    return {{"extents, one for each file, from byte 4096 on", layout.extents().size()},
            {"bytes in extents", layout.bytes()},
            {"end of the last extent", last},
            {"times that the device was full and its extents laid over others", layout.wraps()},
            {"reads widened to whole blocks", c.widened_reads},
            {"writes of part of a block, made by reading it first", c.widened_writes},
            {"reads and writes of nothing (at the end of a file), not issued", c.empty},
            {"operations on files without an extent", c.unplaced}};
  }

 private:
  const Settings settings_;
  std::shared_ptr<Shared> shared_;
  std::mutex mutex_;
  bool marked_ = false;
};

Settings settings_of(const std::string& url) {
  const char* expected = ": expected raw:PATH, or raw:PATH?wrap=1&layout=FILE, or raw:PATH?whole=1&ro=1&sync=1";
  std::string rest = url.substr(strlen("raw:"));
  if (rest.starts_with("//")) rest.erase(0, 2);
  size_t query = std::min(rest.find('?'), rest.size());
  Settings settings{.path = rest.substr(0, query)};
  if (settings.path.empty()) throw std::runtime_error(url + expected);
  for (size_t at = query + 1; at < rest.size();) {
    size_t end = std::min(rest.find('&', at), rest.size());
    std::string option = rest.substr(at, end - at);
    if (option == "wrap=1")
      settings.wrap = true;
    else if (option == "whole=1")
      settings.whole = true;
    else if (option == "ro=1")
      settings.access = Access::read_only;
    else if (option == "sync=1")
      settings.access = Access::read_write_synced;
    else if (option.starts_with("layout=") && option.size() > strlen("layout="))
      settings.layout = option.substr(strlen("layout="));
    else if (option != "wrap=0")
      throw std::runtime_error(url + expected);
    at = end + 1;
  }
  if (settings.access == Access::read_only && !settings.whole) throw std::runtime_error(url + expected);
  return settings;
}

std::unique_ptr<Target> open_raw(const std::string& url, const TargetOptions& options) {
  return std::make_unique<RawTarget>(settings_of(url), options);
}

}  // namespace

}  // namespace raw

const TargetPlugin raw_plugin{"raw", "raw:PATH[?wrap=1][&layout=FILE]    a block device or a large file: data operations only",
                              raw::open_raw, raw::kMappings};

}  // namespace fsr

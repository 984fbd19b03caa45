// SPDX-License-Identifier: Apache-2.0
#include "cycle/run_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/link_copies.hpp"
#include "base/restart_figures.hpp"
#include "base/target.hpp"
#include "op_source.hpp"
#include "plan/file_uses.hpp"
#include "plan/image_source.hpp"
#include "report/clients_section.hpp"
#include "report/report.hpp"
#include "util/check.hpp"
#include "util/units.hpp"

namespace fsr {

RunSteps::RunSteps(Input& input, Target& target, Clock& clock, const std::atomic<int>& stop, Report& report)
    : input_(input), target_(target), clock_(clock), stop_(stop), report_(report) {}

void RunSteps::read(const ImageOptions& options, const Input::ShowProgress& progress) {
  report_.result = {};
  report_.series = TimeSeries();
  known_ = {};
  image_ = input_.image(target_, options, progress);
  report_.image = image_.summary();
  input_.describe(report_);
}

void RunSteps::place_files() {
  if (!target_.places_files()) return;
  FileUses uses;
  const PresentNames nothing;
  ImageContents contents(image_.impl().tree, nothing, {});
  uses.add(contents);
  RunOptions range;
  OpSource* operations = input_.operations(range);
  if (operations) uses.add(*operations, range.from, range.to);
  target_.place_files(uses.in_order_of_use());
}

bool RunSteps::prepare(PrepareOptions options, const std::function<void(uint64_t, uint64_t)>& progress) {
  options.ours = input_.own_names();
  options.stop = &stop_;
  if (progress) options.progress = [&, total = plan_size(image_)](const Progress& p) { progress(p.done, total); };
  const bool first = options.step == PrepareStep::all || options.step == PrepareStep::contents;
  const bool last = options.step == PrepareStep::all || options.step == PrepareStep::open;
  options.opens = input_.opens();
  if (first) report_.prepared = {};
  // The check takes long if an earlier run left many names. Meanwhile, other ranks wait for signs of life.
  auto go_on = [&, total = plan_size(image_)] {
    if (progress) progress(0, total);
    return stop_.load() == 0;
  };
  if (first && !input_.check_files(target_, clock_, go_on)) {
    report_.prepared.stopped = report_.interrupted = true;
    return false;
  }
  report_.prepared.add(fsr::prepare(image_, target_, clock_, options, known_));
  if (last) image_ = Image();  // its memory is not needed any more
  report_.interrupted = stop_.load() != 0;
  return report_.prepared.failed == 0 && !report_.prepared.stopped;
}

void RunSteps::rehearse() {
  if (GeneratedLoad* load = input_.generated()) load->rehearse(target_, clock_, {.known = &known_, .stop = &stop_});
}

void RunSteps::run(RunOptions options) {
  options.known = &known_;
  OpSource* source = input_.operations(options);
  options.stop = &stop_;
  report_.options = options;
  input_.describe(report_);
  GeneratedLoad* load = input_.generated();
  const std::vector<ClientFigures> before = target_.client_figures();
  FSR_CHECK(source || load, "the input has neither operations nor a load of its own");
  report_.result = source ? fsr::run(*source, target_, clock_, options) : load->run(target_, clock_, options);
  report_.counters = target_.counters();
  std::vector<ClientFigures> clients = target_.client_figures();
  for (size_t k = 0; k < clients.size(); ++k) clients[k] = clients[k].since(before[k]);
  if (auto* copies = dynamic_cast<const LinkCopies*>(&target_)) report_.outdated_copies = copies->outdated_copies();
  input_.describe(report_);  // requests of close() do not belong to the load
  if (!clients.empty()) {
    const RestartFigures restart = restart_of(clients, *target_.ended_over_time());
    report_.sections.push_back(std::make_shared<ClientsSection>(std::move(clients), report_.result.elapsed, restart));
  }
  report_.aftermath = close();
  report_.interrupted = stop_.load() != 0;
}

void RunSteps::name_operations(bool slowest) {
  // Calls `act` with each operation that the report describes, and with its name there.
  auto each_described = [&](auto act) {
    RunResult& result = report_.result;
    auto describe = [&](uint64_t seq, const auto& of, std::string& name) {
      act(Op{.seq = seq, .kind = of.kind, .object = of.object, .parent = of.parent, .name = name}, name);
    };
    if (slowest) result.slowest.each([&](SlowOperation& slow) { describe(slow.seq, slow, slow.name); });
    for (Mismatch& mismatch : result.mismatches) describe(mismatch.seq, mismatch, mismatch.name);
    result.differences.each([&](Difference& difference) { describe(difference.first_seq, difference, difference.example); });
  };
  Input::DescribedOps wanted;
  each_described([&](const Op& op, const std::string&) { wanted[op.seq].op = op; });
  if (wanted.empty()) return;
  input_.find_paths(wanted);
  each_described([&](const Op& op, std::string& name) {
    if (const std::string& path = wanted[op.seq].path; !path.empty()) name = path;
  });
}

// Closes what the image opened. Returns what went wrong, as one line, because the run is over and its report is due. Empty:
// nothing went wrong, or the run was stopped; a user who stopped it should not wait.
std::string RunSteps::close() {
  std::unique_ptr<OpSource> closing = input_.closing();
  if (!closing || stop_.load()) return "";
  try {
    // Closing ends at the first failure. If a server no longer answers, each file would wait for its timeout, one after another.
    // Files that stay open are closed with the session.
    const RunOptions plain{.timing = Timing::asap, .workers = report_.options.workers, .stop_on_error = true, .stop = &stop_};
    const RunResult closed = fsr::run(*closing, target_, clock_, plain);
    if (!closed.differed()) return "";
    return "files were not closed after the run: " +
           (closed.mismatches.empty() ? std::string("no reply") : closed.mismatches.front().got);
  } catch (const std::runtime_error& e) {
    return fmt::format("files were not closed after the run: {}", e.what());
  }
}

}  // namespace fsr

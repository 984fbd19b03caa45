// SPDX-License-Identifier: Apache-2.0
// A target, and a session, that pass everything on to another one. Derived classes change a part of it. Thread-safe as those are.
#pragma once

#include <memory>
#include <utility>

#include "base/target.hpp"

namespace fsr {

class TargetLayer : public Target {
 public:
  explicit TargetLayer(Target& below) : below_(below) {}  // `below` must outlive this object
  std::string name() const override { return below_.name(); }
  Fidelity fidelity(const Op& op) const override { return below_.fidelity(op); }
  const OpMapping* mapping() const override { return below_.mapping(); }
  std::unique_ptr<TargetSession> open_session() override { return below_.open_session(); }
  Space space() override { return below_.space(); }
  bool empty() override { return below_.empty(); }
  std::vector<std::string> mount_points() override { return below_.mount_points(); }
  bool places_files() const override { return below_.places_files(); }
  void place_files(std::span<const FileUse> files) override { below_.place_files(files); }
  void forget_name(ObjectId object, ObjectId parent, std::string_view name) override { below_.forget_name(object, parent, name); }
  std::vector<std::pair<std::string, uint64_t>> counters() const override { return below_.counters(); }
  std::vector<std::pair<std::string, uint64_t>> requests() const override { return below_.requests(); }

 protected:
  Target& below_;
};

class SessionLayer : public TargetSession, private Completion {
 public:
  explicit SessionLayer(std::unique_ptr<TargetSession> below) : below_(std::move(below)) {}
  Submit submit(TargetRequest& request) override {
    const Submit submitted = below_->submit(request);
    if (submitted == Submit::queued) began(request);
    if (submitted == Submit::completed) ended(request, false);
    return submitted;
  }
  void poll(int64_t deadline, int wake, Completion& sink) override {
    sink_ = &sink;
    below_->poll(deadline, wake, *this);
  }
  void prefer_throughput() override { below_->prefer_throughput(); }

 protected:
  virtual void began(const TargetRequest&) {}  // the request is in flight
  // The request has its outcome. `was_queued`: began() was called for it.
  virtual void ended(TargetRequest&, bool was_queued) = 0;

  std::unique_ptr<TargetSession> below_;

 private:
  void completed(TargetRequest& request) override {
    ended(request, true);
    sink_->completed(request);
  }
  Completion* sink_ = nullptr;
};

}  // namespace fsr

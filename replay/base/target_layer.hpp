// SPDX-License-Identifier: Apache-2.0
// A target that passes everything on to another one. Derived classes change a part of it. Thread-safe as that target is.
#pragma once

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

}  // namespace fsr

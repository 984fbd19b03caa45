// SPDX-License-Identifier: Apache-2.0
// Tests how an import recognizes TLS records.
#include <string>
#include <vector>

#include "catch.hpp"
#include "import/nfs/nfs_calls.hpp"
#include "import/nfs/records.hpp"
#include "import/nfs/tls_records.hpp"

namespace fsr::tls_records_test {

using namespace fsr::capture;

namespace {

std::string record(size_t size) {
  return {"\x17\x03\x03" + std::string{char(size >> 8), char(size)} + std::string(size, '\x16')};
}

}  // namespace

TEST_CASE("TLS records are counted, however they arrive") {
  const std::string stream = record(100) + record(16'401) + record(1) + record(300);
  for (size_t step : {size_t(1), size_t(7), size_t(104), stream.size()}) {
    TlsRecords records;
    for (size_t at = 0; at < stream.size(); at += step) records.bytes(std::string_view(stream).substr(at, step), false);
    CHECK(records.found());
    CHECK(records.in_step());
    CHECK(records.records() == 4);
  }
}

TEST_CASE("TLS records are found again behind a gap, at the beginning of a segment") {
  TlsRecords records;
  records.bytes(record(500).substr(50), false);
  CHECK_FALSE(records.in_step());
  CHECK_FALSE(records.found());
  records.bytes(record(20) + record(500).substr(0, 200), false);
  CHECK(records.records() == 2);
  records.bytes(record(500).substr(400), true);
  CHECK_FALSE(records.in_step());
  records.bytes(record(30), false);
  CHECK(records.records() == 3);
}

TEST_CASE("other bytes are no TLS records") {
  for (const std::string& bytes :
       {std::string("\x80\0\0\x28\x17\x03\x03\0\x10", 9), "\x17\x03\x03\x7f\xff" + std::string(40'000, 'x'),
        record(10) + "GET / HTTP/1.1", std::string(5, '\0')}) {
    TlsRecords records;
    records.bytes(bytes, false);
    CHECK_FALSE(records.found());
  }
}

TEST_CASE("an import takes no part of a TLS connection for other traffic") {
  struct Sink final : ImportSink {
    void add(const Op&) override {}
    void passed(int64_t) override {}
    const ThreadInfo* thread(int32_t, int32_t, int32_t, std::string_view) override { return nullptr; }
    void note(ImportNotes::Kind, std::string_view why, uint64_t count) override {
      notes.push_back(std::to_string(count) + " " + std::string(why.substr(0, 11)));
    }
    std::vector<std::string> notes;
  };
  Sink sink;
  NfsCalls calls(sink);
  Records records(calls, sink, {"client\x03\x80", "server\x08\x01"});
  records.bytes(0, record(100), false);
  records.bytes(1, record(50), false);
  records.finish();
  CHECK(sink.notes == std::vector<std::string>{"2 TLS records"});
}

}  // namespace fsr::tls_records_test

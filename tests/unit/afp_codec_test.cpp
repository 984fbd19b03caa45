// SPDX-License-Identifier: Apache-2.0
// Tests the AFP codec: replies of a real server (the corpus of the fuzz target), requests byte by byte, names, dates, results.
#include <errno.h>
#include <sys/stat.h>

#include <fstream>

#include "catch.hpp"
#include "targets/afp/afp.hpp"
#include "targets/afp/dhx2.hpp"
#include "targets/afp/ops.hpp"
#include "test_data.hpp"

namespace fsr::afp_codec_test {

using namespace fsr::afp;

namespace {

std::vector<uint8_t> sample(const std::string& name, Command* command) {
  std::ifstream in(test_data("fuzz/afp_reply/" + name), std::ios::binary);
  REQUIRE(in.good());
  *command = Command(in.get());
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
}

// A decoded reply, and the message that its views point into.
struct Decoded {
  Command command{};
  std::vector<uint8_t> message;
  Reply reply;
  bool ok;
  explicit Decoded(const std::string& name) : message(sample(name, &command)), ok(decode_reply(command, message, &reply)) {}
};

}  // namespace

TEST_CASE("the decoder reads replies of a real AFP server") {
  Decoded session("000-0");
  REQUIRE(session.ok);
  CHECK(session.reply.quantum == 1 << 20);
  Decoded stat("034-0");
  REQUIRE(stat.ok);
  CHECK(stat.reply.parms.id > 2);
  CHECK((stat.reply.parms.attr.mode & S_IFMT) != 0);
  CHECK(stat.reply.parms.attr.mtime > 1'700'000'000'000'000'000);
  Decoded missing("034-5018");
  REQUIRE(missing.ok);
  CHECK(missing.reply.error == ENOENT);
  Decoded entries("068-0");
  REQUIRE(entries.ok);
  CHECK(!entries.reply.entries.empty());
  Decoded volumes("016-0");
  REQUIRE(volumes.ok);
  CHECK(volumes.reply.volumes == std::vector<std::string_view>{"read-only", "share"});
  Decoded listed("009-0");
  REQUIRE(listed.ok);
  CHECK(!listed.reply.entries.empty());
  Decoded fork("014-0");
  REQUIRE(fork.ok);
  CHECK(fork.reply.error == 0);
  Decoded locked("001-0");
  REQUIRE(locked.ok);
  CHECK(locked.reply.error == 0);
  Decoded data("027-0");
  REQUIRE(data.ok);
  CHECK(data.reply.data.size() == 512);
  Decoded written("033-0");
  REQUIRE(written.ok);
  CHECK(written.reply.offset == 20'480);
  CHECK(result_name(missing.reply.result) == "kFPObjectNotFound (-5018)");
  CHECK(result_name(-4711) == "AFP error -4711");
  Decoded end("060-5009");
  REQUIRE(end.ok);
  CHECK(end.reply.error == 0);
  CHECK(end.reply.result == kEofError);
  Command command{};
  const std::vector<uint8_t> status = sample("254-0", &command);
  ServerInfo info;
  REQUIRE(decode_server_info(status, &info));
  CHECK(std::find(info.versions.begin(), info.versions.end(), "AFP3.4") != info.versions.end());
  CHECK(std::find(info.uams.begin(), info.uams.end(), "DHX2") != info.uams.end());
}

TEST_CASE("the decoder refuses an AFP reply that is truncated at any byte") {
  for (const char* name : {"034-0", "068-0", "024-0", "016-0", "061-0", "069-0"}) {
    Decoded whole(name);
    REQUIRE(whole.ok);
    for (size_t size = 0; size < whole.message.size(); ++size) {
      std::vector<uint8_t> part(whole.message.begin(), whole.message.begin() + long(size));
      Reply reply;
      INFO(name << " cut to " << size);
      CHECK(!decode_reply(whole.command, part, &reply));
    }
  }
}

TEST_CASE("the encoder writes AFP requests as specified") {
  std::vector<uint8_t> bytes;
  Encoder out(bytes);
  out.begin(Command::remove);
  out.u8(0).u16(1).u32(2).path("ab");
  out.end(Dsi::command, 0x0102, 0);
  CHECK(bytes == std::vector<uint8_t>{0, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0,  //
                                      8, 0, 0, 1, 0, 0, 0, 2, 3, 8, 0, 1,  3, 0, 2, 'a', 'b'});
  out.begin(Command::write);
  out.u8(0).u16(7).u64(0).u64(3);
  out.end(Dsi::write, 1, 3);
  CHECK(bytes[7] == 20);   // offset of the data
  CHECK(bytes[11] == 23);  // length of header and data
}

TEST_CASE("AFP names have colons for slashes, and are decomposed on the wire only") {
  CHECK(to_wire_name("a:b") == "a/b");
  CHECK(from_wire_name("a/b") == "a:b");
  CHECK(to_wire_name("\u00e9:") == "e\u0301/");
  CHECK(from_wire_name("e\u0301/") == "\u00e9:");
  CHECK(keeps_form("caf\u00e9"));
  CHECK(!keeps_form("cafe\u0301"));
}

TEST_CASE("a composed AFP name is exact, another one approximate, and one that is not UTF-8 impossible") {
  auto fidelity = [](std::string_view name) { return afp_fidelity({.kind = OpKind::lookup, .name = name}, {}); };
  CHECK(fidelity("caf\u00e9") == Fidelity::exact);
  CHECK(fidelity("cafe\u0301") == Fidelity::approximate);
  CHECK(fidelity("\xff") == Fidelity::impossible);
}

TEST_CASE("AFP dates are 32-bit seconds before or after the year 2000") {
  uint32_t date;
  CHECK(to_date(kDateEpoch * 1'000'000'000, &date));
  CHECK(date == 0);
  CHECK(to_date(1'234'567'890'999'999'999, &date));
  CHECK(from_date(date) == 1'234'567'890'000'000'000);
  CHECK(to_date(-1, &date));
  CHECK(from_date(date) == -1'000'000'000);
  CHECK(!to_date(5'000'000'000'000'000'000, &date));
}

TEST_CASE("each AFP result has an errno") {
  CHECK(afp_errno(kObjectExists) == EEXIST);
  CHECK(afp_errno(kObjectNotFound) == ENOENT);
  CHECK(afp_errno(kLockError) == EAGAIN);
  CHECK(afp_errno(-5007) == ENOTEMPTY);
  CHECK(afp_errno(-1) == EIO);
}

TEST_CASE("the DHX2 login accepts a server's keys and refuses invalid ones") {
  Command ignored;
  const std::vector<uint8_t> keys = sample("dhx2-keys", &ignored);
  const std::string message(keys.begin(), keys.end());
  Dhx2 exchange("secret");
  const std::string answer = exchange.answer(message);
  CHECK(answer.size() == 2 + (message.size() - 8) / 2 + 16);
  CHECK(exchange.answer(std::string(34, 'x')).empty());  // wrong nonce
  CHECK(Dhx2("secret").answer(message.substr(0, message.size() - 1)).empty());
  std::string even = message;
  even[8 + (message.size() - 8) / 2 - 1] &= char(0xfe);
  CHECK(Dhx2("secret").answer(even).empty());
  std::string one = message.substr(0, 8 + (message.size() - 8) / 2) + std::string((message.size() - 8) / 2, '\0');
  one.back() = 1;
  CHECK(Dhx2("secret").answer(one).empty());
}

}  // namespace fsr::afp_codec_test

// SPDX-License-Identifier: Apache-2.0
#include "writer.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "../util/check.hpp"
#include "block_encoder.hpp"
#include "frame_codec.hpp"
#include "header_text.hpp"
#include "index.hpp"
#include "model.hpp"

namespace fsr {

constexpr size_t kLooks = 64;          // names of the live state that are looked at for each operation, to forget unused ones,
constexpr size_t kLooksAtOnce = 2048;  // and how many at a time
constexpr int kReaderStands = 30'000;  // ms without progress after which the reader of a pipe is given up

struct TraceWriter::Impl {
  Impl(int output, const TraceHeader& h, const WriterOptions& o)
      : fd(output),
        socket(is_socket(output)),
        clock_unit(h.clock_unit),
        options(o),
        encoder(h.clock_unit, o.attributes),
        zstd(o.level) {}

  static bool is_socket(int fd) {
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode);
  }

  int fd;
  const bool socket;
  const int64_t clock_unit;
  const WriterOptions options;
  BlockEncoder encoder;
  FrameCompressor zstd;
  LiveState state;
  std::vector<IndexEntry> index;
  ByteWriter out;
  size_t looks = 0;  // number that is due
  uint64_t written = 0, next_seq = 0, checkpoint_due = 0;
  int64_t block_since = 0, last_start = 0;
  uint64_t out_of_order = 0;
  std::array<uint64_t, kOpKinds> by_kind{};
  // Operations in blocks that are in the file.
  uint64_t stored = 0;
  std::array<uint64_t, kOpKinds> stored_by_kind{};
  // Operations in earlier pieces.
  uint64_t before = 0, out_of_order_before = 0;
  std::array<uint64_t, kOpKinds> before_by_kind{};
  bool dead = false;
  bool torn = false;  // the file ends within a section, so that nothing can follow

  // Waits until the reader of a pipe or socket has taken something. False, and errno: it did not.
  bool has_room() const {
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    const int n = poll(&ready, 1, kReaderStands);
    if (n == 0) errno = ETIMEDOUT;
    return n > 0;
  }

  // One write(2) where the kernel takes it all. A partly written block is truncated again, because a reader can't use it.
  void put(std::string_view bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
      // A socket can't be opened anew to make it non-blocking for this process alone, as a pipe can.
      ssize_t n = socket ? send(fd, bytes.data() + done, bytes.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL)
                         : write(fd, bytes.data() + done, bytes.size() - done);
      if (n < 0 && (errno == EINTR || (errno == EAGAIN && has_room()))) continue;
      if (n <= 0) {
        int error = n < 0 ? errno : ENOSPC;
        dead = true;
        torn = done != 0 && ftruncate(fd, off_t(written)) != 0;
        if (!torn) lseek(fd, off_t(written), SEEK_SET);
        throw std::system_error(error, std::generic_category(), "can't write the trace");
      }
      done += size_t(n);
    }
    written += bytes.size();
  }

  void put_block(BlockHeader header, std::string_view record, const std::vector<size_t>& borders) {
    out.clear();
    const std::string room(kBlockHeaderSize, '\0');
    out.bytes(room);
    zstd.compress(record, borders, out);
    header.number = uint32_t(index.size());
    header.clock_unit = uint32_t(clock_unit);
    FSR_CHECK(record.size() <= kMaxRecord && out.size() > kBlockHeaderSize, std::to_string(record.size()) + " bytes in a block");
    header.raw_bytes = uint32_t(record.size());
    header.compressed_bytes = uint32_t(out.size() - kBlockHeaderSize);
    out.overwrite(0, block_header_section(header));
    IndexEntry entry = index_entry(header, written);
    put(out.view());
    index.push_back(entry);
  }

  void close_block() {
    if (dead || encoder.rows() == 0) return;
    std::string_view record = encoder.record();
    put_block(encoder.header(), record, encoder.borders());
    stored = next_seq;
    stored_by_kind = by_kind;
    encoder.begin(next_seq);
    if (written >= checkpoint_due) put_checkpoint();
  }

  void put_checkpoint() {
    const uint64_t from = written;
    ByteWriter record;
    state.serialize([&](std::string_view part, bool last) {
      record.clear();
      record.u8('C');
      record.u8(!last);
      record.u8(0);
      record.u8(0);
      record.u32(uint32_t(part.size() + 8));
      record.bytes(part);
      BlockHeader header{.flags = uint8_t(kBlockCheckpoint | (last ? 0 : kBlockEnds)),
                         .first_seq = next_seq,
                         .first_start = last_start,
                         .last_start = last_start};
      put_block(header, record.view(), {});
    });
    // A large state is written more seldom, so that checkpoints stay a small part of the file.
    checkpoint_due = written + std::max<uint64_t>(options.checkpoint_bytes, (written - from) * 8);
  }

  uint64_t row(const Op& op, RowType type, uint64_t seq) {
    if (dead) return next_seq;
    size_t bytes = op.data.size() + op.name.size() + op.name2.size() + op.entries.size() * 16 + op.blocks.size() * 9;
    for (const DirEntry& e : op.entries) bytes += e.name.size();
    if (bytes > kMaxData) throw std::length_error("trace: an operation of more than 32 MiB");
    if (encoder.rows() >= options.block_ops || encoder.rows() >= kMaxRows || encoder.raw_bytes() >= options.block_bytes ||
        encoder.raw_bytes() + bytes > kMaxRecord / 2 || encoder.entries() + op.entries.size() > kMaxEntries)
      close_block();
    if (encoder.rows() == 0) block_since = type == RowType::end ? op.end() : op.start;
    encoder.add(op, type, seq);
    if (type != RowType::start) {
      state.apply(op);
      looks += kLooks + op.entries.size() * 4;
      if (looks >= kLooksAtOnce) state.forget_unused(options.known_bytes, std::exchange(looks, 0));
    }
    if (type == RowType::end) return seq;
    const int64_t units = op.start / clock_unit;
    if (units < last_start) ++out_of_order;
    last_start = std::max(last_start, units);
    ++by_kind[unsigned(op.kind)];
    return next_seq++;
  }

  void finish(TraceClosing closing) {
    if (fd < 0) return;
    const bool failed = dead;
    if (failed) {
      closing.clean = false;
      closing.dropped += next_seq - stored;
    }
    try {
      if (written != 0 && !torn) put_closing(closing);
    } catch (const std::system_error&) {
      close(std::exchange(fd, -1));
      if (!failed) throw;
      return;  // the error was thrown already
    }
    int sync = fsync(fd), error = errno;
    bool synced = sync == 0 || error == EINVAL || error == EROFS;  // no failure: pipes and some special files can't be synced
    int closed = close(std::exchange(fd, -1));
    if (closed < 0) error = errno;
    if ((!synced || closed < 0) && !failed) throw std::system_error(error, std::generic_category(), "can't write the trace");
  }

  int rotate(int next, const TraceHeader& header, TraceClosing closing) {
    try {
      put_closing(closing);
    } catch (...) {
      close(next);
      throw;
    }
    dead = false;
    before = stored;
    before_by_kind = stored_by_kind;
    out_of_order_before = out_of_order;
    index.clear();
    written = 0;
    const int old = std::exchange(fd, next);
    try {
      begin_file(header);
    } catch (...) {
      close(old);
      throw;
    }
    return old;
  }

  void begin_file(const TraceHeader& header) {
    out.clear();
    put_section(out, SectionType::header, encode_header(header));
    put(out.view());
    encoder.begin(next_seq);
    put_checkpoint();
  }

  void put_closing(TraceClosing& closing) {
    close_block();
    dead = true;
    FSR_CHECK(before <= stored && stored <= next_seq, std::to_string(stored) + " of " + std::to_string(next_seq) + " operations");
    closing.operations = stored - before;
    for (unsigned i = 0; i < kOpKinds; ++i) closing.by_kind[i] = stored_by_kind[i] - before_by_kind[i];
    closing.out_of_order = out_of_order - out_of_order_before;
    const uint64_t index_at = written;
    out.clear();
    put_section(out, SectionType::index, encode_index(index));
    ByteWriter body;
    body.bytes(encode_closing(closing));
    body.u64(index_at);
    body.bytes(kEndMark);
    put_section(out, SectionType::closing, body.view());
    put(out.view());
  }
};

TraceWriter::TraceWriter(int fd, const TraceHeader& header, const WriterOptions& options)
    : TraceWriter(fd, header, options, LiveState()) {}

TraceWriter::TraceWriter(int fd, const TraceHeader& header, const WriterOptions& options, LiveState initial)
    : impl_(std::make_unique<Impl>(fd, header, options)) {
  impl_->state = std::move(initial);
  if (header.clock_unit == 0 || header.clock_unit > kMaxClockUnit) throw std::invalid_argument("trace: clock unit out of range");
  impl_->begin_file(header);
}

TraceWriter::~TraceWriter() {
  if (!impl_ || impl_->fd < 0) return;
  try {
    impl_->close_block();
  } catch (const std::exception&) {
    // The file ends with the last whole block, and says by its missing closing statement that it is cut.
  }
  close(impl_->fd);
}

uint64_t TraceWriter::add(const Op& op) { return impl_->row(op, RowType::whole, 0); }
uint64_t TraceWriter::add_start(const Op& op) { return impl_->row(op, RowType::start, 0); }
void TraceWriter::add_end(uint64_t seq, const Op& op) { impl_->row(op, RowType::end, seq); }
void TraceWriter::flush() { impl_->close_block(); }
void TraceWriter::tick(int64_t now) {
  if (impl_->encoder.rows() && now - impl_->block_since >= impl_->options.block_ns) impl_->close_block();
}
void TraceWriter::finish(TraceClosing closing) { impl_->finish(std::move(closing)); }
int TraceWriter::rotate(int fd, const TraceHeader& header, TraceClosing closing) {
  return impl_->rotate(fd, header, std::move(closing));
}
uint64_t TraceWriter::operations() const { return impl_->next_seq; }
uint64_t TraceWriter::lost() const { return impl_->dead ? impl_->next_seq - impl_->stored : 0; }
uint64_t TraceWriter::bytes_written() const { return impl_->written; }

Op begun(Op op) {
  const uint16_t traits = kind_traits(op.kind);
  op.duration = 0;
  op.error = 0;
  op.result = 0;
  op.op_flags &= uint16_t(~(kOpUnfinished | kOpCreated));
  op.attr = nullptr;
  op.entries = {};
  if (traits & kMakesHandle) op.handle = 0;
  if (traits & kMakesObject || op.kind == OpKind::lookup) op.object = kNoObject;
  if (op.kind == OpKind::read || op.kind == OpKind::readlink || op.kind == OpKind::getxattr) {
    op.data = {};
    op.blocks = {};
    op.op_flags &= uint16_t(~kOpData);
  }
  return op;
}

}  // namespace fsr

// SPDX-License-Identifier: Apache-2.0
#include "cluster/forked.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "util/unique_fd.hpp"

namespace fsr {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kGrace(10'000);  // for which the root waits for the other ranks to exit, before it kills them

// Process at the other end of a socket. A message consists of its length (64 bits) and its text.
struct Peer {
  UniqueFd fd;
  pid_t pid = 0;  // 0: no child of this process, or waited for already
  std::string in, out;
  bool wants_room = false;  // true: the loop is told when the socket can take more of `out`

  bool take(std::string& text) {
    uint64_t length;  // bytes; no result is too long
    if (in.size() < sizeof length) return false;
    memcpy(&length, in.data(), sizeof length);
    if (in.size() - sizeof length < length) return false;
    text = in.substr(sizeof length, length);
    in.erase(0, sizeof length + length);
    return true;
  }
};

class Sockets final : public Transport {
 public:
  // `peers`: by rank. The root has all other ranks as peers; each of these has only the root.
  Sockets(unsigned rank, unsigned size, std::vector<Peer> peers, const ClusterOptions& options)
      : rank_(rank), size_(size), peers_(std::move(peers)), options_(options) {
    for (unsigned peer = 0; peer < peers_.size(); ++peer)
      if (peers_[peer].fd) listen_to(peer, EPOLL_CTL_ADD);
  }
  ~Sockets() override;

  unsigned rank() const override { return rank_; }
  unsigned size() const override { return size_; }
  void send(unsigned to, std::string_view text) override;
  bool offer(unsigned to, std::string_view text) override;
  bool idle(unsigned to) const override { return peers_.at(to).out.empty(); }
  std::optional<Message> receive(int64_t timeout) override;
  void give_up(unsigned rank) override;

 private:
  void listen_to(unsigned peer, int operation);
  static void append(Peer& peer, std::string_view text);
  // Writes what the socket takes of the waiting bytes, without waiting.
  void write_out(unsigned to);
  // Reads what has arrived from the peer `from`. If it has exited, its last message says so.
  void read(unsigned from);
  void pass_on_stop();
  void signal_all(int signal);

  const unsigned rank_, size_;
  std::vector<Peer> peers_;
  const ClusterOptions options_;
  UniqueFd epoll_{epoll_create1(EPOLL_CLOEXEC)};  // watches the sockets of all peers
  std::deque<Message> arrived_;
  int passed_on_ = 0;  // number of stop signals that were sent to the other ranks
  bool broken_ = false;
};

void Sockets::signal_all(int signal) {
  for (const Peer& peer : peers_)
    if (peer.pid > 0) kill(peer.pid, signal);
}

void Sockets::pass_on_stop() {
  for (; options_.stop && passed_on_ < std::min(options_.stop->load(), 2); ++passed_on_) signal_all(SIGTERM);
}

void Sockets::listen_to(unsigned peer, int operation) {
  Peer& of = peers_[peer];
  of.wants_room = !of.out.empty();
  epoll_event event = {.events = uint32_t(of.wants_room ? EPOLLIN | EPOLLOUT : EPOLLIN), .data = {.u32 = peer}};
  if (epoll_ctl(epoll_.get(), operation, of.fd.get(), &event) != 0)
    throw std::runtime_error(fmt::format("{} ranks: epoll: {}", size_, strerror(errno)));
}

void Sockets::append(Peer& peer, std::string_view text) {
  const uint64_t length = text.size();
  peer.out.append(reinterpret_cast<const char*>(&length), sizeof length);
  peer.out += text;
}

void Sockets::write_out(unsigned to) {
  Peer& peer = peers_[to];
  size_t done = 0;
  while (peer.fd && done < peer.out.size()) {
    const ssize_t n = ::send(peer.fd.get(), peer.out.data() + done, peer.out.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
      done += size_t(n);
    else if (errno == EAGAIN)
      break;
    else if (errno != EINTR)
      done = peer.out.size();  // the peer has exited; receive() reports it
  }
  if (!peer.fd) done = peer.out.size();
  peer.out.erase(0, done);
  if (peer.out.empty()) peer.out.shrink_to_fit();
  if (peer.fd && peer.wants_room != !peer.out.empty()) listen_to(to, EPOLL_CTL_MOD);
}

void Sockets::send(unsigned to, std::string_view text) {
  Peer& peer = peers_.at(to);
  append(peer, text);
  for (write_out(to); !peer.out.empty(); write_out(to)) {
    pollfd room = {.fd = peer.fd.get(), .events = POLLOUT, .revents = 0};
    if (poll(&room, 1, int(options_.timeout / 1'000'000)) == 0) shutdown(peer.fd.get(), SHUT_RDWR);
  }
}

bool Sockets::offer(unsigned to, std::string_view text) {
  Peer& peer = peers_.at(to);
  write_out(to);
  if (!has_room(peer.out.size(), text.size())) return false;
  append(peer, text);
  write_out(to);
  return true;
}

void Sockets::read(unsigned from) {
  Peer& peer = peers_[from];
  char part[1 << 16];
  const ssize_t n = recv(peer.fd.get(), part, sizeof part, MSG_DONTWAIT);
  if (n > 0) {
    peer.in.append(part, size_t(n));
    for (std::string text; peer.take(text);) arrived_.push_back({.from = from, .gone = false, .text = std::move(text)});
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, peer.fd.get(), nullptr);
    peer.fd = UniqueFd();
    peer.out.clear();
    arrived_.push_back({.from = from, .gone = true, .text = {}});
  }
}

std::optional<Transport::Message> Sockets::receive(int64_t timeout) {
  const SteadyClock::time_point end = SteadyClock::now() + nanoseconds(timeout);
  for (;;) {
    if (!arrived_.empty()) {
      Message first = std::move(arrived_.front());
      arrived_.pop_front();
      return first;
    }
    pass_on_stop();
    epoll_event events[64];
    const int64_t left = std::max<int64_t>(nanoseconds(end - SteadyClock::now()).count(), 0);
    const int ready = epoll_wait(epoll_.get(), events, int(std::size(events)), int((left + 999'999) / 1'000'000));
    if (ready == 0) return std::nullopt;
    for (int i = 0; i < ready; ++i) {
      const unsigned peer = events[i].data.u32;
      if (events[i].events & EPOLLOUT) write_out(peer);
      if (events[i].events & ~uint32_t(EPOLLOUT)) read(peer);
    }
  }
}

void Sockets::give_up(unsigned rank) {
  broken_ = true;
  Peer& peer = peers_.at(rank);
  if (peer.pid <= 0) return;
  kill(peer.pid, SIGKILL);
  waitpid(peer.pid, nullptr, 0);
  peer.pid = 0;
}

// The other ranks exit when they have read all messages and their socket is closed.
Sockets::~Sockets() {
  if (broken_) signal_all(SIGTERM);
  const SteadyClock::time_point end = SteadyClock::now() + kGrace;
  for (Peer& peer : peers_) peer.fd = UniqueFd();
  for (Peer& peer : peers_) {
    if (peer.pid <= 0) continue;
    while (waitpid(peer.pid, nullptr, WNOHANG) == 0) {
      if (SteadyClock::now() > end) kill(peer.pid, SIGKILL);
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
}

}  // namespace

// Raises the limit of open files if the root needs more for its sockets; where that is not possible, socketpair() says so.
static void allow_files(unsigned ranks) {
  constexpr rlim_t kOthers = 256;  // files that a run opens itself
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= ranks + kOthers) return;
  files.rlim_cur = std::min<rlim_t>(ranks + kOthers, files.rlim_max);
  setrlimit(RLIMIT_NOFILE, &files);
}

std::unique_ptr<Transport> fork_ranks(const ClusterOptions& options) {
  allow_files(options.ranks);
  std::vector<Peer> peers(options.ranks > 1 ? options.ranks : 0);
  fflush(nullptr);
  const pid_t root = getpid();
  for (unsigned rank = 1; rank < options.ranks; ++rank) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::runtime_error(fmt::format("{} ranks: {}", options.ranks, strerror(errno)));
    peers[rank].fd = UniqueFd(ends[0]);
    UniqueFd theirs(ends[1]);
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error(fmt::format("{} ranks: {}", options.ranks, strerror(errno)));
    peers[rank].pid = pid;
    if (pid != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != root) _exit(2);
    setpgid(0, 0);  // ^C reaches only the root, which passes it on
    std::vector<Peer> only_root(1);
    only_root[0].fd = std::move(theirs);
    peers.clear();
    return std::make_unique<Sockets>(rank, options.ranks, std::move(only_root), options);
  }
  return std::make_unique<Sockets>(0, std::max(options.ranks, 1u), std::move(peers), options);
}

}  // namespace fsr

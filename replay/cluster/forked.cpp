// SPDX-License-Identifier: Apache-2.0
#include "cluster/forked.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
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

// Process at the other end of a socket. A message consists of its length (32 bits) and its text.
struct Peer {
  UniqueFd fd;
  pid_t pid = 0;  // 0: no child of this process, or waited for already
  std::string in;

  bool take(std::string& text) {
    uint64_t length;  // the intervals of a run are one message, which may exceed 4 GiB
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
      : rank_(rank), size_(size), peers_(std::move(peers)), options_(options) {}
  ~Sockets() override;

  unsigned rank() const override { return rank_; }
  unsigned size() const override { return size_; }
  void send(unsigned to, std::string_view text, bool droppable) override;
  std::optional<Message> receive(int64_t timeout) override;
  void give_up(unsigned rank) override;

 private:
  // Reads what has arrived from the peer `from`. None: the peer's socket is still open. Otherwise the message that the peer has
  // exited.
  std::optional<Message> read(unsigned from);
  void pass_on_stop();
  void signal_all(int signal);

  const unsigned rank_, size_;
  std::vector<Peer> peers_;
  const ClusterOptions options_;
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

void Sockets::send(unsigned to, std::string_view text, bool droppable) {
  Peer& peer = peers_.at(to);
  const uint64_t length = text.size();
  std::string frame(reinterpret_cast<const char*>(&length), sizeof length);
  frame += text;
  for (size_t done = 0; peer.fd && done < frame.size();) {
    const ssize_t n = ::send(peer.fd.get(), frame.data() + done, frame.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      done += size_t(n);
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return;  // the peer has exited; receive() reports it
    if (droppable && done == 0) return;
    pollfd room = {.fd = peer.fd.get(), .events = POLLOUT, .revents = 0};
    if (poll(&room, 1, int(options_.timeout / 1'000'000)) == 0) shutdown(peer.fd.get(), SHUT_RDWR);
  }
}

std::optional<Transport::Message> Sockets::read(unsigned from) {
  Peer& peer = peers_[from];
  char part[1 << 16];
  const ssize_t n = recv(peer.fd.get(), part, sizeof part, MSG_DONTWAIT);
  if (n > 0) {
    peer.in.append(part, size_t(n));
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    peer.fd = UniqueFd();
    return Message{.from = from, .gone = true, .text = {}};
  }
  return std::nullopt;
}

std::optional<Transport::Message> Sockets::receive(int64_t timeout) {
  const SteadyClock::time_point end = SteadyClock::now() + nanoseconds(timeout);
  for (;;) {
    Message message;
    for (message.from = 0; message.from < peers_.size(); ++message.from)
      if (peers_[message.from].take(message.text)) return message;
    pass_on_stop();
    std::vector<pollfd> fds;
    for (const Peer& peer : peers_) fds.push_back({.fd = peer.fd ? peer.fd.get() : -1, .events = POLLIN, .revents = 0});
    const int64_t left = std::max<int64_t>(nanoseconds(end - SteadyClock::now()).count(), 0);
    const timespec pause = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    const int ready = ppoll(fds.data(), fds.size(), &pause, nullptr);
    if (ready == 0) return std::nullopt;
    for (unsigned from = 0; ready > 0 && from < fds.size(); ++from)
      if (fds[from].revents != 0)
        if (std::optional<Message> gone = read(from)) return gone;
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

std::unique_ptr<Transport> fork_ranks(const ClusterOptions& options) {
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

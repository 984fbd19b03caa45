// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/dhx2.hpp"

#include <gcrypt.h>

#include <memory>
#include <stdexcept>

#include "targets/wire/bytes.hpp"

namespace fsr::afp {

namespace {

constexpr size_t kNonce = 16, kKey = 16, kBlock = 8;
constexpr unsigned kLeastPrime = 64, kMostPrime = 1024;             // bytes that are accepted; servers use 128
constexpr char kToServer[] = "LWallace", kToClient[] = "CJalbert";  // initial vectors

void set_up_gcrypt() {
  static const bool done = [] {
    if (!gcry_check_version(GCRYPT_VERSION))
      throw std::runtime_error("libgcrypt is older than the version at build time; install a newer libgcrypt");
    gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
    return true;
  }();
  (void)done;
}

// A big number that frees its memory.
class Number {
 public:
  explicit Number(size_t bits) : n_(gcry_mpi_new(unsigned(bits))) {}
  explicit Number(std::string_view bytes) { gcry_mpi_scan(&n_, GCRYMPI_FMT_USG, bytes.data(), bytes.size(), nullptr); }
  ~Number() { gcry_mpi_release(n_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  gcry_mpi_t get() const { return n_; }
  // Returns the number in `size` bytes, with leading zeros.
  std::string bytes(size_t size) const {
    std::string s(size, '\0');
    size_t written = 0;
    if (gcry_mpi_print(GCRYMPI_FMT_USG, reinterpret_cast<uint8_t*>(s.data()), size, &written, n_)) return {};
    s.insert(0, size - written, '\0');
    s.resize(size);
    return s;
  }

 private:
  gcry_mpi_t n_ = nullptr;
};

// Encrypts or decrypts `text` in entry by CAST5-CBC. Its size is a multiple of kBlock. False: the library refuses the key.
bool crypt(std::string_view key, const char* vector, bool encrypt, std::string& text) {
  gcry_cipher_hd_t cipher;
  if (gcry_cipher_open(&cipher, GCRY_CIPHER_CAST5, GCRY_CIPHER_MODE_CBC, 0)) return false;
  std::unique_ptr<gcry_cipher_handle, void (*)(gcry_cipher_hd_t)> owner(cipher, gcry_cipher_close);
  if (gcry_cipher_setkey(cipher, key.data(), key.size()) || gcry_cipher_setiv(cipher, vector, kBlock)) return false;
  auto* work = encrypt ? gcry_cipher_encrypt : gcry_cipher_decrypt;
  return work(cipher, text.data(), text.size(), nullptr, 0) == 0;
}

std::string random_bytes(size_t size) {
  std::string s(size, '\0');
  gcry_randomize(s.data(), size, GCRY_STRONG_RANDOM);
  return s;
}

std::string plus_one(const std::string& nonce) {
  Number n(nonce);
  gcry_mpi_add_ui(n.get(), n.get(), 1);
  return n.bytes(kNonce);  // empty: the sum does not fit
}

}  // namespace

std::string Dhx2::answer(std::string_view message) {
  set_up_gcrypt();
  return key_.empty() ? exchange_keys(message) : send_password(message);
}

// First step. Server's message: id[2] generator[4] size[2] prime[size] key[size]. Reply: id[2] key[size] encrypted nonce[16].
std::string Dhx2::exchange_keys(std::string_view message) {
  wire::ByteReader<std::endian::big> in(message);
  const std::string_view id = in.bytes(2), generator = in.bytes(4);
  const size_t size = in.u16();
  const std::string_view prime_bytes = in.bytes(size), theirs_bytes = in.bytes(size);
  if (!in.ok() || size < kLeastPrime || size > kMostPrime) return {};
  const Number g(generator), prime(prime_bytes), theirs(theirs_bytes), secret(random_bytes(32));
  Number ours(size * 8), shared(size * 8);
  // The secret would be easy to guess with an even or small modulus, or with a server's key outside of 2 .. prime - 2.
  if (gcry_mpi_get_nbits(prime.get()) <= 8 * (size - 1) || !gcry_mpi_test_bit(prime.get(), 0)) return {};
  Number most(size * 8);
  gcry_mpi_sub_ui(most.get(), prime.get(), 1);
  if (gcry_mpi_cmp_ui(theirs.get(), 1) <= 0 || gcry_mpi_cmp(theirs.get(), most.get()) >= 0) return {};
  gcry_mpi_powm(ours.get(), g.get(), secret.get(), prime.get());
  gcry_mpi_powm(shared.get(), theirs.get(), secret.get(), prime.get());
  const std::string shared_bytes = shared.bytes(size);
  key_.resize(kKey);
  gcry_md_hash_buffer(GCRY_MD_MD5, key_.data(), shared_bytes.data(), shared_bytes.size());
  nonce_ = random_bytes(kNonce);
  nonce_[0] = char(nonce_[0] & 0x7f);  // so that nonce + 1 fits
  std::string encrypted = nonce_;
  if (!crypt(key_, kToServer, true, encrypted)) return {};
  return std::string(id) + ours.bytes(size) + encrypted;
}

// Second step. Server's message: id[2], then encrypted: client's nonce plus one[16], server's nonce[16]. Reply: id[2], then
// encrypted: server's nonce plus one[16], password[256].
std::string Dhx2::send_password(std::string_view message) {
  if (message.size() != 2 + 2 * kNonce || password_.size() > kLongestPassword) return {};
  std::string text(message.substr(2));
  if (!crypt(key_, kToClient, false, text)) return {};
  if (text.substr(0, kNonce) != plus_one(nonce_)) return {};
  std::string reply = plus_one(text.substr(kNonce));
  if (reply.empty()) return {};
  reply += password_;
  reply.resize(kNonce + kLongestPassword, '\0');
  if (!crypt(key_, kToServer, true, reply)) return {};
  return std::string(message.substr(0, 2)) + reply;
}

}  // namespace fsr::afp

// C++ LevelDB, timed while it writes: the peer of the benchmark fill.rs.
//
//   fill ORDER DIR COUNT VALUE_LEN BATCH     ORDER is seq, random or overwrite (random, twice, then compacted)
//
// Prints the longest write, wall and CPU time of all, in nanoseconds.
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

namespace {

void check(const leveldb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "fill: %s\n", status.ToString().c_str());
  std::_Exit(1);
}

uint64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

struct Random {
  uint64_t state = 1;
  uint64_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  }
};

// Values are cut from it; it packs to about one half.
std::string pool() {
  Random random;
  std::string bytes;
  while (bytes.size() < (1 << 20)) {
    std::string piece;
    for (int i = 0; i < 16; i++) piece += static_cast<char>(' ' + random.next() % 95);
    bytes += piece + piece;
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) std::_Exit(2);
  std::string order = argv[1];
  uint64_t count = std::strtoull(argv[3], nullptr, 10);
  size_t value_len = std::strtoull(argv[4], nullptr, 10);
  uint64_t batch_len = std::strtoull(argv[5], nullptr, 10);
  std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = bloom.get();
  std::string values = pool();
  Random random;
  uint64_t wall = nanoseconds(CLOCK_MONOTONIC), cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID), longest = 0;
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(options, argv[2], &db));
  uint64_t total = order == "overwrite" ? 2 * count : count;
  leveldb::WriteBatch batch;
  for (uint64_t i = 0; i < total; i += batch_len) {
    batch.Clear();
    for (uint64_t j = i; j < std::min(total, i + batch_len); j++) {
      char key[32];
      uint64_t n = order == "seq" ? j : random.next() % count;
      std::snprintf(key, sizeof key, "%016llu", static_cast<unsigned long long>(n));
      size_t at = j * 131 % (values.size() - value_len);
      batch.Put(leveldb::Slice(key, 16), leveldb::Slice(values.data() + at, value_len));
    }
    uint64_t before = nanoseconds(CLOCK_MONOTONIC);
    check(db->Write(leveldb::WriteOptions(), &batch));
    longest = std::max(longest, nanoseconds(CLOCK_MONOTONIC) - before);
  }
  if (order == "overwrite") db->CompactRange(nullptr, nullptr);
  delete db;
  std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(longest),
              static_cast<unsigned long long>(nanoseconds(CLOCK_MONOTONIC) - wall),
              static_cast<unsigned long long>(nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu));
  return 0;
}

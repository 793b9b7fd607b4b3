// C++ LevelDB, timed: the benchmark's peer.
//
//   peer fill DIR COUNT VALUE_LEN KIND      makes a store, compacted; KIND is flat or idb
//   peer MODE DIR KIND VERIFY COUNT         MODE is scan, reverse, seek or get; VERIFY is 0 or 1
//
// The second form prints rows, bytes of keys and values, wall and CPU nanoseconds.
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>

#include "idb_comparator.h"

namespace {

void check(const leveldb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "peer: %s\n", status.ToString().c_str());
  std::_Exit(1);
}

leveldb::Options options(const std::string& kind) {
  static IdbComparator idb;
  static std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = bloom.get();
  if (kind == "idb") options.comparator = &idb;
  return options;
}

std::string key_of(uint64_t i, const std::string& kind) {
  if (kind == "idb") {
    double number = static_cast<double>(i);
    std::string key("\0\1\1\1\3", 5);
    key.append(reinterpret_cast<const char*>(&number), 8);
    return key;
  }
  char digits[32];
  std::snprintf(digits, sizeof digits, "%016llu", static_cast<unsigned long long>(i));
  return digits;
}

void fill(const std::string& dir, uint64_t count, size_t value_len, const std::string& kind) {
  std::mt19937_64 random(1);
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(options(kind), dir, &db));
  for (uint64_t i = 0; i < count; i++) {
    // Packs to about one half, as LevelDB's own benchmark does.
    std::string value;
    while (value.size() < value_len) {
      std::string piece(16, '\0');
      for (char& c : piece) c = static_cast<char>(' ' + random() % 95);
      value += piece + piece;
    }
    value.resize(value_len);
    check(db->Put(leveldb::WriteOptions(), key_of(i, kind), value));
  }
  db->CompactRange(nullptr, nullptr);
  delete db;
}

uint64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

// The same keys in the same order as the other side asks for.
struct Random {
  uint64_t state = 1;
  uint64_t below(uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  }
};

void measure(const std::string& mode, const std::string& dir, const std::string& kind, bool verify, uint64_t count) {
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(options(kind), dir, &db));
  leveldb::ReadOptions read;
  read.verify_checksums = verify;
  uint64_t rows = 0, bytes = 0;
  uint64_t wall = nanoseconds(CLOCK_MONOTONIC), cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  auto add = [&](const leveldb::Slice& key, const leveldb::Slice& value) {
    rows++;
    bytes += key.size() + value.size();
    if (!value.empty()) bytes += static_cast<unsigned char>(value[value.size() - 1]) & 1;
  };
  std::unique_ptr<leveldb::Iterator> iter(db->NewIterator(read));
  if (mode == "scan") {
    for (iter->SeekToFirst(); iter->Valid(); iter->Next()) add(iter->key(), iter->value());
  } else if (mode == "reverse") {
    for (iter->SeekToLast(); iter->Valid(); iter->Prev()) add(iter->key(), iter->value());
  } else {
    Random random;
    std::string value;
    for (int i = 0; i < 100000; i++) {
      std::string key = key_of(random.below(count), kind);
      if (mode == "seek") {
        int steps = 0;
        for (iter->Seek(key); iter->Valid() && steps < 10; iter->Next(), steps++) add(iter->key(), iter->value());
      } else if (db->Get(read, key, &value).ok()) {
        add(key, value);
      }
    }
  }
  check(iter->status());
  wall = nanoseconds(CLOCK_MONOTONIC) - wall;
  cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  std::printf("%llu %llu %llu %llu\n", static_cast<unsigned long long>(rows), static_cast<unsigned long long>(bytes),
              static_cast<unsigned long long>(wall), static_cast<unsigned long long>(cpu));
  iter.reset();
  delete db;
}

}  // namespace

int main(int argc, char** argv) {
  auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  if (argc != 6) return 2;
  if (std::string(argv[1]) == "fill") {
    fill(argv[2], number(3), number(4), argv[5]);
  } else {
    measure(argv[1], argv[2], argv[3], number(4) == 1, number(5));
  }
  return 0;
}

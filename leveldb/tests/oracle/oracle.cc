// What C++ LevelDB makes of a store: the oracle of the tests.
//
//   oracle make DIR SEED BATCHES COMPARATOR COMPRESSION       random batches, snapshots, compactions, reopenings; leaves the store
//                                                             as a kill would, and says how many operations there were
//   oracle churn DIR COUNT                                   COUNT batches that set all of 100 keys to the same number
//   oracle dump DIR COMPARATOR                                rows forward, "--", rows backward; hex, one row a line; gets must agree
//   oracle repair DIR COMPARATOR                              RepairDB; rows forward, as far as they can be read
//   oracle hold DIR                                           opens it, says "held", and waits for the end of its input
//
// COMPARATOR is bytewise or idb; COMPRESSION none or snappy.
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "idb_comparator.h"

namespace {

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "oracle: %s\n", what.c_str());
  std::_Exit(1);
}

void check(const leveldb::Status& status) {
  if (!status.ok()) die(status.ToString());
}

leveldb::Options options(const std::string& comparator) {
  static IdbComparator idb;
  static std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = bloom.get();
  if (comparator == "idb") options.comparator = &idb;
  return options;
}

std::string hex(const leveldb::Slice& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i++) {
    auto byte = static_cast<unsigned char>(bytes[i]);
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

// A data row's key of IndexedDB: database 1, store 1 to 3, index 1, a number or a string.
std::string idb_key(std::mt19937_64& random, uint64_t n) {
  std::string key("\0\1\1\1", 4);
  key[2] = static_cast<char>(1 + random() % 3);
  if (n % 2 == 0) {
    double number = static_cast<double>(n);
    key += '\3';
    key.append(reinterpret_cast<const char*>(&number), 8);
  } else {
    std::string digits = std::to_string(n);
    key += '\1';
    key += static_cast<char>(digits.size());
    for (char digit : digits) {
      key += '\0';
      key += digit;
    }
  }
  return key;
}

std::string random_key(std::mt19937_64& random, const std::string& comparator) {
  uint64_t n = random() % 2000;
  if (comparator == "idb") return idb_key(random, n);
  std::string key(random() % 12, 'k');
  return key + std::to_string(n);
}

std::string random_value(std::mt19937_64& random) {
  size_t len = random() % 200;
  if (random() % 50 == 0) len = random() % 5000;
  if (random() % 500 == 0) len = random() % 100000;
  std::string value(len, static_cast<char>('a' + random() % 26));
  for (size_t i = 0; i < len; i += 1 + random() % 16) value[i] = static_cast<char>(random());
  return value;
}

void make(const std::string& dir, uint64_t seed, int batches, const std::string& comparator,
          const std::string& compression) {
  std::mt19937_64 random(seed);
  leveldb::Options opts = options(comparator);
  opts.write_buffer_size = 64 << 10;
  opts.max_file_size = 1 << 20;
  opts.block_size = 1024;
  opts.compression = compression == "none" ? leveldb::kNoCompression : leveldb::kSnappyCompression;
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(opts, dir, &db));
  uint64_t operations = 0;
  // What they see is kept by every compaction: several versions of a key, also across the border of two tables.
  std::vector<const leveldb::Snapshot*> snapshots;
  auto release = [&] {
    for (const leveldb::Snapshot* snapshot : snapshots) db->ReleaseSnapshot(snapshot);
    snapshots.clear();
  };
  for (int i = 0; i < batches; i++) {
    leveldb::WriteBatch batch;
    uint64_t size = random() % 10 == 0 ? random() % 50 : 1;
    operations += size;
    for (uint64_t j = 0; j < size; j++) {
      std::string key = random_key(random, comparator);
      if (random() % 4 == 0) {
        batch.Delete(key);
      } else {
        batch.Put(key, random_value(random));
      }
    }
    check(db->Write(leveldb::WriteOptions(), &batch));
    if (random() % 100 == 0) snapshots.push_back(db->GetSnapshot());
    if (random() % 1500 == 0) release();
    if (random() % 1000 == 0) {
      std::string from = random_key(random, comparator);
      leveldb::Slice start(from);
      db->CompactRange(&start, nullptr);
    }
    if (random() % 700 == 0) {
      release();
      delete db;
      opts.reuse_logs = random() % 2 == 0;
      check(leveldb::DB::Open(opts, dir, &db));
    }
  }
  std::printf("%llu\n", static_cast<unsigned long long>(operations));
  std::fflush(stdout);
  std::_Exit(0);
}

// A get of every row, and of keys that may be there or not, shows what the iterator shows.
void compare_gets(leveldb::DB* db, const std::string& comparator) {
  std::unique_ptr<leveldb::Iterator> iter(db->NewIterator(leveldb::ReadOptions()));
  std::string value;
  for (iter->SeekToFirst(); iter->Valid(); iter->Next()) {
    check(db->Get(leveldb::ReadOptions(), iter->key(), &value));
    if (iter->value() != value) die("get of " + hex(iter->key()) + " is another value");
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; i++) {
    std::string key = random_key(random, comparator);
    iter->Seek(key);
    bool is_there = iter->Valid() && iter->key() == key;
    if (db->Get(leveldb::ReadOptions(), key, &value).ok() != is_there) die("get of " + hex(key) + " is not as the row");
  }
  check(iter->status());
}

void churn(const std::string& dir, int count) {
  leveldb::Options opts = options("bytewise");
  opts.write_buffer_size = 64 << 10;
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(opts, dir, &db));
  for (int i = 0; i < count; i++) {
    leveldb::WriteBatch batch;
    for (int key = 100; key < 200; key++) batch.Put(std::to_string(key), std::to_string(i) + std::string(50, '.'));
    check(db->Write(leveldb::WriteOptions(), &batch));
    if (i % 50 == 0) db->CompactRange(nullptr, nullptr);
  }
  delete db;
}

void dump(const std::string& dir, const std::string& comparator) {
  leveldb::Options opts = options(comparator);
  opts.create_if_missing = false;
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(opts, dir, &db));
  std::unique_ptr<leveldb::Iterator> iter(db->NewIterator(leveldb::ReadOptions()));
  auto row = [&] { std::printf("%s %s\n", hex(iter->key()).c_str(), hex(iter->value()).c_str()); };
  for (iter->SeekToFirst(); iter->Valid(); iter->Next()) row();
  std::puts("--");
  for (iter->SeekToLast(); iter->Valid(); iter->Prev()) row();
  check(iter->status());
  iter.reset();
  compare_gets(db, comparator);
  delete db;
}

void repair(const std::string& dir, const std::string& comparator) {
  leveldb::Options opts = options(comparator);
  // Or it takes blocks of tables without looking at their checksums, as it does records of logs.
  opts.paranoid_checks = true;
  check(leveldb::RepairDB(dir, opts));
  opts.create_if_missing = false;
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(opts, dir, &db));
  std::unique_ptr<leveldb::Iterator> iter(db->NewIterator(leveldb::ReadOptions()));
  for (iter->SeekToFirst(); iter->Valid(); iter->Next()) {
    std::printf("%s %s\n", hex(iter->key()).c_str(), hex(iter->value()).c_str());
  }
  iter.reset();
  delete db;
}

void hold(const std::string& dir) {
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(options("bytewise"), dir, &db));
  std::puts("held");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  delete db;
}

}  // namespace

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "repair" && argc == 4) {
    repair(argv[2], argv[3]);
  } else if (mode == "make" && argc == 7) {
    make(argv[2], std::strtoull(argv[3], nullptr, 10), std::atoi(argv[4]), argv[5], argv[6]);
  } else if (mode == "churn" && argc == 4) {
    churn(argv[2], std::atoi(argv[3]));
  } else if (mode == "dump" && argc == 4) {
    dump(argv[2], argv[3]);
  } else if (mode == "hold" && argc == 3) {
    hold(argv[2]);
  } else {
    die("see the head of oracle.cc");
  }
  return 0;
}

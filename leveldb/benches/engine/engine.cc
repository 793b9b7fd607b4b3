// C++ LevelDB, timed: the other side of the benchmark "engine". ours.rs does the same operations in the same order.
//
//   engine MODE DIR KIND COUNT VALUE_LEN EXTRA VERIFY
//
// KIND is flat (16 digits) or idb (IndexedDB-like keys and order). Prints longest single operation, wall and CPU
// nanoseconds, peak memory in bytes, rows and bytes seen.
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "idb_comparator.h"

namespace {

void check(const leveldb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "engine: %s\n", status.ToString().c_str());
  std::_Exit(1);
}

uint64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t cpu() { return nanoseconds(CLOCK_PROCESS_CPUTIME_ID); }
uint64_t wall() { return nanoseconds(CLOCK_MONOTONIC); }

struct Random {
  uint64_t state = 1;
  uint64_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  }
};

// Values are cut from it; it packs to about one half, as the values of LevelDB's own benchmark do.
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

struct Job {
  std::string mode, dir, kind;
  uint64_t count, value_len, extra;
  bool verify;
};

struct Measured {
  uint64_t longest = 0, wall = 0, cpu = 0, rows = 0, bytes = 0;
};

// The smallest key that is sought; `between`: one that is not in the store.
size_t make_key(char* key, uint64_t n, bool is_idb, bool between) {
  if (is_idb) {
    double number = static_cast<double>(n) + (between ? 0.5 : 0);
    std::memcpy(key, "\0\1\1\1\3", 5);
    std::memcpy(key + 5, &number, 8);
    return 13;
  }
  std::snprintf(key, 32, "%016llu", static_cast<unsigned long long>(n));
  if (between) key[16] = 'x';
  return between ? 17 : 16;
}

leveldb::DB* open(const Job& job) {
  static IdbComparator idb;
  static std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = bloom.get();
  if (job.kind == "idb") options.comparator = &idb;
  leveldb::DB* db = nullptr;
  check(leveldb::DB::Open(options, job.dir, &db));
  return db;
}

// Background work has ended when the process has used next to no CPU time three times in a row.
void wait_until_idle() {
  timespec pause = {0, 100000000};
  uint64_t last = cpu();
  for (int quiet = 0; quiet < 3; quiet++) {
    nanosleep(&pause, nullptr);
    uint64_t now = cpu();
    if (now - last > 1000000) quiet = -1;
    last = now;
  }
}

Measured write(const Job& job) {
  bool is_seq = job.mode == "seq", is_overwrite = job.mode == "overwrite", is_idb = job.kind == "idb";
  std::string values = pool();
  Random random;
  Measured measured;
  uint64_t wall_before = wall(), cpu_before = cpu();
  leveldb::DB* db = open(job);
  uint64_t total = is_overwrite ? 2 * job.count : job.count;
  leveldb::WriteBatch batch;
  for (uint64_t i = 0; i < total; i += job.extra) {
    batch.Clear();
    for (uint64_t j = i; j < std::min(total, i + job.extra); j++) {
      char key[32];
      size_t key_len = make_key(key, is_seq ? j : random.next() % job.count, is_idb, false);
      size_t at = j * 131 % (values.size() - job.value_len);
      batch.Put(leveldb::Slice(key, key_len), leveldb::Slice(values.data() + at, job.value_len));
    }
    uint64_t before = wall();
    check(db->Write(leveldb::WriteOptions(), &batch));
    measured.longest = std::max(measured.longest, wall() - before);
  }
  if (is_overwrite) db->CompactRange(nullptr, nullptr);
  measured.wall = wall() - wall_before;
  wait_until_idle();
  delete db;
  measured.cpu = cpu() - cpu_before;
  measured.rows = total;
  return measured;
}

// Makes the store that both sides read, compacted and without gaps.
Measured load(const Job& job) {
  std::string values = pool();
  leveldb::DB* db = open(job);
  for (uint64_t i = 0; i < job.count; i++) {
    char key[32];
    size_t key_len = make_key(key, i, job.kind == "idb", false);
    size_t at = i * 131 % (values.size() - job.value_len);
    check(db->Put(leveldb::WriteOptions(), leveldb::Slice(key, key_len),
                  leveldb::Slice(values.data() + at, job.value_len)));
  }
  db->CompactRange(nullptr, nullptr);
  delete db;
  return Measured();
}

void add(Measured* measured, const leveldb::Slice& key, const leveldb::Slice& value) {
  measured->rows++;
  measured->bytes += key.size() + value.size();
  if (!value.empty()) measured->bytes += static_cast<unsigned char>(value[value.size() - 1]) & 1;
}

// Gets of keys that are there, or, `between`, are not.
void gets(leveldb::DB* db, const Job& job, uint64_t seed, uint64_t operations, bool between, Measured* measured) {
  leveldb::ReadOptions read;
  read.verify_checksums = job.verify;
  Random random;
  random.state = seed;
  std::string value;
  for (uint64_t i = 0; i < operations; i++) {
    char key[32];
    size_t key_len = make_key(key, random.next() % job.count, job.kind == "idb", between);
    leveldb::Status status = db->Get(read, leveldb::Slice(key, key_len), &value);
    if (status.ok()) {
      add(measured, leveldb::Slice(key, key_len), value);
    } else if (!status.IsNotFound()) {
      check(status);
    }
  }
}

Measured read(const Job& job) {
  leveldb::DB* db = open(job);
  leveldb::ReadOptions read;
  read.verify_checksums = job.verify;
  Measured measured;
  uint64_t wall_before = wall(), cpu_before = cpu();
  if (job.mode == "get" || job.mode == "miss") {
    gets(db, job, 1, job.extra, job.mode == "miss", &measured);
  } else {
    std::unique_ptr<leveldb::Iterator> iter(db->NewIterator(read));
    if (job.mode == "scan") {
      for (iter->SeekToFirst(); iter->Valid(); iter->Next()) add(&measured, iter->key(), iter->value());
    } else if (job.mode == "reverse") {
      for (iter->SeekToLast(); iter->Valid(); iter->Prev()) add(&measured, iter->key(), iter->value());
    } else {
      Random random;
      for (uint64_t i = 0; i < job.extra; i++) {
        char key[32];
        size_t key_len = make_key(key, random.next() % job.count, job.kind == "idb", false);
        int steps = 0;
        for (iter->Seek(leveldb::Slice(key, key_len)); iter->Valid() && steps < 10; iter->Next(), steps++)
          add(&measured, iter->key(), iter->value());
      }
    }
    check(iter->status());
  }
  measured.wall = wall() - wall_before;
  measured.cpu = cpu() - cpu_before;
  delete db;
  return measured;
}

// Opening, and one get.
Measured open_and_get(const Job& job) {
  Measured measured;
  uint64_t wall_before = wall(), cpu_before = cpu();
  leveldb::DB* db = open(job);
  gets(db, job, 1, 1, false, &measured);
  measured.wall = wall() - wall_before;
  measured.cpu = cpu() - cpu_before;
  delete db;
  return measured;
}

// `extra` threads, each with gets of its own.
Measured readers(const Job& job) {
  leveldb::DB* db = open(job);
  std::vector<Measured> each(job.extra);
  Measured measured;
  gets(db, job, 99, 20000, false, &measured);
  uint64_t wall_before = wall(), cpu_before = cpu();
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < job.extra; i++)
    threads.emplace_back([&, i] { gets(db, job, i + 1, 100000, false, &each[i]); });
  for (std::thread& thread : threads) thread.join();
  measured.wall = wall() - wall_before;
  measured.cpu = cpu() - cpu_before;
  for (const Measured& one : each) measured.rows += one.rows;
  delete db;
  return measured;
}

// A reader; if `extra` is 1, while another thread overwrites as fast as it can. CPU time is the reader's own.
Measured beside(const Job& job) {
  leveldb::DB* db = open(job);
  std::atomic<bool> stop{false};
  Measured measured;
  gets(db, job, 99, 20000, false, &measured);
  measured = Measured();
  std::string values = pool();
  std::thread writer([&] {
    Random random;
    for (uint64_t i = 0; job.extra == 1 && !stop; i++) {
      char key[32];
      size_t key_len = make_key(key, random.next() % job.count, job.kind == "idb", false);
      size_t at = i * 131 % (values.size() - job.value_len);
      check(db->Put(leveldb::WriteOptions(), leveldb::Slice(key, key_len),
                    leveldb::Slice(values.data() + at, job.value_len)));
      measured.bytes = i;
    }
  });
  Measured read;
  uint64_t wall_before = wall(), cpu_before = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  while (wall() - wall_before < 1500000000) gets(db, job, read.rows + 1, 1000, false, &read);
  measured.wall = wall() - wall_before;
  measured.cpu = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
  stop = true;
  writer.join();
  measured.rows = read.rows;
  delete db;
  return measured;
}

// The most memory that was resident.
uint64_t peak_bytes() {
  FILE* file = std::fopen("/proc/self/status", "r");
  unsigned long long kib = 0;
  char line[256];
  while (file && std::fgets(line, sizeof line, file)) std::sscanf(line, "VmHWM: %llu", &kib);
  if (file) std::fclose(file);
  return kib << 10;
}

Measured run(const Job& job) {
  if (job.mode == "load") return load(job);
  if (job.mode == "open") return open_and_get(job);
  if (job.mode == "readers") return readers(job);
  if (job.mode == "beside") return beside(job);
  if (job.mode == "seq" || job.mode == "random" || job.mode == "overwrite") return write(job);
  return read(job);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  Job job{argv[1], argv[2], argv[3], number(4), number(5), number(6), number(7) == 1};
  Measured measured = run(job);
  auto print = [](uint64_t n) { std::printf("%llu ", static_cast<unsigned long long>(n)); };
  for (uint64_t n : {measured.longest, measured.wall, measured.cpu, peak_bytes(), measured.rows, measured.bytes}) print(n);
  std::printf("\n");
  return 0;
}

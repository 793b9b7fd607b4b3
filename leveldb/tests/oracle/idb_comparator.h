// The order of IndexedDB's data rows, under the name of Chromium's comparator: as much of it as the tests need.
// Shared with the benchmark's peer.
#pragma once
#include <leveldb/comparator.h>

#include <cstring>
#include <string>

class IdbComparator : public leveldb::Comparator {
 public:
  const char* Name() const override { return "idb_cmp1"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

  // Prefix of four bytes; then numbers (3) before strings (1); numbers by value, strings by their units. All else bytewise.
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    if (a.size() < 5 || b.size() < 5) return a.compare(b);
    int prefix = std::memcmp(a.data(), b.data(), 4);
    if (prefix != 0) return prefix;
    unsigned char kind_a = a[4], kind_b = b[4];
    if (kind_a != kind_b) return kind_a > kind_b ? -1 : 1;
    if (kind_a == 3 && a.size() == 13 && b.size() == 13) {
      double x, y;
      std::memcpy(&x, a.data() + 5, 8);
      std::memcpy(&y, b.data() + 5, 8);
      return x < y ? -1 : x > y ? 1 : 0;
    }
    if (kind_a == 1 && a.size() > 6 && b.size() > 6) {
      return leveldb::Slice(a.data() + 6, a.size() - 6).compare(leveldb::Slice(b.data() + 6, b.size() - 6));
    }
    return a.compare(b);
  }
};

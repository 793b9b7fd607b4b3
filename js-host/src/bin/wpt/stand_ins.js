// Stand-ins for small helpers of the suite that are not in its IndexedDB folder.

// common/subset-tests.js: runs those tests whose number lies in the variant's range.
{
  let number = 0;
  const found = /^\?(\d+)-(\d+|last)$/.exec(location.search);
  const first = found === null ? 1 : Number(found[1]);
  const last = found === null || found[2] === "last" ? Infinity : Number(found[2]);
  self.shouldRunSubTest = (n) => n >= first && n <= last;
  self.subsetTest = (run, ...args) => {
    number += 1;
    return self.shouldRunSubTest(number) ? run(...args) : null;
  };
}

// storage/buckets/resources/util.js: this host has no storage buckets.
self.prepareForBucketTest = async () => {
  if (navigator.storageBuckets === undefined) throw new Error("this host has no storage buckets");
};

// Storage, 6: what databases have of the disk.
test("an estimate grows with what is stored, within the quota", async () => {
  const before = await navigator.storage.estimate();
  const db = await openWith("estimate", 1, (db) => db.createObjectStore("s"));
  const transaction = db.transaction("s", "readwrite");
  transaction.objectStore("s").put(crypto.getRandomValues(new Uint8Array(60_000)), 1);
  await ended(transaction);
  const after = await navigator.storage.estimate();
  check(after.usage >= before.usage + 50_000, `${before.usage}, then ${after.usage}`);
  check(after.quota >= after.usage && Number.isSafeInteger(after.quota), `${after.quota}`);
  same(after.usageDetails.indexedDB, after.usage);
  db.close();
});

test("an origin is to stay when a script has said so", async () => {
  same(await navigator.storage.persisted(), false);
  same(await navigator.storage.persist(), true);
  same(await navigator.storage.persisted(), true);
  check(navigator.storage instanceof StorageManager, "no StorageManager");
  same(navigator.storage.getDirectory, undefined);
  throws("TypeError", () => new StorageManager());
  same(await StorageManager.prototype.estimate.call({}).catch((error) => error.name), "TypeError");
});

// Where this host follows the specification and Chromium does not: the list is in docs/idb-rules.md, "Known differences from Chromium".
test("undefined in the place of a generated key is no key, so that one is generated", async () => {
  const db = await openWith("undefined id", 1, (db) => db.createObjectStore("s", { keyPath: "id", autoIncrement: true }));
  const store = db.transaction("s", "readwrite").objectStore("s");
  same(await done(store.put({ id: undefined })), 1);
  same((await done(store.get(1))).id, 1);
  throws("DataError", () => store.put({ id: null }));
  db.close();
});

test("the bytes of a resizable buffer are a key", async () => {
  const db = await openWith("resizable", 1, (db) => db.createObjectStore("s"));
  const store = db.transaction("s", "readwrite").objectStore("s");
  const buffer = new ArrayBuffer(2, { maxByteLength: 8 });
  new Uint8Array(buffer).set([1, 2]);
  await done(store.put("buffer", buffer));
  same(await done(store.get(new Uint8Array([1, 2]))), "buffer");
  same(await done(store.get(new Uint8Array(buffer))), "buffer");
  db.close();
});

test("an aborted put of -0 over 0 leaves the record as it was", async () => {
  const db = await openWith("minus zero", 1, (db) => db.createObjectStore("s").put("old", 0));
  const transaction = db.transaction("s", "readwrite");
  const request = transaction.objectStore("s").put("new", -0);
  request.onsuccess = () => transaction.abort();
  same(await ended(transaction), "abort");
  same(await done(db.transaction("s").objectStore("s").get(0)), "old");
  same(await done(db.transaction("s").objectStore("s").count()), 1);
  db.close();
});

test("an image whose pixels have been transferred is not cloned", () => {
  const image = new ImageData(1, 1);
  structuredClone(image.data.buffer, { transfer: [image.data.buffer] });
  throws("DataCloneError", () => structuredClone(image));
});

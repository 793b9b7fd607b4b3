// What pages do, timed by themselves: the body of an async function of `args` and what `PROMISES` of the fixtures defines, run as it
// is by the host and by Chromium's page.
// Gives, for each workload, the milliseconds of every round.
const record = (i) => ({ id: i, name: `record ${i}`, tags: ["jam", "toast"], weight: i / 7, open: i % 2 === 0 });
const { count, rounds } = args;
const results = {};
async function time(what, work) {
  const started = performance.now();
  const found = await work();
  const taken = performance.now() - started;
  if (found !== count) throw new Error(`${what}: ${found}`);
  (results[what] ??= []).push(taken);
}

for (let round = 0; round < rounds; round++) {
  const name = `bench ${round}`;
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("awaited");
    request.result.createObjectStore("at once");
  };
  const db = await done(request);
  await time("puts, each awaited", async () => {
    const transaction = db.transaction("awaited", "readwrite");
    const store = transaction.objectStore("awaited");
    const end = over(transaction);
    for (let i = 0; i < count; i++) await done(store.put(record(i), i));
    await end;
    return done(db.transaction("awaited").objectStore("awaited").count());
  });
  await time("puts, the transaction awaited", async () => {
    const transaction = db.transaction("at once", "readwrite");
    const store = transaction.objectStore("at once");
    for (let i = 0; i < count; i++) store.put(record(i), i);
    await over(transaction);
    return done(db.transaction("at once").objectStore("at once").count());
  });
  await time("gets, each awaited", async () => {
    const store = db.transaction("awaited").objectStore("awaited");
    let found = 0;
    for (let i = 0; i < count; i++) found += (await done(store.get((i * 7919) % count))).name.startsWith("record") ? 1 : 0;
    return found;
  });
  await time("cursor, each step an event", () => new Promise((resolve, reject) => {
    let found = 0;
    const cursor = db.transaction("awaited").objectStore("awaited").openCursor();
    cursor.onerror = () => reject(cursor.error);
    cursor.onsuccess = () => {
      if (cursor.result === null) return resolve(found);
      found += cursor.result.value.id === cursor.result.key ? 1 : 0;
      cursor.result.continue();
    };
  }));
  await time("getAll", async () => (await done(db.transaction("awaited").objectStore("awaited").getAll())).length);
  db.close();
  await done(indexedDB.deleteDatabase(name));
}
return results;

// Writes without end, in transactions whose effect follows from their number alone; first it looks whether what is there is what
// the last transaction that is there must have left. It prints what it begins, what it asks for and what it has as answers.
'use strict';
const SLOTS = 6, PARTS = 20, BULK = 1000, BULK_EVERY = 7;
const noise = crypto.getRandomValues(new Uint8Array(10000));
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const over = (transaction) => new Promise((resolve) => {
  transaction.oncomplete = () => resolve(true);
  transaction.onabort = () => resolve(false);
});
const must = (condition, what) => {
  if (!condition) throw new Error(`not sound: ${what}`);
};
const isBulk = (n) => n % BULK_EVERY === 3;

function open(version) {
  const request = indexedDB.open('ledger', version);
  request.onupgradeneeded = ({ oldVersion, newVersion }) => {
    const db = request.result;
    if (oldVersion === 0) {
      db.createObjectStore('slots').createIndex('n', 'n');
      db.createObjectStore('bulk');
      db.createObjectStore('head');
    }
    const store = db.createObjectStore(`made by ${newVersion}`);
    for (let part = 0; part < PARTS; part++) store.put({ part, tags: [part, 'all'] }, part);
    store.createIndex('tags', 'tags', { multiEntry: true });
    if (oldVersion > 1) db.deleteObjectStore(`made by ${oldVersion - 1}`);
  };
  return done(request);
}

async function soundVersion(db) {
  const names = Array.from(db.objectStoreNames).filter((name) => name.startsWith('made by '));
  const expected = [db.version - 1, db.version].filter((version) => version > 0).map((version) => `made by ${version}`).sort();
  must(names.join() === expected.join(), `stores ${names} in version ${db.version}`);
  for (const name of names) {
    const store = db.transaction(name).objectStore(name);
    must((await done(store.count())) === PARTS, name);
    must((await done(store.index('tags').count('all'))) === PARTS, `index of ${name}`);
  }
}

async function soundSlots(db) {
  const transaction = db.transaction(['slots', 'bulk', 'head']);
  const slots = transaction.objectStore('slots');
  const last = (await done(transaction.objectStore('head').get('last'))) ?? 0;
  const all = await done(slots.getAll());
  must(all.length === Math.min(last, SLOTS) * PARTS, `${all.length} parts after ${last}`);
  for (const { n, slot, part, blob } of all) {
    must(n > last - SLOTS && n <= last && n % SLOTS === slot, `slot ${slot} of ${n} after ${last}`);
    if (part === 0) must((await blob.text()) === `blob of ${n}`, `blob of ${n}`);
  }
  const again = db.transaction(['slots', 'bulk']);
  for (let n = Math.max(1, last - SLOTS + 1); n <= last; n++) must((await done(again.objectStore('slots').index('n').count(n))) === PARTS, `index of ${n}`);
  const bulk = await done(again.objectStore('bulk').getAll());
  must(bulk.length === (isBulk(last) ? BULK : 0), `${bulk.length} in bulk after ${last}`);
  must(bulk.every((bytes, i) => bytes[0] === last % 256 && bytes[1] === i % 256 && bytes.length === noise.length), `bulk of ${last}`);
  return last;
}

async function write(db, n) {
  const transaction = db.transaction(['slots', 'bulk', 'head'], 'readwrite', { durability: n % 2 ? 'strict' : 'relaxed' });
  const slots = transaction.objectStore('slots');
  const bulk = transaction.objectStore('bulk');
  bulk.clear();
  for (let part = 0; part < PARTS; part++) {
    const value = { n, slot: n % SLOTS, part, text: 'jam '.repeat(part * 10) };
    if (part === 0) value.blob = new Blob([`blob of ${n}`]);
    slots.put(value, [n % SLOTS, part]).onsuccess = () => console.log(`put ${n}`);
  }
  for (let i = 0; isBulk(n) && i < BULK; i++) {
    noise[0] = n;
    noise[1] = i;
    const request = bulk.put(noise, i);
    if (i % 50 === 0) request.onsuccess = () => console.log(`put ${n}`);
  }
  transaction.objectStore('head').put(n, 'last');
  console.log(`begun ${n}`);
  must(await over(transaction), `${n} was aborted`);
  console.log(`acknowledged ${n}`);
}

async function abort(db) {
  const transaction = db.transaction(['slots', 'head'], 'readwrite');
  transaction.objectStore('slots').clear();
  const last = transaction.objectStore('head').put(-1, 'last');
  last.onsuccess = () => transaction.abort();
  must(!(await over(transaction)), 'what was aborted was committed');
}

async function main() {
  let db = await open();
  await soundVersion(db);
  let last = await soundSlots(db);
  console.log(`sound ${last}`);
  for (;;) {
    last += 1;
    if (last % 5 === 0) {
      const { version } = db;
      db.close();
      db = await open(version + 1);
    }
    if (last % 4 === 0) await abort(db);
    await write(db, last);
  }
}
main();

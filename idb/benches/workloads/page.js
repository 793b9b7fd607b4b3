// The rows of rows.rs as a page does them: the body of an async function of `args` and what `PROMISES` of the fixtures defines, for a
// browser and for Node with fake-indexeddb.
// Returns the runs, each a list of [wall ms, CPU ms or null] in the order of ROWS.
const { runs, records, singles, text } = args;
const STORE = 's', INDEX = 'i';
let state = 1;
const letters = () => {
  const units = [];
  for (let n = 0; n < text; n++) {
    state = (state * 48271) % 2147483647;
    units.push(65 + (state % 58));
  }
  return String.fromCharCode(...units);
};
const scattered = (n, factor) => (n * factor) % records;
const value = (indexKey) => ({ i: indexKey, t: letters() });
const record = (_, key) => ({ key, first: value(scattered(key, 7919)), second: value(scattered(key + 1, 7919)) });
const all = Array.from({ length: records }, record);
const more = Array.from({ length: singles }, record).map((one, n) => ({ ...one, key: records + n }));
const order = all.map(({ key }) => scattered(key, 4271));

const cpu = () => {
  if (typeof process === 'undefined' || !process.cpuUsage) return null;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function open(name, indexed) {
  await done(indexedDB.deleteDatabase(name));
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    const store = request.result.createObjectStore(STORE);
    if (indexed) store.createIndex(INDEX, 'i');
  };
  return done(request);
}

async function put(database, records, which, durability) {
  const transaction = database.transaction(STORE, 'readwrite', { durability });
  const store = transaction.objectStore(STORE);
  for (const one of records) store.put(one[which], one.key);
  await over(transaction);
}

async function gets(database, indexed) {
  const transaction = database.transaction(STORE);
  const store = transaction.objectStore(STORE);
  const source = indexed ? store.index(INDEX) : store;
  let units = 0;
  for (const key of order) {
    const request = source.get(key);
    request.onsuccess = () => { units += request.result.t.length; };
  }
  await over(transaction);
  return units;
}

async function getAll(database) {
  const values = await done(database.transaction(STORE).objectStore(STORE).getAll());
  return values.reduce((units, one) => units + one.t.length, 0);
}

const cursor = (database, keysOnly) => new Promise((resolve, reject) => {
  const index = database.transaction(STORE).objectStore(STORE).index(INDEX);
  const request = keysOnly ? index.openKeyCursor() : index.openCursor();
  let found = 0;
  request.onerror = () => reject(request.error);
  request.onsuccess = () => {
    const at = request.result;
    if (!at) return resolve(found);
    found += keysOnly ? 1 : at.value.t.length;
    at.continue();
  };
});

async function run() {
  const times = [];
  const time = async (expected, work) => {
    const [wall, used] = [performance.now(), cpu()];
    const found = await work();
    times.push([performance.now() - wall, used === null ? null : cpu() - used]);
    if (found !== expected) throw new Error(`found ${found}, not ${expected}`);
  };
  const oneByOne = async (which, durability) => {
    for (const one of more) await put(plain, [one], which, durability);
  };
  const plain = await open('plain', false);
  await time(undefined, () => put(plain, all, 'first', 'relaxed'));
  await time(undefined, () => oneByOne('first', 'relaxed'));
  await time(undefined, () => oneByOne('second', 'strict'));
  const last = times.splice(1);
  plain.close();

  const indexed = await open('indexed', true);
  await time(undefined, () => put(indexed, all, 'first', 'relaxed'));
  await time(undefined, () => put(indexed, all, 'second', 'relaxed'));
  await time(records * text, () => gets(indexed, false));
  await time(records * text, () => getAll(indexed));
  await time(records * text, () => cursor(indexed, false));
  await time(records, () => cursor(indexed, true));
  await time(records * text, () => gets(indexed, true));
  indexed.close();
  return [...times, ...last];
}

const found = [];
for (let n = 0; n <= runs; n++) {
  const times = await run();
  // The first warms up.
  if (n) found.push(times);
}
return found;

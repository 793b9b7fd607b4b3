//! Chromium's turn: the same kinds of changes, by a page.

use serde_json::{Value, json};

pub(crate) fn arguments(seed: u64) -> Value {
    json!({ "seed": (seed % 0x7fff_ffff) + 1 })
}

/// The body of an async function of `args` and `fixture`.
pub(crate) const SCRIPT: &str = r"
let state = args.seed;
const below = (n) => { state = (state * 48271) % 2147483647; return state % n; };
const pick = (items) => items[below(items.length)];
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = (event) => { event.preventDefault(); reject(request.error); };
});
const quiet = (request) => { request.onerror = (event) => event.preventDefault(); };
const key = () => pick([below(60), below(60) / 2, 'k' + below(40), new Date(below(9) * 1000), [below(5), 'x'], new Uint8Array([below(4)])]);
const value = () => {
  const out = { a: below(12), tags: ['t' + below(5), 't' + below(5), below(3)], u: 'u' + below(1e9), by: 'Chromium' };
  if (!below(6)) out.blob = new Blob(['content ' + below(1000)], { type: 'text/plain' });
  if (!below(9)) out.file = new File(['file ' + below(1000)], 'f.txt', { lastModified: 86400000 + below(1e9) });
  if (!below(15)) out.text = 'compressible '.repeat(9000 + below(9000));
  return out;
};
const change = (store) => {
  const sort = below(20);
  if (sort < 14) {
    const record = value();
    if (store.keyPath === null) quiet(store.autoIncrement && below(3) ? store.put(record) : store.put(record, key()));
    else { if (!store.autoIncrement || !below(3)) record.id = key(); quiet(store.put(record)); }
  } else if (sort < 17) quiet(store.delete(key()));
  else if (sort < 19) { const low = below(40); quiet(store.delete(IDBKeyRange.bound(low, low + below(20)))); }
  else if (!below(4)) quiet(store.clear());
};
const upgrade = (database, transaction) => {
  for (let step = 1 + below(3); step > 0; step--) {
    const names = Array.from(database.objectStoreNames);
    try {
      const store = names.length ? transaction.objectStore(pick(names)) : null;
      switch (below(store ? 8 : 1)) {
        case 0: case 1: {
          const fresh = database.createObjectStore(pick(['s', 'inline', 'auto', 'their own']), { keyPath: pick([null, 'id']), autoIncrement: !below(2) });
          fresh.createIndex('by a', 'a');
          break;
        }
        case 2: if (!below(3)) database.deleteObjectStore(store.name); break;
        case 3: store.name = pick(['s', 'renamed', 'inline']); break;
        case 4: store.createIndex(pick(['tags', 'both', 'late']), pick(['tags', 'u']), { multiEntry: true }); break;
        case 5: store.createIndex('pair', ['a', 'u']); break;
        case 6: if (store.indexNames.length) store.deleteIndex(pick(Array.from(store.indexNames))); break;
        default: for (let n = below(20); n > 0; n--) change(store);
      }
    } catch (error) { /* The name is taken. */ }
  }
};
const open = (name, version) => {
  const request = indexedDB.open(name, version);
  request.onupgradeneeded = () => { if (version !== undefined) upgrade(request.result, request.transaction); };
  return done(request);
};
for (let round = 2 + below(3); round > 0; round--) {
  const infos = await indexedDB.databases();
  const name = pick(['one', 'two', '']);
  const info = infos.find((info) => info.name === name);
  if (info && !below(12)) { await done(indexedDB.deleteDatabase(name)); continue; }
  const version = !info ? 1 : below(2) ? info.version + 1 : undefined;
  const database = await open(name, version);
  const stores = Array.from(database.objectStoreNames);
  if (stores.length) {
    const transaction = database.transaction(stores, 'readwrite');
    const over = new Promise((resolve) => { transaction.oncomplete = transaction.onabort = resolve; });
    for (let n = below(60); n > 0; n--) change(transaction.objectStore(pick(stores)));
    if (!below(8)) try { transaction.abort(); } catch (error) { /* It has aborted. */ }
    await over;
  }
  database.close();
}
return fixture.dump();
";

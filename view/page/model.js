// What lies below PATH, as far as it has been asked for: stores, their databases and object stores, and counts.
import { ask, lines, queue } from "./api.js";

export const events = new EventTarget();
const announce = (name, detail) => events.dispatchEvent(new CustomEvent(name, { detail }));

export const model = { path: "", notes: [], stores: new Map() };

/** Asks what stores there are. Nothing is opened. */
export async function loadStores() {
  const answer = await ask("stores");
  model.path = answer.path;
  model.notes = answer.notes ?? [];
  for (const info of answer.stores) model.stores.set(info.store, { info, counts: new Map() });
  announce("stores");
}

/** Opens a store, once; another `fresh` time after its files have changed. */
export function openStore(number, { fresh = false } = {}) {
  const store = model.stores.get(number);
  if (!store) return Promise.reject(new Error("There is no such store."));
  if (fresh || !store.opening) {
    store.opening = ask("store", { store: number }).then(
      (answer) => {
        keepLoaded(store.opened, answer);
        store.opened = answer;
        store.failed = undefined;
        announce("store");
        return answer;
      },
      (error) => {
        store.failed = error;
        store.opening = undefined;
        announce("store");
        throw error;
      },
    );
  }
  return store.opening;
}

/** Object stores that were loaded beyond the first stay, if their database is still as long. */
function keepLoaded(before, now) {
  for (const database of now.databases) {
    const old = before?.databases.find(({ id }) => id === database.id);
    if (old && old.count === database.count && old.objectStores.length > database.objectStores.length) {
      database.objectStores = [...database.objectStores, ...old.objectStores.slice(database.objectStores.length)];
      database.more = old.more;
    }
  }
}

/** Loads the next object stores of a database; where they are being loaded, waits for them. */
export async function moreObjectStores(storeNumber, database) {
  if (!database.more) return;
  database.loading ??= loadObjectStores(storeNumber, database).finally(() => {
    database.loading = undefined;
  });
  await database.loading;
}

async function loadObjectStores(storeNumber, database) {
  const after = database.objectStores.at(-1)?.id ?? 0;
  const answer = await ask("objectStores", { store: storeNumber, database: database.id, after });
  database.objectStores.push(...answer.objectStores);
  database.more = answer.more && answer.objectStores.length > 0;
  announce("objectStores");
}

/** The database, object store and index of a place, if they are loaded. */
export function lookUp({ store, database, objectStore, index }) {
  const found = { store: model.stores.get(store) };
  found.database = found.store?.opened?.databases.find(({ id }) => id === database);
  found.objectStore = found.database?.objectStores.find(({ id }) => id === objectStore);
  found.index = found.objectStore?.indexes.find(({ id }) => id === index);
  return found;
}

/** As `lookUp`, and loads what is not there yet. */
export async function find(place) {
  await openStore(place.store);
  let found = lookUp(place);
  while (place.objectStore !== undefined && found.database && !found.objectStore && found.database.more) {
    // Ids ascend, so an id that has been passed is not there.
    if (found.database.objectStores.at(-1)?.id >= place.objectStore) break;
    await moreObjectStores(place.store, found.database);
    found = lookUp(place);
  }
  return found;
}

const atOnce = queue(2);
// A count that took long is not begun again before this time has passed.
const COUNT_AGAIN_MS = 30_000;
const QUICK_MS = 300;

/** What is known of an object store's counts, without counting. */
export const knownCounts = ({ store, database, objectStore }) =>
  model.stores.get(store)?.counts.get(`${database} ${objectStore}`);

/** How many records an object store has, as far as that is known: `{records, bytes, done, indexes}`. Counting begins if it has not. */
export function countsOf(storeNumber, database, objectStore) {
  const store = model.stores.get(storeNumber);
  const name = `${database} ${objectStore}`;
  const known = store.counts.get(name);
  const generation = store.opened?.generation;
  const isOld =
    known &&
    known.generation !== generation &&
    (known.took < QUICK_MS || performance.now() - known.ended > COUNT_AGAIN_MS);
  if (known && (known.running || !isOld)) return known;
  const counts = known ?? { records: undefined, done: false };
  Object.assign(counts, { running: true, failed: undefined });
  store.counts.set(name, counts);
  const where = { store: storeNumber, database, objectStore };
  atOnce(() => count(where, counts, generation)).catch(() => {});
  return counts;
}

async function count(where, counts, generation) {
  const began = performance.now();
  const hadEnded = counts.done;
  try {
    for await (const line of lines("counts", where)) {
      // What was known before stays until it is known anew.
      if (hadEnded && !line.done) continue;
      Object.assign(counts, { records: line.records, bytes: line.bytes, done: line.done ?? false });
      if (line.done) counts.indexes = new Map(line.indexes);
      announceCounts();
    }
  } catch (error) {
    counts.failed = error;
  } finally {
    Object.assign(counts, { generation, ended: performance.now(), took: performance.now() - began });
    counts.running = false;
    announceCounts();
  }
}

const COUNTS_EVERY_MS = 150;
let isCounted = false;
/** Counts come by the hundred: what shows them hears of them now and then. */
function announceCounts() {
  if (isCounted) return;
  isCounted = true;
  setTimeout(() => {
    isCounted = false;
    announce("counts");
  }, COUNTS_EVERY_MS);
}

/** Asks for a version of a record that pages do not see: `where` as `record` takes it, with the number of its write. */
export const showVersion = (where) => announce("version", where);

/** Notes which program has a store open now. */
export function announceInUse(number, inUse) {
  const { opened } = model.stores.get(number);
  opened.inUse = inUse;
  announce("inUse", number);
}

// Makes a large store, or makes it larger: larder run --storage FOLDER --origin https://large.example view/test/make-large.js RECORDS
const RECORDS = Number(larder.args[0] ?? 2_500_000);
const IN_ONE_TRANSACTION = 5000;

const settled = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

// Bytes that no compression makes shorter, the same each time.
let seed = 1;
function random() {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return seed;
}

function record(id) {
  const bytes = new Uint8Array(640);
  for (let at = 0; at < bytes.length; at += 2) {
    const drawn = random();
    bytes[at] = drawn >> 8;
    bytes[at + 1] = drawn >> 16;
  }
  return { id, name: `record ${id}`, group: id % 1000, when: new Date(id * 1000), tags: [`tag ${id % 7}`, 'all'], bytes, text: 'lorem ipsum dolor sit amet '.repeat(8) };
}

async function make() {
  const opening = indexedDB.open('large', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('records', { keyPath: 'id' }).createIndex('group', 'group');
  const database = await settled(opening);
  let id = await settled(database.transaction('records').objectStore('records').count());
  while (id < RECORDS) {
    const transaction = database.transaction('records', 'readwrite');
    const store = transaction.objectStore('records');
    for (let n = 0; n < IN_ONE_TRANSACTION && id < RECORDS; n++, id++) store.put(record(id));
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
  }
  return id;
}

make().then((records) => console.log(`${records} records`), (error) => {
  console.error(error);
  larder.exit(1);
});

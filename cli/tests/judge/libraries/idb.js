// A wine list on idb: an upgrade with what it promises, cursors as async iterators, indexes, errors, a blocked upgrade.
(function () {
  'use strict';
  const { fixture } = self;
  const { openDB, deleteDB, unwrap } = self.idb;
  const same = (found, expected, what) => {
    const [a, b] = [found, expected].map((value) => JSON.stringify(value));
    if (a !== b) throw new Error(`${what}: ${a}, not ${b}`);
  };

  async function first() {
    const db = await openDB('cellar', 1, {
      upgrade(db, from, to, transaction) {
        same([from, to, transaction.mode], [0, 1, 'versionchange'], 'upgrade');
        const bottles = db.createObjectStore('bottles', { keyPath: 'id', autoIncrement: true });
        bottles.createIndex('year', 'year');
        bottles.createIndex('grapes', 'grapes', { multiEntry: true });
        db.createObjectStore('notes');
      },
    });
    const transaction = db.transaction(['bottles', 'notes'], 'readwrite');
    const bottles = transaction.objectStore('bottles');
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, i) => bottles.add({ year: 1990 + ((i * 7) % 20), grapes: i % 3 ? ['Riesling', `clone ${i % 5}`] : ['Blaufränkisch 🍇'], litres: 0.75 })),
    );
    same(ids, Array.from({ length: 40 }, (_, i) => i + 1), 'generated keys');
    await transaction.objectStore('notes').put(new Map([['rack', { row: 3 }]]), [1, 'map']);
    await transaction.done;
    return db;
  }

  async function read(db) {
    same(await db.countFromIndex('bottles', 'grapes', 'Riesling'), 26, 'count');
    let years = [];
    for await (const cursor of db.transaction('bottles').store.index('year').iterate(IDBKeyRange.lowerBound(2005), 'prevunique')) years.push(cursor.key);
    same(years, [2009, 2008, 2007, 2006, 2005], 'years');
    years = [];
    let cursor = await db.transaction('bottles').store.openCursor();
    while (cursor && years.length < 3) {
      years.push(cursor.value.year);
      cursor = await cursor.advance(2);
    }
    same(years, [1990, 2004, 1998], 'every second');
    same([...(await db.get('notes', [1, 'map']))], [['rack', { row: 3 }]], 'a Map');
  }

  async function change(db) {
    const transaction = db.transaction('bottles', 'readwrite');
    for await (const cursor of transaction.store) {
      if (cursor.value.year < 1995) cursor.delete();
      else if (cursor.key % 10 === 0) cursor.update({ ...cursor.value, drunk: new Date(1700000000000) });
    }
    await transaction.done;
    same(await db.count('bottles'), 30, 'after deleting');
    const failing = db.transaction('bottles', 'readwrite');
    const name = (promise) => promise.then(() => 'no error', (error) => error.name);
    const names = [name(failing.store.put({ year: 1 })), name(failing.store.add({ id: 20, year: 2 })), name(failing.done)];
    same(await Promise.all(names), ['no error', 'ConstraintError', 'AbortError'], 'errors');
    same(await db.count('bottles'), 30, 'after an abort');
  }

  fixture.runApp = async function () {
    let db = await first();
    await read(db);
    await change(db);
    const old = db;
    const events = [];
    old.addEventListener('versionchange', () => {
      events.push('versionchange');
      setTimeout(() => old.close(), 5);
    });
    db = await openDB('cellar', 2, {
      blocked: () => events.push('blocked'),
      upgrade(db, from, to, transaction) {
        transaction.objectStore('bottles').deleteIndex('grapes');
        transaction.objectStore('notes').name = 'remarks';
        events.push('upgrade');
      },
    });
    same(events, ['versionchange', 'blocked', 'upgrade'], 'events');
    same([...db.objectStoreNames], ['bottles', 'remarks'], 'stores');
    same(unwrap(db) instanceof IDBDatabase, true, 'unwrap');
    db.close();
    await (await openDB('gone', 1, { upgrade: (db) => db.createObjectStore('s').put(1, 1) })).close();
    await deleteDB('gone');
    same((await indexedDB.databases()).map(({ name, version }) => [name, version]), [['cellar', 2]], 'databases');
    return 'idb';
  };
})();

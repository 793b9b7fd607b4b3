// Cursors that go on in turns, beside gets and writes of theirs and of other transactions.
const db = await fresh("a", ["s", "t"]);
const walk = (store, name, direction) => {
  const request = store.openCursor(null, direction);
  request.onsuccess = () => {
    const cursor = request.result;
    log(cursor === null ? `${name} ends` : `${name} at ${cursor.key}`);
    if (cursor === null) return;
    if (cursor.key % 4 === 0) {
      cursor.advance(2);
      busy(0.1);
    } else {
      cursor.continue();
    }
    store.get(cursor.key).onsuccess = () => log(`${name} get ${cursor.key}`);
    if (store.transaction.mode === "readwrite" && cursor.key === 3) store.delete(4).onsuccess = () => log(`${name} delete`);
  };
};
const writer = hear(db.transaction("s", "readwrite"), "writer", "complete");
const reader = hear(db.transaction("t"), "reader", "complete");
const behind = hear(db.transaction("s"), "behind", "complete");
walk(writer.objectStore("s"), "up", "next");
walk(reader.objectStore("t"), "down", "prev");
walk(writer.objectStore("s"), "writer's down", "prev");
walk(reader.objectStore("t"), "reader's up", "next");
walk(behind.objectStore("s"), "behind", "nextunique");
await Promise.all([writer, reader, behind].map(ended));
db.close();

import { deleteDB, openDB } from "idb";

const equal = (actual, expected) => {
  if (String(actual) !== expected) throw new Error(`${actual} is not ${expected}`);
};
const db = await openDB("shop", 1, {
  upgrade(upgraded) {
    const store = upgraded.createObjectStore("articles", { keyPath: "id", autoIncrement: true });
    store.createIndex("date", "date");
  },
});
await db.add("articles", { title: "A", date: new Date("2019-01-01") });
const transaction = db.transaction("articles", "readwrite");
await Promise.all([
  transaction.store.add({ title: "B", date: new Date("2019-01-02") }),
  transaction.store.add({ title: "C", date: new Date("2019-01-02") }),
  transaction.done,
]);
equal((await db.getAllFromIndex("articles", "date")).map((article) => article.title), "A,B,C");
const seen = [];
for (let cursor = await db.transaction("articles").store.openCursor(); cursor; cursor = await cursor.continue()) {
  seen.push(cursor.key);
}
for await (const cursor of db.transaction("articles").store.index("date").iterate(null, "prev")) {
  seen.push(cursor.value.title);
}
equal(seen, "1,2,3,C,B,A");
db.close();
await deleteDB("shop");
equal((await indexedDB.databases()).length, "0");
console.log("came to its end");

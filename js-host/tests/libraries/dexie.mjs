import Dexie from "dexie";

const equal = (actual, expected) => {
  if (String(actual) !== expected) throw new Error(`${actual} is not ${expected}`);
};
const names = (friends) => friends.map((friend) => friend.name);
const db = new Dexie("friends");
db.version(1).stores({ friends: "++id, name, age, *tags" });
await db.friends.bulkAdd([
  { name: "Ann", age: 21, tags: ["a", "b"] },
  { name: "Bob", age: 30, tags: ["b"] },
  { name: "Cyd", age: 41 },
]);
equal(names(await db.friends.where("age").above(25).toArray()), "Bob,Cyd");
equal(names(await db.friends.where("tags").equals("b").distinct().sortBy("name")), "Ann,Bob");
await db.transaction("rw", db.friends, async () => {
  const ann = await db.friends.get(1);
  ann.age += 1;
  await db.friends.put(ann);
  await db.friends.where("name").equals("Bob").modify({ age: 31 });
});
const failed = await db
  .transaction("rw", db.friends, async () => {
    await db.friends.add({ name: "Eve" });
    throw new Error("taken back");
  })
  .catch((error) => error);
equal(failed.message, "taken back");
equal(await db.friends.orderBy("age").keys(), "22,31,41");
equal(await db.friends.count(), "3");
db.close();

const upgraded = new Dexie("friends");
upgraded
  .version(2)
  .stores({ friends: "++id, name, age, *tags, [name+age]" })
  .upgrade((transaction) =>
    transaction
      .table("friends")
      .toCollection()
      .modify((friend) => {
        friend.seen = true;
      }),
  );
await upgraded.open();
equal((await upgraded.friends.get({ name: "Bob", age: 31 })).seen, "true");
upgraded.close();
console.log("came to its end");

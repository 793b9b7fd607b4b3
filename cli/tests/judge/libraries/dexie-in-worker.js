// Dexie in a worker and in its maker, on one database: each hears of what the other has put, by Dexie's own BroadcastChannel.
importScripts(new URL('node_modules/dexie/dist/dexie.js', location));
const db = new Dexie('both');
db.version(1).stores({ friends: '++id, name' });
const seen = [];
Dexie.liveQuery(() => db.friends.orderBy('name').keys()).subscribe((names) => {
  seen.push(names.join());
  if (names.length === 2) postMessage(seen);
});
onmessage = async ({ data }) => postMessage(await db.friends.add(data));

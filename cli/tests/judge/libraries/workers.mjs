// A library in a worker and in the script that has made it.
import Dexie from 'dexie';

const db = new Dexie('both');
db.version(1).stores({ friends: '++id, name' });
await db.open();
const worker = new Worker('dexie-in-worker.js');
worker.onerror = ({ message }) => console.log('worker', message);
const next = () => new Promise((resolve) => (worker.onmessage = ({ data }) => resolve(data)));
const added = next();
worker.postMessage({ name: 'Ann', photo: new Blob(['ann']) });
console.log('added', await added);
const seen = next();
const ann = await db.friends.get({ name: 'Ann' });
console.log('found', ann.id, await ann.photo.text());
await db.friends.add({ name: 'Bob' });
console.log('seen', (await seen).at(-1));
worker.terminate();
db.close();
await Dexie.delete('both');
console.log('deleted');

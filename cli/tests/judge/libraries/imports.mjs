// Each library by its name, as an app's bundler would find it; whether by import or by require, it is the page's and works.
import Dexie, { liveQuery } from 'dexie';
import { openDB } from 'idb';
import * as keyval from 'idb-keyval';
import localforage from 'localforage';
import PouchDB from 'pouchdb/dist/pouchdb.js';
import { IndexeddbPersistence } from 'y-indexeddb';
import { Doc } from 'yjs';
import packageOfDexie from 'dexie/package.json' with { type: 'json' };
import { required } from './requires.cjs';

const db = new Dexie('dexie');
db.version(1).stores({ friends: '++id, name' });
await db.friends.bulkAdd([{ name: 'Ann' }, { name: 'Bob' }]);
const seen = await new Promise((resolve, reject) => liveQuery(() => db.friends.where('name').above('A').count()).subscribe(resolve, reject));
console.log('dexie', seen, Dexie.semVer === packageOfDexie.version);

const idb = await openDB('idb', 1, { upgrade: (db) => db.createObjectStore('s') });
await idb.put('s', new Map([[1, 2]]), 'k');
console.log('idb', (await idb.get('s', 'k')).get(1));

await keyval.set('k', 5);
console.log('idb-keyval', await keyval.get('k'));

await localforage.setItem('k', { a: [1] });
console.log('localforage', localforage.driver(), (await localforage.getItem('k')).a[0]);

const pouch = new PouchDB('pouch');
await pouch.put({ _id: 'a', text: 'b' });
console.log('pouchdb', pouch.adapter, (await pouch.get('a')).text);

const doc = new Doc();
const persistence = new IndexeddbPersistence('y', doc);
await persistence.whenSynced;
doc.getMap('m').set('k', 1);
console.log('yjs', doc.getMap('m').get('k'));

console.log('required', await required());
larder.exit(0);

// Published libraries, by require: packages of today and of ten years ago.
const Dexie = require('dexie');
const localforage = require('localforage');
const { openDB } = require('idb');
const keyval = require('idb-keyval');
const { Doc } = require('yjs');

exports.required = async () => {
  const db = new Dexie('required');
  db.version(1).stores({ s: 'id' });
  await db.s.put({ id: 1 });
  await localforage.setItem('required', 2);
  const kinds = [openDB, keyval.get, Doc].map((what) => typeof what);
  return [await db.s.count(), await localforage.getItem('required'), ...kinds].join();
};

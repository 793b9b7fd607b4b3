// The golden stores of `fixtures/`, and what their browsers said is in them.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { unpackTar } from '../../../fixtures/generate/manifest.mjs';
import { ROOT, temporary } from './larder.mjs';

const FIXTURES = path.join(ROOT, 'fixtures');
const { fixtures } = JSON.parse(fs.readFileSync(path.join(FIXTURES, 'MANIFEST.json'), 'utf8'));

export const all = fixtures;

/** The folder of a store: as it lies there, or unpacked. `copy`: always one that a test may write to. */
export function folderOf(t, name, { copy = false } = {}) {
  const fixture = fixtures.find((each) => each.name === name);
  const store = path.join(FIXTURES, fixture.store);
  if (fixture.form === 'files' && !copy) return store;
  const folder = temporary(t);
  if (fixture.form === 'files') fs.cpSync(store, folder, { recursive: true });
  else unpackTar(store, folder);
  return folder;
}

/** What the page of its browser said. */
export function expected(name) {
  const fixture = fixtures.find((each) => each.name === name);
  if (!fixture.expected) return null;
  const bytes = fs.readFileSync(path.join(FIXTURES, typeof fixture.expected === 'string' ? fixture.expected : fixture.expected.path));
  return JSON.parse(zlib.gunzipSync(bytes).toString('utf8'));
}

/** An object store of an expectation. */
export const storeOf = (document, database, objectStore) => document.databases.find(({ name }) => name === database).stores.find(({ name }) => name === objectStore);

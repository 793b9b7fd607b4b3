// Stores that a test makes with the command's own scripts.
import fs from 'node:fs';
import path from 'node:path';
import { larder } from './larder.mjs';

export const ORIGIN = 'https://made.example';

/** Makes a database `made` with an object store `s` in FOLDER; `script` fills `db`, `upgrade` makes other object stores. */
export function makeStore(folder, script, { upgrade = '', args = [] } = {}) {
  const file = path.join(folder, '..', `${path.basename(folder)}.script.mjs`);
  fs.writeFileSync(file, `
    const db = await new Promise((resolve, reject) => {
      const opening = indexedDB.open('made', 1);
      opening.onupgradeneeded = () => { const db = opening.result; db.createObjectStore('s'); ${upgrade} };
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error);
    });
    ${script}
    db.close();
  `);
  try {
    larder(['run', '--storage', folder, '--origin', ORIGIN, ...args, file]);
  } finally {
    fs.rmSync(file);
  }
}

// What `larder view` costs on a store of any size: node view/test/measure.mjs PATH. Its own process only; the browser is not measured.
import fs from 'node:fs';
import { view } from './lib/larder.mjs';

const [, , folder] = process.argv;
const ends = [];
const server = await view({ after: (end) => ends.push(end) }, folder);
const url = new URL(server.url);
const token = url.hash.slice(1);

async function ask(question, asked = {}) {
  const headers = { 'Larder-Token': token, 'Content-Type': 'application/json' };
  const response = await fetch(new URL(`/api/${question}`, url), { method: 'POST', headers, body: JSON.stringify(asked) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${question}: ${text}`);
  return JSON.parse(text.trim().split('\n').at(-1));
}

/** CPU time of the command so far, in milliseconds: the kernel counts hundredths of a second. */
function cpu() {
  const fields = fs.readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function measured(what, times, run) {
  const [wall, used] = [performance.now(), cpu()];
  for (let n = 0; n < times; n++) await run(n);
  console.log(`${what}: ${((performance.now() - wall) / times).toFixed(1)} ms, ${((cpu() - used) / times).toFixed(1)} ms of CPU`);
}

let at;
let indexes;
await measured('from the first question to 200 records', 1, async () => {
  await ask('stores');
  const { databases } = await ask('store', { store: 0 });
  const database = databases.find(({ objectStores }) => objectStores.length > 0);
  const [objectStore] = database.objectStores;
  ({ indexes } = objectStore);
  at = { store: 0, database: database.id, objectStore: objectStore.id };
  await ask('records', { ...at, limit: 200 });
});
for (const direction of ['next', 'prev']) {
  let after;
  await measured(`200 records, ${direction}`, 50, async () => { ({ after } = await ask('records', { ...at, direction, limit: 200, after })); });
}
for (const index of indexes) {
  let after;
  await measured('200 records by an index', 50, async () => { ({ after } = await ask('records', { ...at, index: index.id, limit: 200, after })); });
}
await measured('a count', 1, async () => console.log(await ask('counts', at)));
await measured('a search in all values', 1, async () => console.log(await ask('search', { text: 'nothing has this text' })));
console.log(/VmHWM:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1], 'kB of memory at most');
for (const end of ends) await end();

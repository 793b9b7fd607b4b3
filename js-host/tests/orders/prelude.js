// What the scripts in this folder are written with. Each is the body of an async function; what it logs is its order of events.
const seen = [];
const log = (what) => void seen.push(what);
// Logs these events of a target.
const hear = (target, name, ...types) => {
  for (const type of types) target.addEventListener(type, () => log(`${name}: ${type}`));
  return target;
};
const opened = [];
{
  const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function (...args) {
    const request = Reflect.apply(open, this, args);
    opened.push(request);
    return request;
  };
}
// What a script leaves is none of the next one's business.
const clean = async () => {
  for (const request of opened.splice(0)) if (request.error === null) request.result?.close();
  for (const { name } of await indexedDB.databases()) await event(indexedDB.deleteDatabase(name), "success");
};
const event = (target, ...types) =>
  new Promise((resolve) => {
    for (const type of types) target.addEventListener(type, resolve);
  });
const ended = (transaction) => event(transaction, "complete", "abort");
// Logs everything that can happen to a request to open or delete.
const opening = (request, name) => hear(request, name, "blocked", "upgradeneeded", "success", "error");
// A database of one version with these object stores, each with the records 1 to 9.
const fresh = async (name, stores = ["s"]) => {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    for (const store of stores) {
      const made = request.result.createObjectStore(store);
      for (let i = 1; i < 10; i++) made.put({ n: i }, i);
    }
  };
  await event(request, "success");
  return request.result;
};
// A task after this one, of no database.
const nextTask = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
// Keeps this thread from hearing of anything, while others go on.
const busy = (ms) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

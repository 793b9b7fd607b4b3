// Realms of one origin have the same databases, channels and ports.
const workerOf = (source) => new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
const next = (target, type = "message") => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
const data = async (target) => (await next(target)).data;
const PROMISES = `
  const done = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
  const openWith = (name, version, upgrade) => { const request = indexedDB.open(name, version); request.onupgradeneeded = () => upgrade?.(request.result); return done(request); };
`;

test("what a worker stores its maker finds, with blobs", async () => {
  const worker = workerOf(`${PROMISES}
    (async () => {
      const db = await openWith("shared", 1, (db) => db.createObjectStore("s"));
      const blob = new Blob(["in a worker"], { type: "a/b" });
      const transaction = db.transaction("s", "readwrite");
      transaction.objectStore("s").put({ blob, at: new Date(7) }, "k");
      transaction.oncomplete = () => { db.close(); postMessage("stored"); };
    })();`);
  same(await data(worker), "stored");
  const db = await openWith("shared", 1);
  const { blob, at } = await done(db.transaction("s").objectStore("s").get("k"));
  same(at.getTime(), 7);
  same(await blob.text(), "in a worker");
  // A stored blob goes on to a worker.
  const reader = workerOf("onmessage = async (event) => postMessage(await event.data.slice(3, 8).text());");
  reader.postMessage(blob);
  same(await data(reader), "a wor");
  reader.terminate();
  db.close();
  worker.terminate();
  await done(indexedDB.deleteDatabase("shared"));
});

test("a connection of a worker hears of a version change, and blocks it until it is closed", async () => {
  const worker = workerOf(`${PROMISES}
    (async () => {
      const db = await openWith("blocking", 1);
      db.onversionchange = (event) => postMessage(["versionchange", event.oldVersion, event.newVersion]);
      onmessage = () => db.close();
      postMessage("open");
    })();`);
  same(await data(worker), "open");
  const request = indexedDB.open("blocking", 2);
  const seen = [];
  request.onblocked = () => {
    seen.push("blocked");
    worker.postMessage("close");
  };
  request.onupgradeneeded = () => seen.push("upgrade");
  list(await data(worker), ["versionchange", 1, 2]);
  const db = await done(request);
  list(seen, ["blocked", "upgrade"]);
  db.close();
  worker.terminate();
  await done(indexedDB.deleteDatabase("blocking"));
});

test("the connections and transactions of a worker end with it", async () => {
  const worker = workerOf(`${PROMISES}
    (async () => {
      const db = await openWith("ended", 1, (db) => db.createObjectStore("s"));
      const store = db.transaction("s", "readwrite").objectStore("s");
      let n = 0;
      const again = () => { store.put(0, n++).onsuccess = again; if (n === 100) postMessage("busy"); };
      again();
    })();`);
  same(await data(worker), "busy");
  worker.terminate();
  const db = await openWith("ended", 2);
  same(await done(db.transaction("s").objectStore("s").count()), 0);
  db.close();
  await done(indexedDB.deleteDatabase("ended"));
});

test("a worker that loops for ever after a call stops no other realm's requests", async () => {
  const worker = workerOf(`${PROMISES}
    openWith("looping", 1, (db) => db.createObjectStore("s")).then((db) => { db.transaction("s"); postMessage("loops"); for (;;); });`);
  same(await data(worker), "loops");
  const db = await openWith("looping", 1);
  same(await done(db.transaction("s", "readonly").objectStore("s").count()), 0);
  worker.terminate();
  db.close();
  await done(indexedDB.deleteDatabase("looping"));
});

test("writers of two realms wait for each other, and no addition is lost", async () => {
  const db = await openWith("counter", 1, (db) => db.createObjectStore("s").put(0, "n"));
  const ADD = `
    const add = (db, times) => new Promise((resolve) => {
      let left = times;
      const one = () => {
        if (left-- === 0) { resolve(); return; }
        const transaction = db.transaction("s", "readwrite");
        const store = transaction.objectStore("s");
        store.get("n").onsuccess = (event) => store.put(event.target.result + 1, "n");
        transaction.oncomplete = one;
      };
      one();
    });`;
  const worker = workerOf(`${PROMISES}${ADD}
    openWith("counter", 1).then(async (db) => { await add(db, 100); db.close(); postMessage("added"); });`);
  const here = (0, eval)(`(() => { ${ADD} return add; })()`);
  await Promise.all([here(db, 100), data(worker)]);
  same(await done(db.transaction("s").objectStore("s").get("n")), 200);
  db.close();
  await done(indexedDB.deleteDatabase("counter"));
});

test("channels of one name hear each other in all realms", async () => {
  const worker = workerOf("const channel = new BroadcastChannel('both'); channel.onmessage = ({ data, origin: from }) => channel.postMessage([data, from === origin]); postMessage('listens');");
  same(await data(worker), "listens");
  const [mine, other] = [new BroadcastChannel("both"), new BroadcastChannel("another")];
  let wrong = 0;
  other.onmessage = () => (wrong += 1);
  mine.postMessage({ text: "hello" });
  const event = await next(mine);
  same(event.data[0].text, "hello");
  same(event.data[1], true);
  same(event.origin, origin);
  same(wrong, 0);
  mine.close();
  other.close();
  worker.terminate();
});

test("a port that was sent is the other realm's, with what waits in it", async () => {
  const worker = workerOf("onmessage = ({ data, ports }) => { const [port] = ports; port.onmessage = (event) => port.postMessage([event.data, data.port === port, event.ports.length]); };");
  const { port1, port2 } = new MessageChannel();
  port1.postMessage("before");
  worker.postMessage({ port: port2 }, [port2]);
  port1.postMessage("after");
  throws("DataCloneError", () => worker.postMessage(port2, [port2]));
  throws("DataCloneError", () => worker.postMessage(port1));
  const seen = [];
  await new Promise((resolve) => {
    port1.onmessage = (event) => {
      seen.push(event.data);
      if (seen.length === 2) resolve();
    };
  });
  list(seen, [["before", true, 0], ["after", true, 0]]);
  throws("DataCloneError", () => port1.postMessage(0, [port1]));
  worker.terminate();
});

test("two workers talk through a channel that their maker has sent them, and a port can go on", async () => {
  const [first, second] = [0, 1].map(() => workerOf("onmessage = ({ data, ports: [port] }) => { port.onmessage = (event) => postMessage(event.data); port.postMessage(data); };"));
  const { port1, port2 } = new MessageChannel();
  first.postMessage("of the first", [port1]);
  second.postMessage("of the second", [port2]);
  list(await Promise.all([data(first), data(second)]), ["of the second", "of the first"]);
  // To a worker and back.
  const back = workerOf("onmessage = ({ ports }) => { ports[0].postMessage('seen'); postMessage(0, ports); };");
  const channel = new MessageChannel();
  back.postMessage(0, [channel.port2]);
  const event = await next(back);
  channel.port1.postMessage("home");
  const [came, answered] = [next(event.ports[0]), next(channel.port1)];
  event.ports[0].start();
  channel.port1.start();
  same((await came).data, "home");
  same((await answered).data, "seen");
  for (const worker of [first, second, back]) worker.terminate();
});

test("ports within a realm can be transferred, too", async () => {
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(1);
  const moved = structuredClone({ port2 }, { transfer: [port2] }).port2;
  check(moved instanceof MessagePort && moved !== port2);
  port1.postMessage(2);
  const seen = [];
  await new Promise((resolve) => {
    moved.onmessage = (event) => {
      seen.push(event.data);
      if (seen.length === 2) resolve();
    };
  });
  list(seen, [1, 2]);
  const carrier = new MessageChannel();
  carrier.port1.postMessage("with a port", [moved]);
  carrier.port2.start();
  const event = await next(carrier.port2);
  port1.onmessage = undefined;
  event.ports[0].postMessage("through it");
  same((await next(port1)).data, "through it");
});

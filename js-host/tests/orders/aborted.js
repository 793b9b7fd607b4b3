// An abort: errors of its requests in their order, then `abort`; transactions that wait for its object store, and others beside it.
const db = await fresh("a", ["s", "t"]);
const ask = (request, name) => hear(request, name, "success", "error");
for (const how of ["call", "handler", "error", "throw"]) {
  const first = hear(db.transaction(["s"], "readwrite"), "first", "abort", "complete");
  const waits = hear(db.transaction(["s"], "readwrite"), "waits", "abort", "complete");
  const beside = hear(db.transaction(["t"], "readwrite"), "beside", "abort", "complete");
  const over = [first, waits, beside].map(ended);
  const store = first.objectStore("s");
  ask(store.put(1, 1), "put").onsuccess = () => {
    if (how === "handler") first.abort();
    if (how === "throw") {
      self.addEventListener("error", (event) => event.preventDefault(), { once: true });
      throw new Error("on purpose");
    }
    busy(0.2);
  };
  ask(store.add(1, 1), "add").onerror = (event) => {
    if (how !== "error") event.preventDefault();
  };
  for (let i = 0; i < 4; i++) ask(store.get(i), `get ${i}`);
  ask(waits.objectStore("s").get(1), "waiting get");
  const side = beside.objectStore("t");
  for (let i = 0; i < 4; i++) ask(side.get(i), `side get ${i}`);
  first.onabort = () => ask(db.transaction("t").objectStore("t").count(), "count in abort");
  if (how === "call") first.abort();
  await Promise.all(over);
  await ended(db.transaction(["s", "t"], "readwrite"));
  log(how);
}
db.close();

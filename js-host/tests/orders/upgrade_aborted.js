// An upgrade that is aborted: its requests' errors, its abort, the error of the request to open; then what its handlers asked for.
for (const how of ["by call", "by exception", "by an error", "by close"]) {
  const request = opening(indexedDB.open(`upgrade ${how}`, 1), "open");
  request.onerror = (event) => event.preventDefault();
  request.onupgradeneeded = () => {
    const db = request.result;
    const upgrade = hear(request.transaction, "upgrade", "abort", "complete");
    const store = db.createObjectStore("s");
    for (let i = 0; i < 3; i++) hear(store.put(i, i), `put ${i}`, "success", "error");
    upgrade.onabort = () => {
      opening(indexedDB.deleteDatabase("none"), "delete in abort");
      opening(indexedDB.open(`upgrade ${how}`, 2), "open in abort").onsuccess = (event) => event.target.result.close();
      busy(1);
    };
    if (how === "by call") store.get(1).onsuccess = () => upgrade.abort();
    if (how === "by an error") store.add(1, 1);
    if (how === "by close") {
      store.get(1).onsuccess = () => db.close();
    }
    if (how === "by exception") {
      store.get(1).onsuccess = () => {
        self.addEventListener("error", (event) => event.preventDefault(), { once: true });
        throw new Error("on purpose");
      };
    }
    hear(store.put(7, 7), "put 7", "success", "error");
  };
  await event(request, "success", "error");
  await event(indexedDB.open(`upgrade ${how}`, 2), "success", "error");
  log(how);
}

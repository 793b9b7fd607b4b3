// What is asked for when an upgrade has completed comes after the success of the request to open (5.1, step 10.8).
const request = opening(indexedDB.open("a", 1), "open");
request.onupgradeneeded = () => {
  const db = request.result;
  hear(db.createObjectStore("s").put(1, 1), "put", "success");
  hear(request.transaction, "upgrade", "complete").oncomplete = () => {
    const transaction = hear(db.transaction("s"), "reader", "complete");
    hear(transaction.objectStore("s").get(1), "get", "success");
    transaction.oncomplete = () => opening(indexedDB.open("a"), "second open");
    busy(3);
  };
};
await event(request, "success");
await ended(request.result.transaction("s", "readwrite"));
await event(indexedDB.open("a"), "success");

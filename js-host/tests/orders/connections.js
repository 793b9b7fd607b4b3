// Several connections, and a queue of requests to open and to delete.
const [one, two, three] = [await fresh("a"), await fresh("a"), await fresh("a")];
hear(one, "one", "versionchange").onversionchange = () => {
  one.close();
  busy(0.3);
};
hear(two, "two", "versionchange").onversionchange = () => three.close();
hear(three, "three", "versionchange");
const requests = [
  opening(indexedDB.open("a", 2), "open 2"),
  opening(indexedDB.open("a", 1), "open 1"),
  opening(indexedDB.deleteDatabase("a"), "delete"),
  opening(indexedDB.open("a"), "open again"),
  opening(indexedDB.open("b", 3), "other"),
  opening(indexedDB.deleteDatabase("c"), "delete nothing"),
  opening(indexedDB.open("b"), "other again"),
];
indexedDB.databases().then((all) => log(`databases: ${all.map(({ name, version }) => `${name} ${version}`)}`));
requests[0].onblocked = () => {
  two.close();
  busy(0.3);
};
requests[0].onsuccess = () => {
  const db = hear(requests[0].result, "new", "versionchange");
  db.onversionchange = () => db.close();
};
requests[1].onerror = (event) => event.preventDefault();
await event(requests[3], "success");
await event(indexedDB.open("b"), "success");
requests[3].result.close();

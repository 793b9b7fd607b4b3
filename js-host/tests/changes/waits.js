// Waits for changes of a database that nothing changes.
indexedDB.open("db").onupgradeneeded = ({ target: request }) => {
  request.result.createObjectStore("s");
  request.onsuccess = async () => {
    request.result.close();
    await larder.setChangeFeed("db");
    indexedDB.open("db").onsuccess = async ({ target: { result } }) => {
      for await (const transaction of larder.changes(result)) throw new Error(`nothing has changed, but ${transaction.position}`);
    };
  };
};

// HTML, 8.1.7 and 8.7: tasks, timers and answers of databases have their turns in the order in which they could run.
const messages = () => {
  const { port1, port2 } = new MessageChannel();
  return {
    close: () => port1.close(),
    // Messages to and fro until `isOver`; how many there were.
    pingPong: (isOver) =>
      new Promise((resolve) => {
        let count = 0;
        port1.onmessage = () => port1.postMessage(null);
        port2.onmessage = () => {
          count += 1;
          if (isOver() || count === 1e6) resolve(count);
          else port2.postMessage(null);
        };
        port2.postMessage(null);
      }),
  };
};

const store = async (name) => {
  const db = await openWith(name, 1, (db) => db.createObjectStore("s").put(1, 1));
  return [db, db.transaction("s").objectStore("s")];
};

test("messages to and fro do not keep a timer from being run", async () => {
  let fired = false;
  setTimeout(() => (fired = true), 5);
  const channel = messages();
  const count = await channel.pingPong(() => fired);
  check(count < 1e6, "the timer never fired");
  channel.close();
});

test("requests that follow one another do not keep a timer from being run", async () => {
  const [db, source] = await store("chain");
  let after;
  let count = 0;
  setTimeout(() => (after = count), 0);
  while (after === undefined && count < 100) {
    await done(source.get(1));
    count += 1;
  }
  check(after <= 1, `the timer fired after ${after} requests`);
  db.close();
});

test("requests and messages have their turns", async () => {
  const [db, source] = await store("turns");
  const channel = messages();
  let gets = 0;
  const get = () => {
    source.get(1).onsuccess = () => {
      gets += 1;
      if (gets < 50) get();
    };
  };
  get();
  const count = await channel.pingPong(() => gets === 50);
  check(count < 1e5, `${count} messages, ${gets} requests`);
  channel.close();
  db.close();
});

test("what could run first is run first", async () => {
  const seen = [];
  const { port1, port2 } = new MessageChannel();
  await new Promise((resolve) => {
    port1.onmessage = ({ data }) => {
      seen.push(data);
      if (data === "last") resolve();
    };
    setTimeout(() => seen.push("first timer"), 0);
    port2.postMessage("message");
    setTimeout(() => seen.push("second timer"), 0);
    const cleared = setTimeout(() => seen.push("cleared"), 0);
    setTimeout(() => clearTimeout(cleared), 0);
    setTimeout(() => seen.push("negative"), -1);
    queueMicrotask(() => seen.push("microtask"));
    setTimeout(() => port2.postMessage("last"), 1);
    seen.push("script");
  });
  port1.close();
  list(seen, ["script", "microtask", "first timer", "message", "second timer", "cleared", "negative", "last"]);
});

test("a timer that is due can be cleared", async () => {
  const seen = [];
  let second;
  await new Promise((resolve) => {
    setTimeout(() => {
      clearTimeout(second);
      setTimeout(resolve, 0);
    }, 0);
    second = setTimeout(() => seen.push("second"), 0);
  });
  list(seen, []);
  let count = 0;
  await new Promise((resolve) => {
    const id = setInterval(() => {
      count += 1;
      if (count === 3) {
        clearInterval(id);
        setTimeout(resolve, 10);
      }
    }, 0);
  });
  same(count, 3);
});

test("timers that are started by timers wait 4 ms from the sixth on", async () => {
  const chain = (left) =>
    new Promise((resolve) => {
      const next = () => (left-- === 0 ? resolve() : setTimeout(next, 0));
      next();
    });
  const before = performance.now();
  await chain(11);
  check(performance.now() - before >= 5 * 4, "they did not wait");
  let ticks = 0;
  const began = performance.now();
  await new Promise((resolve) => {
    const id = setInterval(() => {
      ticks += 1;
      if (ticks < 11) return;
      clearInterval(id);
      resolve();
    }, 0);
  });
  check(performance.now() - began >= 5 * 4, "the ticks did not wait");
});

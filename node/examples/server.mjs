// Dexie on a server. What it has answered with 201 is in the folder: `node server.mjs` can be ended at any time and started again.
//
//   curl -d '{"item":"tea","count":2}' http://localhost:8080/orders
//   curl http://localhost:8080/orders?item=tea
import { createServer } from "node:http";
import { env } from "node:process";

import Dexie from "dexie";
import { close, IDBKeyRange, open } from "larder-idb";

const indexedDB = open({ folder: env.SHOP_DATA ?? "shop-data" });
// What has been committed is there if the process dies; strict, also if the machine does.
const shop = new Dexie("shop", { indexedDB, IDBKeyRange, chromeTransactionDurability: "strict" });
shop.version(1).stores({ orders: "++id, item" });

const routes = {
  async POST(request) {
    let text = "";
    for await (const piece of request) text += piece;
    const { item, count } = JSON.parse(text);
    const id = await shop.orders.add({ item, count, at: new Date() });
    return [201, { id }];
  },
  async GET(request) {
    const item = new URL(request.url, "http://localhost").searchParams.get("item");
    const orders = item === null ? shop.orders : shop.orders.where("item").equals(item);
    return [200, await orders.toArray()];
  },
};

const server = createServer(async (request, response) => {
  const [status, body] = await (routes[request.method]?.(request) ?? [405, {}]);
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
});

server.listen(Number(env.PORT ?? 8080), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/orders`));

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    server.close();
    await close(indexedDB);
    process.exit();
  });
}

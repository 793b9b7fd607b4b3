// XMLHttpRequest of what needs no network. Of blob: and data: URLs it holds in Chromium's page, too.
const sent = (method, url, prepare = () => {}, body = undefined) =>
  new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const events = [];
    for (const type of ["readystatechange", "loadstart", "load", "error", "abort"]) {
      request.addEventListener(type, () => events.push(type === "readystatechange" ? request.readyState : type));
    }
    request.onloadend = () => resolve({ request, events });
    request.open(method, url);
    prepare(request);
    request.send(body);
  });

test("a blob's URL gives its bytes and type", async () => {
  const url = URL.createObjectURL(new Blob(["m\u00fcll"], { type: "x/y" }));
  const { request, events } = await sent("GET", `${url}#here`);
  list(events, [1, "loadstart", 2, 3, 4, "load"]);
  same(request.status, 200);
  same(request.statusText, "OK");
  same(request.responseText, "m\u00fcll");
  same(request.response, request.responseText);
  same(request.getResponseHeader("Content-TYPE"), "x/y");
  same(request.getResponseHeader("none"), null);
  same(request.responseURL, url);
  check(request.getAllResponseHeaders().includes("content-length: 5\r\n"));
  for (const [type, check_] of [
    ["arraybuffer", (value) => same(value.byteLength, 5)],
    ["blob", (value) => same(value.type, "x/y")],
    ["json", (value) => same(value, null)],
  ]) {
    const { request: typed } = await sent("GET", url, (it) => (it.responseType = type));
    check_(typed.response);
    same(typed.response, typed.response);
    throws("InvalidStateError", () => typed.responseText);
  }
  URL.revokeObjectURL(url);
  const { request: gone, events: failed } = await sent("GET", url);
  list(failed, [1, "loadstart", 4, "error"]);
  same(gone.status, 0);
  same(gone.responseText, "");
});

test("a data: URL gives what it says", async () => {
  const { request } = await sent("GET", "data:application/json;base64,eyJhIjpbMV19", (it) => (it.responseType = "json"));
  same(JSON.stringify(request.response), '{"a":[1]}');
  same((await sent("GET", "data:,a%20b%C3%A9")).request.responseText, "a b\u00c3\u00a9");
  same((await sent("GET", "data:;charset=utf-8,b%C3%A9")).request.responseText, "b\u00e9");
  same((await sent("GET", "data:,x")).request.getResponseHeader("content-type"), "text/plain;charset=US-ASCII");
});

test("what is out of order is refused, and an aborted request ends", async () => {
  const request = new XMLHttpRequest();
  throws("InvalidStateError", () => request.send());
  throws("SyntaxError", () => request.open("a b", "data:,"));
  throws("SecurityError", () => request.open("TRACE", "data:,"));
  request.open("get", "data:,x");
  throws("SyntaxError", () => request.setRequestHeader("a b", "c"));
  const seen = [];
  request.onreadystatechange = () => seen.push(request.readyState);
  request.onabort = () => seen.push("abort");
  request.send();
  throws("InvalidStateError", () => request.send());
  request.abort();
  list(seen, [4, "abort"]);
  same(request.readyState, 0);
  throws("TypeError", () => XMLHttpRequest.prototype.open.call({}, "GET", "data:,"));
  same(XMLHttpRequest.DONE, 4);
});

test("without a server all else is a network error", async () => {
  if (typeof larder === "undefined") return;
  const { events } = await sent("POST", "http://127.0.0.1:9/", undefined, "body");
  list(events, [1, "loadstart", 4, "error"]);
});

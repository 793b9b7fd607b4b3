// URL and URLSearchParams (URL), for what scripts do with them: take apart, put together, resolve.
//
// A smaller parser than the standard's: no IDNA, nothing of hosts is percent-encoded, IPv6 hosts as they are written.
import { exposeInterface, webidl } from "./binding.js";
import { createObjectURL, revokeObjectURL } from "./blob.js";
import { encodeUtf8, latin1, TextDecoder } from "./encoding.js";

const { toDOMString } = webidl;
const PORTS = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };
const SHAPE = /^([a-z][a-z0-9+.-]*:)?(?:\/\/(?:([^/?#@:]*)(?::([^/?#@]*))?@)?(\[[^\]]*\]|[^/?#:]*)(?::(\d*))?)?([^?#]*)(\?[^#]*)?(#.*)?$/is;

// The percent-encode sets (URL, 1.3).
const SETS = {
  path: /[\0-\x20"#<>?^`{}\x7f-\u{10ffff}]/gu,
  opaque: /[\0-\x1f\x7f-\u{10ffff}]/gu,
  query: /[\0-\x20"#<>\x7f-\u{10ffff}]/gu,
  specialQuery: /[\0-\x20"#<>'\x7f-\u{10ffff}]/gu,
  fragment: /[\0-\x20"<>`\x7f-\u{10ffff}]/gu,
};
const escape = (text, set) => text.replace(set, (c) => (c === "'" ? "%27" : encodeURIComponent(c.toWellFormed())));
const querySet = (protocol) => (protocol in PORTS ? SETS.specialQuery : SETS.query);

function normalizePath(path) {
  const out = [];
  const parts = path.split("/");
  parts.forEach((part, at) => {
    const plain = part.replace(/%2e/gi, ".");
    const last = at === parts.length - 1;
    if (plain === "..") {
      if (out.length > 1) out.pop();
      if (last) out.push("");
    } else if (plain === ".") {
      if (last) out.push("");
    } else {
      out.push(part);
    }
  });
  return out.join("/");
}

function parse(input, base) {
  const text = input.trim().replace(/[\t\n\r]/g, "");
  const found = SHAPE.exec(text);
  if (found === null) return null;
  let [, protocol, username = "", password = "", hostname, port = "", pathname, search = "", hash = ""] = found;
  protocol = protocol?.toLowerCase();
  if (protocol === undefined) {
    if (base === null) return null;
    // A relative URL changes nothing but the fragment of a blob: or data: URL.
    const isOpaque = base.hostname === undefined && !base.pathname.startsWith("/");
    if (isOpaque && !text.startsWith("#")) return null;
    protocol = base.protocol;
    if (hostname === undefined) {
      ({ username, password, hostname, port } = base);
      if (pathname === "") {
        pathname = base.pathname;
        if (search === "" && !text.startsWith("?")) search = base.search;
      } else if (!pathname.startsWith("/")) {
        pathname = base.pathname.replace(/[^/]*$/, "") + pathname;
      }
    }
  }
  const special = protocol in PORTS;
  if (special) {
    pathname = pathname.replace(/\\/g, "/");
    if (hostname === undefined && protocol !== "file:") return null;
    if (hostname === "" && protocol !== "file:") return null;
    hostname = (hostname ?? "").toLowerCase();
    if (!pathname.startsWith("/")) pathname = `/${pathname}`;
    if (port === PORTS[protocol]) port = "";
  }
  if (port !== "" && Number(port) > 65535) return null;
  if (hostname !== undefined) pathname = normalizePath(pathname);
  if (search === "?") search = "";
  if (hash === "#") hash = "";
  pathname = escape(pathname, hostname === undefined ? SETS.opaque : SETS.path);
  search = escape(search, querySet(protocol));
  return { protocol, username, password, hostname, port, pathname, search, hash: escape(hash, SETS.fragment) };
}

export class URLSearchParams {
  #list = [];
  #changed = () => {};
  constructor(init = "") {
    if (init !== null && typeof init === "object") {
      const pairs = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init);
      this.#list = pairs.map(([name, value]) => [toDOMString(name), toDOMString(value)]);
    } else {
      this.#read(toDOMString(init));
    }
  }
  static follow(params, text, changed) {
    params.#read(text);
    params.#changed = changed;
  }
  #read(text) {
    const decode = (part) => {
      const plain = (digits) => String.fromCharCode(parseInt(digits.slice(1), 16));
      const bytes = latin1(encodeUtf8(part.replaceAll("+", " "))).replace(/%[0-9a-f]{2}/gi, plain);
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0)));
    };
    const parts = text.replace(/^\?/, "").split("&").filter((part) => part !== "");
    this.#list = parts.map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [decode(part), ""] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
    });
  }
  get size() {
    return this.#list.length;
  }
  append(name, value) {
    this.#list.push([toDOMString(name), toDOMString(value)]);
    this.#changed();
  }
  // Those of a name, or of a name and value.
  #is(name, value) {
    const [key, text] = [toDOMString(name), value === undefined ? undefined : toDOMString(value)];
    return (pair) => pair[0] === key && (text === undefined || pair[1] === text);
  }
  delete(name, value = undefined) {
    const is = this.#is(name, value);
    this.#list = this.#list.filter((pair) => !is(pair));
    this.#changed();
  }
  get(name) {
    return this.#list.find((pair) => pair[0] === toDOMString(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#list.filter((pair) => pair[0] === toDOMString(name)).map((pair) => pair[1]);
  }
  has(name, value = undefined) {
    return this.#list.some(this.#is(name, value));
  }
  set(name, value) {
    const key = toDOMString(name);
    const first = this.#list.find((pair) => pair[0] === key);
    if (first === undefined) this.#list.push([key, toDOMString(value)]);
    else first[1] = toDOMString(value);
    this.#list = this.#list.filter((pair) => pair[0] !== key || pair === first || first === undefined);
    this.#changed();
  }
  sort() {
    this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed();
  }
  forEach(callback, receiver = undefined) {
    for (const [name, value] of this.#list) Reflect.apply(callback, receiver, [value, name, this]);
  }
  *entries() {
    yield* this.#list.map((pair) => pair.slice());
  }
  *keys() {
    for (const [name] of this.#list) yield name;
  }
  *values() {
    for (const [, value] of this.#list) yield value;
  }
  toString() {
    const encode = (part) =>
      encodeURIComponent(part.toWellFormed()).replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll("%20", "+");
    return this.#list.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  }
}
const { follow } = URLSearchParams;
delete URLSearchParams.follow;
exposeInterface(URLSearchParams, "URLSearchParams");
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries,
  writable: true,
  configurable: true,
});

export class URL {
  #parts;
  #params = new URLSearchParams();
  constructor(url, base = undefined) {
    const from = base === undefined ? null : parse(toDOMString(base), null);
    const parts = base !== undefined && from === null ? null : parse(toDOMString(url), from);
    if (parts === null) throw new TypeError(`Invalid URL: ${url}`);
    this.#parts = parts;
    this.#followSearch();
  }
  #followSearch() {
    follow(this.#params, this.#parts.search, () => {
      const text = this.#params.toString();
      this.#parts.search = text === "" ? "" : `?${text}`;
    });
  }
  static canParse(url, base = undefined) {
    try {
      new URL(url, base);
      return true;
    } catch {
      return false;
    }
  }
  static parse(url, base = undefined) {
    return URL.canParse(url, base) ? new URL(url, base) : null;
  }
  static createObjectURL(blob) {
    return createObjectURL(blob);
  }
  static revokeObjectURL(url) {
    revokeObjectURL(url);
  }
  get href() {
    const { protocol, username, password, hostname, pathname, search, hash } = this.#parts;
    if (hostname === undefined) return `${protocol}${pathname}${search}${hash}`;
    const credentials = username === "" && password === "" ? "" : `${username}${password === "" ? "" : `:${password}`}@`;
    return `${protocol}//${credentials}${this.host}${pathname}${search}${hash}`;
  }
  get origin() {
    const { protocol } = this.#parts;
    return protocol in PORTS && protocol !== "file:" ? `${protocol}//${this.host}` : "null";
  }
  get protocol() {
    return this.#parts.protocol;
  }
  get username() {
    return this.#parts.username;
  }
  get password() {
    return this.#parts.password;
  }
  get host() {
    const { hostname = "", port } = this.#parts;
    return port === "" ? hostname : `${hostname}:${port}`;
  }
  get hostname() {
    return this.#parts.hostname ?? "";
  }
  get port() {
    return this.#parts.port;
  }
  get pathname() {
    return this.#parts.pathname;
  }
  get search() {
    return this.#parts.search;
  }
  set search(value) {
    const text = toDOMString(value).replace(/^\?/, "");
    this.#parts.search = text === "" ? "" : `?${escape(text, querySet(this.protocol))}`;
    this.#followSearch();
  }
  get searchParams() {
    return this.#params;
  }
  get hash() {
    return this.#parts.hash;
  }
  set hash(value) {
    const text = toDOMString(value).replace(/^#/, "");
    this.#parts.hash = text === "" ? "" : `#${escape(text, SETS.fragment)}`;
  }
  toString() {
    return this.href;
  }
  toJSON() {
    return this.href;
  }
}
exposeInterface(URL, "URL");

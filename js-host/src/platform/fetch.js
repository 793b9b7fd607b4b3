// fetch (Fetch), for what needs no network: blob: URLs, and files that the host's owner has given.
import { exposeInterface, INTERNAL, requireArguments, webidl } from "./binding.js";
import { blobOfUrl } from "./blob.js";
import { fileOfUrl } from "./files.js";

export class Response {
  #blob;
  constructor(token = undefined, blob = undefined) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor: Response");
    this.#blob = blob;
  }
  get ok() {
    return this.status === 200;
  }
  get status() {
    void this.#blob;
    return 200;
  }
  async blob() {
    return this.#blob.slice(0, this.#blob.size, this.#blob.type);
  }
  async arrayBuffer() {
    return this.#blob.arrayBuffer();
  }
  async text() {
    return this.#blob.text();
  }
  async json() {
    return JSON.parse(await this.#blob.text());
  }
}
exposeInterface(Response, "Response");

export async function fetch(resource) {
  requireArguments(arguments.length, 1, "fetch");
  const url = webidl.toDOMString(resource);
  const blob = blobOfUrl(url.replace(/#.*/s, "")) ?? fileOfUrl(url);
  if (blob === undefined) throw new TypeError(`Failed to fetch ${url}: there is no network, only blobs and files`);
  return new Response(INTERNAL, blob);
}

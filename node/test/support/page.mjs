// As much of a page's classes as tests use that were written for one.

/** Reads a Blob's URL; what is sent to `xhr/resources/content.py` of the conformance suite is answered here. */
export class XMLHttpRequest {
  static DONE = 4;
  DONE = 4;
  readyState = 0;
  responseType = "";
  onreadystatechange = null;
  #headers = {};
  #method;
  #url;

  open(method, url) {
    [this.#method, this.#url] = [method, url];
  }

  getResponseHeader(name) {
    return this.#headers[name.toLowerCase()] ?? null;
  }

  async send(body) {
    if (this.#method === "POST" && this.#url.endsWith("/xhr/resources/content.py")) {
      this.#headers = { "x-request-content-type": body.type || "NO" };
      [this.status, this.response] = [200, await body.text()];
    } else {
      const response = await fetch(this.#url);
      this.#headers = Object.fromEntries(response.headers);
      [this.status, this.response] = [response.status, await response.text()];
    }
    this.readyState = XMLHttpRequest.DONE;
    this.onreadystatechange?.();
  }
}

export class FileReader {
  result = null;
  error = null;
  onload = null;
  onerror = null;
  onloadend = null;

  readAsArrayBuffer(blob) {
    return this.#read(() => blob.arrayBuffer());
  }

  readAsText(blob) {
    return this.#read(() => blob.text());
  }

  readAsBinaryString(blob) {
    return this.#read(async () => Buffer.from(await blob.arrayBuffer()).toString("latin1"));
  }

  async #read(read) {
    try {
      this.result = await read();
    } catch (error) {
      this.error = error;
    }
    const event = { target: this };
    if (this.error === null) this.onload?.(event);
    else this.onerror?.(event);
    this.onloadend?.(event);
  }
}

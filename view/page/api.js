// What is asked of the server: questions with one answer, with lines, with bytes, and downloads.

let token = "";
/** Hears whether the server answers: `away`, `here`, `refused`. */
export const server = new EventTarget();
const report = (state) => server.dispatchEvent(new Event(state));

/** Takes the token out of the address, gets it for an address that is good once, or has what this tab had kept. */
export async function takeToken() {
  const found = /^#(once=)?([0-9a-f]{32})$/.exec(location.hash);
  if (!found) {
    token = sessionStorage.getItem("larder-token") ?? "";
    return token !== "";
  }
  [, , token] = found;
  history.replaceState(null, "", location.pathname);
  if (found[1]) {
    try {
      ({ token } = await ask("enter"));
    } catch {
      // Another has opened the address before, or it is too late.
      token = "";
      return false;
    }
  }
  sessionStorage.setItem("larder-token", token);
  return true;
}

/** A question that was refused, with the server's words. */
export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function post(question, asked, signal) {
  let response;
  try {
    response = await fetch(`/api/${question}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Larder-Token": token },
      body: JSON.stringify(asked),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    report("away");
    throw new Error("Larder does not answer.", { cause: error });
  }
  report("here");
  if (response.ok) return response;
  let text = `The answer has the status ${response.status}.`;
  try {
    ({ error: text } = await response.json());
  } catch {
    /* The status alone has to do. */
  }
  if (response.status === 401 || response.status === 403) report("refused");
  throw new Refused(response.status, text);
}

/** One answer. */
export async function ask(question, asked = {}, { signal } = {}) {
  return (await post(question, asked, signal)).json();
}

/** Bytes. */
export async function bytes(question, asked, { signal } = {}) {
  return new Uint8Array(await (await post(question, asked, signal)).arrayBuffer());
}

/** Lines as they come. A line that says an error is thrown. */
export async function* lines(question, asked = {}, { signal } = {}) {
  const response = await post(question, asked, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const texts = (rest + (value ?? "")).split("\n");
    rest = done ? "" : texts.pop();
    for (const text of texts) {
      if (text === "") continue;
      const line = JSON.parse(text);
      if (line.error !== undefined && Object.keys(line).length === 1) throw new Refused(500, line.error);
      yield line;
    }
    if (done) return;
  }
}

/** Saves a file: the ticket is good for one download, without the token. */
export async function download(what) {
  const { url } = await ask("ticket", { download: what });
  const link = document.createElement("a");
  link.href = url;
  link.download = "";
  document.body.append(link);
  link.click();
  link.remove();
}

/** At most `max` at once; the rest waits for its turn. */
export function queue(max) {
  let running = 0;
  const waiting = [];
  const next = () => {
    while (running < max && waiting.length > 0) {
      const { work, done, failed } = waiting.shift();
      running++;
      work()
        .then(done, failed)
        .finally(() => {
          running--;
          next();
        });
    }
  };
  return (work) =>
    new Promise((done, failed) => {
      waiting.push({ work, done, failed });
      next();
    });
}

// larder: what a script gets of the process that runs it. Only where the host has been given one: `larder run` gives its own.
import { changes, setChangeFeed } from "./binding.js";
import { native } from "./native.js";
import { TextDecoder } from "./encoding.js";

const { process } = native;
const CODE_MAX = 255;

// What has been read and not handed out.
let held = new Uint8Array();

// The next bytes; undefined at the end. The script stands still until there are some.
function read() {
  const bytes = process.read();
  return bytes === undefined || bytes === null ? undefined : new Uint8Array(bytes);
}

function join(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function rest() {
  const parts = [held];
  held = new Uint8Array();
  for (let part = read(); part !== undefined; part = read()) parts.push(part);
  return join(parts);
}

const LF = 10;

// The bytes of the next line, without its end; undefined behind the last.
function nextLine() {
  const parts = [];
  for (;;) {
    const end = held.indexOf(LF);
    if (end >= 0) {
      parts.push(held.subarray(0, end));
      held = held.subarray(end + 1);
      return join(parts);
    }
    if (held.length > 0) parts.push(held);
    held = read();
    if (held !== undefined) continue;
    held = new Uint8Array();
    return parts.length === 0 ? undefined : join(parts);
  }
}

const stdin = {
  text: async () => new TextDecoder().decode(rest()),
  bytes: async () => rest(),
  async *lines() {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    for (let line = nextLine(); line !== undefined; line = nextLine()) {
      const text = decoder.decode(line);
      yield text.endsWith("\r") ? text.slice(0, -1) : text;
    }
  },
};

function exit(code = 0) {
  const status = Number(code);
  if (!Number.isInteger(status) || status < 0 || status > CODE_MAX) {
    throw new RangeError(`larder.exit: the status is a whole number from 0 to ${CODE_MAX}, not ${String(code)}`);
  }
  process.exit(status);
  // The host ends what runs, without a `catch` or `finally` of the script's, at the next turn of a loop.
  for (;;);
}

export const values =
  process === undefined
    ? {}
    : {
        larder: Object.freeze({ args: Object.freeze([...process.args]), stdin: Object.freeze(stdin), exit, changes, setChangeFeed }),
      };

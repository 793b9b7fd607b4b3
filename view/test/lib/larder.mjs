// The command beside a test: started on a folder, ended with the test.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const LARDER =
  process.env.LARDER_BIN ??
  path.resolve(
    ROOT,
    process.env.CARGO_TARGET_DIR ?? "target",
    "debug",
    process.platform === "win32" ? "larder.exe" : "larder",
  );

/** A temporary folder that goes with the test. */
export function temporary(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "larder-view-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** `larder view FOLDER`, as the user `uid`; gives the address of the page. */
export async function view(t, folder, { args = [], uid } = {}) {
  const child = spawn(LARDER, ["view", folder, "--no-open", "--port", "0", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    uid,
  });
  let errors = "";
  child.stderr.on("data", (bytes) => {
    errors += bytes;
  });
  const ended = new Promise((resolve) => {
    child.on("close", resolve);
  });
  const url = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (bytes) => {
      text += bytes;
      const found = /http:\/\/127\.0\.0\.1:\d+\/#\S+/.exec(text);
      if (found && text.includes("\n")) resolve(found[0]);
    });
    child.on("error", reject);
    ended.then((code) => reject(new Error(`larder view ended with ${code}: ${errors}`)));
  });
  const stop = async () => {
    child.kill();
    await ended;
  };
  t.after(stop);
  return { url, stop, pid: child.pid };
}

/** What the command prints. */
export const larder = (args, options = {}) => execFileSync(LARDER, args, { maxBuffer: 1 << 30, ...options });
export { LARDER };

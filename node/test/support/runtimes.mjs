// The runtimes that the package is tested in, at fixed versions, as npm has them: `node node/test/support/runtimes.mjs [NAME...]` fetches them
// and prints their paths.
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { installed } from "./packages.mjs";

const { platform, arch } = process;
const isWindows = platform === "win32";
const system = isWindows ? "win" : platform;
const bunArch = arch === "arm64" ? "aarch64" : arch;
const denoSystem = `${platform}-${arch}${platform === "linux" ? "-glibc" : ""}`;
const nodeFile = isWindows ? "bin/node.exe" : "bin/node";
const node = (version) => ({ name: `node-${system}-${arch}`, version, file: nodeFile, args: [] });

const RUNTIMES = {
  node20: node("20.20.2"),
  node22: node("22.23.3"),
  node24: node("24.21.0"),
  node26: node("26.12.1"),
  bun: { name: `@oven/bun-${platform === "win32" ? "windows" : platform}-${bunArch}`, version: "1.4.5", file: isWindows ? "bin/bun.exe" : "bin/bun", args: [] },
  deno: { name: `@deno/${denoSystem}`, version: "2.9.6", file: isWindows ? "deno.exe" : "deno", args: ["run", "-A", "--quiet", "--no-lock"] },
};

export const NAMES = Object.keys(RUNTIMES);

/** `{ path, args }` of a runtime: its program, and what comes before a script's name. */
export async function runtime(name) {
  const found = RUNTIMES[name];
  if (found === undefined) throw new Error(`no runtime of that name: ${name} (${NAMES.join(", ")})`);
  const folder = await installed({ [found.name]: found.version });
  const path = join(folder, "node_modules", found.name, found.file);
  await access(path, constants.X_OK);
  return { name, version: found.version, path, args: found.args };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const names = process.argv.length > 2 ? process.argv.slice(2) : NAMES;
  for (const name of names) {
    const { path, version } = await runtime(name);
    console.log(`${name} ${version} ${path}`);
  }
}

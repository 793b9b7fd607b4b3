// The package as npm installs it: its tarballs, in a folder of their own. Nothing is fetched, nothing built, no script run.
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { PLATFORMS } from "../../scripts/platforms.mjs";

export const NODE = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
export const TOOLS = path.join(NODE, "node_modules");

// The platform of this machine; it may have no native file.
export const here = PLATFORMS.find(({ os: system, cpu, libc }) => {
  const isGlibc = process.report.getReport().header.glibcVersionRuntime !== undefined;
  return system === process.platform && cpu === process.arch && (libc === undefined || (libc === "glibc") === isGlibc);
});

export const nativeFile = path.join(NODE, "native", `larder-idb.${here?.name}.node`);

// A reason to skip, or false. Where peers are required, their absence is a failure.
export function missing() {
  const needed = [nativeFile, path.join(TOOLS, "esbuild")];
  const absent = needed.find((file) => !fs.existsSync(file));
  if (absent === undefined) return false;
  const why = `no ${absent}: CONTRIBUTING.md, "The npm package"`;
  if (process.env.LARDER_REQUIRE_PEERS) throw new Error(why);
  return why;
}

export function temporary() {
  return fs.mkdtempSync(path.join(os.tmpdir(), "larder-idb-"));
}

// Packs into a folder, and gives the tarballs that are for this machine: npm refuses those of other platforms.
export function pack(folder) {
  execFileSync(process.execPath, [path.join(NODE, "scripts/pack.mjs"), "--out", folder], { stdio: ["ignore", "ignore", "inherit"] });
  const isOther = (file) => PLATFORMS.some(({ name }) => file.startsWith(`larder-idb-${name}-`) && name !== here.name);
  return fs.readdirSync(folder).filter((file) => file.endsWith(".tgz") && !isOther(file)).map((file) => path.join(folder, file));
}

export function install(folder, tarballs) {
  write(folder, "package.json", JSON.stringify({ name: "app", private: true }));
  const args = ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", ...tarballs];
  execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
}

export function write(folder, name, text) {
  fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  fs.writeFileSync(path.join(folder, name), text);
}

// What a program prints. That it fails is an error, with all that it said.
export function run(folder, command, args, env = {}) {
  const inherited = { ...process.env };
  // A run of node:test within another would print for it, not for a reader.
  delete inherited.NODE_TEST_CONTEXT;
  delete inherited.LARDER_IDB_DIR;
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: "utf8", env: { ...inherited, ...env } });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${[command, ...args].join(" ")} ended with ${status}\n${stdout}${stderr}`);
  return stdout + stderr;
}

export const node = (folder, ...args) => run(folder, process.execPath, args);

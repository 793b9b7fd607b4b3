// Builds native files for platforms that are named, or all, into `native/`. Every target is built on Linux, by `cargo zigbuild` (CONTRIBUTING.md has what that
// takes): with the compiler of the machine, a file would need the glibc of the machine.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { GLIBC, nativeFile, PLATFORMS } from "./platforms.mjs";

const NODE = path.resolve(import.meta.dirname, "..");
const TARGET = process.env.CARGO_TARGET_DIR ?? path.resolve(NODE, "../target");
const MIB = 1 << 20;
const LIMIT = 4 * MIB;

// As a library of the system is named.
const BUILT = { linux: "liblarder_node.so", darwin: "liblarder_node.dylib", win32: "larder_node.dll" };

// A tenth less code, and a few percent more time.
const INLINE = "-C llvm-args=-inline-threshold=50";

function flags({ libc, os, target }) {
  const all = [INLINE];
  // A library that a process loads takes the process's C library.
  if (libc === "musl") all.push("-C target-feature=-crt-static");
  // Node's functions are looked up when it is loaded.
  if (os === "darwin") all.push("-C link-arg=-undefined -C link-arg=dynamic_lookup");
  return { [`CARGO_TARGET_${target.toUpperCase().replaceAll("-", "_")}_RUSTFLAGS`]: all.join(" ") };
}

function build(platform) {
  const { name, os, target, zig = target } = platform;
  const args = ["zigbuild", "--profile", "npm", "--locked", "-p", "larder-node", "--target", zig];
  execFileSync("cargo", args, { cwd: NODE, stdio: "inherit", env: { ...process.env, ...flags(platform) } });
  const file = path.join(NODE, "native", nativeFile(name));
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const made = `${file}.new`;
  fs.copyFileSync(path.join(TARGET, target, "npm", BUILT[os]), made);
  check(made);
  // A process that has the old one loaded keeps it.
  fs.renameSync(made, file);
}

function check(file) {
  const bytes = fs.readFileSync(file);
  const needed = newestGlibc(bytes.toString("latin1"));
  process.stdout.write(`${path.basename(file)}: ${bytes.length} bytes, ${needed === undefined ? "no glibc" : `glibc ${needed}`}\n`);
  if (bytes.length > LIMIT) throw new Error(`${file} is larger than ${LIMIT} bytes`);
  if (needed !== undefined && isNewer(needed, GLIBC)) throw new Error(`${file} needs glibc ${needed}, ${GLIBC} is the newest that it may`);
}

// The newest version of glibc's symbols that a file names.
function newestGlibc(text) {
  return [...text.matchAll(/GLIBC_(\d+\.\d+)/g)].map(([, version]) => version).reduce((a, b) => (a === undefined || isNewer(b, a) ? b : a), undefined);
}

const isNewer = (a, b) => a.localeCompare(b, "en", { numeric: true }) > 0;

const wanted = process.argv.slice(2);
for (const name of wanted) {
  if (!PLATFORMS.some((platform) => platform.name === name)) throw new Error(`no platform ${name}: ${PLATFORMS.map((platform) => platform.name).join(", ")}`);
}
PLATFORMS.filter(({ name }) => wanted.length === 0 || wanted.includes(name)).forEach(build);

// Builds native files for the platforms that are named into `native/`: those of Linux by `cargo zigbuild` (CONTRIBUTING.md has what that takes), since with the
// compiler of the machine a file would need the glibc of the machine; those of macOS and Windows on these systems.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { GLIBC, nativeFile, PLATFORMS } from "./platforms.mjs";

const NODE = path.resolve(import.meta.dirname, "..");
const TARGET = process.env.CARGO_TARGET_DIR ?? path.resolve(NODE, "../target");
const MIB = 1 << 20;
const LIMIT = 4 * MIB;

// As cargo names a library.
const BUILT = { linux: "liblarder_node.so", darwin: "liblarder_node.dylib", win32: "larder_node.dll" };

// A tenth less code, and a few percent more time.
const INLINE = "-C llvm-args=-inline-threshold=50";

function flags({ libc, target }) {
  // A library that a process loads takes the process's C library.
  const all = libc === "musl" ? [INLINE, "-C target-feature=-crt-static"] : [INLINE];
  return { [`CARGO_TARGET_${target.toUpperCase().replaceAll("-", "_")}_RUSTFLAGS`]: all.join(" ") };
}

function build(platform) {
  const { name, os, target, zig = target } = platform;
  const args = [os === "linux" ? "zigbuild" : "build", "--profile", "npm", "--locked", "-p", "larder-node", "--target", zig];
  execFileSync("cargo", args, { cwd: NODE, stdio: "inherit", env: { ...process.env, ...flags(platform) } });
  const file = path.join(NODE, "native", nativeFile(name));
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const made = `${file}.new`;
  fs.copyFileSync(path.join(TARGET, target, "npm", BUILT[os]), made);
  check(made, nativeFile(name));
  // A process that has the old one loaded keeps it.
  fs.renameSync(made, file);
}

function check(file, name) {
  const bytes = fs.readFileSync(file);
  const needed = newestGlibc(bytes.toString("latin1"));
  process.stdout.write(`${name}: ${bytes.length} bytes, ${needed === undefined ? "no glibc" : `glibc ${needed}`}\n`);
  if (bytes.length > LIMIT) throw new Error(`${name} is larger than ${LIMIT} bytes`);
  if (needed !== undefined && isNewer(needed, GLIBC)) throw new Error(`${name} needs glibc ${needed}, ${GLIBC} is the newest that it may`);
}

// The newest version of glibc's symbols that a file names.
function newestGlibc(text) {
  return [...text.matchAll(/GLIBC_(\d+\.\d+)/g)].map(([, version]) => version).reduce((a, b) => (a === undefined || isNewer(b, a) ? b : a), undefined);
}

const isNewer = (a, b) => a.localeCompare(b, "en", { numeric: true }) > 0;

const wanted = process.argv.slice(2);
const known = PLATFORMS.map(({ name }) => name);
for (const name of wanted) if (!known.includes(name)) throw new Error(`no platform ${name}: ${known.join(", ")}`);
if (wanted.length === 0) throw new Error(`name platforms: ${known.join(", ")}`);
PLATFORMS.filter(({ name }) => wanted.includes(name)).forEach(build);

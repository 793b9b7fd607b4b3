// The licences of the crates that a native file is made of, as their packages have them.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");

function cargo(...args) {
  return execFileSync("cargo", [...args, "--quiet", "--locked"], { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 });
}

let folders;

// Where the packages of all crates lie, by "name version".
function foldersOf() {
  const { packages } = JSON.parse(cargo("metadata", "--format-version", "1"));
  return new Map(packages.map(({ name, version, manifest_path }) => [`${name} ${version}`, path.dirname(manifest_path)]));
}

// Those of the workspace have the package's own licence. A text that several crates have stands there once.
export function notices(target) {
  folders ??= foldersOf();
  const tree = cargo("tree", "-p", "larder-node", "-e", "normal,no-proc-macro", "--target", target, "--prefix", "none", "--format", "{p}|{l}");
  const lines = [...new Set(tree.trim().split("\n").map((line) => line.replace(/ \(\*\)$/, "")))];
  const crates = lines.map((line) => /^(\S+) v(\S+)( \(.*\))?\|(.*)$/.exec(line)).filter(([, , , place]) => !place);
  const texts = new Map();
  for (const [, name, version] of crates) {
    for (const text of textsOf(folders.get(`${name} ${version}`))) texts.set(text, [...(texts.get(text) ?? []), name]);
  }
  const list = crates.map(([, name, version, , license]) => `${name} ${version}: ${license}`).sort();
  return [list.join("\n"), ...[...texts].map(([text, names]) => `== ${names.join(", ")}\n\n${text}`)].join("\n\n");
}

function textsOf(folder) {
  const files = fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile() && /^(licen[cs]e|copying|notice|unlicense)/i.test(entry.name));
  return files.map(({ name }) => `${fs.readFileSync(path.join(folder, name), "utf8").trim()}\n`).sort();
}

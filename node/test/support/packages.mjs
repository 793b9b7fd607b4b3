// Packages of npm in a folder outside of the checkout: each set is installed once, at exact versions, without its scripts.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Where packages and runtimes are kept between runs; `LARDER_PEERS` names another place. */
export const KEPT = process.env.LARDER_PEERS ?? join(tmpdir(), "larder-peers");

/** A folder whose `node_modules` has `packages`, an object of names and exact versions. */
export async function installed(packages) {
  const names = Object.keys(packages).sort();
  const list = names.map((name) => `${name}@${packages[name]}`);
  const digest = createHash("sha256").update(list.join("\n")).digest("hex").slice(0, 12);
  const folder = join(KEPT, `${names[0].replaceAll("/", "+")}-${digest}`);
  if (existsSync(folder)) return folder;
  await mkdir(KEPT, { recursive: true });
  // Another process may install the set at this moment: the first that is whole stays.
  const fresh = await mkdtemp(join(KEPT, "fresh-"));
  await writeFile(join(fresh, "package.json"), JSON.stringify({ private: true, dependencies: packages }));
  await promisify(execFile)("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--legacy-peer-deps"], {
    cwd: fresh,
    maxBuffer: 1 << 26,
  });
  try {
    await rename(fresh, folder);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

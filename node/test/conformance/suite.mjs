// The suite's folder: which files there are, and what their `META` lines ask for.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** All `.any.js` that have a form for a window, as paths from `IndexedDB/`, sorted, with their variants. */
export function files(suite) {
  const folder = join(suite, "IndexedDB");
  const names = readdirSync(folder, { recursive: true }).map((name) => name.replaceAll("\\", "/"));
  const tests = names.filter((name) => name.endsWith(".any.js") && !name.includes("resources/")).sort();
  return tests.map((name) => read(suite, name)).filter(({ isForWindow }) => isForWindow);
}

export function read(suite, file) {
  const source = readFileSync(join(suite, "IndexedDB", file), "utf8");
  const meta = (key) => Array.from(source.matchAll(new RegExp(`^// META: ${key}=(.*)$`, "gm")), (found) => found[1].trim());
  const variants = meta("variant");
  const globals = meta("global").at(-1);
  return {
    file,
    source,
    scripts: meta("script"),
    variants: variants.length === 0 ? [""] : variants,
    title: meta("title").at(-1) ?? file.replace(/\.any\.js$/, ""),
    isForWindow: globals === undefined || globals.split(",").includes("window"),
  };
}

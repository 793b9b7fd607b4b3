// The native half: a file for each platform.
import { createRequire } from "node:module";
import { arch, env, platform, report } from "node:process";

const require = createRequire(import.meta.url);

// Which C library Linux has: what was built for the one does not load with the other.
function library() {
  if (platform !== "linux") return "";
  const header = typeof report?.getReport === "function" ? withoutNetwork(report).header : undefined;
  return header === undefined || header.glibcVersionRuntime !== undefined ? "-gnu" : "-musl";
}

// Looking up names of hosts would take seconds.
function withoutNetwork(report) {
  const before = report.excludeNetwork;
  report.excludeNetwork = true;
  try {
    return report.getReport();
  } finally {
    report.excludeNetwork = before;
  }
}

function load() {
  if (env.LARDER_IDB_NATIVE) return require(env.LARDER_IDB_NATIVE);
  const name = `${platform}-${arch}${library()}`;
  const tried = [];
  for (const file of [`@larder-idb/${name}`, `../../native/larder-idb.${name}.node`]) {
    try {
      return require(file);
    } catch (error) {
      tried.push(`${file}: ${error.message}`);
    }
  }
  throw new Error(`larder-idb has no native module for ${name} that can be loaded:\n  ${tried.join("\n  ")}`);
}

export const { start } = load();

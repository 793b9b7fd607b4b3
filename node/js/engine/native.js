// The native half: a file for each platform.
import { createRequire } from "node:module";
import { arch, env, platform } from "node:process";

const require = createRequire(import.meta.url);

function load() {
  if (env.LARDER_IDB_NATIVE) return require(env.LARDER_IDB_NATIVE);
  const names = platform === "linux" ? [`linux-${arch}-gnu`, `linux-${arch}-musl`] : [`${platform}-${arch}`];
  const tried = [];
  // What was built for another C library than this system's does not load.
  for (const name of names) {
    for (const file of [`@larder-idb/${name}`, `../../native/larder-idb.${name}.node`]) {
      try {
        return require(file);
      } catch (error) {
        tried.push(`${file}: ${error.message}`);
      }
    }
  }
  throw new Error(`larder-idb has no native module for ${names.join(" or ")} that can be loaded:\n  ${tried.join("\n  ")}`);
}

export const { start } = load();

// One module of a suite's tests with what they import, by esbuild: tests are in TypeScript, or import without extensions.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const BUILT = {
  "larder-idb": "js/index.js",
  "larder-idb/auto": "js/auto.js",
  "fake-indexeddb": "build/esm/index.js",
  "fake-indexeddb/auto": "auto/index.mjs",
};

// TypeScript's work on the files of a project's tests, with the project's settings for them.
async function transpiler(packages, settings) {
  const ts = createRequire(join(packages, "package.json"))("typescript");
  const { config } = ts.readConfigFile(settings, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, dirname(settings));
  return {
    name: "transpiled",
    setup(build) {
      build.onLoad({ filter: /\.[jt]s$/ }, ({ path }) => {
        if (!path.startsWith(dirname(settings))) return undefined;
        const { outputText } = ts.transpileModule(readFileSync(path, "utf8"), { compilerOptions: options, fileName: path });
        // A page's global function, which esbuild takes for CommonJS's object.
        const usesGlobal = /^module\(/m.test(outputText) && !/import .*\bmodule\b/.test(outputText);
        return { contents: usesGlobal ? `const { module } = globalThis.QUnit;\n${outputText}` : outputText };
      });
    },
  };
}

/**
 * Bundles `entry` into `outfile`. `packages` is the folder that has packages; `replaced` has, by how modules are imported, `{ text }` of
 * others, or names of what the implementation's `folder` has.
 */
export async function bundle({ entry, outfile, packages, folder, replaced, transpiled }) {
  const { build } = await import(pathToFileURL(join(packages, "node_modules/esbuild/lib/main.js")).href);
  const virtual = {
    name: "replaced",
    setup(build) {
      build.onResolve({ filter: /.*/ }, ({ path }) => {
        if (replaced[path]?.text !== undefined) return { path, namespace: "replaced" };
        const built = BUILT[replaced[path] ?? path];
        return built === undefined ? undefined : { path: pathToFileURL(join(folder, built)).href, external: true };
      });
      build.onLoad({ filter: /.*/, namespace: "replaced" }, ({ path }) => ({ contents: replaced[path].text, resolveDir: packages }));
    },
  };
  const plugins = transpiled === undefined ? [virtual] : [virtual, await transpiler(packages, transpiled)];
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
    nodePaths: [join(packages, "node_modules")],
    plugins,
    tsconfigRaw: "{}",
    logLevel: "error",
    banner: { js: `import { createRequire as larderRequire } from "node:module"; const require = larderRequire(import.meta.url);` },
  });
}

/** Makes one CommonJS module of those of a package, which requires others. */
export async function bundleParts({ entry, outfile, packages, alias }) {
  const { build } = await import(pathToFileURL(join(packages, "node_modules/esbuild/lib/main.js")).href);
  const footer = { js: "module.exports = module.exports.default;" };
  await build({ entryPoints: [entry], outfile, bundle: true, format: "cjs", platform: "node", packages: "external", alias, footer, logLevel: "error" });
}

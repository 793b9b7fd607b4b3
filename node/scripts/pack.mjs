// Makes what npm gets, in `dist/` or the folder after `--out`: `larder-idb`, and a package for each platform whose native file lies in `native/`; and of
// each the tarball. Nothing is published.
//
// All of the package's JavaScript is bundled into files of CommonJS, which `require`, jest and `import` share: the ES modules only hand on what these
// export. So a process that has both kinds of modules has one instance of everything, and one class of each name.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

import { build } from "esbuild";

import { nativeFile, PLATFORMS } from "./platforms.mjs";
import { notices } from "./notices.mjs";

const NODE = path.resolve(import.meta.dirname, "..");
const { values } = parseArgs({ options: { out: { type: "string", default: path.join(NODE, "dist") } } });
const OUT = path.resolve(values.out);
const LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"];
// Entries of the package, and the module of each.
const ENTRIES = { index: "js/index.js", auto: "js/auto.js", codec: "js/codec/index.js" };

// A bundle renames functions whose names are in several modules.
const NAMES = `for (const [name, value] of Object.entries(module.exports)) if (typeof value === "function") Object.defineProperty(value, "name", { value: name });`;

const source = JSON.parse(fs.readFileSync(path.join(NODE, "package.json"), "utf8"));
const { version, license, engines, keywords } = source;
const publishConfig = { access: "public", provenance: true };

function write(file, content) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`);
}

function copy(folder, names) {
  fs.mkdirSync(folder, { recursive: true });
  for (const name of names) fs.copyFileSync(path.join(NODE, name), path.join(folder, path.basename(name)));
}

// Bundles an entry. What is an entry itself is not bundled into another.
async function bundle(name, format) {
  const entry = path.join(NODE, ENTRIES[name]);
  const others = new Map(Object.entries(ENTRIES).map(([other, file]) => [path.join(NODE, file), other]));
  const plugin = {
    name: "entries",
    setup({ onResolve }) {
      onResolve({ filter: /^\.\.?\// }, ({ importer, kind, path: wanted }) => {
        const other = others.get(path.resolve(path.dirname(importer), wanted));
        if (kind === "entry-point" || other === undefined) return undefined;
        return { path: `./${other}.cjs`, external: true, sideEffects: true };
      });
    },
  };
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    format,
    platform: "node",
    target: "node20",
    charset: "utf8",
    write: false,
    metafile: true,
    outfile: `${name}.cjs`,
    legalComments: "none",
    plugins: [plugin],
    ...(format === "cjs" ? { banner: { js: '"use strict";' }, footer: { js: NAMES }, define: { "import.meta.url": "__filename" } } : {}),
  });
  return { text: outputFiles[0].text, exported: Object.values(metafile.outputs)[0].exports };
}

// An ES module with what the bundle of its name exports.
function facade(name, exported) {
  const lines = [`import bundled from "../cjs/${name}.cjs";`, ""];
  const named = exported.filter((one) => one !== "default").sort();
  if (named.length > 0) lines.push(`export const {`, ...named.map((one) => `  ${one},`), `} = bundled;`);
  if (exported.includes("default")) lines.push(`export default bundled.default;`);
  return lines.length > 2 ? `${lines.join("\n")}\n` : `import "../cjs/${name}.cjs";\n`;
}

// Types of ES modules and of CommonJS differ in the names of files alone.
function types(folder) {
  for (const file of fs.readdirSync(path.join(NODE, "types"))) {
    const text = fs.readFileSync(path.join(NODE, "types", file), "utf8");
    write(path.join(folder, "types", file), text);
    write(path.join(folder, "types", file.replace(/\.d\.ts$/, ".d.cts")), text.replace(/(from|import) "(\.\/\w+)\.js"/g, '$1 "$2.cjs"'));
  }
}

async function main() {
  const folder = path.join(OUT, "larder-idb");
  const exports = {};
  for (const name of Object.keys(ENTRIES)) {
    const { text } = await bundle(name, "cjs");
    const { exported } = await bundle(name, "esm");
    write(path.join(folder, "lib", "cjs", `${name}.cjs`), text);
    write(path.join(folder, "lib", "esm", `${name}.js`), facade(name, exported));
    exports[name === "index" ? "." : `./${name}`] = {
      import: { types: `./types/${name}.d.ts`, default: `./lib/esm/${name}.js` },
      require: { types: `./types/${name}.d.cts`, default: `./lib/cjs/${name}.cjs` },
    };
  }
  types(folder);
  copy(folder, ["README.md", ...LICENSES]);
  write(path.join(folder, "package.json"), {
    name: source.name,
    version,
    description: source.description,
    keywords,
    license,
    type: "module",
    engines,
    main: "./lib/cjs/index.cjs",
    types: "./types/index.d.cts",
    // For TypeScript's older way of finding modules.
    typesVersions: { "*": { auto: ["./types/auto.d.cts"], codec: ["./types/codec.d.cts"] } },
    exports: { ...exports, "./package.json": "./package.json" },
    sideEffects: ["./lib/esm/auto.js", "./lib/cjs/auto.cjs"],
    optionalDependencies: Object.fromEntries(PLATFORMS.map(({ name }) => [`@larder-idb/${name}`, version])),
    publishConfig,
  });
  return [folder, ...PLATFORMS.flatMap(platform)];
}

function platform({ name, os, cpu, libc, target }) {
  const file = nativeFile(name);
  const native = path.join(NODE, "native", file);
  if (!fs.existsSync(native)) {
    process.stdout.write(`no ${path.relative(NODE, native)}: the package @larder-idb/${name} is not made\n`);
    return [];
  }
  const folder = path.join(OUT, name);
  copy(folder, [path.join("native", file), ...LICENSES]);
  write(path.join(folder, "README.md"), `# @larder-idb/${name}\n\nThe native file of the package \`larder-idb\` for ${name}.\n`);
  write(path.join(folder, "THIRD-PARTY-LICENSES.txt"), notices(target));
  write(path.join(folder, "package.json"), {
    name: `@larder-idb/${name}`,
    version,
    description: `The native file of larder-idb for ${name}`,
    license,
    main: file,
    os: [os],
    cpu: [cpu],
    ...(libc === undefined ? {} : { libc: [libc] }),
    engines,
    publishConfig,
  });
  return [folder];
}

fs.rmSync(OUT, { recursive: true, force: true });
for (const folder of await main()) {
  const tarball = execFileSync("npm", ["pack", "--silent", "--pack-destination", OUT], { cwd: folder, encoding: "utf8" }).trim();
  process.stdout.write(`${tarball}: ${fs.statSync(path.join(OUT, tarball)).size} bytes\n`);
}

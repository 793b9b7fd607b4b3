// CommonJS modules, as Node.js's "Modules: CommonJS modules" has them and bundlers for browsers run them.
import { native } from "./native.js";

const { resolve, compile } = native.commonJs;
const { apply } = Reflect;

// By file: those that have run, and those that run right now, with what they have exported so far.
const modules = new Map();

const folderOf = (path) => path.slice(0, path.lastIndexOf("/")) || "/";

function requireOf(path) {
  const require = (specifier) => {
    if (typeof specifier !== "string" || specifier === "") throw new TypeError("require: the name of a module is a string, not empty");
    return load(resolve(path, specifier)).exports;
  };
  require.resolve = (specifier) => resolve(path, String(specifier));
  return require;
}

// What `require` gives of an ES module: `default` among the names, and a word that it is one.
function ofNamespace(namespace) {
  const exports = Object.defineProperty({}, "__esModule", { value: true });
  for (const name of Object.keys(namespace)) {
    Object.defineProperty(exports, name, { get: () => namespace[name], enumerable: true, configurable: true });
  }
  return exports;
}

function load(path) {
  const known = modules.get(path);
  if (known !== undefined) return known;
  const module = { id: path, filename: path, path: folderOf(path), exports: {}, loaded: false, children: [] };
  modules.set(path, module);
  try {
    if (path !== "") run(module);
  } catch (error) {
    modules.delete(path);
    throw error;
  }
  module.loaded = true;
  return module;
}

function run(module) {
  const { id } = module;
  const [kind, content] = compile(id);
  if (kind === "json") {
    module.exports = content;
  } else if (kind === "module") {
    module.exports = ofNamespace(content);
  } else {
    module.require = requireOf(id);
    apply(content, module.exports, [module.exports, module.require, module, id, module.path, globalThis]);
  }
}

// What an importer gets: all names, and the default export. That is `default` of what was an ES module before it was translated.
export function importCommonJs(path) {
  const { exports } = load(path);
  const isTranslated = exports !== null && exports !== undefined && exports.__esModule === true && "default" in Object(exports);
  return [exports ?? {}, isTranslated ? exports.default : exports];
}

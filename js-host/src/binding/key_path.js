// Which strings are key paths (specification, 2.3.1 "valid key path").
const IDENTIFIER = /^[$_\p{ID_Start}][$\u200c\u200d\p{ID_Continue}]*$/u;

function isPath(path) {
  return path === "" || path.split(".").every((part) => IDENTIFIER.test(part));
}

export function isValidKeyPath(keyPath) {
  return typeof keyPath === "string" ? isPath(keyPath) : keyPath.length > 0 && keyPath.every(isPath);
}

// The attribute's value: of a list an array, made once for each handle.
export function keyPathValue(keyPath) {
  return Array.isArray(keyPath) ? keyPath.slice() : keyPath;
}

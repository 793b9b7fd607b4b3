// Which strings are key paths (specification, 2.3.1 "valid key path").
export function keyPath(binding) {
  const { codeUnitAt, copyOf, isArray, matches, partOf } = binding.builtIns;

  const IDENTIFIER = /^[$_\p{ID_Start}][$\u200c\u200d\p{ID_Continue}]*$/u;
  const DOT = 0x2e;

  function isPath(path) {
    if (path === "") return true;
    let start = 0;
    for (let at = 0; at <= path.length; at++) {
      if (at < path.length && codeUnitAt(path, at) !== DOT) continue;
      if (!matches(IDENTIFIER, partOf(path, start, at))) return false;
      start = at + 1;
    }
    return true;
  }

  function isValidKeyPath(keyPath) {
    if (typeof keyPath === "string") return isPath(keyPath);
    for (let i = 0; i < keyPath.length; i++) if (!isPath(keyPath[i])) return false;
    return keyPath.length > 0;
  }

  // The attribute's value: of a list an array, made once for each handle.
  function keyPathValue(keyPath) {
    return isArray(keyPath) ? copyOf(keyPath) : keyPath;
  }

  return { isValidKeyPath, keyPathValue };
}

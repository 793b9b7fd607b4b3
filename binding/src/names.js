// Lists of names in the order of their code units, each once.
export function names(binding) {
  const { append } = binding.builtIns;

  // A list of those before a place, `names` from there to another place, and so on.
  function copy(into, names, start, end) {
    for (let i = start; i < end; i++) append(into, names[i]);
    return into;
  }

  // Where a name is, or would be.
  function placeOf(names, name) {
    let low = 0;
    let high = names.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (names[middle] < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function withName(names, name) {
    const at = placeOf(names, name);
    const all = copy([], names, 0, at);
    append(all, name);
    return copy(all, names, names[at] === name ? at + 1 : at, names.length);
  }

  function withoutName(names, name) {
    const at = placeOf(names, name);
    if (names[at] !== name) return names;
    return copy(copy([], names, 0, at), names, at + 1, names.length);
  }

  // By merging: of many names, too, in little time.
  function sortedNames(names) {
    return sorted(names, 0, names.length);
  }

  function sorted(names, start, end) {
    if (end - start < 2) return copy([], names, start, end);
    const middle = (start + end) >> 1;
    const a = sorted(names, start, middle);
    const b = sorted(names, middle, end);
    const all = [];
    let at = 0;
    for (let i = 0; i < a.length; i++) {
      while (at < b.length && b[at] < a[i]) append(all, b[at++]);
      if (b[at] === a[i]) at += 1;
      append(all, a[i]);
    }
    return copy(all, b, at, b.length);
  }

  return { withName, withoutName, sortedNames };
}

// Lists of names in the order of their code units.
export function sortedNames(names) {
  return [...names].sort(byUnit);
}

export function withName(names, name) {
  return sortedNames([...names, name]);
}

export function withoutName(names, name) {
  return names.filter((other) => other !== name);
}

function byUnit(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

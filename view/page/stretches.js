// Very many parts of a value, put into stretches that are opened one by one.
import { numberText } from "./text.js";

// So many parts stand under one another.
const STRETCH = 100;

/** What stands under a node: its parts, or stretches of them, each with the path that it has in the value. */
export function stretches(item) {
  const { parts } = item;
  if (parts.length <= STRETCH * 2) return parts.map((part, at) => ({ part, path: [...item.path, part.at ?? at] }));
  let size = STRETCH;
  while (parts.length / size > STRETCH) size *= STRETCH;
  const groups = [];
  for (let from = 0; from < parts.length; from += size) {
    const inside = parts.slice(from, from + size).map((part, at) => ({ ...part, at: part.at ?? from + at }));
    groups.push({
      part: {
        name: null,
        role: "stretch",
        node: {
          t: "(stretch)",
          parts: inside,
          label: `${numberText(inside[0].at)} … ${numberText(inside.at(-1).at)}`,
        },
      },
      path: item.path,
    });
  }
  return groups;
}

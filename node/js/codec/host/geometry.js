// Points, rectangles and matrices: rows of doubles.

export function readNumbers(reader, names) {
  const read = {};
  for (const name of names) read[name] = reader.f64("geometry object");
  return read;
}

export function writeNumbers(writer, described, names) {
  for (const name of names) writer.f64(described[name]);
}

// The places of a to f among the sixteen numbers: all that a two-dimensional matrix consists of.
const A_TO_F = [0, 1, 4, 5, 12, 13];

export function readMatrix(reader, name, is2D) {
  const members = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
  if (is2D) for (const at of A_TO_F) members[at] = reader.f64("DOMMatrix");
  else for (let at = 0; at < 16; at++) members[at] = reader.f64("DOMMatrix");
  return { class: name, is2D, members };
}

export function writeMatrix(writer, { is2D, members }) {
  if (is2D) A_TO_F.forEach((at) => writer.f64(members[at]));
  else for (let at = 0; at < 16; at++) writer.f64(members[at]);
}

// What a call of `console` prints (Console, 2.2.1 "Formatter").
import { asText, inspect } from "./inspect.js";

const conversions = {
  s(value) {
    if (typeof value === "symbol") return String(value);
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
    return asText(value);
  },
  d: (value) => number(value, (text) => Number.parseInt(text, 10)),
  i: (value) => number(value, (text) => Number.parseInt(text, 10)),
  f: (value) => number(value, Number.parseFloat),
  o: inspect,
  O: inspect,
  // Style: a terminal has none.
  c: () => "",
};

function number(value, parse) {
  if (typeof value === "symbol") return "NaN";
  if (typeof value === "bigint") return `${value}n`;
  return String(parse(value));
}

function converted(letter, value) {
  try {
    return conversions[letter](value);
  } catch {
    return inspect(value);
  }
}

// The values as one text, with those put in that the first asks for.
export function format(values) {
  if (values.length < 2 || typeof values[0] !== "string") return values.map(asText).join(" ");
  let used = 1;
  const first = values[0].replace(/%([sdifoOc%])/g, (specifier, letter) => {
    if (letter === "%") return "%";
    if (used === values.length) return specifier;
    used += 1;
    return converted(letter, values[used - 1]);
  });
  return [first, ...values.slice(used).map(asText)].join(" ");
}

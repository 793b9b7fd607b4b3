// Number.prototype.toLocaleString (ECMA-402, 21.2.1) in the one language that the host has, `en`, since the engine has no languages
// at all: groups of three digits, and how many digits there are at least and at most.
const { apply } = Reflect;
const { toFixed, valueOf } = Number.prototype;

const DIGITS_MAX = 100;

function digits(options, name, low, otherwise) {
  const value = options[name];
  if (value === undefined) return otherwise;
  const number = Number(value);
  if (!(number >= low && number <= DIGITS_MAX)) throw new RangeError(`${name} is out of range`);
  return Math.floor(number);
}

function toLocaleString(locales = undefined, options = undefined) {
  const number = apply(valueOf, this, []);
  const given = options === undefined ? {} : Object(options);
  const wholeMin = digits(given, "minimumIntegerDigits", 1, 1);
  const partMin = digits(given, "minimumFractionDigits", 0, 0);
  const partMax = digits(given, "maximumFractionDigits", 0, Math.max(partMin, 3));
  if (partMin > partMax) throw new RangeError("maximumFractionDigits is out of range");
  if (Number.isNaN(number)) return "NaN";
  const sign = number < 0 || Object.is(number, -0) ? "-" : "";
  if (!Number.isFinite(number)) return `${sign}∞`;
  const size = Math.abs(number);
  // Beyond this toFixed gives powers of ten; such numbers are whole.
  const text = size >= 1e21 ? BigInt(size).toString() : apply(toFixed, size, [partMax]);
  let [whole, part = ""] = text.split(".");
  while (part.length > partMin && part.endsWith("0")) part = part.slice(0, -1);
  whole = whole.padStart(wholeMin, "0");
  const isGrouped = given.useGrouping !== false && given.useGrouping !== "false";
  if (isGrouped) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${sign}${whole}${part === "" ? "" : `.${part.padEnd(partMin, "0")}`}`;
}
Object.defineProperty(toLocaleString, "length", { value: 0, configurable: true });
Object.defineProperty(Number.prototype, "toLocaleString", { value: toLocaleString, writable: true, configurable: true });

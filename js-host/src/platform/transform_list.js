// A <transform-list> of CSS (CSS Transforms 1 and 2) to a matrix: absolute lengths only, and no calc().
import { fromFlat, IDENTITY, multiply, perspective, rotation, rotationAround, scaling, skewing, translation } from "./matrix_arithmetic.js";

const NUMBER = /^([+-]?(?:\d+|\d*\.\d+)(?:e[+-]?\d+)?)([a-z%]*)$/;
const PIXELS = { px: 1, cm: 96 / 2.54, mm: 96 / 25.4, q: 96 / 101.6, in: 96, pt: 96 / 72, pc: 16 };
const DEGREES = { deg: 1, grad: 0.9, rad: 180 / Math.PI, turn: 360 };

class NoTransformList {}
const fail = () => {
  throw new NoTransformList();
};

// What an argument may be: each takes its number and its unit.
const number = (value, unit) => (unit === "" ? value : fail());
const factor = (value, unit) => (unit === "%" ? value / 100 : number(value, unit));
const withUnit = (units) => (value, unit) => {
  if (unit === "" && value === 0) return 0;
  return Object.hasOwn(units, unit) ? value * units[unit] : fail();
};
const length = withUnit(PIXELS);
const angle = withUnit(DEGREES);
const ORIGIN = [0, 0, 0];

// By function: what its arguments are, how many there must be, and what it makes of them.
const FUNCTIONS = {
  matrix: [Array(6).fill(number), 6, (...all) => fromFlat(all)],
  matrix3d: [Array(16).fill(number), 16, (...all) => fromFlat(all)],
  translate: [[length, length], 1, (x, y = 0) => translation(x, y, 0)],
  translatex: [[length], 1, (x) => translation(x, 0, 0)],
  translatey: [[length], 1, (y) => translation(0, y, 0)],
  translatez: [[length], 1, (z) => inSpace(translation(0, 0, z))],
  translate3d: [[length, length, length], 3, (x, y, z) => inSpace(translation(x, y, z))],
  scale: [[factor, factor], 1, (x, y = x) => scaling([x, y, 1], ORIGIN)],
  scalex: [[factor], 1, (x) => scaling([x, 1, 1], ORIGIN)],
  scaley: [[factor], 1, (y) => scaling([1, y, 1], ORIGIN)],
  scalez: [[factor], 1, (z) => inSpace(scaling([1, 1, z], ORIGIN))],
  scale3d: [[factor, factor, factor], 3, (x, y, z) => inSpace(scaling([x, y, z], ORIGIN))],
  rotate: [[angle], 1, (z) => rotation([0, 0, z])],
  rotatex: [[angle], 1, (x) => inSpace(rotation([x, 0, 0]))],
  rotatey: [[angle], 1, (y) => inSpace(rotation([0, y, 0]))],
  rotatez: [[angle], 1, (z) => inSpace(rotation([0, 0, z]))],
  rotate3d: [[number, number, number, angle], 4, (x, y, z, by) => inSpace(rotationAround(x, y, z, by))],
  skew: [[angle, angle], 1, (x, y = 0) => skewing(x, y)],
  skewx: [[angle], 1, (x) => skewing(x, 0)],
  skewy: [[angle], 1, (y) => skewing(0, y)],
  perspective: [[(value, unit) => (value < 0 ? fail() : length(value, unit))], 1, perspective],
};
const inSpace = ({ numbers }) => ({ numbers, is2D: false });

function argument(text, kind) {
  const found = NUMBER.exec(text);
  return found === null ? fail() : kind(Number(found[1]), found[2]);
}

function call(name, inside) {
  if (!Object.hasOwn(FUNCTIONS, name)) fail();
  const [kinds, least, how] = FUNCTIONS[name];
  const args = inside.split(",").map((text) => text.trim());
  if (name === "perspective" && args.length === 1 && args[0] === "none") return inSpace(IDENTITY);
  if (args.length < least || args.length > kinds.length) fail();
  return how(...args.map((text, at) => argument(text, kinds[at])));
}

function parse(text) {
  let rest = text.replace(/\/\*.*?\*\//gs, " ").trim().toLowerCase();
  if (rest === "" || rest === "none") return IDENTITY;
  let matrix = IDENTITY;
  while (rest !== "") {
    // The end of the text closes what is open.
    const found = /^([a-z0-9]+)\(([^()]*)(?:\)\s*|$)/.exec(rest);
    if (found === null) fail();
    matrix = multiply(matrix, call(found[1], found[2]));
    rest = rest.slice(found[0].length);
  }
  return matrix;
}

// Throws a SyntaxError, as a DOMException, for what is none.
export function parseTransformList(text) {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof NoTransformList)) throw error;
    throw new DOMException(`'${text}' is no list of transforms with absolute lengths.`, "SyntaxError");
  }
}

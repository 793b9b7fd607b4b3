// DOMPoint, DOMRect and DOMQuad (Geometry Interfaces, 2 to 4). Matrices are in geometry_matrix.js.
import { defineProperty, exposeInterface, INTERNAL, stamp, stateOf, webidl } from "./binding.js";
import { make } from "../clone/helpers.js";

const { toDictionary } = webidl;

// Numbers with an order: members of points and rectangles. A class of its own for those that scripts can change.
class NumbersState {
  constructor(...numbers) {
    this.numbers = numbers;
  }

  cloneFields() {
    return this.numbers;
  }
}
class PointState extends NumbersState {
  get cloneKind() {
    return "DOMPointReadOnly";
  }
}
class ChangingPointState extends PointState {
  get cloneKind() {
    return "DOMPoint";
  }
}
class RectState extends NumbersState {
  get cloneKind() {
    return "DOMRectReadOnly";
  }
}
class ChangingRectState extends RectState {
  get cloneKind() {
    return "DOMRect";
  }
}

const POINT = { x: 0, y: 0, z: 0, w: 1 };
const RECT = { x: 0, y: 0, width: 0, height: 0 };

// An unrestricted double, or what stands for it.
export const toNumber = (value, otherwise) => (value === undefined ? otherwise : +value);

// Members of a dictionary are read in the order of their names.
function numbersOf(init, members, what) {
  const dictionary = toDictionary(init, what);
  const names = Object.keys(members);
  const numbers = {};
  for (const name of [...names].sort()) numbers[name] = toNumber(dictionary[name], members[name]);
  return names.map((name) => numbers[name]);
}

export const pointNumbers = (init) => numbersOf(init, POINT, "DOMPointInit");

// Attributes for the numbers of a state, in their order; with setters if they can be changed.
export function defineNumbers(Interface, State, names, isChanging) {
  names.forEach((name, at) => {
    const accessors = {
      get [name]() {
        return stateOf(this, State).numbers[at];
      },
      set [name](value) {
        stateOf(this, State).numbers[at] = +value;
      },
    };
    const { get, set } = Object.getOwnPropertyDescriptor(accessors, name);
    const descriptor = { get, set: isChanging ? set : undefined, enumerable: true, configurable: true };
    defineProperty(Interface.prototype, name, descriptor);
  });
}

// A class's method that may be called without arguments, whatever it takes.
function withoutLength(Interface, ...names) {
  defineProperty(Interface, "length", { value: 0, configurable: true });
  for (const name of names) defineProperty(Interface[name] ?? Interface.prototype[name], "length", { value: 0, configurable: true });
}

// What DOMPointReadOnly.matrixTransform calls. geometry_matrix.js sets it, since that imports this file and not the other way round.
export const matrices = { transform: undefined };

export class DOMPointReadOnly {
  constructor(x = 0, y = 0, z = 0, w = 1) {
    stamp(this, x === INTERNAL ? y : new PointState(+x, +y, +z, +w));
  }
  static fromPoint(other = {}) {
    return new DOMPointReadOnly(...pointNumbers(other));
  }
  matrixTransform(matrix = {}) {
    const { numbers } = stateOf(this, PointState);
    return new DOMPoint(...matrices.transform(matrix, numbers));
  }
  toJSON() {
    const [x, y, z, w] = stateOf(this, PointState).numbers;
    return { x, y, z, w };
  }
}
exposeInterface(DOMPointReadOnly, "DOMPointReadOnly");
defineNumbers(DOMPointReadOnly, PointState, Object.keys(POINT), false);
withoutLength(DOMPointReadOnly, "fromPoint", "matrixTransform");

export class DOMPoint extends DOMPointReadOnly {
  constructor(x = 0, y = 0, z = 0, w = 1) {
    super(INTERNAL, new ChangingPointState(+x, +y, +z, +w));
  }
  static fromPoint(other = {}) {
    return new DOMPoint(...pointNumbers(other));
  }
}
exposeInterface(DOMPoint, "DOMPoint");
defineNumbers(DOMPoint, ChangingPointState, Object.keys(POINT), true);
withoutLength(DOMPoint, "fromPoint");

// Math.min and Math.max give NaN where one of the numbers is NaN, as the specification has it.
const { min, max } = Math;
const edges = ([x, y, width, height]) => [min(y, y + height), max(x, x + width), max(y, y + height), min(x, x + width)];

export class DOMRectReadOnly {
  constructor(x = 0, y = 0, width = 0, height = 0) {
    stamp(this, x === INTERNAL ? y : new RectState(+x, +y, +width, +height));
  }
  static fromRect(other = {}) {
    return new DOMRectReadOnly(...numbersOf(other, RECT, "DOMRectInit"));
  }
  get top() {
    return edges(stateOf(this, RectState).numbers)[0];
  }
  get right() {
    return edges(stateOf(this, RectState).numbers)[1];
  }
  get bottom() {
    return edges(stateOf(this, RectState).numbers)[2];
  }
  get left() {
    return edges(stateOf(this, RectState).numbers)[3];
  }
  toJSON() {
    const { numbers } = stateOf(this, RectState);
    const [x, y, width, height] = numbers;
    const [top, right, bottom, left] = edges(numbers);
    return { x, y, width, height, top, right, bottom, left };
  }
}
exposeInterface(DOMRectReadOnly, "DOMRectReadOnly");
defineNumbers(DOMRectReadOnly, RectState, Object.keys(RECT), false);
withoutLength(DOMRectReadOnly, "fromRect");

export class DOMRect extends DOMRectReadOnly {
  constructor(x = 0, y = 0, width = 0, height = 0) {
    super(INTERNAL, new ChangingRectState(+x, +y, +width, +height));
  }
  static fromRect(other = {}) {
    return new DOMRect(...numbersOf(other, RECT, "DOMRectInit"));
  }
}
exposeInterface(DOMRect, "DOMRect");
defineNumbers(DOMRect, ChangingRectState, Object.keys(RECT), true);
withoutLength(DOMRect, "fromRect");

class QuadState {
  constructor(points) {
    this.points = points.map((numbers) => new DOMPoint(...numbers));
  }

  get cloneKind() {
    return "DOMQuad";
  }

  numbers() {
    return this.points.map((point) => stateOf(point, PointState).numbers);
  }

  cloneFields() {
    return this.numbers().flat();
  }
}

const cornersOf = ([x, y, width, height]) => [
  [x, y, 0, 1],
  [x + width, y, 0, 1],
  [x + width, y + height, 0, 1],
  [x, y + height, 0, 1],
];

export class DOMQuad {
  constructor(p1 = {}, p2 = {}, p3 = {}, p4 = {}) {
    stamp(this, new QuadState(p1 === INTERNAL ? p2 : [p1, p2, p3, p4].map(pointNumbers)));
  }
  static fromRect(other = {}) {
    return new DOMQuad(INTERNAL, cornersOf(numbersOf(other, RECT, "DOMRectInit")));
  }
  static fromQuad(other = {}) {
    const dictionary = toDictionary(other, "DOMQuadInit");
    return new DOMQuad(INTERNAL, ["p1", "p2", "p3", "p4"].map((name) => pointNumbers(dictionary[name])));
  }
  get p1() {
    return stateOf(this, QuadState).points[0];
  }
  get p2() {
    return stateOf(this, QuadState).points[1];
  }
  get p3() {
    return stateOf(this, QuadState).points[2];
  }
  get p4() {
    return stateOf(this, QuadState).points[3];
  }
  getBounds() {
    const points = stateOf(this, QuadState).numbers();
    const [x, y] = [0, 1].map((at) => points.map((point) => point[at]));
    const [left, top] = [min(...x), min(...y)];
    return new DOMRect(left, top, max(...x) - left, max(...y) - top);
  }
  toJSON() {
    const [p1, p2, p3, p4] = stateOf(this, QuadState).points;
    return { p1, p2, p3, p4 };
  }
}
exposeInterface(DOMQuad, "DOMQuad");
withoutLength(DOMQuad, "fromRect", "fromQuad");

// What structured clone needs: an object of a class of its numbers, which come as the bytes of doubles.
const Doubles = Float64Array;
const made = {
  __proto__: null,
  DOMPointReadOnly: (n) => new DOMPointReadOnly(n[0], n[1], n[2], n[3]),
  DOMPoint: (n) => new DOMPoint(n[0], n[1], n[2], n[3]),
  DOMRectReadOnly: (n) => new DOMRectReadOnly(n[0], n[1], n[2], n[3]),
  DOMRect: (n) => new DOMRect(n[0], n[1], n[2], n[3]),
  DOMQuad: (n) => new DOMQuad(INTERNAL, [0, 4, 8, 12].map((at) => [n[at], n[at + 1], n[at + 2], n[at + 3]])),
};
make.geometry = (name, bytes) => made[name](new Doubles(bytes));

// Another class that is made so.
export function madeOfNumbers(name, how) {
  made[name] = how;
}

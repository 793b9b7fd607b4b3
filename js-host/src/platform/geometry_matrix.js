// DOMMatrix and DOMMatrixReadOnly (Geometry Interfaces, 5). What is multiplied with what is in matrix_arithmetic.js, transform lists are in
// transform_list.js.
import { defineProperty, exposeInterface, INTERNAL, stamp, stateOf, webidl } from "./binding.js";
import { DOMPoint, madeOfNumbers, matrices, pointNumbers, toNumber } from "./geometry.js";
import * as arithmetic from "./matrix_arithmetic.js";
import { isWorker } from "./native.js";
import { parseTransformList } from "./transform_list.js";

const { toDictionary, toDOMString } = webidl;
const { fromFlat, IDENTITY, multiply, transform } = arithmetic;

// Sixteen numbers, m11, m12 to m44.
class MatrixState {
  constructor({ numbers, is2D }) {
    this.numbers = [...numbers];
    this.is2D = is2D;
  }

  get cloneKind() {
    return "DOMMatrixReadOnly";
  }

  cloneFields() {
    return [this.is2D, ...this.numbers];
  }

  // Puts another in its place. What has been in space does not come back to the plane.
  assign({ numbers, is2D }) {
    this.numbers = [...numbers];
    this.is2D = is2D;
  }
}
class ChangingMatrixState extends MatrixState {
  get cloneKind() {
    return "DOMMatrix";
  }
}

const MEMBERS = [1, 2, 3, 4].flatMap((i) => [1, 2, 3, 4].map((j) => `m${i}${j}`));
// The short names, and the places of the members that they stand for.
const SHORT = { a: 0, b: 1, c: 4, d: 5, e: 12, f: 13 };
const PLANE = Object.values(SHORT);
// Whether a matrix with this number there may be in the plane.
const isPlane = (at, number) => PLANE.includes(at) || number === IDENTITY.numbers[at];

const sameValueZero = (a, b) => a === b || (a !== a && b !== b);

// DOMMatrixInit to a matrix ("validate and fixup").
function fromInit(init) {
  const dictionary = toDictionary(init, "DOMMatrixInit");
  const given = {};
  const read = (name) => {
    const value = dictionary[name];
    if (value !== undefined) given[name] = +value;
  };
  const ofPlane = PLANE.map((at) => MEMBERS[at]);
  [...Object.keys(SHORT), ...ofPlane].sort().forEach(read);
  const is2D = dictionary.is2D === undefined ? undefined : !!dictionary.is2D;
  MEMBERS.filter((name) => !ofPlane.includes(name)).forEach(read);
  for (const name in SHORT) {
    const long = MEMBERS[SHORT[name]];
    if (given[name] === undefined) continue;
    if (given[long] !== undefined && !sameValueZero(given[name], given[long])) {
      throw new TypeError(`DOMMatrixInit: ${name} and ${long} differ`);
    }
    given[long] ??= given[name];
  }
  const numbers = MEMBERS.map((name, at) => toNumber(given[name], IDENTITY.numbers[at]));
  const plane = numbers.every((number, at) => isPlane(at, number));
  if (is2D && !plane) throw new TypeError("DOMMatrixInit: is2D is true, and there are members that are not of the plane");
  return { numbers, is2D: is2D ?? plane };
}

// What the constructors take: nothing, text, or 6 or 16 numbers.
function fromConstructor(init) {
  if (init === undefined) return IDENTITY;
  if (init !== null && typeof init === "object" && init[Symbol.iterator] !== undefined && init[Symbol.iterator] !== null) {
    return fromFlat([...init].map(Number));
  }
  const text = toDOMString(init);
  if (isWorker) throw new TypeError("DOMMatrix: a worker has no transform lists");
  return parseTransformList(text);
}

function fromArray(array, Kind, name) {
  if (!(array instanceof Kind)) throw new TypeError(`DOMMatrix.${name}: no ${Kind.name}`);
  return fromFlat([...array]);
}

// For each transformation, the matrix to multiply with.
const transformations = {
  translate: (x = 0, y = 0, z = 0) => arithmetic.translation(+x, +y, +z),
  scale: (x = 1, y = undefined, z = 1, originX = 0, originY = 0, originZ = 0) => {
    const scaleX = +x;
    const scaleY = toNumber(y, scaleX);
    return arithmetic.scaling([scaleX, scaleY, +z], [+originX, +originY, +originZ]);
  },
  scale3d: (scale = 1, originX = 0, originY = 0, originZ = 0) => {
    const number = +scale;
    return arithmetic.scaling([number, number, number], [+originX, +originY, +originZ]);
  },
  rotate: (x = 0, y = undefined, z = undefined) => {
    if (y === undefined && z === undefined) return arithmetic.rotation([0, 0, +x]);
    return arithmetic.rotation([+x, toNumber(y, 0), toNumber(z, 0)]);
  },
  rotateFromVector: (x = 0, y = 0) => arithmetic.rotationFromVector(+x, +y),
  rotateAxisAngle: (x = 0, y = 0, z = 0, angle = 0) => arithmetic.rotationAround(+x, +y, +z, +angle),
  skewX: (angle = 0) => arithmetic.skewing(+angle, 0),
  skewY: (angle = 0) => arithmetic.skewing(0, +angle),
  multiply: (other = {}) => fromInit(other),
};

export class DOMMatrixReadOnly {
  constructor(init = undefined, state = undefined) {
    stamp(this, init === INTERNAL ? state : new MatrixState(fromConstructor(init)));
  }
  static fromMatrix(other = {}) {
    return new DOMMatrixReadOnly(INTERNAL, new MatrixState(fromInit(other)));
  }
  static fromFloat32Array(array32) {
    return new DOMMatrixReadOnly(INTERNAL, new MatrixState(fromArray(array32, Float32Array, "fromFloat32Array")));
  }
  static fromFloat64Array(array64) {
    return new DOMMatrixReadOnly(INTERNAL, new MatrixState(fromArray(array64, Float64Array, "fromFloat64Array")));
  }
  get is2D() {
    return stateOf(this, MatrixState).is2D;
  }
  get isIdentity() {
    return stateOf(this, MatrixState).numbers.every((number, at) => number === IDENTITY.numbers[at]);
  }
  scaleNonUniform(scaleX = 1, scaleY = 1) {
    return result(stateOf(this, MatrixState), arithmetic.scaling([+scaleX, +scaleY, 1], [0, 0, 0]));
  }
  flipX() {
    return result(stateOf(this, MatrixState), arithmetic.scaling([-1, 1, 1], [0, 0, 0]));
  }
  flipY() {
    return result(stateOf(this, MatrixState), arithmetic.scaling([1, -1, 1], [0, 0, 0]));
  }
  inverse() {
    return changing(arithmetic.inverse(stateOf(this, MatrixState)));
  }
  transformPoint(point = {}) {
    const state = stateOf(this, MatrixState);
    return new DOMPoint(...transform(state, pointNumbers(point)));
  }
  toFloat32Array() {
    return Float32Array.from(stateOf(this, MatrixState).numbers);
  }
  toFloat64Array() {
    return Float64Array.from(stateOf(this, MatrixState).numbers);
  }
  toJSON() {
    const state = stateOf(this, MatrixState);
    const json = {};
    for (const name in SHORT) json[name] = state.numbers[SHORT[name]];
    MEMBERS.forEach((name, at) => (json[name] = state.numbers[at]));
    json.is2D = state.is2D;
    json.isIdentity = this.isIdentity;
    return json;
  }
}

export class DOMMatrix extends DOMMatrixReadOnly {
  constructor(init = undefined, state = undefined) {
    super(INTERNAL, init === INTERNAL ? state : new ChangingMatrixState(fromConstructor(init)));
  }
  static fromMatrix(other = {}) {
    return changing(fromInit(other));
  }
  static fromFloat32Array(array32) {
    return changing(fromArray(array32, Float32Array, "fromFloat32Array"));
  }
  static fromFloat64Array(array64) {
    return changing(fromArray(array64, Float64Array, "fromFloat64Array"));
  }
  preMultiplySelf(other = {}) {
    const state = stateOf(this, ChangingMatrixState);
    state.assign(multiply(fromInit(other), state));
    return this;
  }
  invertSelf() {
    const state = stateOf(this, ChangingMatrixState);
    state.assign(arithmetic.inverse(state));
    return this;
  }
}

const changing = (matrix) => new DOMMatrix(INTERNAL, new ChangingMatrixState(matrix));
const result = (state, by) => changing(multiply(state, by));

// Methods of one name each: a new matrix, and with `Self` the matrix itself.
for (const name in transformations) {
  const by = transformations[name];
  const selfName = `${name}Self`;
  const methods = {
    [name](...args) {
      return result(stateOf(this, MatrixState), by(...args));
    },
    [selfName](...args) {
      const state = stateOf(this, ChangingMatrixState);
      state.assign(multiply(state, by(...args)));
      return this;
    },
  };
  const hidden = (value) => ({ value, writable: true, enumerable: false, configurable: true });
  defineProperty(DOMMatrixReadOnly.prototype, name, hidden(methods[name]));
  defineProperty(DOMMatrix.prototype, selfName, hidden(methods[selfName]));
}

function defineMember(name, at) {
  const accessors = {
    get [name]() {
      return stateOf(this, MatrixState).numbers[at];
    },
    set [name](value) {
      const state = stateOf(this, ChangingMatrixState);
      const number = +value;
      state.numbers[at] = number;
      if (!isPlane(at, number)) state.is2D = false;
    },
  };
  const { get, set } = Object.getOwnPropertyDescriptor(accessors, name);
  defineProperty(DOMMatrixReadOnly.prototype, name, { get, set: undefined, enumerable: true, configurable: true });
  const { get: getOfChanging } = Object.getOwnPropertyDescriptor(
    {
      get [name]() {
        return stateOf(this, ChangingMatrixState).numbers[at];
      },
    },
    name,
  );
  defineProperty(DOMMatrix.prototype, name, { get: getOfChanging, set, enumerable: true, configurable: true });
}
for (const name in SHORT) defineMember(name, SHORT[name]);
MEMBERS.forEach(defineMember);

// Transform lists are CSS's, which workers have not.
if (!isWorker) {
  const methods = {
    toString() {
      const { numbers, is2D } = stateOf(this, MatrixState);
      if (!numbers.every(Number.isFinite)) {
        throw new DOMException("A matrix with numbers that are not finite has no text.", "InvalidStateError");
      }
      return is2D ? `matrix(${PLANE.map((at) => numbers[at]).join(", ")})` : `matrix3d(${numbers.join(", ")})`;
    },
    setMatrixValue(transformList) {
      const state = stateOf(this, ChangingMatrixState);
      if (arguments.length === 0) throw new TypeError("setMatrixValue: 1 argument required, but only 0 present");
      state.assign(parseTransformList(toDOMString(transformList)));
      return this;
    },
  };
  defineProperty(DOMMatrixReadOnly.prototype, "toString", { value: methods.toString, writable: true, configurable: true });
  defineProperty(DOMMatrix.prototype, "setMatrixValue", { value: methods.setMatrixValue, writable: true, configurable: true });
}
exposeInterface(DOMMatrixReadOnly, "DOMMatrixReadOnly");
exposeInterface(DOMMatrix, "DOMMatrix");
for (const Interface of [DOMMatrixReadOnly, DOMMatrix]) defineProperty(Interface, "length", { value: 0, configurable: true });

matrices.transform = (init, point) => transform(fromInit(init), point);

// What structured clone needs: whether it is in the plane, then its sixteen numbers.
const ofClone = (n) => {
  const numbers = [];
  for (let at = 1; at < 17; at++) numbers.push(n[at]);
  return { numbers, is2D: n[0] !== 0 };
};
madeOfNumbers("DOMMatrixReadOnly", (n) => new DOMMatrixReadOnly(INTERNAL, new MatrixState(ofClone(n))));
madeOfNumbers("DOMMatrix", (n) => changing(ofClone(n)));

// Points, rectangles and matrices (Geometry Interfaces). All of it holds in Chromium's page, too, where `String` of a matrix is there.
const near = (actual, expected, what = "") =>
  check(actual.length === expected.length && expected.every((n, i) => Object.is(actual[i], n) || Math.abs(actual[i] - n) < 1e-9), `${what}: ${[...actual]}`);
const plane = ({ a, b, c, d, e, f }) => [a, b, c, d, e, f];

test("points are made of numbers, and those that are not read-only can be changed", () => {
  const point = new DOMPoint(1, "2");
  same(JSON.stringify(point), '{"x":1,"y":2,"z":0,"w":1}');
  point.w = { valueOf: () => 0.5 };
  same(point.w, 0.5);
  const fixed = DOMPointReadOnly.fromPoint(point);
  check(!(fixed instanceof DOMPoint) && point instanceof DOMPointReadOnly);
  fixed.x = 7;
  same(fixed.x, 1);
  same(new DOMPoint(NaN, -0).y, -0);
  throws("TypeError", () => new DOMPoint(Symbol()));
  throws("TypeError", () => DOMPoint());
  const { get } = Object.getOwnPropertyDescriptor(DOMPointReadOnly.prototype, "x");
  throws("TypeError", () => get.call({}));
  throws("TypeError", () => get.call(new DOMRect()));
  const { get: ofChanging } = Object.getOwnPropertyDescriptor(DOMPoint.prototype, "x");
  throws("TypeError", () => ofChanging.call(fixed));
  const seen = [];
  DOMPoint.fromPoint(new Proxy({}, { get: (_, name) => void seen.push(name) }));
  list(seen, ["w", "x", "y", "z"]);
});

test("rectangles have edges, whichever way they go", () => {
  same(JSON.stringify(new DOMRect(5, 6, -7, 8)), '{"x":5,"y":6,"width":-7,"height":8,"top":6,"right":5,"bottom":14,"left":-2}');
  const rect = DOMRect.fromRect({ width: 3, x: 1 });
  rect.x = 10;
  same(rect.right, 13);
  same(new DOMRectReadOnly(0, 0, NaN).left, NaN);
  const quad = DOMQuad.fromRect({ x: 1, y: 2, width: 3, height: 4 });
  same(JSON.stringify(quad.p3), '{"x":4,"y":6,"z":0,"w":1}');
  quad.p3.x = 100;
  same(quad.getBounds().width, 99);
  same(quad.p3, quad.p3);
  same(JSON.stringify(DOMQuad.fromQuad({ p2: { x: 1 } }).toJSON().p2), '{"x":1,"y":0,"z":0,"w":1}');
});

test("interfaces are as WebIDL has them", () => {
  for (const Interface of [DOMPointReadOnly, DOMPoint, DOMRectReadOnly, DOMRect, DOMQuad, DOMMatrixReadOnly, DOMMatrix]) {
    same(Interface.length, 0, Interface.name);
    const descriptor = Object.getOwnPropertyDescriptor(globalThis, Interface.name);
    check(descriptor.writable && !descriptor.enumerable && descriptor.configurable, Interface.name);
    same(Interface.prototype[Symbol.toStringTag], Interface.name);
  }
  list(Object.keys(DOMPoint.prototype).sort(), ["w", "x", "y", "z"]);
  list(Object.keys(DOMRect.prototype).sort(), ["height", "width", "x", "y"]);
  for (const name of ["translate", "scale", "rotate", "multiply", "flipX", "inverse", "transformPoint", "toJSON", "m11", "is2D"]) {
    check(Object.getOwnPropertyDescriptor(DOMMatrixReadOnly.prototype, name).enumerable, name);
  }
  same(DOMMatrix.prototype.rotateSelf.length, 0);
  same(DOMMatrixReadOnly.prototype.rotate.name, "rotate");
  same(DOMMatrix.fromFloat32Array.length, 1);
});

test("matrices are made of 6 or 16 numbers, and know whether they are in the plane", () => {
  const matrix = new DOMMatrix([1, 2, 3, 4, 5, 6]);
  near(plane(matrix), [1, 2, 3, 4, 5, 6]);
  check(matrix.is2D && !matrix.isIdentity && new DOMMatrix().isIdentity);
  same(matrix.m41, 5);
  matrix.m33 = 2;
  check(!matrix.is2D);
  matrix.m33 = 1;
  check(!matrix.is2D);
  check(!new DOMMatrix(new DOMMatrix().toFloat64Array()).is2D);
  throws("TypeError", () => new DOMMatrix([1, 2]));
  throws("TypeError", () => DOMMatrix.fromFloat32Array(new Float64Array(6)));
  near(plane(DOMMatrixReadOnly.fromFloat32Array(new Float32Array([1, 2, 3, 4, 5, 6]))), [1, 2, 3, 4, 5, 6]);
  throws("TypeError", () => DOMMatrix.fromMatrix({ a: 1, m11: 2 }));
  throws("TypeError", () => DOMMatrix.fromMatrix({ is2D: true, m33: 2 }));
  check(!DOMMatrix.fromMatrix({ m33: 2 }).is2D && DOMMatrix.fromMatrix({ a: 2, m11: 2 }).is2D && !DOMMatrix.fromMatrix({ is2D: false }).is2D);
  const json = new DOMMatrix([1, 0, 0, 1, 0, 0]).toJSON();
  list(Object.keys(json).slice(0, 8), ["a", "b", "c", "d", "e", "f", "m11", "m12"]);
  list(Object.keys(json).slice(-2), ["is2D", "isIdentity"]);
});

test("transformations multiply from the right, those of one's own in place", () => {
  near(plane(new DOMMatrix().translate(10, 20).scale(2)), [2, 0, 0, 2, 10, 20]);
  near(plane(new DOMMatrix().scale(2).translate(10, 20)), [2, 0, 0, 2, 20, 40]);
  near(plane(new DOMMatrix().scale(2, 3, 1, 10, 10)), [2, 0, 0, 3, -10, -20]);
  near(plane(new DOMMatrix().rotate(90)), [0, 1, -1, 0, 0, 0]);
  near(plane(new DOMMatrix().rotate(30)), [0.8660254037844387, 0.5, -0.5, 0.8660254037844387, 0, 0]);
  near(plane(new DOMMatrix().rotateFromVector(1, 1)), [Math.SQRT1_2, Math.SQRT1_2, -Math.SQRT1_2, Math.SQRT1_2, 0, 0]);
  near(plane(new DOMMatrix().skewX(45)), [1, 0, 1, 1, 0, 0]);
  near(plane(new DOMMatrix().skewY(45)), [1, 1, 0, 1, 0, 0]);
  near(plane(new DOMMatrix([1, 2, 3, 4, 5, 6]).flipX()), [-1, -2, 3, 4, 5, 6]);
  near(plane(new DOMMatrix([1, 2, 3, 4, 5, 6]).flipY()), [1, 2, -3, -4, 5, 6]);
  near(plane(new DOMMatrix([1, 2, 3, 4, 5, 6]).multiply({ a: 2, f: 1 })), [2, 4, 3, 4, 8, 10]);
  near(plane(new DOMMatrix([1, 2, 3, 4, 5, 6]).preMultiplySelf({ a: 2, f: 1 })), [2, 2, 6, 4, 10, 7]);
  const turned = new DOMMatrix().rotate(10, 20, 30);
  near(turned.toFloat64Array().slice(0, 3), [0.8137976813493738, 0.46984631039295416, -0.3420201433256687]);
  near(new DOMMatrix().rotateAxisAngle(1, 2, 3, 40).toFloat64Array().slice(0, 4), [0.7827555543247653, 0.5487988669638042, -0.2934510960841245, 0]);
  check(!turned.is2D && new DOMMatrix().rotate(0, 0, 5).is2D && new DOMMatrix().rotateAxisAngle(0, 0, 2, 5).is2D);
  check(!new DOMMatrix().translate(0, 0, 1).is2D && !new DOMMatrix().scale3d(2).is2D && new DOMMatrix().scale(1, 1, 1).is2D);
  const own = new DOMMatrix();
  same(own.translateSelf(1, 2).scaleSelf(2).rotateSelf(90).skewXSelf(0).multiplySelf({ e: 1 }), own);
  near(plane(own), [0, 2, -2, 0, 1, 4]);
});

test("inverses undo, and where there is none there are NaNs", () => {
  near(plane(new DOMMatrix([1, 2, 3, 4, 5, 6]).inverse()), [-2, 1, 1.5, -0.5, 1, -2]);
  const matrix = new DOMMatrix().rotate(10, 20, 30).translate(1, 2, 3).scale3d(4);
  near(matrix.multiply(matrix.inverse()).toFloat64Array(), new DOMMatrix().toFloat64Array());
  const none = new DOMMatrix([1, 1, 1, 1, 0, 0]).inverse();
  check(!none.is2D && Number.isNaN(none.m11) && Number.isNaN(none.m44));
  near(Object.values(new DOMMatrix([2, 0, 0, 3, 4, 5]).transformPoint({ x: 1, y: 1 }).toJSON()), [6, 8, 0, 1]);
  near(Object.values(new DOMPoint(1, 1).matrixTransform({ a: 2, e: 3 }).toJSON()), [5, 1, 0, 1]);
});

test("a window's matrices are written and read as lists of transforms", () => {
  if (globalThis.window === undefined) {
    throws("TypeError", () => new DOMMatrix("none"));
    same(String(new DOMMatrix()), "[object DOMMatrix]");
    return;
  }
  same(String(new DOMMatrix([1, 2, 3, 4, 5, 6])), "matrix(1, 2, 3, 4, 5, 6)");
  same(String(new DOMMatrix().translate(0, 0, 1)), "matrix3d(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1)");
  throws("InvalidStateError", () => String(new DOMMatrix([NaN, 0, 0, 0, 0, 0])));
  for (const [text, numbers, is2D] of [
    ["", [1, 0, 0, 1, 0, 0], true],
    ["none", [1, 0, 0, 1, 0, 0], true],
    [" matrix(1,2,3,4,5,6.5e0) ", [1, 2, 3, 4, 5, 6.5], true],
    ["translate(1px, 1IN) scale(+.5)", [0.5, 0, 0, 0.5, 1, 96], true],
    ["scale(2)/* twice */scaleX(3)", [6, 0, 0, 2, 0, 0], true],
    ["scale(2", [2, 0, 0, 2, 0, 0], true],
    ["rotate(0.25turn)", [0, 1, -1, 0, 0, 0], true],
    ["rotate(0) translateX(0) skew(45deg, 0)", [1, 0, 1, 1, 0, 0], true],
    ["scale(50%, 2)", [0.5, 0, 0, 2, 0, 0], true],
    ["translate3d(1px, 2px, 0)", [1, 0, 0, 1, 1, 2], false],
    ["matrix3d(1,0,0,0,0,1,0,0,0,0,1,0,7,8,0,1)", [1, 0, 0, 1, 7, 8], false],
    ["rotate3d(0, 0, 1, 100grad)", [0, 1, -1, 0, 0, 0], false],
  ]) {
    const matrix = new DOMMatrix(text);
    near(plane(matrix), numbers, text);
    same(matrix.is2D, is2D, text);
  }
  near([new DOMMatrix("perspective(100px)").m34], [-0.01]);
  for (const text of ["matrix(1,2,3,4,5)", "matrix(1 2 3 4 5 6)", "translate(10%)", "translate(1em)", "translate(1)", "rotate(1)", "foo(1)", "1", "scale(1,2,3)", "perspective(-1px)"]) {
    throws("SyntaxError", () => new DOMMatrix(text), text);
  }
  near(plane(new DOMMatrix().setMatrixValue("scale(3)")), [3, 0, 0, 3, 0, 0]);
});

test("they are cloned as what they are, with all their numbers", () => {
  const values = [new DOMPoint(1, -0, NaN), new DOMPointReadOnly(1), new DOMRect(1, 2, 3, 4), new DOMRectReadOnly(-1)];
  values.push(new DOMMatrix([1, 2, 3, 4, 5, 6]), new DOMMatrixReadOnly(Array.from({ length: 16 }, (_, i) => i / 2)), new DOMQuad({ x: 1 }, { y: 2 }, { z: 3 }, { w: 4 }));
  for (const value of values) {
    const copy = structuredClone(value);
    check(copy !== value && Object.getPrototypeOf(copy) === Object.getPrototypeOf(value));
    same(JSON.stringify(copy), JSON.stringify(value));
  }
  same(structuredClone(values[0]).y, -0);
  same(structuredClone(values[0]).z, NaN);
  check(structuredClone(values[4]).is2D && !structuredClone(new DOMMatrix().translate(0, 0, 0).scale3d(2)).is2D);
  const twice = structuredClone([values[0], values[0]]);
  same(twice[0], twice[1]);
});

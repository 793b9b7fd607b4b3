// Matrices of four by four numbers, m11, m12 to m44, and whether they are in the plane: `{numbers, is2D}`. They are never changed.
const { PI } = Math;

const identity = () => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
export const IDENTITY = { numbers: identity(), is2D: true };

// A matrix from six numbers, a to f, or sixteen.
export function fromFlat(flat) {
  if (flat.length === 6) {
    const [a, b, c, d, e, f] = flat;
    return { numbers: [a, b, 0, 0, c, d, 0, 0, 0, 0, 1, 0, e, f, 0, 1], is2D: true };
  }
  if (flat.length === 16) return { numbers: flat, is2D: false };
  throw new TypeError(`DOMMatrix: ${flat.length} numbers, not 6 or 16`);
}

// What does first what the second does, then what the first does.
export function multiply(first, second) {
  const numbers = [];
  for (let i = 0; i < 16; i += 4) {
    for (let j = 0; j < 4; j++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += second.numbers[i + k] * first.numbers[4 * k + j];
      numbers.push(sum);
    }
  }
  return { numbers, is2D: first.is2D && second.is2D };
}

export function transform({ numbers: m }, [x, y, z, w]) {
  return [0, 1, 2, 3].map((j) => x * m[j] + y * m[4 + j] + z * m[8 + j] + w * m[12 + j]);
}

export function translation(x, y, z) {
  const numbers = identity();
  [numbers[12], numbers[13], numbers[14]] = [x, y, z];
  return { numbers, is2D: z === 0 };
}

// About an origin.
export function scaling([x, y, z], [originX, originY, originZ]) {
  const numbers = identity();
  [numbers[0], numbers[5], numbers[10]] = [x, y, z];
  const scale = { numbers, is2D: z === 1 && originZ === 0 };
  if (originX === 0 && originY === 0 && originZ === 0) return scale;
  return multiply(multiply(translation(originX, originY, originZ), scale), translation(-originX, -originY, -originZ));
}

// Sine and cosine of degrees: of right angles exactly.
function sineAndCosine(degrees) {
  const right = degrees / 90;
  if (Number.isInteger(right)) {
    return [[0, 1], [1, 0], [0, -1], [-1, 0]][((right % 4) + 4) % 4];
  }
  const angle = (degrees * PI) / 180;
  return [Math.sin(angle), Math.cos(angle)];
}

// About an axis of length 1.
function aboutAxis(x, y, z, degrees) {
  const [sine, cosine] = sineAndCosine(degrees);
  const rest = 1 - cosine;
  const numbers = identity();
  [numbers[0], numbers[1], numbers[2]] = [cosine + x * x * rest, y * x * rest + z * sine, z * x * rest - y * sine];
  [numbers[4], numbers[5], numbers[6]] = [x * y * rest - z * sine, cosine + y * y * rest, z * y * rest + x * sine];
  [numbers[8], numbers[9], numbers[10]] = [x * z * rest + y * sine, y * z * rest - x * sine, cosine + z * z * rest];
  return { numbers, is2D: x === 0 && y === 0 };
}

export function rotationAround(x, y, z, degrees) {
  const length = Math.hypot(x, y, z);
  const turned = length === 0 ? identity() : aboutAxis(x / length, y / length, z / length, degrees).numbers;
  return { numbers: turned, is2D: x === 0 && y === 0 };
}

// About the axes z, then y, then x.
export function rotation([x, y, z]) {
  const about = multiply(multiply(aboutAxis(0, 0, 1, z), aboutAxis(0, 1, 0, y)), aboutAxis(1, 0, 0, x));
  return { numbers: about.numbers, is2D: x === 0 && y === 0 };
}

export function rotationFromVector(x, y) {
  return aboutAxis(0, 0, 1, x === 0 && y === 0 ? 0 : (Math.atan2(y, x) * 180) / PI);
}

const tangent = (degrees) => Math.tan((degrees * PI) / 180);

export function skewing(degreesX, degreesY) {
  const numbers = identity();
  [numbers[4], numbers[1]] = [tangent(degreesX), tangent(degreesY)];
  return { numbers, is2D: true };
}

export function perspective(distance) {
  const numbers = identity();
  numbers[11] = -1 / Math.max(distance, 1);
  return { numbers, is2D: false };
}

// By cofactors. Of one that has no inverse, all numbers are NaN and it is in space.
export function inverse({ numbers: m, is2D }) {
  const minor = (skipI, skipJ) => {
    const rows = [0, 1, 2, 3].filter((i) => i !== skipI);
    const [p, q, r] = [0, 1, 2, 3].filter((j) => j !== skipJ);
    const [a, b, c] = rows.map((i) => [m[4 * i + p], m[4 * i + q], m[4 * i + r]]);
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
  };
  const cofactor = (i, j) => ((i + j) % 2 === 0 ? 1 : -1) * minor(i, j);
  const determinant = [0, 1, 2, 3].reduce((sum, j) => sum + m[j] * cofactor(0, j), 0);
  if (determinant === 0 || !Number.isFinite(determinant)) return { numbers: identity().fill(NaN), is2D: false };
  const numbers = [];
  // 0 is added so that none is -0.
  for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) numbers.push(cofactor(j, i) / determinant + 0);
  return { numbers, is2D };
}

// ECMA-402: numbers as texts in English. Holds in a page, too.
test("whole parts have groups, fractions at most three digits", () => {
  const shown = (number, ...options) => number.toLocaleString("en-US", ...options);
  for (const [number, expected] of [
    [0, "0"], [-0, "-0"], [999, "999"], [1000, "1,000"], [1234567.891, "1,234,567.891"], [-1234.5, "-1,234.5"], [0.00049, "0"],
    [1.9996, "2"], [NaN, "NaN"], [Infinity, "∞"], [-Infinity, "-∞"], [2 ** 53, "9,007,199,254,740,992"],
  ]) same(shown(number), expected);
  same(shown(5, { minimumIntegerDigits: 2, useGrouping: false }), "05");
  same(shown(12345, { useGrouping: false }), "12345");
  same(shown(1.5, { minimumFractionDigits: 2 }), "1.50");
  same(shown(1.256, { maximumFractionDigits: 1 }), "1.3");
  same(shown(1, { minimumFractionDigits: 5 }), "1.00000");
  throws("RangeError", () => shown(1, { minimumIntegerDigits: 0 }));
  throws("RangeError", () => shown(1, { minimumFractionDigits: 3, maximumFractionDigits: 2 }));
});

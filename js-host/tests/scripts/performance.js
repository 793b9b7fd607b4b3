// High Resolution Time, Performance Timeline, User Timing. Holds in a page, too.
test("the clock goes on from its origin", () => {
  const before = performance.now();
  check(before > 0 && performance.now() >= before, "it goes back");
  check(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000, "the origin is elsewhere");
  same(performance.toJSON().timeOrigin, performance.timeOrigin);
  throws("TypeError", () => Performance.prototype.now.call({}));
  throws("TypeError", () => new Performance());
});

test("marks have names, times and details, and are listed by time", () => {
  performance.clearMarks();
  const detail = { a: [1] };
  const late = performance.mark("late", { startTime: 0.5, detail });
  detail.a.push(2);
  performance.mark("early", { startTime: 0.25 });
  const now = performance.mark("early");
  check(now instanceof PerformanceMark && now instanceof PerformanceEntry, "no mark");
  same(late.startTime, 0.5);
  same(late.duration, 0);
  same(late.entryType, "mark");
  list(late.detail.a, [1]);
  same(now.detail, null);
  list(performance.getEntriesByType("mark").slice(0, 2).map((mark) => mark.name), ["early", "late"]);
  same(performance.getEntriesByName("early").length, 2);
  same(performance.getEntriesByName("early", "measure").length, 0);
  const { name, entryType, startTime, duration, detail: none } = performance.mark("j", { startTime: 0, detail: 1 }).toJSON();
  list([name, entryType, startTime, duration, none], ["j", "mark", 0, 0, undefined]);
  performance.clearMarks("early");
  list(performance.getEntriesByType("mark").map((mark) => mark.name), ["j", "late"]);
  performance.clearMarks();
  same(performance.getEntriesByType("mark").length, 0);
  throws("TypeError", () => performance.mark());
  throws("TypeError", () => performance.mark("m", { startTime: -1 }));
  throws("TypeError", () => performance.mark("m", { startTime: NaN }));
  throws("DataCloneError", () => performance.mark("m", { detail: () => {} }));
  same(new PerformanceMark("own", { startTime: 3 }).startTime, 3);
  same(performance.getEntriesByName("own").length, 0);
});

test("measures lie between marks, times and lengths", () => {
  performance.clearMeasures();
  performance.mark("a", { startTime: 10 });
  performance.mark("b", { startTime: 30 });
  performance.mark("a", { startTime: 12 });
  const times = (...values) => {
    const { startTime, duration } = performance.measure("m", ...values);
    return [startTime, duration];
  };
  list(times("a", "b"), [12, 18]);
  list(times({ start: "a", end: "b" }), [12, 18]);
  list(times({ start: 5, duration: 7 }), [5, 7]);
  list(times({ end: 9, duration: 7 }), [2, 7]);
  list(times({ end: "b" }), [0, 30]);
  list(times(undefined, "b"), [0, 30]);
  same(times("a")[0], 12);
  same(times()[0], 0);
  check(times()[1] > 0, "no length");
  const { detail } = performance.measure("d", { start: "a", detail: { x: 1 } });
  same(detail.x, 1);
  same(performance.getEntriesByType("measure").length, 10);
  throws("SyntaxError", () => performance.measure("m", "none"));
  throws("TypeError", () => performance.measure("m", { start: 1 }, "b"));
  throws("TypeError", () => performance.measure("m", { duration: 1 }));
  throws("TypeError", () => performance.measure("m", { start: 1, end: 2, duration: 1 }));
  throws("TypeError", () => performance.measure("m", { start: -1, end: 2 }));
  same(times({})[0], 0);
  performance.clearMeasures("m");
  list(performance.getEntriesByType("measure").map((measure) => measure.name), ["d"]);
  performance.clearMeasures();
  performance.clearMarks();
});

//! `console`: what each call prints, and on which stream.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::sync::{Arc, Mutex};

use larder_idb::{Executor, StorageOptions, SystemClock};
use larder_js_host::{Global, Host, Options, Stream};

/// What a script prints; what goes to standard error begins with `! `.
fn printed(script: &str) -> Vec<String> {
    let mut storage = StorageOptions::in_memory(Arc::new(SystemClock));
    storage.executor = Executor::Driven { seed: None };
    let lines = Arc::new(Mutex::new(Vec::new()));
    let collected = Arc::clone(&lines);
    let host = Host::new(Options {
        global: Global::Window,
        origin: "https://example.com".into(),
        search: String::new(),
        storage,
        console: Box::new(move |stream, line| {
            let mark = if stream == Stream::Err { "! " } else { "" };
            collected.lock().unwrap().push(format!("{mark}{line}"));
        }),
    })
    .unwrap();
    host.run_script("script.js", script);
    host.run_until_idle();
    drop(host);
    std::mem::take(&mut *lines.lock().unwrap())
}

/// The one line that `console.log` of these arguments prints.
fn log(arguments: &str) -> String {
    let mut lines = printed(&format!("console.log({arguments});"));
    assert_eq!(lines.len(), 1, "{arguments}");
    lines.remove(0)
}

#[test]
fn the_first_text_takes_in_what_it_asks_for() {
    for (arguments, expected) in [
        ("'%s and %s', 'a', 'b', 'c'", "a and b c"),
        ("'%s %s', 'one'", "one %s"),
        ("'%d %i %f', '42.9x', 42.9, '1.5x'", "42 42 1.5"),
        ("'%d %i %f', Symbol('s'), 5n, {}", "NaN 5n NaN"),
        (
            "'%s|%s|%s|%s', null, undefined, Symbol('s'), -0",
            "null|undefined|Symbol(s)|-0",
        ),
        ("'%s %s', { a: 'x' }, 12n", "{a: \"x\"} 12n"),
        ("'%o %O', 'text', [1, 'x']", "\"text\" [1, \"x\"]"),
        ("'%cred%c plain', 'color: red', ''", "red plain"),
        ("'100%% %d', 5", "100% 5"),
        ("'100%%'", "100%%"),
        ("'%x %', 1", "%x % 1"),
        ("5, '%s', 'a'", "5 %s a"),
        ("'%s', '%s', 'b'", "%s b"),
        ("", ""),
    ] {
        assert_eq!(log(arguments), expected, "{arguments}");
    }
}

#[test]
fn values_are_shown_with_what_they_are() {
    for (arguments, expected) in [
        (
            "[1, , 'x'], { a: { b: [] }, 'c d': 1, [Symbol('s')]: 2 }",
            "[1, empty, \"x\"] {a: {b: []}, \"c d\": 1, [Symbol(s)]: 2}",
        ),
        (
            "new Map([[1, { a: 1 }]]), new Set(['x'])",
            "Map {1 => {a: 1}} Set {\"x\"}",
        ),
        (
            "new Uint8Array([1, 2]), new ArrayBuffer(2), new Date(0), /a/g",
            "Uint8Array [1, 2] ArrayBuffer {} 1970-01-01T00:00:00.000Z /a/g",
        ),
        (
            "class Foo { x = 1; }, new (class Foo { x = 1; })(), function f() {}, () => {}",
            "[class Foo] Foo {x: 1} [function f] [function ]",
        ),
        (
            "{ get a() { throw 1; } }, Object.create(null), -0, 1n, Symbol('s'), Object(1)",
            "{a: [accessor]} [null prototype] {} -0 1n Symbol(s) [Number: 1]",
        ),
        (
            "[[[[[1]]]], { a: { b: { c: { d: 1 } } } }]",
            "[[[[[…]]]], {a: {b: {c: {…}}}}]",
        ),
        ("Object.assign([1], { more: 2 })", "[1, more: 2]"),
    ] {
        assert_eq!(log(arguments), expected, "{arguments}");
    }
    assert_eq!(
        printed("const a = [1]; a.push(a, { a }); console.log(a);"),
        ["[1, [circular], {a: [circular]}]"]
    );
    let long = log("Array.from({ length: 1000 }, (_, i) => i)");
    assert!(long.ends_with("98, 99, … 900 more]"), "{long}");
    assert!(log("new Uint8Array(1e6)").ends_with("… 999900 more]"));
}

#[test]
fn errors_are_shown_with_their_causes() {
    let shown = log("new Error('outer', { cause: new RangeError('inner', { cause: 'why' }) })");
    for part in [
        "Error: outer\n",
        "\ncaused by: RangeError: inner\n",
        "\ncaused by: why",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let all = printed(
        "const e = new AggregateError([new Error('one'), 2]); e.cause = e; console.log(e);",
    )
    .join("");
    assert!(
        all.contains("one of: Error: one") && all.contains("one of: 2"),
        "{all}"
    );
    let uncaught = printed("throw new Error('outer', { cause: new Error('inner') });").join("");
    assert!(uncaught.contains("caused by: Error: inner"), "{uncaught}");
}

#[test]
fn a_table_has_rows_columns_and_values() {
    let table = |arguments: &str| printed(&format!("console.table({arguments});")).join("\n");
    assert_eq!(
        table("[{ a: 1, b: 'x' }, { a: 20, c: true }, 7]"),
        "\
┌─────────┬────┬─────┬──────┬────────┐
│ (index) │ a  │ b   │ c    │ Values │
├─────────┼────┼─────┼──────┼────────┤
│ 0       │ 1  │ \"x\" │      │        │
│ 1       │ 20 │     │ true │        │
│ 2       │    │     │      │ 7      │
└─────────┴────┴─────┴──────┴────────┘"
    );
    assert_eq!(
        table("{ row: { a: 1, b: 2 } }, ['b', 'z']"),
        "\
┌─────────┬───┬───┐
│ (index) │ b │ z │
├─────────┼───┼───┤
│ row     │ 2 │   │
└─────────┴───┴───┘"
    );
    assert!(table("new Map([['k', 1]])").contains("│ 0       │ \"k\" │ 1      │"));
    assert!(table("[]").contains("(index)"));
    assert_eq!(table("5"), "5");
    assert_eq!(table("'text'"), "text");
    assert_eq!(table(""), "undefined");
}

#[test]
fn groups_indent_every_line() {
    let lines = printed(
        "console.group('g %s', 1); console.log('a\\nb'); console.group(); console.warn('c'); console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log('d');",
    );
    assert_eq!(lines, ["g 1", "  a\n  b", "!     c", "d"]);
}

#[test]
fn counts_times_and_assertions_are_as_the_standard_has_them() {
    assert_eq!(
        printed(
            "console.count(); console.count('%s'); console.count(); console.countReset(); console.count(); console.countReset('none');"
        ),
        [
            "default: 1",
            "%s: 1",
            "default: 2",
            "default: 1",
            "! Count for 'none' does not exist"
        ]
    );
    let times = printed(
        "console.time('t'); console.time('t'); console.timeLog('t', 'more', 5); console.timeEnd('t'); console.timeEnd('t');",
    );
    assert_eq!(times[0], "! Timer 't' already exists");
    assert!(
        times[1].starts_with("t: ") && times[1].ends_with(" ms more 5"),
        "{times:?}"
    );
    assert!(
        times[2].starts_with("t: ") && times[2].ends_with(" ms"),
        "{times:?}"
    );
    assert_eq!(times[3], "! Timer 't' does not exist");
    assert_eq!(
        printed(
            "console.assert(true, 'no'); console.assert(false); console.assert(0, 'a %s', 'b'); console.assert(null, { a: 1 }, 'c');"
        ),
        [
            "! Assertion failed",
            "! Assertion failed: a b",
            "! Assertion failed {a: 1} c"
        ]
    );
    assert_eq!(
        printed("console.dir('x %s', 1); console.info(1); console.debug(2); console.error(3);"),
        ["\"x %s\"", "1", "2", "! 3"]
    );
    let trace = printed("function here() { console.trace('at %d', 5); } here();").join("");
    assert!(
        trace.starts_with("! Trace: at 5\n") && trace.contains("here"),
        "{trace}"
    );
    assert_eq!(
        log("Object.prototype.toString.call(console)"),
        "[object console]"
    );
}

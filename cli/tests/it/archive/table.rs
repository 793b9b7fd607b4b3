//! `larder export --format csv`: a table of one object store.

use std::fs;
use std::path::Path;
use std::process::Output;

use super::{folder, run};
use crate::support::{run_script, stderr};

const SCRIPT: &str = "
    const request = indexedDB.open('d', 1);
    request.onupgradeneeded = () => {
      const store = request.result.createObjectStore('s');
      store.put({ name: 'a, \"b\"\\nc', n: -0, big: 12n, on: true, none: null, gone: undefined }, 1);
      store.put({ when: new Date(0), list: [1, 'x'], name: '' }, [2, 'k']);
      store.put('no object', 'text');
      store.put(Object.assign(Object.create(null), { $price: 1.5, n: NaN }), new Date(0));
      request.result.createObjectStore('other').put({ z: 1 }, 1);
    };";

const ALL: &str = "$key,name,n,big,on,none,gone,$price,$value,when,list\r
1,\"a, \"\"b\"\"\nc\",-0,12,true,null,,,,,\r
1970-01-01T00:00:00.000Z,,NaN,,,,,1.5,,,\r
text,,,,,,,,no object,,\r
\"[2,\"\"k\"\"]\",,,,,,,,,1970-01-01T00:00:00.000Z,\"[1,\"\"x\"\"]\"\r
";

const TWO: &str = "$key,n,name\r
1,-0,\"a, \"\"b\"\"\nc\"\r
1970-01-01T00:00:00.000Z,NaN,\r
text,,\r
\"[2,\"\"k\"\"]\",,\r
";

fn table(from: &Path, to: &Path, options: &[&str]) -> Output {
    run(
        "export",
        from,
        to,
        &[&["--format", "csv"], options].concat(),
    )
}

#[test]
fn a_table_has_a_row_for_each_record_and_a_column_for_each_property() {
    let dir = folder();
    let stores = dir.path().join("stores");
    run_script(&stores, &[], SCRIPT);
    let to = dir.path().join("a.csv");
    let refused = |options: &[&str], status: i32, words: &str| {
        let output = table(&stores, &to, options);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{words}: {said}");
        assert!(said.contains(words), "{words}: {said}");
    };
    refused(
        &[],
        2,
        "--format csv is a table of one object store: name it with --store",
    );
    refused(&["--store", "x"], 3, "no object store \"x\" here");
    assert!(!to.exists());
    for (options, expected) in [(&[][..], ALL), (&["--columns", "n,name"][..], TWO)] {
        let options = [&["--store", "s"], options].concat();
        let output = table(&stores, &to, &options);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains(": 4 records of "));
        assert_eq!(fs::read_to_string(&to).unwrap(), expected);
        if expected == ALL {
            refused(
                &["--store", "s"],
                2,
                "there is something of this name already",
            );
        }
        fs::remove_file(&to).unwrap();
    }
}

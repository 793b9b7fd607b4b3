//! The golden stores, dumped, are what the browsers that wrote them said.

use crate::support::{dump_canonical, stderr};
use larder_fixtures::Fixture;
use larder_fixtures::canonical::{comparable, first_difference, with_large_stack};

fn check(fixture: &Fixture) -> Result<(), String> {
    let store = fixture.copy();
    let output = dump_canonical(&store.leveldb());
    if !output.status.success() {
        return Err(format!(
            "{}: {:?}\n{}",
            fixture.name,
            output.status,
            stderr(&output)
        ));
    }
    let (ours, theirs) = (comparable(&output.stdout), comparable(&fixture.expected()));
    match first_difference(&ours, &theirs, "databases") {
        Some(difference) => Err(format!("{}: {difference}", fixture.name)),
        None => Ok(()),
    }
}

#[test]
fn every_golden_store_dumps_to_exactly_what_its_browser_showed() {
    with_large_stack(|| {
        let fixtures = larder_fixtures::all();
        assert!(fixtures.len() >= 10);
        let failures: Vec<String> = fixtures
            .iter()
            .filter_map(|fixture| check(fixture).err())
            .collect();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        println!(
            "{} stores dumped as their browsers showed them",
            fixtures.len()
        );
    });
}

#[test]
fn the_comparison_sees_a_single_changed_value() {
    with_large_stack(|| {
        let text = larder_fixtures::get("c156-lite").expected();
        let theirs = comparable(&text);
        let mut ours = theirs.clone();
        assert_eq!(first_difference(&ours, &theirs, "databases"), None);
        *ours
            .pointer_mut("/1/stores/0/records/3/1/bytes/hex")
            .unwrap() = "00".into();
        let difference = first_difference(&ours, &theirs, "databases").unwrap();
        assert!(
            difference.starts_with("databases[1].stores[0].records[3][1].bytes.hex: "),
            "{difference}"
        );
    });
}

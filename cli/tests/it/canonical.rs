//! The golden stores, dumped, are what the browsers that wrote them said.

use crate::support::{compare_with_browser, for_every};
use larder_fixtures::canonical::{comparable, first_difference, with_large_stack};

#[test]
fn every_golden_store_dumps_to_exactly_what_its_browser_showed() {
    for_every(larder_fixtures::all(), |fixture| {
        compare_with_browser(fixture, &fixture.copy().leveldb(), |_| {})
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

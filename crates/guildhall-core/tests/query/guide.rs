//! The examples of the guide are queries.

use guildhall_core::query::Envelope;
use serde_json::Value;

const GUIDE: &str = include_str!("../../../../docs/query-language.md");

/// The keys of the envelope; an example with another one has a slip in it, which a tool would not notice.
const KEYS: [&str; 7] = [
    "where", "select", "order_by", "limit", "offset", "count", "group_by",
];

#[test]
fn every_example_of_the_guide_is_accepted() {
    let mut examples = 0;
    for block in GUIDE.split("```json\n").skip(1) {
        let (example, _) = block.split_once("```").expect("the block is closed");
        let arguments: Value = serde_json::from_str(example).expect(example);
        let arguments = arguments.as_object().expect(example);
        Envelope::parse(arguments).expect(example);
        for key in arguments.keys() {
            assert!(KEYS.contains(&key.as_str()), "{key} in {example}");
        }
        examples += 1;
    }
    assert!(examples >= 5, "only {examples} examples were found");
}

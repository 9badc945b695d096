//! The rows of the query page, one by one.

#![expect(
    clippy::needless_pass_by_value,
    reason = "tables hand over what `json!` makes"
)]

use serde_json::{Map, Value, json};

use super::*;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

fn parse(arguments: Value) -> Result<Envelope, QueryError> {
    Envelope::parse(&object(arguments))
}

fn check(filter: Value, record: Value, expected: bool) {
    let shown = format!("{filter} on {record}");
    let envelope = parse(json!({ "where": filter })).expect(&shown);
    assert_eq!(envelope.matches(&object(record)), expected, "{shown}");
}

/// One predicate on `{"f": field}`.
fn predicate(op: &str, value: Value, field: Value, expected: bool) {
    let filter = json!({"field": "f", "op": op, "value": value});
    check(filter, json!({ "f": field }), expected);
}

fn refused(arguments: Value, message: &str) {
    let shown: String = arguments.to_string().chars().take(200).collect();
    let error = parse(arguments).expect_err(&shown);
    assert_eq!(error.to_string(), message, "{shown}");
}

fn records(values: Value) -> Vec<Map<String, Value>> {
    match values {
        Value::Array(values) => values.into_iter().map(object).collect(),
        other => panic!("{other} is not an array"),
    }
}

/// The rows' `id`s and the total.
fn ids(arguments: Value, rows: &[Map<String, Value>]) -> (Vec<Value>, usize) {
    let page = parse(arguments).unwrap().run(rows);
    let ids = page.rows.iter().map(|row| row["id"].clone()).collect();
    (ids, page.total)
}

/// Sorts records `{id: place, n: value}` and gives the places.
fn sorted(order_by: Value, values: &[Value]) -> Vec<u64> {
    let rows: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(place, value)| match value {
            Value::String(absent) if absent == "<absent>" => object(json!({ "id": place })),
            value => object(json!({ "id": place, "n": value })),
        })
        .collect();
    let (ids, _) = ids(json!({ "order_by": order_by }), &rows);
    ids.iter().filter_map(Value::as_u64).collect()
}

fn leaf() -> Value {
    json!({"field": "f", "op": "eq", "value": 1})
}

/// A predicate under `combinators` times `not`.
fn nested(combinators: usize) -> Value {
    (0..combinators).fold(leaf(), |inner, _| json!({ "not": inner }))
}

#[test]
fn equality_is_strict() {
    for (op, when_equal) in [("eq", true), ("ne", false)] {
        for (value, field, equal) in [
            (json!(1), json!(1), true),
            (json!(1), json!(1.0), true),
            (json!(1.0), json!(1), true),
            (json!(-0.0), json!(0), true),
            (json!(0), json!(-0.0), true),
            (json!(1), json!("1"), false),
            (json!("1"), json!(1), false),
            (json!(1), json!(true), false),
            (json!(0), json!(false), false),
            (json!(""), json!(null), false),
            (json!(null), json!(null), true),
            (json!(null), json!(false), false),
            (json!(null), json!(0), false),
            (json!(true), json!(true), true),
            (json!("a"), json!("a"), true),
            (json!("a"), json!("A"), false),
            (json!("\u{e9}"), json!("e\u{301}"), false), // no normalisation
            (json!("\u{1f600}"), json!("\u{1f600}"), true),
            (json!("a"), json!(["a"]), false),
            (json!(null), json!([]), false),
            (json!("[object Object]"), json!({}), false),
            // Doubles, so that these two are the same number.
            (
                json!(9_007_199_254_740_993_u64),
                json!(9_007_199_254_740_992_u64),
                true,
            ),
        ] {
            predicate(op, value, field, equal == when_equal);
        }
    }
}

#[test]
fn membership_is_equality_with_any() {
    let many: Vec<Value> = (0..50)
        .map(|n| json!(format!("x{n}")))
        .chain((0..50).map(|n| json!(n)))
        .collect();
    for (op, when_member) in [("in", true), ("nin", false)] {
        for (values, field, member) in [
            (json!([]), json!("a"), false),
            (json!([]), json!(null), false),
            (json!(["a", "b"]), json!("b"), true),
            (json!(["a", "b"]), json!("c"), false),
            (json!(["a", "a"]), json!("a"), true),
            (json!([1, "a", null, true]), json!(1.0), true),
            (json!([1, "a", null, true]), json!(null), true),
            (json!([1, "a", null, true]), json!(true), true),
            (json!([1, "a", null, true]), json!(false), false),
            (json!([1, "a"]), json!(null), false),
            (json!(["1"]), json!(1), false),
            (json!([0]), json!(-0.0), true),
            (json!(["a"]), json!(["a"]), false),
            (json!(many), json!("x49"), true),
            (json!(many), json!("x50"), false),
            (json!(many), json!(49), true),
            (json!(many), json!(50), false),
            (json!(many), json!(-0.0), true),
        ] {
            predicate(op, values, field, member == when_member);
        }
    }
}

#[test]
fn only_numbers_and_strings_compare_each_with_their_own() {
    // Whether lt, lte, gt, gte hold for `field op value`.
    const LESS: [bool; 4] = [true, true, false, false];
    const SAME: [bool; 4] = [false, true, false, true];
    const MORE: [bool; 4] = [false, false, true, true];
    const NEVER: [bool; 4] = [false; 4];
    for (field, value, expected) in [
        (json!(1), json!(2), LESS),
        (json!(2), json!(2.0), SAME),
        (json!(-0.0), json!(0), SAME),
        (json!(3), json!(2), MORE),
        (json!(-1e300), json!(1e300), LESS),
        (json!("a"), json!("b"), LESS),
        (json!("a"), json!("a"), SAME),
        (json!("a"), json!("A"), MORE),
        (json!("Z"), json!("a"), LESS),              // not by locale
        (json!("BOARD-10"), json!("BOARD-2"), LESS), // not by number
        (json!(""), json!("a"), LESS),
        // By code point: an astral character comes after U+FFFD, though its first UTF-16 unit is smaller.
        (json!("\u{1f600}"), json!("\u{fffd}"), MORE),
        (
            json!("2026-01-02T00:00:00.000Z"),
            json!("2026-01-10T00:00:00.000Z"),
            LESS,
        ),
        (json!(1), json!("2"), NEVER),
        (json!("1"), json!(2), NEVER),
        (json!(null), json!(null), NEVER),
        (json!(null), json!(0), NEVER),
        (json!(true), json!(true), NEVER),
        (json!(false), json!(true), NEVER),
        (json!([1]), json!(1), NEVER),
        (json!({}), json!("a"), NEVER),
    ] {
        for (op, expected) in ["lt", "lte", "gt", "gte"].into_iter().zip(expected) {
            predicate(op, value.clone(), field.clone(), expected);
        }
    }
}

#[test]
fn contains_looks_into_strings_and_elements() {
    for (needle, field, expected) in [
        ("ell", json!("Hello"), true),
        ("ELL", json!("Hello"), false),
        ("", json!("Hello"), true),
        ("", json!(""), true),
        ("", json!([""]), true),
        ("", json!([1]), true),
        ("", json!([]), false),
        ("back", json!(["frontend", "backend"]), true),
        ("Back", json!(["frontend", "backend"]), false),
        ("endb", json!(["frontend", "backend"]), false), // elements are not joined
        ("2", json!([1, 25]), true),
        ("1.5", json!([1.5]), true),
        ("1.0", json!([1.0]), false),
        ("ull", json!([null]), true),
        ("tru", json!([true]), true),
        ("object Object", json!([{"a": 1}]), true),
        ("1,2", json!([[1, 2]]), true),
        ("1", json!(1), false),
        ("ull", json!(null), false),
        ("tru", json!(true), false),
        ("a", json!({"a": "a"}), false),
        ("\u{1f600}", json!("x\u{1f600}y"), true),
    ] {
        predicate("contains", json!(needle), field, expected);
    }
}

#[test]
fn contains_ignores_case_when_asked_to() {
    for (needle, field, ci, expected) in [
        ("HELLO", json!("say hello"), true, true),
        ("HELLO", json!("say hello"), false, false),
        ("BACK", json!(["Backend"]), true, true),
        ("NULL", json!([null]), true, true),
        ("SS", json!("stra\u{df}e"), true, false),
        ("\u{c4}", json!("\u{e4}rger"), true, true),
        ("k", json!("\u{212a}"), true, true),
    ] {
        let filter = json!({"field": "f", "op": "contains", "value": needle, "ci": ci});
        check(filter, json!({ "f": field }), expected);
    }
}

#[test]
fn a_list_of_strings_is_an_array_field() {
    struct Labelled(Vec<String>);
    impl Record for Labelled {
        fn field(&self, name: &str) -> Option<FieldRef<'_>> {
            (name == "labels").then_some(FieldRef::Texts(&self.0))
        }
    }
    let record = Labelled(vec!["Backend".to_owned(), "api".to_owned()]);
    for (op, value, expected) in [
        ("contains", json!("ack"), true),
        ("contains", json!("x"), false),
        ("eq", json!("api"), false),
        ("ne", json!("api"), true),
        ("in", json!(["api"]), false),
        ("nin", json!(["api"]), true),
        ("lt", json!("b"), false),
        ("exists", json!(true), true),
    ] {
        let envelope =
            parse(json!({"where": {"field": "labels", "op": op, "value": value}})).unwrap();
        assert_eq!(envelope.matches(&record), expected, "{op} {value}");
    }
    let row = parse(json!({"select": ["labels"]}))
        .unwrap()
        .project(&record, &[]);
    assert_eq!(Value::Object(row), json!({"labels": ["Backend", "api"]}));
}

#[test]
fn an_absent_field_passes_only_exists_false() {
    for (op, value) in [
        ("eq", json!("x")),
        ("eq", json!(null)),
        ("ne", json!("x")),
        ("lt", json!(1)),
        ("lte", json!(1)),
        ("gt", json!(1)),
        ("gte", json!(1)),
        ("in", json!([null])),
        ("nin", json!([])),
        ("nin", json!(["x"])),
        ("contains", json!("")),
        ("exists", json!(true)),
    ] {
        let filter = json!({"field": "f", "op": op, "value": value});
        check(filter.clone(), json!({}), false);
        check(json!({ "not": filter }), json!({}), true);
    }
    check(
        json!({"field": "f", "op": "exists", "value": false}),
        json!({}),
        true,
    );
}

#[test]
fn null_is_present() {
    predicate("exists", json!(true), json!(null), true);
    predicate("exists", json!(false), json!(null), false);
    predicate("ne", json!("x"), json!(null), true);
    predicate("nin", json!(["x"]), json!(null), true);
}

#[test]
fn names_are_flat_and_own() {
    for name in [
        "__proto__",
        "toString",
        "constructor",
        "hasOwnProperty",
        "length",
        "a.b",
        "$.a",
    ] {
        let record = json!({"a": {"b": 1}});
        check(
            json!({"field": name, "op": "exists", "value": true}),
            record.clone(),
            false,
        );
        check(
            json!({"field": name, "op": "ne", "value": 1}),
            record,
            false,
        );
        let own = Map::from_iter([(name.to_owned(), json!(1))]);
        check(
            json!({"field": name, "op": "eq", "value": 1}),
            Value::Object(own),
            true,
        );
    }
    // A name is taken as it is, with the space around it.
    check(
        json!({"field": " f", "op": "exists", "value": true}),
        json!({"f": 1}),
        false,
    );
}

#[test]
fn combinators_combine() {
    let yes = json!({"field": "f", "op": "eq", "value": 1});
    let no = json!({"field": "f", "op": "eq", "value": 2});
    for (filter, expected) in [
        (json!({"and": [yes]}), true),
        (json!({"and": [yes, no]}), false),
        (json!({"and": [yes, yes]}), true),
        (json!({"or": [no, yes]}), true),
        (json!({"or": [no, no]}), false),
        (json!({"not": yes}), false),
        (json!({"not": {"not": yes}}), true),
        (json!({"not": {"and": [yes, no]}}), true),
        (json!({"and": [{"or": [no, yes]}, {"not": no}]}), true),
    ] {
        check(filter, json!({"f": 1}), expected);
    }
}

#[test]
fn extra_keys_on_a_predicate_are_ignored_unless_they_combine() {
    check(
        json!({"field": "f", "op": "eq", "value": 1, "ci": 7, "note": "x"}),
        json!({"f": 1}),
        true,
    );
    for name in ["and", "or", "not"] {
        let mut filter = leaf();
        filter[name] = json!(null);
        refused(
            json!({ "where": filter }),
            "filter: a combinator node must have exactly one of 'and', 'or', or 'not'",
        );
    }
}

#[test]
fn a_missing_or_null_where_matches_everything() {
    for arguments in [json!({}), json!({"where": null})] {
        assert!(parse(arguments).unwrap().matches(&object(json!({}))));
    }
}

#[test]
fn malformed_filters_are_refused_with_the_page_s_messages() {
    let mixed = "filter: a combinator node must have exactly one of 'and', 'or', or 'not'";
    let bad_field = "filter: predicate 'field' must be a non-empty string";
    for (filter, message) in [
        (json!([]), "filter: each node must be an object"),
        (json!("x"), "filter: each node must be an object"),
        (json!(1), "filter: each node must be an object"),
        (json!(false), "filter: each node must be an object"),
        (
            json!({"and": [null]}),
            "filter: each node must be an object",
        ),
        (json!({"not": []}), "filter: each node must be an object"),
        (json!({"not": null}), "filter: each node must be an object"),
        (json!({"and": [leaf()], "or": [leaf()]}), mixed),
        (json!({"and": [leaf()], "x": 1}), mixed),
        (
            json!({"and": []}),
            "filter: 'and' must be a non-empty array of filters",
        ),
        (
            json!({"and": {}}),
            "filter: 'and' must be a non-empty array of filters",
        ),
        (
            json!({"and": null}),
            "filter: 'and' must be a non-empty array of filters",
        ),
        (
            json!({"or": []}),
            "filter: 'or' must be a non-empty array of filters",
        ),
        (
            json!({"or": "x"}),
            "filter: 'or' must be a non-empty array of filters",
        ),
        (json!({}), bad_field),
        (json!({"op": "eq", "value": 1}), bad_field),
        (json!({"field": "", "op": "eq", "value": 1}), bad_field),
        (json!({"field": " \t\n", "op": "eq", "value": 1}), bad_field),
        (json!({"field": 1, "op": "eq", "value": 1}), bad_field),
        (json!({"field": null}), bad_field),
        (
            json!({"field": "f"}),
            "filter: predicate 'op' must be a string",
        ),
        (
            json!({"field": "f", "op": 1}),
            "filter: predicate 'op' must be a string",
        ),
        (
            json!({"field": "f", "op": null}),
            "filter: predicate 'op' must be a string",
        ),
        (
            json!({"field": "f", "op": "like", "value": 1}),
            "filter: unknown op 'like'",
        ),
        (
            json!({"field": "f", "op": "EQ", "value": 1}),
            "filter: unknown op 'EQ'",
        ),
        (json!({"field": "f", "op": ""}), "filter: unknown op ''"),
        (
            json!({"field": "f", "op": "contains"}),
            "filter: 'contains' value must be a string",
        ),
        (
            json!({"field": "f", "op": "contains", "value": 1}),
            "filter: 'contains' value must be a string",
        ),
        (
            json!({"field": "f", "op": "contains", "value": "x", "ci": null}),
            "filter: 'contains' ci must be a boolean",
        ),
        (
            json!({"field": "f", "op": "contains", "value": "x", "ci": "true"}),
            "filter: 'contains' ci must be a boolean",
        ),
        (
            json!({"field": "f", "op": "exists"}),
            "filter: 'exists' value must be a boolean",
        ),
        (
            json!({"field": "f", "op": "exists", "value": 1}),
            "filter: 'exists' value must be a boolean",
        ),
        (
            json!({"field": "f", "op": "exists", "value": null}),
            "filter: 'exists' value must be a boolean",
        ),
    ] {
        refused(json!({ "where": filter }), message);
    }
    for op in ["eq", "ne", "lt", "lte", "gt", "gte"] {
        let message = format!("filter: '{op}' value must be a string, number, boolean, or null");
        refused(json!({"where": {"field": "f", "op": op}}), &message);
        for value in [json!([]), json!({}), json!([1])] {
            refused(
                json!({"where": {"field": "f", "op": op, "value": value}}),
                &message,
            );
        }
    }
    for op in ["in", "nin"] {
        let message = format!("filter: '{op}' value must be an array of scalars");
        refused(json!({"where": {"field": "f", "op": op}}), &message);
        for value in [
            json!("x"),
            json!(null),
            json!({}),
            json!([[]]),
            json!([1, {}]),
        ] {
            refused(
                json!({"where": {"field": "f", "op": op, "value": value}}),
                &message,
            );
        }
    }
}

#[test]
fn a_long_unknown_op_is_not_repeated_whole() {
    let message = format!("filter: unknown op '{}...'", "\u{1f600}".repeat(100));
    let op = "\u{1f600}".repeat(101);
    refused(json!({"where": {"field": "f", "op": op}}), &message);
}

#[test]
fn nesting_is_bounded_at_twelve() {
    assert!(parse(json!({"where": nested(11)})).is_ok());
    refused(
        json!({"where": nested(12)}),
        "filter nesting exceeds 12 levels",
    );
    // What is no object is not a level.
    let depth_13 = (0..12).fold(json!(7), |inner, _| json!({"or": [inner]}));
    refused(
        json!({ "where": depth_13 }),
        "filter: each node must be an object",
    );
    // Whatever is below is not looked at. (Dropping such a value at once would itself go too deep.)
    let mut arguments = object(json!({"where": nested(0)}));
    for _ in 0..100_000 {
        let inner = arguments.remove("where");
        arguments.insert("where".to_owned(), Value::from_iter([("not", inner)]));
    }
    assert_eq!(
        Envelope::parse(&arguments).unwrap_err(),
        QueryError::TooDeep
    );
    let mut inner = arguments.remove("where");
    while let Some(Value::Object(mut node)) = inner {
        inner = node.remove("not");
    }
}

#[test]
fn nodes_are_bounded_at_two_hundred() {
    let leaves = |n: usize| json!({"where": {"or": vec![leaf(); n]}});
    assert!(parse(leaves(198)).is_ok());
    assert!(parse(leaves(199)).is_ok());
    refused(leaves(200), "filter has more than 200 nodes");
    refused(leaves(20_000), "filter has more than 200 nodes");
    // Combinators count as well: 1 + 66 * 3 = 199 nodes, then 202.
    let pairs = |n: usize| json!({"where": {"and": vec![json!({"and": [leaf(), leaf()]}); n]}});
    assert!(parse(pairs(66)).is_ok());
    refused(pairs(67), "filter has more than 200 nodes");
}

#[test]
fn a_million_members_are_one_node() {
    let members: Vec<Value> = (0..1_000_000).map(|n| json!(format!("id-{n}"))).collect();
    let envelope = parse(json!({"where": {"field": "f", "op": "in", "value": members}})).unwrap();
    assert!(envelope.matches(&object(json!({"f": "id-999999"}))));
    assert!(!envelope.matches(&object(json!({"f": "id-1000000"}))));
}

#[test]
fn malformed_pages_are_refused_with_the_page_s_messages() {
    let item = "order_by items must be { field: string, dir?: 'asc' | 'desc' }";
    let dir = "order_by dir must be 'asc' or 'desc'";
    for (value, message) in [
        (json!(null), "order_by must be an array"),
        (json!("title"), "order_by must be an array"),
        (json!({"field": "title"}), "order_by must be an array"),
        (json!(["title"]), item),
        (json!([null]), item),
        (json!([{}]), item),
        (json!([{"field": ""}]), item),
        (json!([{"field": " "}]), item),
        (json!([{"field": 1, "dir": "up"}]), item),
        (json!([{"field": "f", "dir": null}]), dir),
        (json!([{"field": "f", "dir": "ASC"}]), dir),
        (json!([{"field": "f", "dir": 1}]), dir),
    ] {
        refused(json!({ "order_by": value }), message);
    }
    for value in [
        json!(null),
        json!("5"),
        json!(1.5),
        json!(0),
        json!(-0.0),
        json!(-1),
        json!([]),
    ] {
        refused(
            json!({ "limit": value }),
            "limit must be a positive integer",
        );
    }
    for value in [json!(null), json!("5"), json!(1.5), json!(-1), json!(true)] {
        refused(
            json!({ "offset": value }),
            "offset must be a non-negative integer",
        );
    }
    for value in [
        json!("title"),
        json!({}),
        json!([1]),
        json!(["a", null]),
        json!(false),
    ] {
        refused(
            json!({ "select": value }),
            "select must be an array of field-name strings",
        );
    }
    for value in [json!(1), json!("true")] {
        refused(json!({ "count": value }), "count must be a boolean");
    }
    for value in [json!(1), json!(""), json!(" "), json!(["state"])] {
        refused(
            json!({ "group_by": value }),
            "group_by must be a non-empty string",
        );
    }
    refused(
        json!({"count": true, "group_by": "state"}),
        "count and group_by cannot be used together",
    );
}

#[test]
fn the_first_error_is_reported_in_the_page_s_order() {
    let mut arguments = json!({
        "group_by": 1, "count": 1, "select": 1, "offset": -1, "limit": 0, "order_by": 1, "where": 1,
    });
    for (name, message) in [
        ("where", "filter: each node must be an object"),
        ("order_by", "order_by must be an array"),
        ("limit", "limit must be a positive integer"),
        ("offset", "offset must be a non-negative integer"),
        ("select", "select must be an array of field-name strings"),
        ("count", "count must be a boolean"),
        ("group_by", "group_by must be a non-empty string"),
    ] {
        refused(arguments.clone(), message);
        arguments.as_object_mut().unwrap().remove(name);
    }
    assert!(parse(arguments).is_ok());
}

#[test]
fn a_node_is_checked_before_its_members_and_members_in_order() {
    refused(
        json!({"where": {"and": [{"field": "f", "op": "nope"}, 1]}}),
        "filter: unknown op 'nope'",
    );
    refused(
        json!({"where": {"and": [1, {"field": "f", "op": "nope"}]}}),
        "filter: each node must be an object",
    );
}

#[test]
fn limits_and_offsets_are_whole_doubles() {
    for (arguments, limit, given, offset) in [
        (json!({}), 100, false, 0),
        (json!({"limit": 1}), 1, true, 0),
        (json!({"limit": 2.0}), 2, true, 0),
        (json!({"limit": 1e3}), 1000, true, 0),
        (json!({"limit": 1001}), 1000, true, 0),
        (json!({"limit": 1e300}), 1000, true, 0),
        (json!({"offset": 0}), 100, false, 0),
        (json!({"offset": -0.0}), 100, false, 0),
        (json!({"offset": 7.0}), 100, false, 7),
        (json!({"offset": 1e300}), 100, false, usize::MAX),
    ] {
        let envelope = parse(arguments.clone()).unwrap();
        assert_eq!(
            (envelope.limit(), envelope.limit_given(), envelope.offset()),
            (limit, given, offset),
            "{arguments}"
        );
    }
}

#[test]
fn names_are_bounded_after_duplicates_collapse() {
    let names = |n: usize| -> Vec<Value> { (0..n).map(|n| json!(format!("f{n}"))).collect() };
    let keys =
        |n: usize| -> Vec<Value> { (0..n).map(|n| json!({"field": format!("f{n}")})).collect() };
    assert!(parse(json!({"select": names(200), "order_by": keys(200)})).is_ok());
    assert!(parse(json!({"select": vec!["f"; 5000]})).is_ok());
    refused(
        json!({"select": names(201)}),
        "select names more than 200 fields",
    );
    refused(
        json!({"order_by": keys(201)}),
        "order_by names more than 200 fields",
    );
}

#[test]
fn other_arguments_are_the_tool_s() {
    assert!(parse(json!({"states": 1, "channels": null, "Where": 1, "orderBy": 1})).is_ok());
}

#[test]
fn a_sort_always_sorts() {
    let (asc, desc) = (
        json!([{"field": "n"}]),
        json!([{"field": "n", "dir": "desc"}]),
    );
    let absent = json!("<absent>");
    // Places of the values in order, ascending and descending.
    for (values, up, down) in [
        (
            vec![json!(3), absent.clone(), json!(1), json!(null), json!(2)],
            vec![2, 4, 0, 1, 3],
            vec![0, 4, 2, 1, 3],
        ),
        (
            vec![
                json!(null),
                json!({}),
                json!(true),
                json!("a"),
                json!(9),
                json!(false),
                absent,
            ],
            vec![4, 3, 5, 2, 1, 0, 6],
            vec![1, 2, 5, 3, 4, 0, 6],
        ),
        (
            vec![
                json!("BOARD-2"),
                json!("BOARD-10"),
                json!("board-1"),
                json!(""),
            ],
            vec![3, 1, 0, 2],
            vec![2, 0, 1, 3],
        ),
        (
            vec![json!("\u{1f600}"), json!("\u{fffd}")],
            vec![1, 0],
            vec![0, 1],
        ),
        // Ties keep their order both ways: equal numbers, and whatever has no order of its own.
        (
            vec![json!(1), json!(0), json!(1.0), json!(-0.0)],
            vec![1, 3, 0, 2],
            vec![0, 2, 1, 3],
        ),
        (
            vec![json!(["b"]), json!({"a": 1}), json!(["a"])],
            vec![0, 1, 2],
            vec![0, 1, 2],
        ),
    ] {
        assert_eq!(sorted(asc.clone(), &values), up, "{values:?}");
        assert_eq!(sorted(desc.clone(), &values), down, "{values:?}");
    }
}

#[test]
fn further_keys_break_ties() {
    let rows = records(json!([
        {"id": 1, "a": 1, "b": "x"},
        {"id": 2, "a": 2, "b": "x"},
        {"id": 3, "a": 1, "b": "y"},
        {"id": 4, "a": 1, "b": "x"},
    ]));
    for (order, expected) in [
        (json!([]), [1, 2, 3, 4]),
        (json!([{"field": "zz"}]), [1, 2, 3, 4]),
        (json!([{"field": "a"}]), [1, 3, 4, 2]),
        (
            json!([{"field": "a", "dir": "asc"}, {"field": "b", "dir": "desc"}]),
            [3, 1, 4, 2],
        ),
        (
            json!([{"field": "b"}, {"field": "a", "dir": "desc"}]),
            [2, 1, 4, 3],
        ),
        // The second key of a field never decides.
        (
            json!([{"field": "a"}, {"field": "a", "dir": "desc"}]),
            [1, 3, 4, 2],
        ),
    ] {
        let (found, total) = ids(json!({ "order_by": order }), &rows);
        assert_eq!((json!(found), total), (json!(expected), 4), "{order}");
    }
}

#[test]
fn total_is_counted_before_the_page_is_cut() {
    let rows: Vec<_> = (0..1500)
        .map(|n| object(json!({"id": n, "odd": n % 2})))
        .collect();
    let odd = json!({"field": "odd", "op": "eq", "value": 1});
    let down = json!([{"field": "id", "dir": "desc"}]);
    for (arguments, first, len, total) in [
        (json!({}), json!(0), 100, 1500),
        (json!({"limit": 5000}), json!(0), 1000, 1500),
        (
            json!({"limit": 5000, "offset": 1000}),
            json!(1000),
            500,
            1500,
        ),
        (json!({"limit": 2, "offset": 3}), json!(3), 2, 1500),
        (json!({"where": odd, "limit": 2}), json!(1), 2, 750),
        (
            json!({"where": odd, "limit": 2, "order_by": down}),
            json!(1499),
            2,
            750,
        ),
        (
            json!({"where": odd, "offset": 749, "order_by": down}),
            json!(1),
            1,
            750,
        ),
        (json!({"offset": 1500}), json!(null), 0, 1500),
        (json!({"offset": 1e300}), json!(null), 0, 1500),
        (
            json!({"offset": 1e300, "order_by": down}),
            json!(null),
            0,
            1500,
        ),
    ] {
        let (found, counted) = ids(arguments.clone(), &rows);
        assert_eq!(
            (
                found.first().cloned().unwrap_or_default(),
                found.len(),
                counted
            ),
            (first, len, total),
            "{arguments}"
        );
    }
}

#[test]
fn rows_have_the_selected_fields_in_order() {
    let record =
        object(json!({"id": "A-1", "title": "T", "labels": ["x"], "n": 1.0, "gone": null}));
    let default = ["title", "id", "url"];
    for (select, expected) in [
        (json!({}), r#"{"title":"T","id":"A-1"}"#),
        (json!({"select": null}), r#"{"title":"T","id":"A-1"}"#),
        (json!({"select": []}), "{}"),
        (
            json!({"select": ["labels", "id"]}),
            r#"{"labels":["x"],"id":"A-1"}"#,
        ),
        (
            json!({"select": ["id", "title", "id"]}),
            r#"{"id":"A-1","title":"T"}"#,
        ),
        (
            json!({"select": ["zz", "gone", "__proto__"]}),
            r#"{"gone":null}"#,
        ),
        (json!({"select": ["n"]}), r#"{"n":1}"#),
    ] {
        let row = parse(select.clone()).unwrap().project(&record, &default);
        assert_eq!(Value::Object(row).to_string(), expected, "{select}");
    }
}

#[test]
fn numbers_are_written_without_needless_fractions() {
    for (number, text) in [
        (1.0, "1"),
        (-3.0, "-3"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (9_007_199_254_740_991.0, "9007199254740991"),
        (1e300, "1e+300"),
        (f64::NAN, "null"),
    ] {
        assert_eq!(FieldRef::Number(number).to_value().to_string(), text);
    }
}

#[test]
fn unselected_fields_filter_and_order() {
    let rows = records(json!([
        {"id": 1, "n": 1, "s": "x"}, {"id": 2, "n": 2, "s": "x"}, {"id": 3, "n": 3, "s": "y"},
    ]));
    let envelope = parse(json!({
        "where": {"field": "s", "op": "eq", "value": "x"},
        "order_by": [{"field": "n", "dir": "desc"}],
        "select": ["id"],
    }));
    assert_eq!(
        Value::Object(envelope.unwrap().answer(&rows, &[])),
        json!({"rows": [{"id": 2}, {"id": 1}], "total": 2})
    );
}

#[test]
fn count_answers_only_the_total() {
    let rows = records(json!([{"s": 1}, {"s": 2}, {"s": 1}]));
    let filter = json!({"field": "s", "op": "eq", "value": 1});
    let answer = parse(json!({"where": filter, "count": true, "limit": 1, "select": ["s"]}));
    assert_eq!(
        Value::Object(answer.unwrap().answer(&rows, &[])),
        json!({"total": 2})
    );
    for arguments in [
        json!({"count": false}),
        json!({"count": null, "group_by": null}),
    ] {
        assert_eq!(*parse(arguments).unwrap().shape(), Shape::Rows);
    }
}

#[test]
fn groups_are_the_most_frequent_first() {
    let rows = records(json!([
        {"s": "b", "n": 1, "l": ["x", "y", "x"]},
        {"s": "a", "n": 1.0, "l": []},
        {"s": "b", "n": "1", "l": ["y", null]},
        {"s": null, "n": -0.0, "l": "x"},
        {"n": 0, "l": [{"k": 1}, [1], {"k": 1}]},
        {"s": true, "n": false},
    ]));
    for (arguments, groups) in [
        (
            json!({"group_by": "s"}),
            json!([["b", 2], ["a", 1], [true, 1], [null, 1]]),
        ),
        (
            json!({"group_by": "n"}),
            json!([[0, 2], [1, 2], ["1", 1], [false, 1]]),
        ),
        (
            json!({"group_by": "l"}),
            json!([["x", 2], ["y", 2], [{"k": 1}, 1], [[1], 1], [null, 1]]),
        ),
        (json!({"group_by": "zz"}), json!([])),
        (
            json!({"group_by": "s", "limit": 1, "offset": 1}),
            json!([["a", 1]]),
        ),
        (json!({"group_by": "s", "offset": 9}), json!([])),
    ] {
        let groups: Vec<Value> = groups
            .as_array()
            .unwrap()
            .iter()
            .map(|group| json!({"value": group[0], "count": group[1]}))
            .collect();
        let answer = parse(arguments.clone()).unwrap().answer(&rows, &[]);
        assert_eq!(
            Value::Object(answer),
            json!({"groups": groups, "total": 6}),
            "{arguments}"
        );
    }
}

#[test]
fn all_groups_are_answered_unless_a_limit_is_given() {
    let rows: Vec<_> = (0..2500).map(|n| object(json!({ "n": n }))).collect();
    for (arguments, len) in [
        (json!({"group_by": "n"}), 2500),
        (json!({"group_by": "n", "limit": 7}), 7),
        (json!({"group_by": "n", "offset": 2499}), 1),
    ] {
        let groups = parse(arguments).unwrap().groups("n", &rows);
        assert_eq!(
            (groups.groups.len(), groups.total, groups.distinct),
            (len, 2500, 2500)
        );
    }
}

#[test]
fn ids_that_a_filter_pins_are_looked_up() {
    let eq = |field: &str, value: Value| json!({"field": field, "op": "eq", "value": value});
    let state = eq("state", json!("Todo"));
    for (filter, expected) in [
        (eq("id", json!("A-1")), Some(("id", vec!["A-1"]))),
        (
            eq("identifier", json!("A-1")),
            Some(("identifier", vec!["A-1"])),
        ),
        (
            json!({"field": "id", "op": "in", "value": ["A-2", "A-1", "A-2", 7]}),
            Some(("id", vec!["A-1", "A-2"])),
        ),
        (
            json!({"field": "id", "op": "in", "value": []}),
            Some(("id", vec![])),
        ),
        (eq("id", json!(7)), Some(("id", vec![]))),
        (
            json!({"and": [state, eq("id", json!("A-1"))]}),
            Some(("id", vec!["A-1"])),
        ),
        (
            json!({"and": [state, {"and": [eq("id", json!("A-1"))]}]}),
            Some(("id", vec!["A-1"])),
        ),
        (
            json!({"and": [
                {"field": "id", "op": "in", "value": ["A-1", "A-2"]}, eq("identifier", json!("A-3")),
            ]}),
            Some(("identifier", vec!["A-3"])),
        ),
        (
            json!({"or": [eq("id", json!("A-2")), eq("id", json!("A-1"))]}),
            Some(("id", vec!["A-1", "A-2"])),
        ),
        (
            json!({"or": [eq("id", json!("A-1")), eq("id", json!("A-1"))]}),
            Some(("id", vec!["A-1"])),
        ),
        (json!({"or": [eq("id", json!("A-2")), state]}), None),
        (
            json!({"or": [eq("id", json!("A-2")), eq("identifier", json!("A-1"))]}),
            None,
        ),
        (json!({"not": eq("id", json!("A-1"))}), None),
        (json!({"field": "id", "op": "ne", "value": "A-1"}), None),
        (json!({"field": "id", "op": "nin", "value": ["A-1"]}), None),
        (
            json!({"field": "id", "op": "contains", "value": "A-1"}),
            None,
        ),
        (json!({"field": "id", "op": "gte", "value": "A-1"}), None),
        (json!(null), None),
    ] {
        let envelope = parse(json!({ "where": filter })).unwrap();
        let expected = expected.map(|(field, values)| Lookup { field, values });
        assert_eq!(envelope.lookup(), expected, "{filter}");
    }
    let chat = parse(json!({"where": eq("issueId", json!("C1:2"))})).unwrap();
    assert_eq!(chat.pinned("issueId"), Some(vec!["C1:2"]));
    assert_eq!(chat.lookup(), None);
}

#[test]
fn an_envelope_tells_which_fields_it_reads() {
    let envelope = parse(json!({
        "where": {"and": [{"not": {"field": "a", "op": "exists", "value": true}}, {"or": [leaf()]}]},
        "order_by": [{"field": "b"}],
        "select": ["c"],
    }))
    .unwrap();
    for (field, mentioned, filtered, selected) in [
        ("a", true, true, false),
        ("f", true, true, false),
        ("b", true, false, false),
        ("c", false, false, true),
        ("d", false, false, false),
    ] {
        assert_eq!(envelope.mentions(field), mentioned, "{field}");
        assert_eq!(envelope.filters_on(field), filtered, "{field}");
        assert_eq!(envelope.selects(field), selected, "{field}");
    }
    let grouped = parse(json!({"group_by": "a", "select": ["c"]})).unwrap();
    assert!(grouped.mentions("a") && !grouped.filters_on("a"));
    // Groups have no rows, so nothing has to be read for them.
    assert!(!grouped.selects("c"));
}

#[test]
fn costly_fields_are_needed_only_where_they_decide() {
    let state = |value: &str| json!({"field": "state", "op": "eq", "value": value});
    let thread = json!({"field": "thread", "op": "contains", "value": "x"});
    let record = object(json!({"state": "Todo"}));
    for (filter, expected) in [
        (json!(null), Some(true)),
        (state("Todo"), Some(true)),
        (thread.clone(), None),
        (json!({"not": thread}), None),
        (json!({"and": [state("Done"), thread]}), Some(false)),
        (json!({"and": [thread, state("Done")]}), Some(false)),
        (json!({"and": [state("Todo"), thread]}), None),
        (json!({"or": [thread, state("Todo")]}), Some(true)),
        (json!({"or": [thread, state("Done")]}), None),
        (json!({"not": {"and": [thread, state("Done")]}}), Some(true)),
    ] {
        let envelope = parse(json!({ "where": filter })).unwrap();
        assert_eq!(envelope.decide(&record, &["thread"]), expected, "{filter}");
    }
}

#[test]
fn records_may_be_of_different_kinds() {
    let (a, b) = (object(json!({"n": 2})), object(json!({"n": 1})));
    let records: [&dyn Record; 2] = [&a, &b];
    let envelope = parse(json!({"order_by": [{"field": "n"}]})).unwrap();
    let page = envelope.run(records);
    let numbers: Vec<_> = page
        .rows
        .iter()
        .map(|row| row.field("n").unwrap().to_value())
        .collect();
    assert_eq!(numbers, [1, 2]);
}

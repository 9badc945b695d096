//! The laws, over generated queries and records.

use std::cmp::Ordering;

use guildhall_core::query::{Envelope, FieldRef, compare};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use crate::laws;

/// Few values, so that they meet; among them every pair that is easily confused.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        select(vec![
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(-0.0),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!(1e300),
            json!(9_007_199_254_740_993_u64),
            json!(""),
            json!("1"),
            json!("a"),
            json!("A"),
            json!("ab"),
            json!("B-1"),
            json!("B-10"),
            json!("B-2"),
            json!("\u{fffd}"),
            json!("\u{1f600}"),
            json!("stra\u{df}e"),
            json!("\u{212a}"),
        ]),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Names that records, filters and envelopes share.
fn name() -> impl Strategy<Value = String> {
    select(vec![
        "id",
        "identifier",
        "title",
        "labels",
        "zz",
        "and",
        "or",
        "not",
        "field",
        "op",
        "value",
    ])
    .prop_map(str::to_owned)
}

fn field() -> impl Strategy<Value = &'static str> {
    select(vec!["id", "identifier", "title", "labels", "zz"])
}

fn predicate() -> impl Strategy<Value = Value> {
    prop_oneof![
        (
            field(),
            select(vec!["eq", "ne", "lt", "lte", "gt", "gte"]),
            scalar()
        )
            .prop_map(|(field, op, value)| json!({"field": field, "op": op, "value": value})),
        (
            field(),
            select(vec!["in", "nin"]),
            prop::collection::vec(scalar(), 0..20)
        )
            .prop_map(|(field, op, value)| json!({"field": field, "op": op, "value": value})),
        (
            field(),
            select(vec!["", "a", "A", "1", "b-", "S", "k", "\u{1f600}"]),
            any::<bool>()
        )
            .prop_map(|(field, value, ci)| {
                json!({"field": field, "op": "contains", "value": value, "ci": ci})
            }),
        (field(), any::<bool>())
            .prop_map(|(field, value)| json!({"field": field, "op": "exists", "value": value})),
        (
            select(vec!["id", "identifier"]),
            select(vec!["a", "B-1", "B-2"])
        )
            .prop_map(|(field, value)| json!({"field": field, "op": "eq", "value": value})),
    ]
}

fn filter() -> impl Strategy<Value = Value> {
    predicate().prop_recursive(5, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..5).prop_map(|members| json!({"and": members})),
            prop::collection::vec(inner.clone(), 1..5).prop_map(|members| json!({"or": members})),
            inner.prop_map(|inner| json!({"not": inner})),
        ]
    })
}

fn order_by() -> impl Strategy<Value = Value> {
    let key = (field(), select(vec!["asc", "desc"]))
        .prop_map(|(field, dir)| json!({"field": field, "dir": dir}));
    prop::collection::vec(key, 0..4).prop_map(Value::from)
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    (
        prop::option::of(filter()),
        prop::option::of(order_by()),
        prop::option::of(1..20_u32),
        prop::option::of(0..20_u32),
        prop::option::of(prop::collection::vec(field(), 0..6)),
        prop::option::of(field()),
        any::<bool>(),
    )
        .prop_map(
            |(filter, order_by, limit, offset, select, group_by, count)| {
                let named = [
                    ("where", filter),
                    ("order_by", order_by),
                    ("limit", limit.map(Value::from)),
                    ("offset", offset.map(Value::from)),
                    ("select", select.map(Value::from)),
                    ("group_by", group_by.filter(|_| !count).map(Value::from)),
                    ("count", Some(Value::from(count))),
                ];
                named
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                    .collect()
            },
        )
}

/// Ids are text, as a tracker's are, and may be missing.
fn record() -> impl Strategy<Value = Map<String, Value>> {
    let id = || prop::option::of(select(vec!["a", "B-1", "B-10", "B-2"]).prop_map(Value::from));
    let labels = prop_oneof![
        prop::collection::vec(scalar(), 0..4).prop_map(Value::from),
        any_json()
    ];
    (
        id(),
        id(),
        prop::option::of(scalar()),
        prop::option::of(labels),
    )
        .prop_map(|(id, identifier, title, labels)| {
            [
                ("id", id),
                ("identifier", identifier),
                ("title", title),
                ("labels", labels),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
        })
}

fn records() -> impl Strategy<Value = Vec<Map<String, Value>>> {
    prop::collection::vec(record(), 0..60)
}

/// Every kind of field, with the numbers that JSON lacks.
fn owned_field() -> impl Strategy<Value = Option<Owned>> {
    prop::option::of(prop_oneof![
        any_json().prop_map(Owned::Json),
        prop::num::f64::ANY.prop_map(Owned::Number),
        prop::collection::vec(any::<String>(), 0..3).prop_map(Owned::Texts),
    ])
}

#[derive(Clone, Debug)]
enum Owned {
    Json(Value),
    Number(f64),
    Texts(Vec<String>),
}

impl Owned {
    fn borrow(&self) -> FieldRef<'_> {
        match self {
            Self::Json(value) => FieldRef::Json(value),
            Self::Number(number) => FieldRef::Number(*number),
            Self::Texts(texts) => FieldRef::Texts(texts),
        }
    }
}

proptest! {
    #[test]
    fn laws_hold_for_queries_that_are_well_formed(arguments in arguments(), records in records()) {
        prop_assert!(Envelope::parse(&arguments).is_ok());
        laws::hold(&arguments, &records);
    }

    #[test]
    fn any_json_is_parsed_or_refused(
        filter in any_json(), order_by in any_json(), limit in any_json(), offset in any_json(),
        select in any_json(), present in any::<[bool; 5]>(), records in records(),
    ) {
        let named = [
            ("where", filter), ("order_by", order_by), ("limit", limit), ("offset", offset), ("select", select),
        ];
        let arguments = named
            .into_iter()
            .zip(present)
            .filter(|(_, present)| *present)
            .map(|((name, value), _)| (name.to_owned(), value))
            .collect();
        laws::hold(&arguments, &records);
    }

    #[test]
    fn a_filter_with_one_piece_replaced_is_parsed_or_refused(
        mut filter in filter(), piece in any_json(), place in any::<Index>(), records in records(),
    ) {
        let count = pieces(&mut filter).len();
        *pieces(&mut filter).swap_remove(place.index(count)) = piece;
        laws::hold(&Map::from_iter([("where".to_owned(), filter)]), &records);
    }

    #[test]
    fn the_order_of_values_is_total(
        a in owned_field(), b in owned_field(), c in owned_field(), descending in any::<bool>(),
    ) {
        let [a, b, c] = [&a, &b, &c].map(|field| field.as_ref().map(Owned::borrow));
        prop_assert_eq!(compare(a, a, descending), Ordering::Equal);
        prop_assert_eq!(compare(a, b, descending), compare(b, a, descending).reverse());
        let mut sorted = [a, b, c];
        sorted.sort_by(|a, b| compare(*a, *b, descending));
        prop_assert!(compare(sorted[0], sorted[1], descending).is_le());
        prop_assert!(compare(sorted[1], sorted[2], descending).is_le());
        prop_assert!(compare(sorted[0], sorted[2], descending).is_le());
        // What ties with one of them stands to the third as that one does.
        if compare(a, b, descending).is_eq() {
            prop_assert_eq!(compare(a, c, descending), compare(b, c, descending));
        }
    }

    #[test]
    fn every_page_is_a_piece_of_the_whole_order(
        order_by in order_by(), limit in 1..40_usize, offset in 0..80_usize,
        records in prop::collection::vec(record(), 0..200),
    ) {
        let whole = json!({"order_by": order_by, "limit": 1000});
        let part = json!({"order_by": order_by, "limit": limit, "offset": offset});
        let [whole, part] = [whole, part].map(|arguments| {
            let envelope = Envelope::parse(arguments.as_object().expect("an object")).expect("valid");
            let rows = envelope.run(&records).rows;
            rows.into_iter().map(std::ptr::from_ref).collect::<Vec<_>>()
        });
        let expected: Vec<_> = whole.into_iter().skip(offset).take(limit).collect();
        prop_assert_eq!(part, expected);
    }
}

/// Every scalar within a value.
fn pieces(value: &mut Value) -> Vec<&mut Value> {
    let mut found = Vec::new();
    match value {
        Value::Array(elements) => found.extend(elements.iter_mut().flat_map(pieces)),
        Value::Object(members) => found.extend(members.values_mut().flat_map(pieces)),
        scalar => found.push(scalar),
    }
    found
}

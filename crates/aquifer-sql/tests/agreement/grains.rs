//! Tables for property tests: few values, many ties, many missing values, and all kinds of keys.

use aquifer_query::{Collection, FieldType};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::engines::{EngineSet, Extras};
use crate::shop::{field, words};
use crate::tables::Table;

/// `grains` have a key of one column, `pairs` one of two, `bags` none that callers see.
pub(crate) fn tables() -> Vec<Table> {
    let grains = Collection {
        name: "grains".into(),
        fields: vec![
            field("id", FieldType::Integer),
            field("label", FieldType::Text),
            field("kind", words(&["dust", "sand"])),
            field("n", FieldType::Integer),
            field("x", FieldType::Number),
            field("d", FieldType::Number),
            field("flag", FieldType::Boolean),
            field("seen_at", FieldType::Time),
            field("day", FieldType::Date),
            field("meta", FieldType::Json),
        ],
        key: vec!["id".into()],
        text: vec!["label".into()],
        versions: true,
        ..Collection::default()
    };
    let pairs = Collection {
        name: "pairs".into(),
        fields: vec![
            field("l", FieldType::Text),
            field("r", FieldType::Integer),
            field("v", FieldType::Integer),
            field("w", FieldType::Text),
        ],
        key: vec!["r".into(), "l".into()],
        text: vec!["l".into(), "w".into()],
        versions: true,
        ..Collection::default()
    };
    let bags = Collection {
        name: "bags".into(),
        fields: vec![field("name", FieldType::Text), field("v", FieldType::Integer), field("w", FieldType::Text)],
        key: vec!["(row)".into()],
        text: vec!["name".into(), "w".into()],
        versions: true,
        ..Collection::default()
    };
    let table = |name, singular, collection, sqlite, postgres| Table { name, singular, collection, sqlite, postgres };
    vec![
        table(
            "grains",
            "grain",
            grains,
            "(id INTEGER PRIMARY KEY, label TEXT, kind TEXT CHECK (kind IN ('dust', 'sand')), n BIGINT, x REAL, \
             d NUMERIC(20, 4), flag BOOLEAN, seen_at TIMESTAMP, day DATE, meta JSON)",
            "(id int8 PRIMARY KEY, label varchar(40), kind text CHECK (kind IN ('dust', 'sand')), n int8, x float8, \
             d numeric(20, 4), flag bool, seen_at timestamp, day date, meta jsonb)",
        ),
        table(
            "pairs",
            "pair",
            pairs,
            "(l TEXT NOT NULL, r INTEGER NOT NULL, v INTEGER, w TEXT NOT NULL, PRIMARY KEY (r, l)) WITHOUT ROWID",
            "(l text NOT NULL, r int4 NOT NULL, v int4, w text NOT NULL, PRIMARY KEY (r, l))",
        ),
        table("bags", "bag", bags, "(name TEXT, v INTEGER, w TEXT)", "(name text, v int4, w text)"),
    ]
}

pub(crate) async fn engines() -> EngineSet {
    EngineSet::new(tables(), &[], Extras::default()).await
}

const LABELS: [&str; 17] =
    ["", "a", "A", "b", "é", "É", "null", "a b", "b a é", "%", "_x", "\\", "ß", "ΟΔΟΣ οδος", "😀", "a² b-½", "İ"];
const NUMBERS: [i64; 8] = [-2, -1, 0, 1, 2, 3, 9_007_199_254_740_993, -9_007_199_254_740_994];
const FRACTIONS: [f64; 8] = [-1.5, -0.5, 0.0, 0.25, 1.0, 2.0, 2.5, 1e9];
const MOMENTS: [&str; 5] = [
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:01Z",
    "2025-12-31T23:59:59Z",
    "1969-07-20T20:17:40Z",
    "2026-06-30T12:00:00Z",
];
const DAYS: [&str; 4] = ["2026-01-01", "2026-01-02", "2024-02-29", "1999-12-31"];

/// An integer as answers show it.
fn shown(number: i64) -> Value {
    if number.abs() > 9_007_199_254_740_991 { number.to_string().into() } else { number.into() }
}

fn rarely_null(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop_oneof![3 => value, 1 => Just(Value::Null)]
}

fn label() -> impl Strategy<Value = Value> {
    select(&LABELS[..]).prop_map(Value::from)
}

fn number() -> impl Strategy<Value = Value> {
    select(&NUMBERS[..]).prop_map(shown)
}

fn fraction() -> impl Strategy<Value = Value> {
    select(&FRACTIONS[..]).prop_map(Value::from)
}

fn moment() -> impl Strategy<Value = Value> {
    select(&MOMENTS[..]).prop_map(Value::from)
}

fn day() -> impl Strategy<Value = Value> {
    select(&DAYS[..]).prop_map(Value::from)
}

fn kind() -> impl Strategy<Value = Value> {
    select(&["dust", "sand"][..]).prop_map(Value::from)
}

/// A small JSON value of any kind.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-1_i64..3).prop_map(Value::from),
        select(&[-0.5, 1.0, 1.5][..]).prop_map(Value::from),
        select(&["", "1", "a", "A", "é", "true", "null"][..]).prop_map(Value::from),
    ]
}

fn meta() -> impl Strategy<Value = Value> {
    let list = prop::collection::vec(scalar(), 0..3).prop_map(Value::from);
    let inner = prop_oneof![4 => scalar(), 1 => list, 1 => scalar().prop_map(|b| json!({ "b": b }))];
    prop_oneof![
        6 => (inner.clone(), prop::option::of(inner.clone())).prop_map(|(a, c)| match c {
            Some(c) => json!({ "a": a, "c": c }),
            None => json!({ "a": a }),
        }),
        1 => inner,
    ]
}

fn grain() -> impl Strategy<Value = Value> {
    let columns = (
        (
            rarely_null(label()),
            rarely_null(kind()),
            rarely_null(number()),
            rarely_null(fraction()),
            rarely_null(fraction()),
        ),
        (
            rarely_null(any::<bool>().prop_map(Value::from)),
            rarely_null(moment()),
            rarely_null(day()),
            rarely_null(meta()),
        ),
    );
    columns.prop_map(|((label, kind, n, x, d), (flag, seen_at, day, meta))| {
        json!({ "label": label, "kind": kind, "n": n, "x": x, "d": d, "flag": flag, "seen_at": seen_at, "day": day,
            "meta": meta })
    })
}

/// Rows of each table. The order of the keys differs from the order of the rows.
pub(crate) fn grains(most: usize) -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(grain(), 0..most).prop_map(|rows| {
        let number = |(index, mut row): (usize, Value)| {
            row["id"] = json!((index * 7 + 3) % 101);
            row
        };
        rows.into_iter().enumerate().map(number).collect()
    })
}

pub(crate) fn pairs(most: usize) -> impl Strategy<Value = Vec<Value>> {
    let key = (select(&["a", "B", "é", "a b"][..]), -1_i64..4);
    let rest = (rarely_null((0_i64..3).prop_map(Value::from)), select(&["x", "y"][..]));
    prop::collection::btree_map(key, rest, 0..most)
        .prop_map(|rows| rows.into_iter().map(|((l, r), (v, w))| json!({ "l": l, "r": r, "v": v, "w": w })).collect())
}

pub(crate) fn bags(most: usize) -> impl Strategy<Value = Vec<Value>> {
    let row =
        (rarely_null((0_i64..3).prop_map(Value::from)), rarely_null(select(&["x", "y"][..]).prop_map(Value::from)));
    prop::collection::vec(row, 0..most).prop_map(|rows| {
        let number = |(index, (v, w)): (usize, (Value, Value))| {
            json!({ "(row)": index, "name": format!("bag {index}"), "v": v, "w": w })
        };
        rows.into_iter().enumerate().map(number).collect()
    })
}

/// A field of `grains`, and values to compare it with.
fn operands() -> impl Strategy<Value = (&'static str, Vec<Value>)> {
    fn three<S: Strategy<Value = Value>>(value: S) -> impl Strategy<Value = Vec<Value>> {
        prop::collection::vec(value, 3)
    }
    fn scalars() -> impl Strategy<Value = Value> {
        scalar().prop_filter("is something", |value| !value.is_null())
    }
    prop_oneof![
        three((0_i64..101).prop_map(Value::from)).prop_map(|values| ("id", values)),
        three(label()).prop_map(|values| ("label", values)),
        three(kind()).prop_map(|values| ("kind", values)),
        three(number()).prop_map(|values| ("n", values)),
        three(fraction()).prop_map(|values| ("x", values)),
        three(fraction()).prop_map(|values| ("d", values)),
        three(any::<bool>().prop_map(Value::from)).prop_map(|values| ("flag", values)),
        three(moment()).prop_map(|values| ("seen_at", values)),
        three(day()).prop_map(|values| ("day", values)),
        (select(&["meta", "meta.a", "meta.c", "meta.a.b", "meta.a.0", "meta.c.-1"][..]), three(scalars())),
    ]
}

fn test() -> impl Strategy<Value = Value> {
    (operands(), 0..12_usize, select(&LABELS[..])).prop_map(|((field, values), which, text)| {
        let [one, two, three] = <[Value; 3]>::try_from(values).unwrap();
        let texts = ["label", "kind"].contains(&field) || field.starts_with("meta");
        match which {
            0 => json!({ field: one }),
            1 => json!({ field: [one, two, null] }),
            2 => json!({ field: { "ne": one } }),
            3 => json!({ field: { "gt": one } }),
            4 => json!({ field: { "gte": one, "lt": two } }),
            5 => json!({ field: { "lte": one } }),
            6 => json!({ field: { "in": [one, two, three] } }),
            7 => json!({ field: { "not_in": [one, two] } }),
            8 => json!({ field: { "between": [one, two] } }),
            9 if texts => json!({ field: { "contains": text } }),
            10 if texts => json!({ field: { "starts_with": text } }),
            11 if texts => json!({ field: { "ends_with": text } }),
            _ => json!({ field: { "is_null": one != two } }),
        }
    })
}

pub(crate) fn filter() -> impl Strategy<Value = Value> {
    test().prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|parts| json!({ "and": parts })),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|parts| json!({ "or": parts })),
            inner.prop_map(|inner| json!({ "not": inner })),
        ]
    })
}

/// A sort by some of these fields, in any direction.
pub(crate) fn sort(fields: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let criterion = (select(fields), select(&["asc", "desc"][..]));
    let criterion = criterion.prop_map(|(field, order)| json!({ "field": field, "order": order }));
    prop::collection::vec(criterion, 0..4).prop_map(Value::from)
}

pub(crate) const SORTABLE: [&str; 12] =
    ["id", "label", "kind", "n", "x", "d", "flag", "seen_at", "day", "meta.a", "meta.c", "meta.a.b"];

fn aggregate() -> impl Strategy<Value = Value> {
    let groups = prop::collection::vec(
        select(&["label", "kind", "n", "x", "d", "flag", "seen_at", "day", "meta", "meta.a", "meta.c"][..]),
        0..3,
    );
    let summed = select(&["id", "n", "x", "d", "meta.a", "meta.c"][..]);
    let ordered = select(&["id", "label", "kind", "n", "x", "d", "flag", "seen_at", "day", "meta.a"][..]);
    (groups, summed.clone(), summed, ordered.clone(), ordered).prop_map(|(groups, sum, avg, min, max)| {
        let mut all = json!({ "count": true, "sum": sum, "avg": avg, "min": min, "max": max });
        if !groups.is_empty() {
            all["group_by"] = json!(groups);
        }
        json!({ "sums": all, "n": { "count": true } })
    })
}

fn projection() -> impl Strategy<Value = Value> {
    let names =
        ["id", "label", "kind", "n", "x", "d", "flag", "seen_at", "day", "meta", "meta.a", "meta.a.b", "meta.c.0"];
    prop_oneof![
        select(&["minimal", "standard", "full"][..]).prop_map(Value::from),
        prop::collection::vec(prop::sample::select(names.to_vec()), 1..5).prop_map(Value::from),
    ]
}

fn page() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1..8_usize).prop_map(|first| json!({ "first": first })),
        (1..8_usize).prop_map(|last| json!({ "last": last })),
        (1..8_usize, 0..30_usize).prop_map(|(limit, offset)| json!({ "limit": limit, "offset": offset })),
        (1..5_usize, 1..8_usize).prop_map(|(page, size)| json!({ "page": page, "page_size": size })),
    ]
}

/// Any request to list `grains`.
pub(crate) fn request() -> impl Strategy<Value = Value> {
    let parts = (
        prop::option::weighted(0.7, filter()),
        prop::option::weighted(0.7, sort(&SORTABLE)),
        prop::option::weighted(0.5, projection()),
        prop::option::weighted(0.4, aggregate()),
        page(),
        (any::<bool>(), any::<bool>(), any::<bool>()),
    );
    parts.prop_map(|(filter, sort, fields, aggregate, page, (total, edges, include_items))| {
        // Parameters of items are refused if only aggregates are requested.
        let has_items = aggregate.is_none() || include_items;
        let mut request = if has_items { page } else { json!({}) };
        for (name, part) in [("filter", filter), ("aggregate", aggregate)] {
            if let Some(part) = part {
                request[name] = part;
            }
        }
        for (name, part) in [("sort", sort), ("fields", fields)] {
            if let Some(part) = part.filter(|_| has_items) {
                request[name] = part;
            }
        }
        request["total"] = (total && has_items).into();
        request["edges"] = (edges && has_items).into();
        request["include_items"] = include_items.into();
        request
    })
}

/// Any search text.
pub(crate) fn query() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        select(&LABELS[..]).prop_map(str::to_owned),
        select(&["a b", "b a", "ΟΔΟΣ"][..]).prop_map(|text| format!("\"{text}\"")),
        "[ -~]{0,6}",
    ];
    prop::collection::vec(part, 0..4).prop_map(|parts| parts.join(" "))
}

//! A short grammar of the language, for models that have read nothing else (R-EXT-2).
//!
//! A change to the language requires a change to this text, which is the only summary. Its examples are JSON without
//! quotation marks, because each mark inside JSON text costs a token. A test parses all of them.

/// The grammar, a line for each parameter.
pub const GRAMMAR: &[&str] = &[
    "filter: {state: open, total: {gte: 5}, paid: {lt: {field: total}}}; ne gt lte in not_in between contains starts_with \
     ends_with is_null; and/or: [..], not: {..}; {lines: {some: {quantity: 2}}} none every",
    "fields: [id, customer.name, {lines: {sort: -quantity, first: 1}}]",
    "aggregate: {n: {sum: total*rate, count: true, group_by: [customer.city, {field: placed_at, by: month}], order: desc, first: \
     5}}; avg min max count_distinct having",
    "first: 20, sort: -total, shape: table",
];

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Map, Value, json};

    use super::GRAMMAR;
    use crate::collection::{Cardinality, Collection, Field, FieldType, QueryRoot, Reference, Related};
    use crate::{CursorKey, QueryKind, parse_query};

    /// JSON with its quotation marks.
    fn quoted(text: &str) -> Value {
        let mut json = String::new();
        let mut word = String::new();
        for c in text.chars().chain([' ']) {
            if c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '*') {
                word.push(c);
                continue;
            }
            let is_plain = matches!(word.as_str(), "true" | "false") || word.parse::<f64>().is_ok();
            match word.as_str() {
                "" => {}
                word if is_plain => json.push_str(word),
                word => json.push_str(&format!("\"{word}\"")),
            }
            word.clear();
            json.push(c);
        }
        serde_json::from_str(&json).unwrap_or_else(|problem| panic!("{text} is not an example: {problem}"))
    }

    struct Tables([Collection; 3]);

    impl Related for Tables {
        fn collection(&self, index: usize) -> Option<&Collection> {
            self.0.get(index)
        }
    }

    fn tables() -> Tables {
        let collection = |fields: &[(&str, FieldType)], references: &[(&str, usize, Cardinality)]| Collection {
            fields: fields
                .iter()
                .map(|(name, field_type)| Field {
                    name: (*name).into(),
                    field_type: field_type.clone(),
                    nullable: true,
                    description: None,
                })
                .collect(),
            references: references
                .iter()
                .map(|(name, to, cardinality)| Reference {
                    name: (*name).into(),
                    aliases: Vec::new(),
                    to: *to,
                    cardinality: *cardinality,
                })
                .collect(),
            key: vec![Arc::from("id")],
            ..Collection::default()
        };
        let id = ("id", FieldType::Integer);
        Tables([
            collection(
                &[
                    id.clone(),
                    ("state", FieldType::Text),
                    ("total", FieldType::Number),
                    ("paid", FieldType::Number),
                    ("rate", FieldType::Number),
                    ("placed_at", FieldType::Time),
                ],
                &[("customer", 1, Cardinality::One), ("lines", 2, Cardinality::Many)],
            ),
            collection(&[id.clone(), ("name", FieldType::Text), ("city", FieldType::Text)], &[]),
            collection(&[id, ("quantity", FieldType::Integer)], &[]),
        ])
    }

    fn check(params: Value) {
        let tables = tables();
        let root = QueryRoot::new(tables.collection(0).unwrap(), &tables);
        let params: Map<String, Value> = params.as_object().unwrap().clone();
        let parsed = parse_query(root, QueryKind::List, &params, &CursorKey::new([7; 32]));
        assert!(parsed.is_ok(), "{params:?}: {parsed:?}");
    }

    /// The examples of a line: the text in the outermost brackets.
    fn examples(line: &str) -> Vec<&str> {
        let (mut depth, mut start, mut outermost) = (0, 0, Vec::new());
        for (at, c) in line.char_indices() {
            match c {
                '{' | '[' => {
                    if depth == 0 {
                        start = at;
                    }
                    depth += 1;
                }
                '}' | ']' => {
                    depth -= 1;
                    if depth == 0 {
                        outermost.push(&line[start..=at]);
                    }
                }
                _ => {}
            }
        }
        outermost.into_iter().filter(|example| !example.contains("..")).collect()
    }

    #[test]
    fn r_ext_2_every_example_of_the_grammar_parses() {
        let mut count = 0;
        for line in GRAMMAR {
            let parameter = line.split(':').next().unwrap();
            for example in examples(line) {
                count += 1;
                let value = quoted(example);
                match parameter {
                    "filter" | "aggregate" => check(json!({ parameter: value })),
                    "fields" => check(json!({ "fields": value })),
                    other => panic!("{other} has an example that this test does not check"),
                }
            }
        }
        assert_eq!(count, 4, "an example of the grammar was added or removed");
        for (operator, operand) in [
            ("ne", json!(1)),
            ("gt", json!(1)),
            ("lt", json!(1)),
            ("lte", json!(1)),
            ("in", json!([1])),
            ("not_in", json!([1])),
            ("between", json!([1, 2])),
            ("is_null", json!(true)),
        ] {
            assert!(GRAMMAR[0].contains(operator));
            check(json!({ "filter": { "total": { operator: operand } } }));
        }
        for operator in ["contains", "starts_with", "ends_with"] {
            assert!(GRAMMAR[0].contains(operator));
            check(json!({ "filter": { "state": { operator: "x" } } }));
        }
        for quantifier in ["some", "none", "every"] {
            check(json!({ "filter": { "lines": { quantifier: { "quantity": 2 } } } }));
        }
        for (name, value) in [("and", json!([{ "id": 1 }])), ("or", json!([{ "id": 1 }])), ("not", json!({ "id": 1 }))]
        {
            check(json!({ "filter": { name: value } }));
        }
        for function in ["sum", "avg", "min", "max", "count_distinct"] {
            assert!(GRAMMAR[2].contains(function));
            check(json!({ "aggregate": { "n": { function: "total" } } }));
        }
        check(json!({ "sort": "-total", "first": 20, "total": true, "fields": ["customer.city"] }));
        check(json!({ "filter": { "customer.city": "Bonn" }, "sort": "customer.city" }));
    }
}

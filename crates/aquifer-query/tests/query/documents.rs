//! Runs every example of the documentation.

use aquifer_query::collection::{Cardinality, Collection, Field, FieldType, QueryRoot, Reference, Related};
use aquifer_query::evaluate::evaluate;
use aquifer_query::shape::PageStart;
use aquifer_query::{QueryKind, parse_query};
use serde_json::{Deserializer, Value};

use crate::fixture::{collection, key};
use crate::shape::shaped;

/// The contents of the code blocks of this kind.
fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let fence = format!("```json {kind}\n");
    page.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn r_col_1_every_example_of_the_documentation_holds() {
    let page = include_str!("../../../../docs/query-language.md");
    let tickets: Vec<Value> = serde_json::from_str(blocks(page, "tickets")[0]).unwrap();
    let examples = blocks(page, "example");
    assert!(examples.len() >= 10, "{}", examples.len());
    for example in examples {
        let [request, expected]: [Value; 2] =
            Deserializer::from_str(example).into_iter().collect::<Result<Vec<_>, _>>().unwrap().try_into().unwrap();
        let family = if request.get("query").is_some() { QueryKind::Search } else { QueryKind::List };
        let plan = parse_query(&collection(), family, request.as_object().unwrap(), &key()).unwrap().plan;
        let answer = evaluate(&collection(), &plan, &tickets, &key()).data;
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&answer[name], value, "{request}");
        }
    }
}

/// The collections of the sites and visits in the examples.
struct Sites([Collection; 2]);

impl Related for Sites {
    fn collection(&self, index: usize) -> Option<&Collection> {
        self.0.get(index)
    }
}

fn sites() -> Sites {
    let field = |(name, field_type): (&str, FieldType)| Field {
        name: name.into(),
        field_type,
        nullable: true,
        description: None,
    };
    let collection = |name: &str, fields: Vec<(&str, FieldType)>, reference: Reference| Collection {
        name: name.into(),
        fields: fields.into_iter().map(field).collect(),
        references: vec![reference],
        key: vec!["id".into()],
        ..Collection::default()
    };
    let reference =
        |name: &str, to: usize, cardinality| Reference { name: name.into(), aliases: vec![], to, cardinality };
    let (integer, text) = (FieldType::Integer, FieldType::Text);
    let sites = vec![("id", integer.clone()), ("title", text.clone()), ("budget", integer.clone())];
    let visits = vec![("id", integer.clone()), ("state", text), ("spent", integer)];
    Sites([
        collection("sites", sites, reference("visits", 1, Cardinality::Many)),
        collection("visits", visits, reference("site", 0, Cardinality::One)),
    ])
}

#[test]
fn r_col_1_every_example_of_references_holds() {
    let page = include_str!("../../../../docs/query-language.md");
    let rows: Vec<Value> = serde_json::from_str(blocks(page, "sites")[0]).unwrap();
    let visits_of = |site: &Value| -> Vec<Value> {
        let visits = site["visits"].as_array().unwrap().iter().cloned();
        let refer = |mut visit: Value| {
            visit["site"] = site.clone();
            visit
        };
        visits.map(refer).collect()
    };
    let visits: Vec<Value> = rows.iter().flat_map(visits_of).collect();
    let collections = sites();
    let examples = blocks(page, "related");
    assert!(examples.len() >= 6, "{}", examples.len());
    for example in examples {
        let [request, expected]: [Value; 2] =
            Deserializer::from_str(example).into_iter().collect::<Result<Vec<_>, _>>().unwrap().try_into().unwrap();
        let (operation, params) = request.as_object().unwrap().iter().next().unwrap();
        let (index, rows) = if operation == "list_sites" { (0, &rows) } else { (1, &visits) };
        let collection = &collections.0[index];
        let root = QueryRoot::new(collection, &collections);
        let plan = parse_query(root, QueryKind::List, params.as_object().unwrap(), &key()).unwrap().plan;
        let answer = evaluate(collection, &plan, rows, &key()).data;
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&answer[name], value, "{request}");
        }
    }
}

#[test]
fn r_dis_8_every_example_of_shaping_holds() {
    let page = include_str!("../../../../docs/query-language.md");
    let result: Value = serde_json::from_str(blocks(page, "result")[0]).unwrap();
    let examples = blocks(page, "shaped");
    assert!(examples.len() >= 2, "{}", examples.len());
    for example in examples {
        let [request, expected]: [Value; 2] =
            Deserializer::from_str(example).into_iter().collect::<Result<Vec<_>, _>>().unwrap().try_into().unwrap();
        assert_eq!(shaped(result.clone(), request.clone(), PageStart::Start), expected, "{request}");
    }
}

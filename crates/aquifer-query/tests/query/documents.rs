//! Runs every example of the documentation.

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

#[test]
fn r_dis_8_every_example_of_shaping_holds() {
    let page = include_str!("../../../../docs/query-language.md");
    let result: Value = serde_json::from_str(blocks(page, "result")[0]).unwrap();
    let examples = blocks(page, "shaped");
    assert!(examples.len() >= 2, "{}", examples.len());
    for example in examples {
        let [asked, expected]: [Value; 2] =
            Deserializer::from_str(example).into_iter().collect::<Result<Vec<_>, _>>().unwrap().try_into().unwrap();
        assert_eq!(shaped(result.clone(), asked.clone(), PageStart::Start), expected, "{asked}");
    }
}

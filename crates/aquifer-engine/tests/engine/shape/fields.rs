//! Fields that are returned unless the caller says otherwise, and sources that receive the list of needed fields.

use super::*;

/// Rows with three fields, of which the source returns the requested ones.
struct Selecting {
    requested: Mutex<Vec<Option<Vec<String>>>>,
}

impl Source for Selecting {
    fn name(&self) -> &str {
        "selecting"
    }

    fn offering(&self) -> Offering {
        let mut read = Operation::new("list_issues", Category::Read, "Lists issues.");
        read.origin.native = false;
        shape::add_controls(&mut read, &super::rows_at(None), Controls::All);
        shape::set_default_fields(&mut read, &["id".into(), "user.name".into()]);
        read.capabilities.shaping.as_mut().unwrap().sends_fields = true;
        Offering { operations: vec![read], ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.requested.lock().push(call.page.fields.clone());
        let row = |id: u64| {
            let mut row = json!({ "id": id, "user": { "name": "ann", "age": 5 }, "size": 10 - id });
            if let Some(fields) = &call.page.fields {
                row.as_object_mut().unwrap().retain(|name, _| fields.contains(name));
            }
            row
        };
        std::future::ready(Outcome::Done(Answer::new(json!((0..5).map(row).collect::<Vec<_>>())))).boxed()
    }
}

fn started() -> (Engine, Arc<Selecting>) {
    let source = Arc::new(Selecting { requested: Mutex::default() });
    let engine = Engine::builder(surface()).dangerously_let_everything_pass().source(source.clone()).build().unwrap();
    (engine, source)
}

#[tokio::test]
async fn r_dis_8_the_default_fields_are_returned_if_none_are_asked_for() {
    let whole = json!({ "id": 0, "user": { "name": "ann", "age": 5 }, "size": 10 });
    let usual = json!({ "id": 0, "user": { "name": "ann" } });
    #[rustfmt::skip]
    let table = [
        (json!({}), Some(vec!["id", "user"]), &usual),
        (json!({ "first": 1 }), Some(vec!["id", "user"]), &usual),
        (json!({ "filter": { "size": { "gt": 5 } } }), Some(vec!["id", "user", "size"]), &usual),
        (json!({ "filter": { "or": [{ "size": 10 }, { "not": { "id": 1 } }] }, "sort": "-size" }), Some(vec!["id", "user", "size"]), &usual),
        (json!({ "fields": ["id", "user", "size"] }), Some(vec!["id", "user", "size"]), &whole),
        (json!({ "fields": "full" }), None, &whole),
        (json!({ "preset": "full" }), None, &whole),
    ];
    for (params, requested, first) in table {
        let (engine, source) = started();
        let answer = list(&engine, params.clone()).await;
        let rows =
            answer["data"]["items"].as_array().or(answer["data"].as_array()).unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(rows[0], *first, "{params}");
        let requested = requested.map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(*source.requested.lock(), [requested], "{params}");
    }
}

#[tokio::test]
async fn aggregates_see_all_fields() {
    let (engine, source) = started();
    let answer = list(&engine, json!({ "aggregate": { "all": { "sum": "size" } } })).await;
    assert_eq!(*source.requested.lock(), [None]);
    assert!(answer.to_string().contains("40"), "{answer}");
}

#[tokio::test]
async fn a_page_with_other_fields_does_not_come_from_what_is_held() {
    let (engine, source) = started();
    let first = list(&engine, json!({ "first": 2 })).await;
    let after = first["data"]["pageInfo"]["endCursor"].clone();
    let same = list(&engine, json!({ "first": 2, "after": after })).await;
    assert_eq!(same["data"]["items"][0]["id"], 2, "{same}");
    assert_eq!(source.requested.lock().len(), 1, "the rest is held");
    let other = list(&engine, json!({ "first": 2, "after": after, "fields": ["size"] })).await;
    assert!(other["error"].is_object() || other["data"]["items"][0]["size"] == 8, "{other}");
}

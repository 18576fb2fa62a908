//! Selections from nested values keep their shape.

use std::sync::Arc;

use aquifer_query::selection::Selection;
use serde_json::json;

fn selection(paths: &[&str]) -> Selection {
    let steps: Vec<Vec<Arc<str>>> = paths.iter().map(|path| path.split('.').map(Arc::from).collect()).collect();
    Selection::from_paths(steps.iter().map(Vec::as_slice))
}

#[test]
fn r_col_5_lists_stay_lists_and_objects_stay_objects() {
    let value = json!({
        "a": { "b": [{ "c": 0, "d": 0 }, { "c": 1 }, { "c": 2, "d": 2 }], "2": { "c": "an object's own name" } },
        "m": [[1, 2], [3, [4, { "x": 5 }]]],
        "s": ["x", null, "z"],
        "n": null,
    });
    for (paths, expected) in [
        (&["a.b.2.c"][..], json!({ "a": { "b": [{ "c": 2 }] } })),
        (&["a.b.-1.c"], json!({ "a": { "b": [{ "c": 2 }] } })),
        (&["a.b.2"], json!({ "a": { "b": [{ "c": 2, "d": 2 }] } })),
        // In the order of the list, each element once.
        (&["a.b.2.c", "a.b.0.d", "a.b.2.d"], json!({ "a": { "b": [{ "d": 0 }, { "c": 2, "d": 2 }] } })),
        (&["a.b.2.c", "a.b.-1.d"], json!({ "a": { "b": [{ "c": 2, "d": 2 }] } })),
        (&["a.b.1", "a.b.1.c"], json!({ "a": { "b": [{ "c": 1 }] } })),
        // A number may be the name of a field.
        (&["a.2.c"], json!({ "a": { "2": { "c": "an object's own name" } } })),
        (&["m.1.1.1.x"], json!({ "m": [[[{ "x": 5 }]]] })),
        (&["m.0.1", "m.1.0"], json!({ "m": [[2], [3]] })),
        (&["s.0", "s.2"], json!({ "s": ["x", "z"] })),
        (&["a.b.2.c", "s.-3"], json!({ "a": { "b": [{ "c": 2 }] }, "s": ["x"] })),
    ] {
        assert_eq!(selection(paths).apply(&value), Some(expected.clone()), "{paths:?}");
        assert_eq!(selection(paths).prune(&value), Some(expected), "{paths:?}");
    }
    for nothing in ["s.1", "s.3", "s.-4", "n", "n.x", "a.b.7.c", "s.0.x", "zz", "m.5.5", "a.b.99999999999999999999"] {
        assert_eq!(selection(&[nothing]).apply(&value), None, "{nothing}");
    }
}

#[test]
fn r_dis_8_names_and_indexes_apply_to_lists() {
    let value = json!({ "labels": [{ "name": "bug", "color": 1 }, "plain", { "name": "old", "color": 2 }] });
    for (paths, expected) in [
        (&["labels.name"][..], json!([{ "name": "bug" }, {}, { "name": "old" }])),
        (&["labels.name", "labels.2.color"], json!([{ "name": "bug" }, {}, { "name": "old", "color": 2 }])),
        (&["labels.name", "labels.1"], json!([{ "name": "bug" }, "plain", { "name": "old" }])),
        (&["labels.2.color"], json!([{ "color": 2 }])),
    ] {
        assert_eq!(selection(paths).prune(&value), Some(json!({ "labels": expected })), "{paths:?}");
    }
    assert_eq!(selection(&["labels.name"]).apply(&value), None);
}

#[test]
fn r_dis_8_what_is_there_stays_there() {
    let value =
        json!({ "empty": {}, "none": [], "null": null, "text": "x", "list": [null, {}, { "a": null }, [{ "a": 1 }]] });
    for (path, expected) in [
        ("empty.a", json!({ "empty": {} })),
        ("none.a", json!({ "none": [] })),
        ("none.0", json!({ "none": [] })),
        ("null.a.b", json!({ "null": null })),
        ("list.a", json!({ "list": [null, {}, { "a": null }, {}] })),
        ("list.7", json!({ "list": [] })),
        ("text.a", json!({})),
        ("missing.a", json!({})),
    ] {
        assert_eq!(selection(&[path]).prune(&value), Some(expected), "{path}");
    }
}

//! Bytes are stored exactly as given, or refused.

use serde_json::json;

use crate::support::{Fixture, on_both};

const SQLITE: &str =
    "CREATE TABLE files (id INTEGER PRIMARY KEY, content BLOB); CREATE TABLE tags (mark BLOB PRIMARY KEY NOT NULL);
    INSERT INTO files VALUES (1, x'6162'); INSERT INTO tags VALUES (x''), (x'6162');";

const POSTGRES: &str =
    "CREATE TABLE files (id int PRIMARY KEY, content bytea); CREATE TABLE tags (mark bytea PRIMARY KEY);
    INSERT INTO files VALUES (1, '\\x6162'); INSERT INTO tags VALUES (''), ('\\x6162');";

on_both!(r_saf_1_invalid_base64_is_refused_for_bytes, only_base64_is_kept, SQLITE, POSTGRES);

async fn only_base64_is_kept(fixture: &Fixture) {
    let count = "SELECT count(*) FROM files WHERE id = 1 AND octet_length(content) = 2";
    let tags = "SELECT count(*) FROM tags";
    // Excess bits, wrong padding, characters of other alphabets, blanks.
    for given in ["YWJ=", "YR==", "YWF=", "YWI", "YWI==", "YWI=\n", " YWI=", "Y-I=", "=", "====", "YWI=YWI="] {
        for (operation, params) in [
            ("create_file", json!({ "id": 2, "content": given })),
            ("update_file", json!({ "id": 1, "input": { "content": given } })),
            ("update_file", json!({ "id": 1, "input": { "content": given }, "dry_run": true })),
            ("list_files", json!({ "filter": { "content": given } })),
            ("get_tag", json!({ "mark": given })),
            ("delete_tag", json!({ "mark": given })),
            ("create_tag", json!({ "mark": given })),
        ] {
            let answer = fixture.call(operation, params.clone()).await;
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            assert!(code.starts_with("VALIDATION_"), "{operation} {params}: {answer}");
        }
        assert_eq!(fixture.value(count).await, "1", "{given:?}");
        assert_eq!(fixture.value(tags).await, "2", "{given:?}");
    }
    for (id, given) in [(10, ""), (11, "YQ=="), (12, "YWI="), (13, "YWJj"), (14, "/+8="), (15, "AA==")] {
        let made = fixture.call_ok("create_file", json!({ "id": id, "content": given })).await;
        assert_eq!(made["content"], given);
        let changed = fixture.call_ok("update_file", json!({ "id": 1, "input": { "content": given } })).await;
        assert_eq!(changed["content"], given);
    }
}

//! Rows that refer to a row, as PostgreSQL returns them.

use serde_json::json;

use crate::postgres_reflection::TYPES;
use crate::support::Fixture;

#[tokio::test]
async fn r_ext_3_related_rows_of_all_types_are_written_like_the_rows_themselves() {
    let fixture = Fixture::postgres(&format!(
        "{TYPES}
        CREATE TABLE owners (id int PRIMARY KEY);
        INSERT INTO owners VALUES (1), (2);
        ALTER TABLE everything ADD owner_id int REFERENCES owners;
        INSERT INTO everything (owner_id, name, short, fixed, insensitive, small, whole, large, exact, any_exact, single,
            double, at, local, day, hour, span, key, bytes, doc, tree, numbers, words, moods, mood, level, deep, code,
            dress, feeling, address, range, place, bits, price)
        VALUES (1, E'a \"quoted\" \\\\ line\\n', 'b', 'c', 'D', -1, 2, 9007199254740993, 1.50, 'NaN', 0.1, 1e300,
            '2026-01-31 12:00:00.25+02', 'infinity', '0044-03-15 BC', '23:59', '1 day 2 hours',
            '6f0c1f0e-8f0a-4a52-9d0e-0f6f1c2b3a4d', '\\x00ff', '{{\"a\": [1, 1e400]}}', '{{\"b\": null}}',
            '{{1,NULL,3}}', '{{\"x, y\",NULL}}', '{{happy}}', 'it''s ok', 1, 11, 'abcd', 'M', 'sad', '10.0.0.1/8',
            '[1,5)', '(1,2)', B'101', 12.34);
        INSERT INTO everything (owner_id, name) VALUES (1, '');"
    ))
    .await;
    let fields = fixture.call_ok("list_everythings", json!({ "first": 1 })).await["items"][0].clone();
    let names: Vec<&String> = fields.as_object().unwrap().keys().filter(|name| *name != "_binary").collect();
    assert!(names.len() > 35, "{fields}");
    let rows = fixture.call_ok("list_everythings", json!({ "fields": names, "sort": "id" })).await["items"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    let related = json!({ "everythings": { "fields": names, "sort": "id" } });
    let owners = fixture.call_ok("list_owners", json!({ "fields": ["id", related], "sort": "id" })).await;
    assert_eq!(owners["items"], json!([{ "id": 1, "everythings": rows }, { "id": 2, "everythings": [] }]));
}

//! Clients that spell arguments so that a rule does not see them (items 3 and 13).

use serde_json::{Value, json};

use super::{World, in_every_setting, object, tool, with_every_client};
use crate::support::Transport;

const RULES: &str = "
[[gate.rule]]
effect = \"deny\"
when = [{ param = \"max_amount\", greater = 100 }]
[[gate.rule]]
effect = \"deny\"
when = [{ param = \"HTTPMethod\", equals = \"DELETE\", ignore_case = true }]
[[gate.rule]]
effect = \"deny\"
when = [{ param = \"target-URL\", equals = \"http://evil.example\" }]
";

#[test]
fn r_saf_2_no_spelling_of_a_parameter_gets_past_a_condition() {
    let read = json!({ "readOnlyHint": true });
    let text = json!({ "type": "string" });
    let declared = json!({ "max_amount": { "type": "integer" }, "HTTPMethod": text, "target-URL": text });
    let mut quote = tool("get_quote", declared, read.clone());
    quote["inputSchema"]["additionalProperties"] = json!(true);
    let both = tool("get_both", json!({ "camelCase": text, "camel_case": text, "_secret": text }), read);
    let script = json!({ "tools": [quote, both] });
    let spellings: [(&[&str], Value); 4] = [
        (
            &[
                "max_amount",
                "MaxAmount",
                "maxAmount",
                "MAX_AMOUNT",
                "max-amount",
                "maxamount",
                "Max Amount",
                "max.amount",
                "max__amount",
                "_max_amount",
                "max_amount_",
                "ma\u{fb03}x",
                "ｍａｘ_ａｍｏｕｎｔ",
                "max\u{200b}_amount",
            ],
            json!(1000),
        ),
        (&["max_amount", "MaxAmount"], json!("1000")),
        (&["HTTPMethod", "http_method", "httpMethod", "HttpMethod", "HTTP-METHOD", "httpmethod"], json!("delete")),
        (
            &["target-URL", "target_url", "targetUrl", "TargetURL", "TARGET_URL", "targeturl"],
            json!("http://evil.example"),
        ),
    ];
    in_every_setting(
        &Transport::BOTH,
        |setting| World::with_upstream(setting, &script, "", RULES),
        |world, _| {
            for (names, value) in &spellings {
                for name in *names {
                    let answer = world.call("read", "get_quote", object(name, value.clone()));
                    // A name that no upstream would take for a declared one is none of them.
                    let is_other = *name == "ma\u{fb03}x";
                    assert_eq!(answer["success"] == true, is_other, "{name} {value}: {answer}");
                }
                // One that is fine beside one that is not.
                if let [first, .., last] = names {
                    let mut params = object(first, json!(5));
                    params[*last] = value.clone();
                    let answer = world.call("read", "get_quote", params);
                    assert_ne!(answer["success"], true, "{first} {last}: {answer}");
                }
            }
            let before = world.executed("get_quote").len();
            world.data("read", "get_quote", json!({ "max_amount": 5, "http_method": "GET", "other": 1000 }));
            let reached = world.executed("get_quote");
            assert_eq!(reached.len(), before + 1);
            assert_eq!(reached.last(), Some(&json!({ "max_amount": 5, "HTTPMethod": "GET", "other": 1000 })));
            let is_bad = |value: &Value| value == &json!(1000) || value == "1000" || value == "delete";
            for arguments in reached {
                let bad =
                    arguments.as_object().unwrap().iter().filter(|(name, value)| is_bad(value) && *name != "other");
                assert!(bad.clone().all(|(name, _)| name == "ma\u{fb03}x"), "{arguments}");
            }
            // Two declared names that differ only in style stay two, and a name may begin with an underscore.
            let described = world.described("get_both");
            let parameters: Vec<&Value> =
                described["parameters"].as_array().unwrap().iter().map(|parameter| &parameter["name"]).collect();
            assert!(parameters.len() >= 3, "{described}");
            world.data("read", "get_both", json!({ "camelCase": "a", "camel_case": "b", "_secret": "c" }));
            let reached = world.executed("get_both");
            assert_eq!(reached.last(), Some(&json!({ "camelCase": "a", "camel_case": "b", "_secret": "c" })));
        },
    );
}

#[test]
fn r_saf_2_text_is_compared_as_the_column_compares_it() {
    let sql = "CREATE TABLE users (id INTEGER PRIMARY KEY, role TEXT COLLATE NOCASE, note TEXT);
               INSERT INTO users VALUES (1, 'reader', 'n');";
    let rules = "[[gate.rule]]\neffect = \"deny\"\nwhen = [{ param = \"input.role\", equals = \"admin\" }]\n\
                 [[gate.rule]]\neffect = \"deny\"\nwhen = [{ param = \"input.note\", equals = \"closed\" }]\n";
    with_every_client(
        |setting| World::with_database(setting, sql, "", rules),
        |world, _| {
            for (column, value, is_denied) in [
                ("role", "admin", true),
                ("role", "ADMIN", true),
                ("role", "aDmIn", true),
                ("note", "closed", true),
                ("note", "CLOSED", false),
                ("role", "writer", false),
            ] {
                let params = json!({ "id": 1, "input": object(column, json!(value)) });
                let answer = world.call("update", "update_user", params);
                assert_eq!(answer["error"]["code"] == "PERMISSION_DENIED", is_denied, "{column} {value}: {answer}");
                assert_eq!(answer["success"] == true, !is_denied, "{column} {value}: {answer}");
            }
            assert_eq!(world.query("SELECT role || note FROM users"), "writerCLOSED");
        },
    );
}

//! Names that are hidden from a condition: in another Unicode form, in a flat name with indices, in text.

use aquifer_gate::policy::Policy;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema, Types};
use serde_json::{Value, json};

use super::spelling::{effect, loosening, open, restricting};

fn check(policy: &Policy, operation: &Operation, table: &[(Value, &str)]) {
    for (params, expected) in table {
        assert_eq!(effect(policy, operation, &Types::new(), params), *expected, "{params}");
    }
}

/// Servers that normalize names, or compare them with Unicode case folding, find the parameter under any of these.
#[test]
fn r_saf_2_a_condition_sees_every_unicode_form_of_a_name() {
    let table: &[(&str, &[&str])] = &[
        ("が", &["か\u{3099}"]),
        ("수량", &["\u{1109}\u{116e}\u{1105}\u{1163}\u{11bc}"]),
        ("город_й", &["город_и\u{306}", "ГОРОД_Й", "ГородИ\u{306}"]),
        ("größe", &["GRÖẞE", "gro\u{308}ße", "GRÖSSE", "GRO\u{308}SSE"]),
        ("straße", &["STRAẞE", "strasse"]),
        ("max_amount", &["ｍａｘ＿ａｍｏｕｎｔ", "max\u{ad}_amount", "ᵐax_amount"]),
    ];
    for (declared, spellings) in table {
        for spelling in [declared].into_iter().chain(*spellings) {
            for (operation, what) in
                [(open(vec![]), "open"), (open(vec![Parameter::optional(declared, Schema::default())]), "declared")]
            {
                let deny = restricting(&format!("param = \"{declared}\", greater = 100"));
                let params = json!({ *spelling: 1000 });
                assert_eq!(effect(&deny, &operation, &Types::new(), &params), "deny", "{what} {params}");
                let deny = restricting(&format!("param = \"o.{declared}\", greater = 100"));
                for params in [json!({ "o": { *spelling: 1000 } }), json!({ format!("o.{spelling}"): 1000 })] {
                    assert_eq!(effect(&deny, &operation, &Types::new(), &params), "deny", "{what} {params}");
                }
            }
        }
    }
}

#[test]
fn r_saf_2_ignoring_case_ignores_unicode_forms() {
    #[rustfmt::skip]
    let table: &[(&str, &[&str], &[&str])] = &[
        ("equals = \"straße\"", &["STRAẞE", "strasse", "Straße"], &["strase"]),
        ("equals = \"größe\"", &["gro\u{308}ße", "GRÖẞE"], &["grosse"]),
        ("matches = \"/straße/*\"", &["/STRAẞE/1", "/strasse/1"], &["/strase/1"]),
        ("matches = \"stra?e\"", &["straße", "STRAẞE"], &["strassse"]),
        ("one_of = [\"が\"]", &["か\u{3099}"], &["か"]),
        ("equals = \"admin\"", &["ａｄｍｉｎ", "ADM\u{130}N"], &["adm"]),
    ];
    let types = Types::new();
    let pay = open(vec![Parameter::optional("city", Schema::string())]);
    for (condition, caught, passing) in table {
        let condition = format!("param = \"city\", ignore_case = true, {condition}");
        let deny = restricting(&condition);
        for value in *caught {
            let params = json!({ "city": value });
            assert_eq!(effect(&deny, &pay, &types, &params), "deny", "{condition} {params}");
        }
        for value in *passing {
            let params = json!({ "city": value });
            assert_eq!(effect(&deny, &pay, &types, &params), "confirm", "{condition} {params}");
        }
    }
    // Not every source compares like this, so none of it loosens anything.
    let loose = loosening("param = \"city\", ignore_case = true, matches = \"straße*\"");
    check(&loose, &pay, &[(json!({ "city": "STRAẞE 1" }), "confirm"), (json!({ "city": "strasse 1" }), "confirm")]);
    // Folding may produce characters that mean something in a pattern. They are not wildcards.
    let loose = loosening("param = \"city\", ignore_case = true, matches = \"a｜b\"");
    check(&loose, &pay, &[(json!({ "city": "x" }), "confirm"), (json!({ "city": "a|b" }), "confirm")]);
}

#[test]
fn r_saf_2_a_condition_sees_flat_names_with_indices() {
    let deny = restricting("param = \"items.max_amount\", greater = 100");
    let inside = json!({ "max_amount": 1000 });
    check(
        &deny,
        &open(vec![]),
        &[
            (json!({ "items.0.max_amount": 1000 }), "deny"),
            (json!({ "items[0].max_amount": 1000 }), "deny"),
            (json!({ "items[0][max_amount]": 1000 }), "deny"),
            (json!({ "items[].maxAmount": 1000 }), "deny"),
            (json!({ "/items/0/max_amount": 1000 }), "deny"),
            (json!({ "$.items[-1]['max_amount']": 1000 }), "deny"),
            (json!({ "items_12_max_amount": 1000 }), "deny"),
            (json!({ "items.0.1.max_amount.0": 1000 }), "deny"),
            (json!({ "items.٠.max_amount": 1000 }), "deny"),
            (json!({ "items.0": inside }), "deny"),
            (json!({ "ITEMS[0].ｍａｘ_amount": 1000 }), "deny"),
            (json!({ "items[0]": { "MaxAmount[0]": 1000 } }), "deny"),
            (json!({ "items": { "0": inside } }), "deny"),
            (json!({ "items": { "[0]": { "1": [inside] } } }), "deny"),
            (json!({ "items": { "0.max_amount": 1000 } }), "deny"),
            (json!({ "0": { "items": inside } }), "deny"),
            (json!({ "items.0.max_amount": 10 }), "confirm"),
            (json!({ "items.first.max_amount": 1000 }), "confirm"),
            (json!({ "items.0.amount": 1000 }), "confirm"),
            (json!({ "items": { "0": { "amount": 1000 } } }), "confirm"),
        ],
    );
    // A number may be part of the name.
    let numbered = restricting("param = \"line_2.amount\", greater = 100");
    check(
        &numbered,
        &open(vec![]),
        &[
            (json!({ "line_2.amount": 1000 }), "deny"),
            (json!({ "line_2[0].amount": 1000 }), "deny"),
            (json!({ "line.2.amount": 1000 }), "deny"),
            (json!({ "line_3.amount": 1000 }), "confirm"),
            (json!({ "line.amount": 1000 }), "confirm"),
        ],
    );
    // A declared parameter with a number is a separate one; a declared flat name is what the path leads to.
    let declared = open(vec![
        Parameter::optional("address_2", Schema::string()),
        Parameter::optional("items.max_amount", Schema::new(Kind::Number)),
    ]);
    check(&deny, &declared, &[(json!({ "items.max_amount": 1000 }), "deny")]);
    let address = restricting("param = \"address\", equals = \"x\"");
    check(&address, &declared, &[(json!({ "address_2": "x" }), "confirm"), (json!({ "address_3": "x" }), "deny")]);
    // None of them loosens anything.
    let loose = loosening("param = \"items.dry_run\", equals = true");
    let declared = open(vec![Parameter::optional("items", Schema::default())]);
    check(
        &loose,
        &declared,
        &[
            (json!({ "items": [{ "dry_run": true }] }), "allow"),
            (json!({ "items": { "0": { "dry_run": true } } }), "confirm"),
            (json!({ "items.0.dry_run": true }), "confirm"),
            (json!({ "items": [{ "dry_run": true }], "items[1].dry_run": false }), "confirm"),
        ],
    );
}

#[test]
fn r_saf_2_text_that_may_contain_the_rest_of_a_path_is_uncertain() {
    let deny = restricting("param = \"any.max_amount\", greater = 100");
    for operation in [open(vec![]), open(vec![Parameter::optional("any", Schema::default())])] {
        check(
            &deny,
            &operation,
            &[
                (json!({ "any": "{\"max_amount\": 1000}" }), "deny"),
                (json!({ "any": "\u{feff}{\"max_amount\": 1000}" }), "deny"),
                (json!({ "any": "\"{\\\"max_amount\\\": 1000}\"" }), "deny"),
                (json!({ "any": "\"{\\\"m\\u0061x_amount\\\": 1000}\"" }), "deny"),
                (json!({ "any": "// x\n{\"m\\u0061x_amount\": 1000}" }), "deny"),
                (json!({ "any": "max_amount: 1000" }), "deny"),
                (json!({ "any": "maxAmount=1000" }), "deny"),
                (json!({ "any": "m%61x_amount=1000" }), "deny"),
                (json!({ "any": "<&#109;ax_amount>1000" }), "deny"),
                (json!({ "any": "<MaxAmount>1000</MaxAmount>" }), "deny"),
                (json!({ "any": ["max_amount", 1000] }), "deny"),
                (json!({ "any": "none" }), "confirm"),
                (json!({ "any": "amount: 1000" }), "confirm"),
                (json!({ "any": 1000 }), "confirm"),
            ],
        );
    }
    // A value itself may be JSON text, too.
    let deny = restricting("param = \"any\", equals = \"prod\"");
    check(
        &deny,
        &open(vec![]),
        &[
            (json!({ "any": "\"prod\"" }), "deny"),
            (json!({ "any": "\u{feff}[\"prod\"]" }), "deny"),
            (json!({ "any": "a \"prod\"" }), "confirm"),
        ],
    );
}

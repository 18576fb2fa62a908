//! Conditions hold for every spelling of names, texts and numbers. Each table tries to evade a restricting rule, and to
//! benefit from a loosening one.

use std::sync::Arc;

use aquifer_engine::Caller;
use aquifer_gate::policy::{Inventory, Policy, Subject};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Comparison, Format, Kind, Parameter, Rest, Schema, Shape, Types};
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::{operation, policy};

pub(super) fn effect(policy: &Policy, operation: &Operation, types: &Types, params: &Value) -> &'static str {
    let (caller, params) = (Caller::anonymous(), params.as_object());
    policy.decide(&Subject { operation, caller: &caller, scopes: &[], params, types: Some(types) }).effect.as_str()
}

pub(super) fn restricting(condition: &str) -> Policy {
    policy(&format!("[[rule]]\neffect = \"deny\"\nwhen = [{{ {condition} }}]\n"))
}

pub(super) fn loosening(condition: &str) -> Policy {
    policy(&format!("[[rule]]\neffect = \"allow\"\nloosen = true\noperation = \"*\"\nwhen = [{{ {condition} }}]\n"))
}

/// An upstream's operation that accepts any parameter.
pub(super) fn open(parameters: Vec<Parameter>) -> Operation {
    let mut operation = operation("pay", Category::Execute, Danger::Destructive, Trust::Validated);
    operation.origin.native = false;
    operation.open = true;
    operation.parameters = parameters;
    operation
}

fn text(comparison: Comparison) -> Schema {
    Schema { comparison, ..Schema::string() }
}

fn formatted(format: Format) -> Schema {
    Schema { format: Some(format), ..Schema::string() }
}

/// Every name that a server may accept for a parameter counts as that parameter.
#[test]
fn r_saf_2_a_condition_sees_every_spelling_of_a_name() {
    let spellings = [
        "max_amount",
        "maxAmount",
        "MaxAmount",
        "MAX_AMOUNT",
        "MAX-AMOUNT",
        "max-amount",
        "max.amount",
        "max amount",
        "_max_amount",
        "max__amount",
        "max\u{200b}_amount",
    ];
    let types = Types::new();
    for (rule, nested) in [("max_amount", false), ("options.max_amount", true), ("Options.MaxAmount", true)] {
        let deny = restricting(&format!("param = \"{rule}\", greater = 100"));
        for spelling in &spellings {
            for options in ["options", "Options", "OPTIONS", "op-tions"] {
                let (inside, harmless) = (json!({ *spelling: 1000 }), json!({ *spelling: 10 }));
                let put = |inside: &Value| if nested { json!({ options: inside }) } else { inside.clone() };
                assert_eq!(effect(&deny, &open(vec![]), &types, &put(&inside)), "deny", "{rule} {spelling} {options}");
                assert_eq!(effect(&deny, &open(vec![]), &types, &put(&harmless)), "confirm", "{rule} {spelling}");
                // In lists, too, and beside a harmless one.
                let list =
                    if nested { json!({ options: [harmless, inside] }) } else { json!({ *spelling: [1, 1000] }) };
                assert_eq!(effect(&deny, &open(vec![]), &types, &list), "deny", "{rule} {spelling} in a list");
            }
            let mut both = json!({ "max_amount": 10 });
            if *spelling != "max_amount" {
                both[*spelling] = json!(1000);
                let both = if nested { json!({ "options": both }) } else { both };
                assert_eq!(effect(&deny, &open(vec![]), &types, &both), "deny", "{rule} twice, as {spelling}");
            }
        }
        // A flat name for a nested one.
        if nested {
            for flat in ["options.max_amount", "options[max_amount]", "optionsMaxAmount", "options_max_amount"] {
                assert_eq!(effect(&deny, &open(vec![]), &types, &json!({ flat: 1000 })), "deny", "{rule} as {flat}");
            }
            // Text that a source may parse.
            for written in ["{\"max_amount\": 1000}", " [{\"max_amount\": 1000}]"] {
                assert_eq!(effect(&deny, &open(vec![]), &types, &json!({ "options": written })), "deny", "{written}");
            }
            assert_eq!(effect(&deny, &open(vec![]), &types, &json!({ "options": "none" })), "confirm");
        }
        let other = if nested { json!({ "options": { "max_amounts": 1000 } }) } else { json!({ "max_amounts": 1000 }) };
        assert_eq!(effect(&deny, &open(vec![]), &types, &other), "confirm", "{rule}");
    }
    let kelvin = restricting("param = \"key\", equals = \"k\"");
    assert_eq!(effect(&kelvin, &open(vec![]), &types, &json!({ "\u{212a}ey": "k" })), "deny", "the Kelvin sign");
    let sharp = restricting("param = \"groesse\", greater = 1");
    assert_eq!(effect(&sharp, &open(vec![]), &types, &json!({ "GROESSE": 2 })), "deny");
}

/// A parameter that we renamed is known by both names.
#[test]
fn r_dis_7_a_condition_knows_a_parameter_by_its_servers_name() {
    let parameter = |name: &str, original: Option<&str>| Parameter {
        original_name: original.map(Into::into),
        ..Parameter::optional(name, Schema::default())
    };
    let pay = open(vec![parameter("camel_case", None), parameter("camel_case_2", Some("camelCase"))]);
    let types = Types::new();
    for rule in ["camelCase", "camel_case", "CamelCase"] {
        let deny = restricting(&format!("param = \"{rule}\", equals = 1"));
        for params in [json!({ "camel_case": 1 }), json!({ "camel_case_2": 1 })] {
            assert_eq!(effect(&deny, &pay, &types, &params), "deny", "{rule} {params}");
        }
    }
    let loose = loosening("param = \"camelCase\", equals = 1");
    assert_eq!(effect(&loose, &pay, &types, &json!({ "camel_case": 1, "camel_case_2": 2 })), "confirm", "all of them");
    assert_eq!(effect(&loose, &pay, &types, &json!({ "camel_case": 1, "camel_case_2": 1 })), "allow");
}

/// A server may ignore a value in another spelling: it proves nothing, and does not hide that nothing was sent.
#[test]
fn r_saf_2_another_spelling_gains_nothing() {
    let types = Types::new();
    let unless = restricting("param = \"region\", equals = \"EU\", not = true");
    let needed = restricting("param = \"ticket\", present = false");
    #[rustfmt::skip]
    let table = [
        (&unless, json!({ "region": "EU" }), "confirm"),
        (&unless, json!({}), "deny"),
        (&unless, json!({ "Region": "EU" }), "deny"),
        (&unless, json!({ "region": "EU", "Region": "US" }), "deny"),
        (&needed, json!({ "ticket": 7 }), "confirm"),
        (&needed, json!({}), "deny"),
        (&needed, json!({ "Ticket": 7 }), "deny"),
    ];
    for (policy, params, expected) in table {
        assert_eq!(effect(policy, &open(vec![]), &types, &params), expected, "{params}");
    }
    let declared = open(vec![Parameter::optional("options", Schema::default())]);
    let loose = loosening("param = \"options.dry_run\", equals = true");
    for (params, expected) in [
        (json!({ "options": { "dry_run": true } }), "allow"),
        (json!({ "options": { "dryRun": true } }), "confirm"),
        (json!({ "options": { "dry_run": true, "dryRun": false } }), "confirm"),
        (json!({ "options": { "dry_run": [true, false] } }), "confirm"),
        (json!({ "options": "{\"dry_run\": true}" }), "confirm"),
        (json!({ "options.dry_run": true }), "confirm"),
    ] {
        assert_eq!(effect(&loose, &declared, &types, &params), expected, "{params}");
    }
}

/// Nested defaults count, too, because the server will use them.
#[test]
fn r_saf_2_a_default_inside_counts_as_sent() {
    let limit = Schema { default: Some(json!(500)), ..Schema::new(Kind::Number) };
    let options = Schema::object(vec![Parameter::optional("max_amount", limit)]);
    let mut types = Types::new();
    types.insert("Options".into(), Arc::new(options));
    let pay = open(vec![Parameter::optional("options", Schema::named("Options"))]);
    let deny = restricting("param = \"options.max_amount\", greater = 100");
    for (params, expected) in [
        (json!({ "options": {} }), "deny"),
        (json!({ "options": { "max_amount": 50 } }), "confirm"),
        (json!({}), "confirm"),
    ] {
        assert_eq!(effect(&deny, &pay, &types, &params), expected, "{params}");
    }
}

/// How the source compares, a condition, a value, and whether a restricting and a loosening rule apply.
#[test]
fn r_saf_2_text_is_compared_as_its_source_compares_it() {
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    let is_uuid = format!("equals = \"{uuid}\"");
    #[rustfmt::skip]
    let table: &[(Schema, &str, &str, bool, bool)] = &[
        (text(Comparison::Exact), "equals = \"admin\"", "admin", true, true),
        (text(Comparison::Exact), "equals = \"admin\"", "ADMIN", false, false),
        (text(Comparison::Exact), "equals = \"admin\"", "admin ", true, false),
        (text(Comparison::Exact), "matches = \"adm*\"", " admin", true, false),
        (text(Comparison::Exact), "equals = \"admin\", ignore_case = true", "ADMIN", true, true),
        (text(Comparison::Exact), "one_of = [\"root\", \"admin\"], ignore_case = true", "Admin", true, true),
        (text(Comparison::Exact), "matches = \"ADM*\", ignore_case = true", "admin", true, true),
        (text(Comparison::Exact), "matches = [\"*\", \"!ADMIN\"], ignore_case = true", "admin", false, false),
        (text(Comparison::IgnoreCase), "equals = \"admin\"", "ADMIN", true, true),
        (text(Comparison::IgnoreCase), "equals = \"admin\"", "Admins", false, false),
        (text(Comparison::IgnoreCase), "equals = \"Jörg\"", "JÖRG", true, false),
        (text(Comparison::IgnoreCase), "equals = \"kim\"", "\u{212a}IM", true, false),
        (text(Comparison::IgnoreCase), "equals = \"admin\"", "ADM\u{130}N", true, false),
        (text(Comparison::IgnoreCase), "equals = \"admin\"", "adm\u{131}n", true, false),
        (text(Comparison::IgnoreCase), "equals = \"strasse\"", "STRASSE", true, true),
        (text(Comparison::IgnoreCase), "equals = \"straße\"", "STRASSE", true, false),
        (text(Comparison::IgnoreCase), "matches = \"ad*\"", "ADMIN", true, true),
        (text(Comparison::IgnoreCase), "matches = \"k*\"", "\u{212a}im", true, false),
        (text(Comparison::IgnoreCase), "equals = \"admin\", not = true", "ADMIN", false, false),
        (text(Comparison::IgnoreTrailingBlanks), "equals = \"admin\"", "admin  ", true, true),
        (text(Comparison::IgnoreTrailingBlanks), "equals = \"admin\"", " admin", true, false),
        (text(Comparison::IgnoreTrailingBlanks), "matches = \"*min\"", "admin  ", true, false),
        (text(Comparison::IgnoreTrailingBlanks), "equals = \"admin\"", "ADMIN", false, false),
        (text(Comparison::Uuid), &is_uuid, uuid, true, true),
        (text(Comparison::Uuid), &is_uuid, "550E8400-E29B-41D4-A716-446655440000", true, true),
        (text(Comparison::Uuid), &is_uuid, "{550e8400e29b41d4a716446655440000}", true, true),
        (text(Comparison::Uuid), &is_uuid, "550e-8400-e29b-41d4-a716-4466-5544-0000", true, true),
        (text(Comparison::Uuid), &is_uuid, "urn:uuid:550E8400-E29B-41D4-A716-446655440000", true, true),
        (text(Comparison::Uuid), &is_uuid, "550e8400-e29b-41d4-a716-446655440001", false, false),
        (text(Comparison::Uuid), "matches = \"550e84*\"", "550E8400E29B41D4A716446655440000", true, true),
        (text(Comparison::Uuid), "matches = \"550e8400-e2*\"", "550E8400E29B41D4A716446655440000", true, false),
        (formatted(Format::Uuid), &is_uuid, "550E8400-E29B-41D4-A716-446655440000", true, true),
        (text(Comparison::Unknown), "equals = \"admin\"", "admin", true, true),
        (text(Comparison::Unknown), "equals = \"admin\"", "ADMIN", true, false),
        (text(Comparison::Unknown), "equals = \"admin\"", "ad-min", true, false),
        (text(Comparison::Unknown), "equals = \"resume\"", "Résumé", true, false),
        (text(Comparison::Unknown), "equals = \"Résumé\"", "resume", true, false),
        (text(Comparison::Unknown), "equals = \"Résumé\"", "re\u{301}sume\u{301}", true, false),
        (text(Comparison::Unknown), "equals = \"straße\"", "strasse", true, false),
        (text(Comparison::Unknown), "equals = \"admin\"", "guest", false, false),
        (text(Comparison::Unknown), "equals = \"resume\"", "Rôsumé!", true, false),
        (text(Comparison::Unknown), "matches = \"adm*\"", "Administrator", true, false),
        (text(Comparison::Unknown), "matches = \"adm*\"", "administrator", true, true),
        (text(Comparison::Unknown), "matches = \"adm*\"", "guest", false, false),
        (text(Comparison::Unknown), "matches = [\"*\", \"!guest\"]", "GUEST", true, false),
        (text(Comparison::Unknown), "equals = \"admin\", not = true", "ADMIN", true, false),
        // A column that stores numbers.
        (text(Comparison::Unknown), "equals = \"1\"", "1", true, true),
        (text(Comparison::Unknown), "equals = \"1\"", "01", true, false),
        (text(Comparison::Unknown), "equals = \"1\"", " 1.0", true, false),
        (text(Comparison::Unknown), "equals = \"1\"", "1e0", true, false),
        (text(Comparison::Unknown), "equals = \"1\"", "+.1E+1", true, false),
        (text(Comparison::Unknown), "equals = \"1\"", "1.00000000000000000001", true, false),
        (text(Comparison::Unknown), "equals = \"1\", not = true", "1.0", true, false),
        (text(Comparison::Unknown), "equals = \"1\"", "one", false, false),
        (text(Comparison::Unknown), "equals = \"admin\"", "01", false, false),
        (text(Comparison::Unknown), "matches = \"1*\"", "01", true, false),
        (text(Comparison::Unknown), "matches = \"adm*\"", "01", false, false),
        (text(Comparison::Unknown), "matches = [\"*\", \"!1\"]", "1.0", true, false),
        (text(Comparison::Unknown), "matches = \"!1\"", "1.0", true, false),
        (text(Comparison::Unknown), "equals = \"550e8400-e29b-41d4-a716-446655440000\"", "550e8400-e29b-41d4-a716-446655440001", false, false),
        // A syntax of the source's own.
        (text(Comparison::Opaque), "equals = \"10.0.0.1\"", "10.0.0.1", true, true),
        (text(Comparison::Opaque), "equals = \"10.0.0.1\"", "10.0.0.1/32", true, false),
        (text(Comparison::Opaque), "equals = \"P1D\"", "24 hours", true, false),
        (text(Comparison::Opaque), "equals = \"x\"", "anything", true, false),
        (text(Comparison::Opaque), "equals = \"x\", ignore_case = true", "anything", true, false),
        (text(Comparison::Opaque), "equals = 86400", "P1D", true, false),
        (text(Comparison::Opaque), "equals = 86400, not = true", "P1D", true, false),
        (text(Comparison::Opaque), "one_of = [\"a\", \"b\"]", "b", true, true),
        (text(Comparison::Opaque), "one_of = [\"a\", \"b\"]", "c", true, false),
        (text(Comparison::Opaque), "equals = \"x\", not = true", "x", false, false),
        (text(Comparison::Opaque), "equals = \"x\", not = true", "y", true, false),
        (text(Comparison::Opaque), "matches = \"10:*\"", "10:00 PM", true, false),
        (text(Comparison::Opaque), "matches = \"10:*\"", "22:00", true, false),
        (text(Comparison::Opaque), "matches = \"10:*\", not = true", "22:00", true, false),
        (text(Comparison::Opaque), "matches = \"10:00\"", "10:00", true, true),
        (text(Comparison::Opaque), "matches = \"*\"", "10:00", true, true),
        (text(Comparison::Opaque), "matches = [\"*\", \"!10:00\"]", "10:00", false, false),
        (text(Comparison::Opaque), "matches = [\"*\", \"!10:00\"]", "10:00:00", true, false),
        (formatted(Format::DateTime), "equals = \"2026-01-31T12:00:00Z\"", "2026-01-31T13:00:00+01:00", true, true),
        (formatted(Format::DateTime), "equals = \"2026-01-31T12:00:00Z\"", "2026-01-31T12:00:00.000Z", true, true),
        (formatted(Format::DateTime), "equals = \"2026-01-31T12:00:00Z\"", "2026-01-31T12:00:00.0000001Z", true, false),
        (formatted(Format::DateTime), "equals = \"2026-01-31T12:00:00Z\"", "2026-01-31T12:00:01Z", false, false),
        (formatted(Format::DateTime), "matches = \"2026-01-*\"", "2025-12-31T23:30:00-01:00", true, false),
        (formatted(Format::DateTime), "matches = \"2026-01-*\"", "2026-01-15T00:00:00Z", true, true),
        (formatted(Format::Date), "equals = \"2026-01-31\"", "2026-01-31", true, true),
        (formatted(Format::Date), "equals = \"2026-01-31\"", "2026-02-01", false, false),
        (formatted(Format::Time), "equals = \"12:00:00Z\"", "13:00:00+01:00", true, true),
        (formatted(Format::Duration), "equals = \"PT60M\"", "PT1H", true, true),
        (formatted(Format::Duration), "equals = \"P1D\"", "PT24H", true, true),
        (formatted(Format::Duration), "equals = \"P1M\"", "P30D", true, false),
        (formatted(Format::Ipv6), "equals = \"::1\"", "0:0:0:0:0:0:0:1", true, true),
        (formatted(Format::Email), "equals = \"a@example.com\"", "a@EXAMPLE.com", true, false),
        (formatted(Format::Email), "matches = \"*@example.com\"", "a@EXAMPLE.com", true, false),
        (Schema::new(Kind::Union(vec![Schema::new(Kind::Number), Schema::string()])), "equals = \"10.5\"", "10.50", true, false),
        (Schema::new(Kind::Union(vec![Schema::new(Kind::Number), Schema::string()])), "equals = 10.5", "10.50", true, false),
        (Schema::new(Kind::Union(vec![Schema::new(Kind::Number), Schema::string()])), "greater = 10", "10.50", true, true),
        (Schema::new(Kind::Union(vec![Schema::new(Kind::Number), Schema::string()])), "greater = 10", "010.50", true, false),
    ];
    for (schema, condition, value, restricts, loosens) in table {
        // At the top, in the input of an update, in a list, and behind a name.
        let field = |schema: &Schema| Parameter::optional("owner", schema.clone());
        let inside = Schema::object(vec![field(schema)]);
        let mut types = Types::new();
        types.insert("Owner".into(), Arc::new(schema.clone()));
        types.insert("Change".into(), Arc::new(inside.clone()));
        let list = Schema::new(Kind::Array(Some(Box::new(inside.clone()))));
        let rest = Schema::new(Kind::Object(Shape { fields: vec![], rest: Rest::Of(Box::new(schema.clone())) }));
        let places = [
            ("owner", schema.clone(), json!({ "owner": value })),
            ("owner", Schema::named("Owner"), json!({ "owner": value })),
            ("owner", Schema::new(Kind::Array(Some(Box::new(schema.clone())))), json!({ "owner": [value] })),
            ("input.owner", inside.clone(), json!({ "input": { "owner": value } })),
            ("input.owner", Schema::named("Change"), json!({ "input": { "owner": value } })),
            ("input.owner", list, json!({ "input": [{ "owner": value }] })),
            ("input.owner", rest, json!({ "input": { "owner": value } })),
        ];
        for (param, schema, params) in places {
            let first = param.split('.').next().unwrap();
            let mut update = operation("update_it", Category::Update, Danger::Destructive, Trust::Validated);
            update.parameters = vec![Parameter::optional(first, schema)];
            let condition = format!("param = \"{param}\", {condition}");
            let denied = effect(&restricting(&condition), &update, &types, &params) == "deny";
            assert_eq!(denied, *restricts, "restricts: {condition} {params}");
            let allowed = effect(&loosening(&condition), &update, &types, &params) == "allow";
            assert_eq!(allowed, *loosens, "loosens: {condition} {params}");
        }
    }
}

/// Nothing that a lenient server could read as the number or the value evades a rule.
#[test]
fn r_saf_2_no_spelling_of_a_value_gets_past_a_rule() {
    let types = Types::new();
    #[rustfmt::skip]
    let table: &[(&str, &[Value], &[Value])] = &[
        ("greater = 100",
            &[json!(1000), json!(1e3), json!("1000"), json!("1e3"), json!(" 1000 "), json!("1_000"), json!("1,000"), json!("1 000"), json!("+1000"),
              json!("٣٠٠"), json!("１０００"), json!("0x3e8"), json!("01750"), json!("1000.0"), json!("100.000000000000000001"), json!("1e400"), json!("inf"),
              json!("Infinity"), json!("NaN"), json!("Ⅿ"), json!("$1000"), json!("many"), json!(""), json!(true), json!(null), json!({ "$gt": 0 }), json!("[1000]"),
              json!([1, 1000]), json!([[], [1000]]), json!(18446744073709551615u64)],
            &[json!(100), json!(99.9), json!("100"), json!("1e2"), json!("-1000"), json!([]), json!([1, 2])]),
        ("less = 9", &[json!("010"), json!("0b1"), json!(8), json!("-1e9")], &[json!(9), json!("10"), json!(1e1)]),
        ("equals = 7",
            &[json!(7), json!(7.0), json!("7"), json!("7.0"), json!("0x7"), json!("٧"), json!("07"), json!("7abc"), json!({ "$eq": 7 }), json!("[7]"), json!([1, 7])],
            &[json!(8), json!("8"), json!("seven"), json!("order-7"), json!(70), json!(null), json!(true)]),
        ("equals = 1", &[json!(true), json!("1")], &[json!(false), json!("true")]),
        ("equals = 9007199254740993", &[json!(9007199254740993u64), json!("9007199254740993")], &[json!(9007199254740992u64), json!("9007199254740992")]),
        ("equals = true",
            &[json!(true), json!("true"), json!("TRUE"), json!("yes"), json!("on"), json!(1), json!("1"), json!("t"), json!("x"), json!({}), json!([false, true])],
            &[json!(false), json!([]), json!([false])]),
        ("equals = false", &[json!(false), json!("no"), json!(0), json!(""), json!(null)], &[json!(true)]),
        ("equals = \"prod\"", &[json!("prod"), json!(" prod"), json!("prod\n"), json!({ "eq": "prod" }), json!("[\"prod\"]"), json!(["test", "prod"])],
            &[json!("test"), json!("PROD"), json!(1), json!(null), json!(true)]),
        ("equals = \"1\"", &[json!(1), json!("1"), json!(true), json!(1.0)], &[json!(2), json!("one"), json!(false)]),
        ("equals = \"\"", &[json!(null), json!(""), json!(" "), json!(false)], &[json!("x"), json!(0)]),
        ("one_of = [\"a\", 7, true]", &[json!("a"), json!("7"), json!(1)], &[json!(false)]),
        ("matches = \"404\"", &[json!(404), json!(404.0), json!(4.04e2), json!("404"), json!("404 ")], &[json!(405), json!("4040")]),
        ("matches = \"/etc/*\"", &[json!("/etc/passwd"), json!(" /etc/passwd"), json!(["/tmp", "/etc/x"]), json!("[\"/etc/x\"]"), json!({ "path": "/etc/x" }), json!(null)],
            &[json!("/tmp/etc/"), json!("etc/passwd")]),
    ];
    for (condition, caught, passing) in table {
        let deny = restricting(&format!("param = \"value\", {condition}"));
        for (values, expected) in [(caught, "deny"), (passing, "confirm")] {
            for value in *values {
                for operation in [open(vec![]), open(vec![Parameter::optional("value", Schema::default())])] {
                    let params = json!({ "value": value });
                    assert_eq!(effect(&deny, &operation, &types, &params), expected, "{condition} {value}");
                }
            }
        }
    }
    // Declared text is text, whatever it starts with.
    let note = open(vec![Parameter::optional("value", Schema::string())]);
    let deny = restricting("param = \"value\", equals = \"prod\"");
    assert_eq!(effect(&deny, &note, &types, &json!({ "value": "[link] and {braces}" })), "confirm");
}

/// A different number is not loosened because it is written similarly.
#[test]
fn r_saf_2_a_loosening_rule_needs_the_exact_value() {
    let types = Types::new();
    let pay = open(vec![Parameter::optional("value", Schema::default())]);
    #[rustfmt::skip]
    let table: &[(&str, &[Value], &[Value])] = &[
        ("equals = 9007199254740992", &[json!(9007199254740992u64)], &[json!(9007199254740993u64), json!("9007199254740992")]),
        ("less = 100", &[json!(99), json!("99"), json!(-1)], &[json!(100), json!("1_0"), json!("٣"), json!("010"), json!(null), json!([1, 1000]), json!([])]),
        ("equals = true", &[json!(true)], &[json!("true"), json!(1), json!([true, false]), json!([])]),
        ("equals = \"staging\"", &[json!("staging")], &[json!("Staging"), json!("staging "), json!(["staging", "prod"]), json!("[\"staging\"]")]),
        ("matches = \"/tmp/*\"", &[json!("/tmp/x")], &[json!(" /tmp/x"), json!("/TMP/x"), json!(null)]),
        ("equals = \"prod\", not = true", &[json!("test")], &[json!("prod"), json!("prod "), json!({ "eq": "test" })]),
    ];
    for (condition, earned, refused) in table {
        let loose = loosening(&format!("param = \"value\", {condition}"));
        for (values, expected) in [(earned, "allow"), (refused, "confirm")] {
            for value in *values {
                assert_eq!(effect(&loose, &pay, &types, &json!({ "value": value })), expected, "{condition} {value}");
            }
        }
    }
}

/// A type may be a list of itself, or refer to itself: resolving it ends.
#[test]
fn r_saf_2_recursive_types_are_followed_once() {
    let list_of = |name: &str| Schema::new(Kind::Array(Some(Box::new(Schema::named(name)))));
    let mut types = Types::new();
    types.insert("Lists".into(), Arc::new(list_of("Lists")));
    types.insert("Loop".into(), Arc::new(Schema::named("Loop")));
    types.insert("Both".into(), Arc::new(Schema::new(Kind::Union(vec![list_of("Both"), Schema::named("Both")]))));
    for name in ["Lists", "Loop", "Both", "Missing"] {
        let pay = open(vec![Parameter::optional("tree", Schema::named(name))]);
        let deny = restricting("param = \"tree.leaf\", equals = \"x\"");
        for params in [json!({ "tree": [[[{ "leaf": "x" }]]] }), json!({ "tree": { "leaf": "x" } })] {
            assert_eq!(effect(&deny, &pay, &types, &params), "deny", "{name} {params}");
        }
        assert_eq!(effect(&deny, &pay, &types, &json!({ "tree": [[]] })), "confirm", "{name}");
        let mut inventory = Inventory::default();
        inventory.add(&pay, Some(&types));
        assert!(deny.find_unused(&inventory).len() <= 1, "{name}");
    }
}

/// An explanation says how values are compared.
#[test]
fn r_saf_2_explanations_say_how_values_are_compared() {
    #[rustfmt::skip]
    let table = [
        (text(Comparison::Exact), "equals = \"admin\"", "'owner' is \"admin\""),
        (text(Comparison::Exact), "equals = \"admin\", ignore_case = true", "'owner' is \"admin\", compared ignoring case"),
        (text(Comparison::IgnoreCase), "equals = \"admin\", not = true", "'owner' is not \"admin\", compared ignoring case"),
        (text(Comparison::IgnoreTrailingBlanks), "one_of = [\"a\", 1]", "'owner' is one of \"a\", 1, compared ignoring trailing blanks"),
        (text(Comparison::Uuid), "matches = [\"5*\", \"!6*\"]", "'owner' matches \"5*\" or \"!6*\", compared as a UUID"),
        (text(Comparison::Unknown), "equals = \"x\"", "'owner' is \"x\", compared loosely, because it is unknown how the source compares text"),
        (text(Comparison::Opaque), "equals = \"x\"", "'owner' is \"x\", compared by spelling, although the source may treat other spellings as equal"),
        (formatted(Format::DateTime), "equals = \"x\"", "'owner' is \"x\", compared as a point in time"),
        (text(Comparison::IgnoreCase), "greater = 5", "'owner' is more than 5"),
        (text(Comparison::IgnoreCase), "less = 0.5", "'owner' is less than 0.5"),
        (text(Comparison::IgnoreCase), "present = true", "'owner' is sent"),
        (text(Comparison::IgnoreCase), "present = false", "'owner' is not sent"),
    ];
    for (schema, condition, words) in table {
        let policy = restricting(&format!("param = \"owner\", {condition}"));
        let pay = open(vec![Parameter::optional("owner", schema)]);
        let (caller, types) = (Caller::anonymous(), Types::new());
        let subject = Subject { operation: &pay, caller: &caller, scopes: &[], params: None, types: Some(&types) };
        let explained = policy.decide(&subject).explain(&pay, Some(&types));
        let also = explained["also"].as_array().unwrap();
        assert_eq!(also[0]["conditions"], json!([words]), "{explained}");
        assert!(also[0]["words"].as_str().unwrap().ends_with(&format!("may deny it if {words}")), "{explained}");
    }
}

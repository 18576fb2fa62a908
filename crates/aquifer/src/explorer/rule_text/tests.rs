//! What happens to the text of a configuration when rules change.

use aquifer_gate::policy::RuleEffect;

use super::*;

const FILE: &str = "# Our shop.\nlenient = true # for now\n\n[[gate.rule]]\nname = \"ours\"\neffect = \"confirm\"   # people decide\noperation = \"refund_*\"\n\n[[source]]\ntarget = \"demo:\"\n";

fn wanted(effect: RuleEffect, operations: &[&str]) -> WantedRule {
    let operations = operations.iter().map(|name| (*name).to_owned()).collect();
    WantedRule { effect, source: "shop".to_owned(), operations, reason: None }
}

fn change(text: &str, rules: &[WantedRule]) -> String {
    let changed = with_rules(text, rules).unwrap();
    toml::from_str::<toml::Table>(&changed).unwrap_or_else(|error| panic!("{error}\n{changed}"));
    changed
}

#[test]
fn a_new_rule_is_appended() {
    let changed = change(FILE, &[wanted(RuleEffect::Deny, &["delete_order", "delete_tag"])]);
    let added = "\n[[gate.rule]]\nname = \"explorer: deny in shop\"\neffect = \"deny\"\nsource = \"shop\"\noperation = [\n  \
                 \"delete_order\",\n  \"delete_tag\",\n]\n";
    assert_eq!(changed, format!("{FILE}{added}"));
}

#[test]
fn an_allowing_rule_loosens() {
    let changed = change("", &[wanted(RuleEffect::Allow, &["delete_tag"])]);
    assert!(
        changed.starts_with("[[gate.rule]]\n") && changed.contains("effect = \"allow\"\nloosen = true\n"),
        "{changed}"
    );
}

#[test]
fn a_rule_of_the_same_kind_is_extended() {
    let first = change(FILE, &[wanted(RuleEffect::Deny, &["delete_order"])]);
    let second = change(&first, &[wanted(RuleEffect::Deny, &["delete_order", "delete_tag"])]);
    assert_eq!(second, change(FILE, &[wanted(RuleEffect::Deny, &["delete_order", "delete_tag"])]));
    assert_eq!(change(&second, &[wanted(RuleEffect::Deny, &["delete_tag"])]), second, "nothing is written twice");
}

#[test]
fn another_reason_or_source_is_another_rule() {
    let first = change(FILE, &[wanted(RuleEffect::Deny, &["delete_order"])]);
    let elsewhere = WantedRule { source: "desk".to_owned(), ..wanted(RuleEffect::Deny, &["delete_order"]) };
    let because = WantedRule { reason: Some("A \"reason\"\n".to_owned()), ..wanted(RuleEffect::Deny, &["delete_tag"]) };
    let changed = change(&first, &[elsewhere, because]);
    assert_eq!(changed.matches("[[gate.rule]]").count(), 4, "{changed}");
    for name in ["explorer: deny in shop", "explorer: deny in desk", "explorer: deny in shop 2"] {
        assert!(changed.contains(&format!("name = \"{name}\"\n")), "{changed}");
    }
    assert!(changed.contains("reason = \"A \\\"reason\\\"\\n\"\n"), "{changed}");
}

#[test]
fn an_operation_moves_to_the_rule_of_its_new_effect() {
    let denied = change(FILE, &[wanted(RuleEffect::Deny, &["delete_order", "delete_tag"])]);
    let changed = change(&denied, &[wanted(RuleEffect::Allow, &["delete_order"])]);
    let rest = change(FILE, &[wanted(RuleEffect::Deny, &["delete_tag"])]);
    assert!(changed.starts_with(&rest), "{changed}");
    assert_eq!(changed.matches("\"delete_order\"").count(), 1, "{changed}");
    // A rule without operations would apply to all of them.
    let all = change(&denied, &[wanted(RuleEffect::Confirm, &["delete_order", "delete_tag"])]);
    assert_eq!(all, change(FILE, &[wanted(RuleEffect::Confirm, &["delete_order", "delete_tag"])]));
}

#[test]
fn what_people_wrote_into_a_rule_stays() {
    let denied = change(FILE, &[wanted(RuleEffect::Deny, &["a", "b"])]);
    let edited = denied.replace(
        "operation = [\n  \"a\",\n  \"b\",\n]",
        "# Agreed with Anna.\noperation = [ \"a\", # the first\n\t\"b\" ]",
    );
    let extended = change(&edited, &[wanted(RuleEffect::Deny, &["c"])]);
    assert!(
        extended.contains("# Agreed with Anna.\noperation = [ \"a\", # the first\n\t\"b\",\n\t\"c\" ]"),
        "{extended}"
    );
    let reduced = change(&edited, &[wanted(RuleEffect::Allow, &["b"])]);
    assert!(reduced.contains("# Agreed with Anna.\noperation = [ \"a\", # the first\n\t]"), "{reduced}");
    let removed = change(&edited, &[wanted(RuleEffect::Allow, &["a", "b"])]);
    assert!(removed.contains("# Agreed with Anna.\n") && !removed.contains("deny"), "{removed}");
    // With a condition it is a rule of theirs.
    let theirs = format!("{denied}when = [{{ param = \"id\", equals = 1 }}]\n");
    let changed = change(&theirs, &[wanted(RuleEffect::Deny, &["c"])]);
    assert!(changed.starts_with(&theirs) && changed.contains("explorer: deny in shop 2"), "{changed}");
}

#[test]
fn everything_else_stays_byte_for_byte() {
    let windows = FILE.replace('\n', "\r\n");
    for text in [FILE, FILE.trim_end(), &windows, "", "# only a comment", "[gate]\nquarantine = \"new\"\n"] {
        let changed = change(text, &[wanted(RuleEffect::Confirm, &["a"])]);
        assert!(changed.starts_with(text), "{changed}");
        let again = change(&changed, &[wanted(RuleEffect::Deny, &["a"])]);
        assert_eq!(
            again,
            change(text, &[wanted(RuleEffect::Deny, &["a"])]),
            "nothing is left of a rule that was removed"
        );
    }
    assert_eq!(with_rules("not = = toml", &[]), None);
}

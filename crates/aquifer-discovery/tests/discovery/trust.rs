//! Trust in adapter files: what a file says of its own trust and danger, and how its trust is changed (R-SAF-2).

use std::time::Duration;

use aquifer_discovery::adapter::{TrustChange, TrustError, build, change_trust};
use aquifer_discovery::{Adapter, Offer};
use aquifer_protocol::danger::Danger;
use aquifer_protocol::trust::Trust;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{bundle, bundles};

const FRONT: &str = "---\nname: tasks-api # the name\ntype: adapter\nversion: \"1.0.0\"\ndescription: 'Tasks: all'\n";
const REST: &str = "target: { base_url: \"https://api.example.com\", transport: http, protocol: rest, serialization: json }\n\
                    operations:\n  read:\n    - name: list_tasks   # odd   spacing\n      maps_to: \"GET /tasks\"\n";
const BODY: &str = "---\n# Tasks\n\ntrust: certified\n---\n  the end";

/// A file whose trust block is written so.
fn file(trust: &str) -> String {
    format!("{FRONT}{trust}{REST}{BODY}")
}

fn to(to: Trust) -> TrustChange<'static> {
    TrustChange { to, at: "2026-02-01T08:00:00Z", by: "alice", reason: "Read it: \"all\" #1" }
}

/// The front matter as a tree.
fn front(text: &str) -> Value {
    let text = text.replace("\r\n", "\n");
    let (_, rest) = text.split_once("---\n").unwrap();
    let (front, _) = rest.split_once("\n---\n").unwrap();
    serde_saphyr::from_str(front).unwrap()
}

const RECORD: &str = "- from: generated\n@  to: validated\n@  at: \"2026-02-01T08:00:00Z\"\n@  by: alice\n@  reason: \"Read it: \\\"all\\\" #1\"\n";

/// The record of a promotion from generated, indented.
fn record(indent: usize) -> String {
    let blanks = " ".repeat(indent);
    format!("{blanks}{}", RECORD.replace('@', &blanks))
}

/// A trust block before, and exactly what stands there afterwards. Around it nothing moves.
#[test]
fn r_saf_2_promotion_changes_the_trust_block_and_nothing_else() {
    let block = format!("trust:\n  level: validated\n  promoted_from: generated\n  promotion_history:\n{}", record(4));
    #[rustfmt::skip]
    let table = [
        ("trust: generated\n", block.clone()),
        ("trust: \"low\"\n", block.clone()),
        ("trust: generated   # for now\n", block.replacen("trust:\n", "trust:    # for now\n", 1)),
        ("trust:\n  level: generated\n", block.clone()),
        ("trust:\n  level: 'low'  # so far\n  generated_at: \"2026-01-15T10:00:00Z\"\n",
            block.replacen("validated\n", "validated  # so far\n", 1) + "  generated_at: \"2026-01-15T10:00:00Z\"\n"),
        ("trust:\n    # indented by four\n    generated_by:   tool\n    level:   generated\n\n",
            format!("trust:\n    # indented by four\n    generated_by:   tool\n    level:   validated\n    promoted_from: generated\n    promotion_history:\n{}\n", record(6))),
        ("trust:\n  level: generated\n  promoted_from: untested\n  promotion_history:\n    - from: untested\n      to: generated\n      at: 2026-01-15T10:00:00Z\n  certification: null\n",
            format!("trust:\n  level: validated\n  promoted_from: generated\n  promotion_history:\n    - from: untested\n      to: generated\n      at: 2026-01-15T10:00:00Z\n{}  certification: null\n", record(4))),
        ("trust:\n  level: generated\n  promotion_history:\n  - {from: untested, to: generated}\n\n# what it calls\n",
            format!("trust:\n  level: validated\n  promoted_from: generated\n  promotion_history:\n  - {{from: untested, to: generated}}\n{}\n# what it calls\n", record(2))),
        ("trust:\n  level: generated\n  promotion_history:\n    - from: untested\n      reason: |\n        several\n        # lines\n",
            format!("trust:\n  level: validated\n  promoted_from: generated\n  promotion_history:\n    - from: untested\n      reason: |\n        several\n        # lines\n{}", record(4))),
        ("trust:\n  level: generated\n  promotion_history: []\n",
            "trust:\n  level: validated\n  promoted_from: generated\n  promotion_history: [{\"from\":\"generated\",\"to\":\"validated\",\"at\":\"2026-02-01T08:00:00Z\",\"by\":\"alice\",\"reason\":\"Read it: \\\"all\\\" #1\"}]\n".to_owned()),
        ("trust:\n  level: generated\n  promoted_from:\n  promotion_history: null\n",
            format!("trust:\n  level: validated\n  promoted_from: generated\n  promotion_history:\n{}", record(4))),
        ("trust: { level: generated, generated_by: \"a } b\" }\n",
            "trust: { level: validated, generated_by: \"a } b\", promoted_from: generated, promotion_history: [{\"from\":\"generated\",\"to\":\"validated\",\"at\":\"2026-02-01T08:00:00Z\",\"by\":\"alice\",\"reason\":\"Read it: \\\"all\\\" #1\"}] }\n".to_owned()),
    ];
    for (before, after) in table {
        let before = file(before);
        let changed =
            change_trust(&before, None, &to(Trust::Validated)).unwrap_or_else(|error| panic!("{error}\n{before}"));
        assert_eq!(changed.text, file(&after), "from\n{before}");
        assert_eq!((changed.from, changed.to), (Trust::Generated, Trust::Validated));
        let adapter = Adapter::read(&changed.text, None).unwrap();
        assert_eq!(adapter.stated_trust, Trust::Validated);
        assert_eq!(adapter.trust, Trust::Generated, "a file's own word stays capped");
        // The same with the line ends of Windows, and a byte order mark.
        let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let changed = change_trust(&windows(&before), None, &to(Trust::Validated)).unwrap();
        assert_eq!(changed.text, windows(&file(&after)));
    }
}

#[test]
fn r_saf_2_a_file_without_a_word_about_trust_is_untested() {
    let before = file("");
    let changed = change_trust(&before, None, &to(Trust::Generated)).unwrap();
    assert_eq!(changed.from, Trust::Untested);
    let at = before.len() - BODY.len();
    let (head, tail) = (&before[..at], &before[at..]);
    assert!(changed.text.starts_with(head) && changed.text.ends_with(tail), "{}", changed.text);
    assert_eq!(
        &changed.text[at..changed.text.len() - BODY.len()],
        "trust:\n  level: generated\n  promoted_from: untested\n  promotion_history:\n    - from: untested\n      \
         to: generated\n      at: \"2026-02-01T08:00:00Z\"\n      by: alice\n      reason: \"Read it: \\\"all\\\" #1\"\n"
    );
}

/// What a generator made is `generated` by its sidecar.
#[test]
fn r_saf_2_generated_adapters_start_as_generated() {
    for (name, bundle) in bundles() {
        let built = build(&bundle).unwrap();
        let first = change_trust(&built.adapter, Some(&built.sidecar), &to(Trust::Validated)).unwrap();
        assert_eq!(first.from, Trust::Generated, "{name}");
        let adapter = Adapter::read(&first.text, Some(&built.sidecar)).unwrap();
        assert_eq!((adapter.stated_trust, adapter.trust), (Trust::Validated, Trust::Generated));
        assert!(matches!(
            change_trust(&built.adapter, None, &to(Trust::Validated)),
            Err(TrustError::Skips { from: Trust::Untested, .. })
        ));
    }
}

/// All the way up and down again: every step is on record, in order.
#[test]
fn r_saf_2_every_change_is_on_record() {
    let way = [
        Trust::Generated,
        Trust::Validated,
        Trust::CommunityReviewed,
        Trust::Certified,
        Trust::Untested,
        Trust::Generated,
        Trust::Untested,
    ];
    let mut text = file("trust:\n  validated_at: \"2026-01-01T00:00:00Z\"\n");
    let mut from = Trust::Untested;
    let mut steps = Vec::new();
    let mut promoted_from = Value::Null;
    for level in way {
        let changed = change_trust(&text, None, &to(level)).unwrap();
        assert_eq!((changed.from, changed.to), (from, level));
        text = changed.text;
        steps.push(json!({ "from": from, "to": level, "at": "2026-02-01T08:00:00Z", "by": "alice", "reason": "Read it: \"all\" #1" }));
        if level > from {
            promoted_from = json!(from);
        }
        let block = front(&text)["trust"].clone();
        assert_eq!(block["level"], json!(level));
        assert_eq!(block["promotion_history"], json!(steps));
        assert_eq!(block["promoted_from"], promoted_from, "the level before the last promotion");
        assert_eq!(block["validated_at"], "2026-01-01T00:00:00Z", "a demotion forgets nothing");
        from = level;
    }
}

#[test]
fn r_saf_2_no_level_is_skipped_upwards() {
    let rank = |level: Trust| Trust::PUBLISHED.iter().position(|published| *published == level).unwrap();
    for from in Trust::PUBLISHED {
        for level in Trust::PUBLISHED {
            let text = file(&format!("trust:\n  level: {from}\n"));
            let found = change_trust(&text, None, &to(level));
            let (rank_of, (rank, wanted)) = (rank, (rank(from), rank(level)));
            match found {
                Ok(changed) => assert!(changed.to == level && (wanted < rank || wanted == rank + 1), "{from} {level}"),
                Err(TrustError::Same(_)) => assert_eq!(from, level),
                Err(TrustError::Skips { next, .. }) => {
                    assert!(wanted > rank + 1, "{from} {level}");
                    assert_eq!(rank_of(next), rank + 1);
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    let skipped = change_trust(&file(""), None, &to(Trust::Certified)).unwrap_err().to_string();
    assert_eq!(
        skipped,
        "its trust level is 'untested', and no level may be skipped: the next one is 'generated', not 'certified'"
    );
}

/// `accepted` is ours: no file says it, neither the front matter nor the sidecar.
#[test]
fn r_saf_2_a_file_states_published_levels_only() {
    let generated = file("trust:\n  level: generated\n");
    let refused = change_trust(&generated, None, &to(Trust::Accepted));
    assert!(matches!(refused, Err(TrustError::Unpublished(Trust::Accepted))), "{refused:?}");
    let stated = Adapter::read(&file("trust:\n  level: accepted\n"), None).unwrap_err();
    assert!(stated.iter().any(|problem| problem.to_string().contains("trust.level")), "{stated:?}");
    let built = build(&bundle(json!([{ "name": "list_it", "inputSchema": { "type": "object" } }]))).unwrap();
    let sidecar = built.sidecar.replace("\"generated\"", "\"accepted\"");
    assert_ne!(sidecar, built.sidecar);
    let stated = Adapter::read(&built.adapter, Some(&sidecar)).unwrap_err();
    assert!(stated.iter().any(|problem| problem.to_string().contains("sidecar")), "{stated:?}");
}

#[test]
fn r_saf_2_bad_input_is_refused_with_its_reason() {
    let good = file("trust: generated\n");
    let fine = to(Trust::Validated);
    let long = "x".repeat(501);
    #[rustfmt::skip]
    let words: &[(TrustChange<'_>, &str)] = &[
        (TrustChange { by: " ", ..fine }, "'by' is empty"),
        (TrustChange { reason: "", ..fine }, "'reason' is empty"),
        (TrustChange { reason: "two\nlines", ..fine }, "'reason' must be one line"),
        (TrustChange { reason: "\u{1b}[2J", ..fine }, "'reason' must be one line"),
        (TrustChange { by: "a\u{202e}b", ..fine }, "'by' must be one line"),
        (TrustChange { reason: &long, ..fine }, "'reason' is longer"),
        (TrustChange { at: "yesterday", ..fine }, "'at' is not a time"),
        (TrustChange { at: "2026-13-01T00:00:00Z", ..fine }, "'at' is not a time"),
        (TrustChange { at: "2026-01-01T00:00:00+01:00", ..fine }, "'at' is not a time"),
        (TrustChange { reason: "ghp_0123456789abcdefABCDEF", ..fine }, "holds a credential"),
        (TrustChange { to: Trust::Generated, ..fine }, "'generated' already"),
    ];
    for (change, expected) in words {
        let reported = change_trust(&good, None, change).unwrap_err().to_string();
        assert!(reported.contains(expected), "{reported}");
        assert!(!reported.contains("ghp_0123"), "{reported}");
    }
    #[rustfmt::skip]
    let files = [
        (String::new(), "front matter"),
        (good.replacen("version: \"1.0.0\"\n", "", 1), "Missing field 'version'"),
        (file("trust: great\n"), "trust.level"),
        (file("trust:\n"), "trust.level"),
        (file("trust: [generated]\n"), "trust.level"),
        (file("trust:\n  level: &x generated\n  note: *x\n"), "cannot be changed in place"),
        (file("trust:\n  level: |-\n    generated\n"), "cannot be changed in place"),
        (file("trust:\n  level: generated\n  promotion_history: never\n"), "promotion_history is not a list"),
        (file("trust: { level: generated, }\n"), "cannot be changed in place"),
        ("---\n{name: x, type: adapter, version: \"1.0.0\", description: d, trust: generated, target: {base_url: \"https://a.b\", transport: http, protocol: rest, serialization: json}, operations: {}}\n---\n".to_owned(), "in braces"),
    ];
    for (text, expected) in files {
        let reported = change_trust(&text, None, &fine).unwrap_err().to_string();
        assert!(reported.contains(expected), "{text}\n{reported}");
    }
}

proptest! {
    /// Whatever stands around and in the block, a change changes what it should, or nothing.
    #[test]
    fn r_saf_2_a_change_of_trust_touches_nothing_else(
        lines in proptest::collection::vec(proptest::sample::select(vec![
            "  level: generated\n", "  # level: none\n", "\n", "  generated_by: \"a # b\"\n", "  validated_at: 2026-01-15T10:00:00Z\n",
            "  validation_report:\n    tests_passed: 47\n    note: >\n      folded\n\n      # text\n", "  promoted_from: untested # once\n",
            "  promotion_history:\n    - from: untested\n      to: generated\n", "  promotion_history: [ {from: untested} ]\n",
            "  certification: { authority: 'x', scope: [ all ] }\n", "# outside\n", "  x_note: |+\n    keep\n\n",
        ]), 1..6),
        reason in "[ -~äß]{1,40}",
    ) {
        let block = format!("trust:\n{}", lines.concat());
        let text = file(&block);
        let change = TrustChange { to: Trust::Validated, at: "2026-02-01T08:00:00Z", by: "b", reason: &reason };
        let changed = change_trust(&text, None, &change);
        // These forms are all understood.
        prop_assert!(!matches!(changed, Err(TrustError::Form(_))), "{:?}\n{}", changed, text);
        if let Ok(changed) = changed {
            let (mut before, mut after) = (front(&text), front(&changed.text));
            let take = |front: &mut Value| front.as_object_mut().unwrap().remove("trust").unwrap();
            let (mut old, mut new) = (take(&mut before), take(&mut after));
            prop_assert_eq!(before, after);
            prop_assert_eq!(&new["level"], "validated");
            prop_assert_eq!(new["promotion_history"].as_array().unwrap().last().unwrap()["reason"].as_str(), Some(reason.as_str()));
            for key in ["level", "promoted_from", "promotion_history"] {
                old.as_object_mut().unwrap().remove(key);
                new.as_object_mut().unwrap().remove(key);
            }
            prop_assert_eq!(old, new);
            let tail = [REST, BODY].concat();
            prop_assert!(changed.text.starts_with(FRONT) && changed.text.ends_with(&tail));
            // Every line that was there and is not one of the changed fields is still there, in its order.
            let mut left = changed.text.lines();
            for line in text.lines().filter(|line| !["level:", "promoted_from:", "promotion_history:"].iter().any(|key| line.trim_start().starts_with(key))) {
                prop_assert!(left.any(|other| other == line), "{line:?} is gone from\n{}", changed.text);
            }
        }
    }
}

const DANGER: &str = "operations:\n  delete:\n    - name: delete_repo\n      maps_to: \"DELETE /repos/{repo}\"\n      params: { repo: { type: string, required: true } }\n";

fn dangerous(more: &str) -> String {
    let (target, _) = REST.split_once("operations:").unwrap();
    format!("{FRONT}trust: certified\n{target}{DANGER}{more}{BODY}")
}

/// The danger document's block, and the published fields, reach the operation.
#[test]
fn r_saf_3_what_a_file_says_about_confirming_reaches_the_operation() {
    let text = dangerous(
        "      danger:\n        level: dangerous\n        reasons:\n          - \"Removes \\e[31mall\\e[0m contents\"\n          - Cannot be recovered\n        \
         confirmation_message: \"Delete '{repo}' of {owner}?\"\n        cooldown_seconds: 5\n        requires_reauth: true\n",
    );
    let adapter = Adapter::read(&text, None).unwrap_or_else(|problems| panic!("{problems:#?}"));
    assert!(adapter.warnings.iter().any(|words| words.contains("'{owner}'")), "{:?}", adapter.warnings);
    assert!(adapter.warnings.iter().any(|words| words.contains("log in again")), "{:?}", adapter.warnings);
    let offer = Offer::from_adapter(&adapter, "s");
    let operation = &offer.operations[0];
    assert_eq!(operation.safety.danger, Danger::Dangerous);
    assert_eq!(operation.origin.trust, Trust::Generated, "no further than a file can vouch");
    let safeguards = &operation.safety.safeguards;
    assert_eq!(
        safeguards.reasons.iter().map(|reason| &**reason).collect::<Vec<_>>(),
        ["Removes all contents", "Cannot be recovered"]
    );
    assert_eq!(safeguards.message.as_deref(), Some("Delete '{repo}' of {owner}?"));
    assert_eq!(safeguards.cooldown, Duration::from_secs(5));
    assert!(safeguards.always_confirm, "who wants a login wants a person");

    let text = dangerous(
        "      danger_level: dangerous\n      requires_confirmation: true\n      danger: { level: destructive, reason: once }\n",
    );
    let offer = Offer::from_adapter(&Adapter::read(&text, None).unwrap(), "s");
    let operation = &offer.operations[0];
    assert_eq!(operation.safety.danger, Danger::Dangerous, "the published field comes first");
    assert!(operation.safety.safeguards.always_confirm);
    assert_eq!(&*operation.safety.safeguards.reasons[0], "once");

    let offer = Offer::from_adapter(&Adapter::read(&dangerous("      danger_level: safe\n"), None).unwrap(), "s");
    assert_eq!(offer.operations[0].safety.danger, Danger::Destructive, "DELETE says more than the file");
    assert!(offer.ignored[0].contains("destructive"), "{:?}", offer.ignored);
}

#[test]
fn r_saf_1_an_invalid_danger_block_is_reported() {
    #[rustfmt::skip]
    let table = [
        ("danger: { level: destructive, cooldown_second: 5 }", "Did you mean 'cooldown_seconds'?"),
        ("danger: { level: destructive, cooldown_seconds: soon }", "expected 'number'"),
        ("danger: { level: destructive, cooldown_seconds: -1 }", "expected 'number'"),
        ("danger: { level: destructive, cooldown_seconds: 100000 }", "240 or less"),
        ("danger: { level: destructive, reasons: because }", "expected 'array'"),
        ("danger: { level: destructive, reasons: [1] }", "expected 'string'"),
        ("danger: { level: deadly }", "must be one of safe"),
    ];
    for (written, expected) in table {
        let problems = Adapter::read(&dangerous(&format!("      {written}\n")), None).expect_err(written);
        assert!(problems[0].to_string().contains(expected), "{written}: {problems:?}");
    }
}

/// A live upstream that the operator named is accepted; a reviewed file is worth its own word.
#[test]
fn r_saf_2_where_trust_comes_from() {
    let bundle = bundle(json!([{ "name": "list_it", "inputSchema": { "type": "object" } }]));
    let trusts = |offer: Offer| offer.operations.iter().map(|operation| operation.origin.trust).collect::<Vec<_>>();
    assert_eq!(trusts(Offer::from_bundle(&bundle, "s")), [Trust::Accepted]);
    let built = build(&bundle).unwrap();
    let adapter = |sidecar| Adapter::read(&built.adapter, sidecar).unwrap();
    assert_eq!(trusts(Offer::from_adapter(&adapter(Some(&built.sidecar)), "s")), [Trust::Generated]);
    assert_eq!(trusts(Offer::from_adapter(&adapter(None), "s")), [Trust::Untested]);
}

//! A person who decides about a call sees all of it: it is stored and shown completely, or refused.

use aquifer_engine::Context;
use aquifer_engine::store::StateStore as _;
use aquifer_gate::GateSettings;
use aquifer_gate::audit::Audit;
use aquifer_gate::confirm::approvals::{self, ApprovalError, MAX_CALL_BYTES, ReviewedApproval, Status};
use aquifer_gate::policy::PolicySettings;
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::shared::stores;
use crate::harness::{Harness, ManualClock, anna, answering, approve, code, request, with_person, with_token};

/// Requires an approval for everything that has to be confirmed.
fn approving() -> GateSettings {
    let policy: PolicySettings = serde_json::from_value(json!({ "strength": { "destructive": "approval" } })).unwrap();
    GateSettings { policy, ..GateSettings::default() }
}

fn detail<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer["error"]["details"][name].as_str().unwrap_or_else(|| panic!("no {name} in {answer}"))
}

async fn reviewed(harness: &Harness, answer: &Value) -> ReviewedApproval {
    approvals::get(&*harness.store, detail(answer, "approval_id"), &harness.clock).await.unwrap()
}

fn nested(depth: usize, leaf: Value) -> Value {
    (0..depth).fold(leaf, |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ "in": inner }) })
}

#[tokio::test]
async fn r_saf_3_an_approval_holds_the_whole_call_with_its_defaults_and_without_secrets() {
    let harness = Harness::new(&GateSettings::default());
    let deep = json!({
        "secret_name": "prod/db", "token_id": "t-1", "rows": nested(20, json!("the leaf")), "none": null, "empty": [{}],
    });
    for source in ["alpha", "beta"] {
        for mode in [None, Some("soft"), Some("hard")] {
            let mut params = json!({ "id": "x", "deep": deep, "pass_code": "hunter2-x9", "note": "" });
            if let Some(mode) = mode {
                params["mode"] = mode.into();
            }
            let answer = harness.ask(request(&format!("{source}_purge_thing"), params)).await;
            let reviewed = reviewed(&harness, &answer).await;
            let (approval, call) = (reviewed.approval(), reviewed.call());
            assert_eq!((&*approval.source, approval.status, approval.parameter_count), (source, Status::Pending, 6));
            assert_eq!(call.params["deep"], deep, "nothing below any depth is left out");
            assert_eq!((&call.params["id"], &call.params["note"]), (&json!("x"), &json!("")));
            assert_eq!(call.params["mode"], mode.unwrap_or("soft"), "what nobody said is sent, and shown");
            let defaults: &[&str] = if mode == Some("hard") { &["/options"] } else { &["/mode", "/options"] };
            let mut found = call.defaults.clone();
            found.sort();
            assert_eq!(found, defaults, "{mode:?}");
            assert_eq!(call.hidden, ["/pass_code"]);
            assert_eq!(call.params["pass_code"], "[hidden, 10 characters, sha256 998a…]");
            let text = call.lines(Some(80)).join("\n");
            for shown in [
                "├ id = \"x\"",
                "├ note = \"\"",
                "\"the leaf\"",
                "\"secret_name\": \"prod/db\"",
                "\"token_id\": \"t-1\"",
                "\"none\": null",
                "├ pass_code = [hidden, 10 characters, sha256 998a…]",
            ] {
                assert!(text.contains(shown), "{shown} in {text}");
            }
            assert_eq!(text.contains("├ mode = \"soft\" (default)"), mode != Some("hard"), "{text}");
            // The question of a client shows the same.
            let message = detail(&answer, "confirmation_message");
            assert!(message.contains("\"the leaf\"") && message.contains("\n6 parameters:\n"), "{message}");
            assert_eq!(message.contains("\n  mode = \"soft\" (default)"), mode != Some("hard"), "{message}");
            assert!(!format!("{text}{message}").contains("hunter2"));
        }
    }
    for (key, record) in harness.store.list("", 1_000).await.unwrap() {
        assert!(!String::from_utf8_lossy(&record.value).contains("hunter2"), "{key}");
    }
}

/// Defaults inside values are marked, whether the caller sent them or not.
#[tokio::test]
async fn r_saf_3_defaults_are_marked_at_every_depth() {
    let harness = Harness::new(&GateSettings::default());
    for (options, defaults) in [
        (json!([{ "depth": 1 }, { "depth": 2 }]), vec!["/mode", "/options/0/depth"]),
        (json!([{ "depth": 2 }, {}]), vec!["/mode", "/options/1/depth"]),
        (json!([{ "depth": "1" }]), vec!["/mode"]),
        (json!([]), vec!["/mode", "/options"]),
    ] {
        let answer = harness.ask(request("alpha_purge_thing", json!({ "id": "x", "options": options }))).await;
        let whole = reviewed(&harness, &answer).await;
        let mut found = whole.call().defaults.clone();
        found.sort();
        assert_eq!(found, defaults, "{options}");
        let text = whole.call().lines(None).join("\n");
        assert_eq!(text.matches(" (default)").count(), defaults.len(), "{text}");
        assert_eq!(text.contains("\"depth\": 1 (default)"), defaults.len() == 2 && options != json!([]), "{text}");
    }
}

/// A call larger than a record is stored in several, and read back by another process.
#[tokio::test]
async fn r_saf_6_a_large_call_is_shown_whole_after_a_restart_and_approved() {
    let (stores, _folder) = stores();
    for (name, open) in stores {
        let harness = || {
            let clock = ManualClock::new();
            Harness::over(&approving(), Trust::Certified, open(&clock.steady), clock, |_, clock| Audit::disabled(clock))
        };
        let long: String = (0..150_000).map(|line| format!("line {line:06}\n")).collect();
        assert!(long.len() > 1 << 20 && long.len() < MAX_CALL_BYTES);
        let sent = || request("beta_delete_thing", json!({ "id": "x", "note": long }));
        let answer = harness().ask(sent()).await;
        let token = detail(&answer, "confirmation_token").to_owned();

        let again = harness();
        let listed = approvals::list(&*again.store, &again.clock).await.unwrap();
        assert_eq!(listed.len(), 1, "{name}: parts of a call are no approvals");
        let reviewed = reviewed(&again, &answer).await;
        assert_eq!(reviewed.call().params["note"], long, "{name}");
        assert_eq!(reviewed.call().lines(Some(80)).len(), 150_001, "{name}");
        assert_eq!(code(&again.ask(with_token(sent(), &token)).await), "CONFIRMATION_REQUIRED", "{name}");
        approvals::approve(&*again.store, &reviewed, &again.clock, "admin").await.unwrap();
        assert_eq!(code(&harness().ask(with_token(sent(), &token)).await), "done", "{name}");
        assert_eq!(code(&again.ask(with_token(sent(), &token)).await), "TOKEN_ALREADY_USED", "{name}");
    }
}

#[tokio::test]
async fn r_saf_3_calls_that_cannot_be_shown_cannot_be_approved() {
    for (settings, context) in
        [(approving(), anna()), (GateSettings::default(), anna()), (GateSettings::default(), with_person(anna()))]
    {
        let harness = Harness::new(&settings);
        for (what, note, deep, expected) in [
            ("large text", "x".repeat(MAX_CALL_BYTES), json!(1), "too large"),
            ("many values", String::new(), json!(vec!["x".repeat(1_000); MAX_CALL_BYTES / 1_000]), "too large"),
            ("too deep", String::new(), nested(70, json!("the leaf")), "nested too deeply"),
        ] {
            let sent = || request("alpha_delete_thing", json!({ "id": "x", "note": note, "deep": deep }));
            let answer = harness.ask_as(sent(), context.clone()).await;
            assert_eq!(code(&answer), "PERMISSION_DENIED", "{what}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(expected) && message.contains("Nothing was done"), "{message}");
            assert!(!answer.to_string().contains("conf_"), "{what}: no token is given out");
        }
        let stored = harness.store.list("gate/", 1_000).await.unwrap();
        let stored: Vec<&String> = stored.iter().map(|(key, _)| key).filter(|key| !key.contains("issued")).collect();
        assert!(stored.is_empty(), "{stored:?}");
        assert!(harness.done().is_empty());
    }
}

/// If records of a call are missing or changed, it cannot be approved.
#[tokio::test]
async fn r_saf_3_a_call_that_was_changed_in_the_store_is_not_approved() {
    let harness = Harness::new(&approving());
    let answer = harness.ask(request("alpha_delete_thing", json!({ "id": "harmful" }))).await;
    let id = detail(&answer, "approval_id");
    let parts = harness.store.list("gate/call/", 10).await.unwrap();
    let [(key, record)] = parts.as_slice() else { panic!("{parts:?}") };
    let harmless = String::from_utf8(record.value.clone()).unwrap().replace("harmful", "benign!");
    for value in [harmless.as_bytes(), b"{}", b""] {
        let version = harness.store.get(key).await.unwrap().unwrap().version;
        let keep = std::time::Duration::from_secs(60);
        assert!(harness.store.compare_and_set(key, Some(version), value.to_vec(), keep).await.unwrap());
        let refused = approve(&*harness.store, id, &harness.clock).await;
        assert!(matches!(refused, Err(ApprovalError::Incomplete(_))), "{refused:?}");
    }
    // Denying does not need the call.
    approvals::deny(&*harness.store, id, &harness.clock, "admin", "").await.unwrap();
}

#[tokio::test]
async fn r_saf_3_pending_calls_do_not_fill_the_store() {
    let harness = Harness::new(&approving());
    let sent = |bytes: usize| request("alpha_delete_thing", json!({ "id": "x", "note": "x".repeat(bytes) }));
    // The size of anna's calls while one can wait.
    let (key, day) = ("gate/waiting_bytes/anna", std::time::Duration::from_secs(86_400));
    assert!(harness.store.spend(key, 31 << 20, u64::MAX, day).await.unwrap().accepted);
    assert_eq!(code(&harness.ask(sent(600_000)).await), "CONFIRMATION_REQUIRED");
    let refused = harness.ask(sent(600_001)).await;
    assert_eq!(code(&refused), "RATE_LIMIT_EXCEEDED", "{refused}");
    assert_eq!(refused["error"]["details"]["window"], "86400 seconds", "{refused}");
    assert_eq!(code(&harness.ask(sent(1_000)).await), "CONFIRMATION_REQUIRED", "what fits still waits");
    let other = crate::harness::caller(Some("berta"), Some("session_2"));
    assert_eq!(code(&harness.ask_as(sent(600_000), other).await), "CONFIRMATION_REQUIRED", "others are not concerned");
    harness.clock.advance(2 * 86_400);
    assert_eq!(code(&harness.ask(sent(600_000)).await), "CONFIRMATION_REQUIRED");
}

/// Texts for people are shortened in a question, and shown whole with an approval. Above the length of a question, the
/// call needs one.
#[tokio::test]
async fn r_saf_9_a_question_shortens_texts_and_keeps_their_links() {
    let harness = Harness::new(&GateSettings::default());
    let text =
        |chars: usize| format!("{} see http://evil.example/x now {}", "n".repeat(chars / 2), "m".repeat(chars / 2));
    for (chars, needs_approval) in [(5_000, false), (50_000, true)] {
        let note = text(chars);
        let sent = || request("alpha_delete_thing", json!({ "note": note, "id": "x" }));
        let asked = harness.ask(sent()).await;
        let message = detail(&asked, "confirmation_message");
        let total = note.chars().count();
        let expected = format!(
            "Delete thing \"x\" ('alpha_delete_thing' of source 'alpha')?\n2 parameters:\n  id = \"x\"\n  note = \"{}\" … [{} of \
             {total} characters not shown; links, addresses and accounts in them: \"http://evil.example/x\"] … \"{}\"",
            "n".repeat(600),
            total - 800,
            "m".repeat(200)
        );
        assert_eq!(message, expected);
        assert_eq!(asked["error"]["details"].get("approval_id").is_some(), needs_approval, "{chars}");
        if needs_approval {
            assert_eq!(reviewed(&harness, &asked).await.call().params["note"], note);
        }
    }
}

/// A call whose question would be incomplete needs an approval.
#[tokio::test]
async fn r_saf_3_a_question_that_cannot_show_everything_is_not_asked() {
    let harness = Harness::new(&GateSettings::default());
    let many: serde_json::Map<String, Value> = (0..900).map(|n| (format!("field_{n}"), json!(n))).collect();
    for source in ["alpha", "beta"] {
        for (what, params, is_shown) in [
            ("long, and still shown", json!({ "id": "x", "deep": "n".repeat(7_000) }), true),
            ("harmless at first", json!({ "id": "x", "deep": format!("{}DROP", "n".repeat(8_000)) }), false),
            ("many values", json!({ "id": "x", "deep": many }), false),
            ("blanks that are escaped", json!({ "id": "x", "deep": " ".repeat(2_000) }), false),
            ("two that are long together", json!({ "id": "i".repeat(5_000), "deep": "n".repeat(5_000) }), false),
        ] {
            let sent = || request(&format!("{source}_delete_thing"), params.clone());
            let asked = harness.ask_as(sent(), with_person(anna())).await;
            let token = harness.ask(sent()).await;
            if is_shown {
                let message = asked["message"].as_str().unwrap_or_else(|| panic!("{what}: {asked}"));
                assert!(message.contains(params["deep"].as_str().unwrap()), "{what}");
                assert!(token["error"]["details"].get("approval_id").is_none(), "{what}: {token}");
                continue;
            }
            for answer in [&asked, &token] {
                assert_eq!(code(answer), "CONFIRMATION_REQUIRED", "{what}");
                assert_eq!(detail(answer, "approval_status"), "pending", "{what}");
                let message = detail(answer, "confirmation_message");
                assert!(message.contains("\nNOT SHOWN: 1 parameter with "), "{what}: {message}");
                assert!(message.chars().count() < 8_200, "{what}");
                let reasons = answer["error"]["details"]["reasons"].to_string();
                assert!(reasons.contains("aquifer approvals approve"), "{reasons}");
            }
            let token = detail(&token, "confirmation_token");
            let again = |context: Context| harness.ask_as(with_token(sent(), token), context);
            assert_eq!(code(&again(anna()).await), "CONFIRMATION_REQUIRED", "{what}");
            assert_eq!(code(&again(with_person(anna())).await), "CONFIRMATION_REQUIRED", "{what}");
            let made_up = answering(with_person(anna()), &format!("confirm_{}", "A".repeat(43)), "accept");
            assert_eq!(code(&harness.ask_as(sent(), made_up).await), "CONFIRMATION_REQUIRED", "{what}");
            let batch = harness.ask_as(json!({ "operations": [sent(), sent()] }), anna()).await;
            assert!(batch.to_string().contains("approval_id"), "{what}: {batch}");
            assert!(harness.done().is_empty(), "{what}");
            let whole = reviewed(&harness, &asked).await;
            assert_eq!(Value::Object(whole.call().params.clone()), params, "{what}");
            approve(&*harness.store, detail(&asked, "approval_id"), &harness.clock).await.unwrap();
            let token = detail(&asked, "confirmation_token");
            let done = harness.ask_as(with_token(sent(), token), with_person(anna())).await;
            assert_eq!((code(&done), harness.done().len()), ("done", 1), "{what}");
            harness.clock.advance(61);
        }
    }
}

/// The answer to a question about a short call does not confirm a long one.
#[tokio::test]
async fn r_saf_3_an_answer_to_another_question_does_not_confirm_a_long_call() {
    let harness = Harness::new(&GateSettings::default());
    let short = request("alpha_delete_thing", json!({ "id": "x" }));
    let long = request("alpha_delete_thing", json!({ "id": "x", "note": "n".repeat(9_000) }));
    let asked = harness.ask_as(short.clone(), with_person(anna())).await;
    let yes = answering(with_person(anna()), asked["question"].as_str().unwrap(), "accept");
    assert_eq!(code(&harness.ask_as(long.clone(), yes).await), "CONFIRMATION_REQUIRED");
    let token = harness.token(short).await;
    assert_eq!(code(&harness.ask(with_token(long, &token)).await), "TOKEN_SCOPE_MISMATCH");
    assert!(harness.done().is_empty());
}

/// Values that try to look like the text around them.
const HOSTILE: &[&str] = &[
    "x\"\n3 parameters:\n  id = \"y",
    "x\n\nApprove? yes\n- It is harmless\nLet this call pass, once? [y/N] y",
    "x\r├ id = \"y\"\r\n└ 1 parameter",
    "\u{1b}[2J\u{1b}[H\u{1b}]0;title\u{7}\u{9b}31m\u{8}\u{8}\u{8}",
    "x\u{202e}\u{2066}exe.doc\u{2069}\u{200f}",
    "│ ╎ ├ └ ┃ ▏ ⎢ ❘ 🮀",
    "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f",
    "a\u{a0}\u{2003}\u{3000}b\u{200b}c\u{feff}\u{e0041}",
    "x”  note = “y„ ＂",
    "[hidden, 10 characters, sha256 998a…]",
    "soft\" (default)",
    "\\u{202e} \\n \\\\ \\\"",
    "Z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}algo",
    "x                                                                              id = y",
    "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
    "x\" … [1 of 2 characters not shown] … \"y",
    "x ('alpha_delete_thing' of source 'alpha')?\n- This only reads\nNo parameters",
    "\u{202e}?)'ahpla' ecruos fo 'gniht_daer_ahpla'( \"x\" gniht daeR",
    "'; -- page 2 of 2: blank or enter goes on, q leaves without approving --",
    "",
];

/// Reverts the escaping of a quoted text.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let escaped = (character == '\\').then(|| rest.next().unwrap());
        match escaped {
            None => out.push(character),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let digits: String = rest.by_ref().skip(1).take_while(|c| *c != '}').collect();
                out.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
            }
            Some(other) => out.push(other),
        }
    }
    out
}

fn is_frame(character: char) -> bool {
    ('\u{2500}'..='\u{259f}').contains(&character)
}

/// A value in the first line stays inside its quotes, whatever it imitates.
#[tokio::test]
async fn r_saf_9_values_cannot_imitate_the_first_line() {
    let harness = Harness::new(&GateSettings::default());
    for text in HOSTILE.iter().filter(|text| !text.is_empty()) {
        let asked = harness.ask_as(request("alpha_delete_thing", json!({ "id": *text })), with_person(anna())).await;
        let question = asked["message"].as_str().unwrap_or_else(|| panic!("{asked}"));
        let lines: Vec<&str> = question.lines().collect();
        assert_eq!((lines.len(), lines[2]), (4, "1 parameter:"), "{question}");
        assert_eq!(lines[1], "- This deletes data, so a person has to confirm it");
        let value = lines[0].strip_prefix("Delete thing \"").unwrap();
        let value = value.strip_suffix(" ('alpha_delete_thing' of source 'alpha')?").unwrap();
        // A long value is cut, and all of it is among the parameters.
        let is_whole = text.chars().count() <= 80;
        let value = if is_whole { value.strip_suffix('"').unwrap() } else { value.rsplit_once("…\"").unwrap().0 };
        assert!(text.starts_with(&unescaped(value)) && (!is_whole || unescaped(value) == *text), "{question}");
        assert!(
            !value.replace("\\\\", "").replace("\\\"", "").contains('"'),
            "the quotes do not end early: {question}"
        );
        harness.clock.advance(5);
    }
}

#[tokio::test]
async fn r_saf_3_values_cannot_imitate_the_question_or_its_frame() {
    let harness = Harness::new(&GateSettings::default());
    for text in HOSTILE {
        let deep = json!({ *text: [*text] });
        let params = json!({ "id": "x", "note": *text, "deep": deep, "pass_code": "hunter2-x9" });
        let asked = harness.ask_as(request("alpha_purge_thing", params.clone()), with_person(anna())).await;
        let question = asked["message"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
        let answer = harness.ask(request("alpha_purge_thing", params)).await;
        let message = detail(&answer, "confirmation_message").to_owned();
        // A question has the reasons between the headline and the parameters.
        let (headline, parameters) = message.split_once('\n').unwrap();
        let reasons = question.strip_prefix(headline).and_then(|rest| rest.strip_suffix(parameters)).unwrap();
        assert!(reasons.starts_with("\n- ") && reasons.ends_with('\n'), "{question}");
        // One line for the headline, one for the count, and one for each parameter.
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!((lines.len(), lines[1]), (8, "6 parameters:"), "{message}");
        for line in question.lines() {
            assert!(line.chars().all(|c| !c.is_control() && !is_frame(c)), "{line:?}");
            assert!(!line.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{a0}', '\u{e0041}', '”', '＂']), "{line:?}");
        }
        // Nothing is lost: the shown text can be read back.
        let note = lines.iter().find_map(|line| line.strip_prefix("  note = \"")?.strip_suffix('"')).unwrap();
        assert_eq!(unescaped(note), *text);
        assert!(lines.contains(&"  pass_code = [hidden, 10 characters, sha256 998a…]"), "{message}");

        let call = reviewed(&harness, &answer).await;
        assert_eq!(call.call().hidden, ["/pass_code"]);
        for width in [Some(20), Some(40), Some(80), None] {
            let lines = call.call().lines(width);
            assert_eq!(lines.iter().filter(|line| line.starts_with("├ ")).count(), 6, "{lines:#?}");
            for line in &lines {
                let (begin, rest) = line.split_at(line.find(' ').unwrap() + 1);
                assert!(["├ ", "│ ", "╎ "].contains(&begin), "{line:?}");
                assert!(rest.chars().all(|c| !c.is_control() && !is_frame(c)), "{line:?}");
                let columns: usize = rest.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
                assert!(width.is_none_or(|width| columns + 2 < width), "{width:?} {line:?}");
            }
            let from = lines.iter().position(|line| line.starts_with("├ note = ")).unwrap();
            let mut note = lines[from].trim_start_matches("├ note = ").to_owned();
            lines[from + 1..].iter().map_while(|line| line.strip_prefix("╎ ")).for_each(|more| note.push_str(more));
            assert_eq!(unescaped(&note[1..note.len() - 1]), *text, "{width:?}");
        }
        harness.clock.advance(5);
    }
}

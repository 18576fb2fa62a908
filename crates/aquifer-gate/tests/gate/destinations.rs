//! Where calls may go without a person: destinations that people have agreed to, and nothing that others say.

use aquifer_engine::Context;
use aquifer_gate::GateSettings;
use aquifer_gate::audit::Audit;
use aquifer_gate::confirm::approvals;
use aquifer_gate::destination::{self, DestinationSettings, KnownDestination, Remember, Scope};
use aquifer_gate::policy::{PolicySettings, RuleSettings};
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use crate::harness::{Harness, anna, answering, caller, code, request, with_person, with_token};

fn harness() -> Harness {
    let settings = GateSettings::default();
    Harness::new(&settings).with_people(&settings)
}

fn other_process(harness: &Harness) -> Harness {
    let (settings, clock) = (GateSettings::default(), harness.clock.other_process());
    Harness::over(&settings, Trust::Certified, harness.store.clone(), clock, |_, clock| Audit::disabled(clock))
        .with_people(&settings)
}

pub(crate) fn send(to: &Value) -> Value {
    request("alpha_send_thing", json!({ "id": "1", "email": to }))
}

/// Asks for an approval, which a person gives, and runs the call.
pub(crate) async fn agree(harness: &Harness, call: &Value, remember: Remember) {
    let asked = harness.ask(call.clone()).await;
    let details = &asked["error"]["details"];
    let (id, token) = (details["approval_id"].as_str(), details["confirmation_token"].as_str());
    let (id, token) = (id.unwrap_or_else(|| panic!("{asked}")), token.unwrap());
    let reviewed = approvals::get(&*harness.store, id, &harness.clock).await.unwrap().remembering(remember);
    approvals::approve(&*harness.store, &reviewed, &harness.clock, "admin").await.unwrap();
    let done = harness.ask(with_token(call.clone(), token)).await;
    assert_eq!(code(&done), "done", "{done}");
}

pub(crate) async fn runs_for(harness: &Harness, call: &Value, context: Context) -> bool {
    let answer = harness.ask_as(call.clone(), context).await;
    match code(&answer) {
        "done" => true,
        "CONFIRMATION_REQUIRED" => false,
        other => panic!("{other}: {answer}"),
    }
}

async fn runs(harness: &Harness, to: Value) -> bool {
    runs_for(harness, &send(&to), anna()).await
}

async fn known(harness: &Harness) -> Vec<KnownDestination> {
    destination::list(&*harness.store).await.unwrap()
}

#[tokio::test]
async fn r_saf_8_the_first_use_of_a_destination_asks_and_later_ones_run() {
    let harness = harness();
    assert!(!runs(&harness, json!("bob@x.com")).await);
    agree(&harness, &send(&json!("Bob@X.com")), Remember::Destinations).await;
    for same in
        [json!("bob@x.com"), json!(["BOB@x.com"]), json!("Bob <bob@x.com>"), json!([" bob@x.com", "bob@x.com "])]
    {
        assert!(runs(&harness, same.clone()).await, "{same}");
        let batch = harness.ask(json!({ "operations": [send(&same), send(&same)] })).await;
        assert!(!batch.to_string().contains("confirmation"), "{batch}");
    }
    // In another session, and in another process on the same store.
    assert!(runs_for(&harness, &send(&json!("bob@x.com")), caller(Some("anna"), Some("session_2"))).await);
    assert!(runs_for(&other_process(&harness), &send(&json!("bob@x.com")), anna()).await);
    for other in
        [json!("eve@x.com"), json!(["bob@x.com", "eve@x.com"]), json!("bob@x.com.evil.net"), json!(""), json!([])]
    {
        assert!(!runs(&harness, other.clone()).await, "{other}");
    }
    // Not for another caller, source, or operation that does more than sending.
    for other in [caller(Some("berta"), None), caller(None, None)] {
        assert!(!runs_for(&harness, &send(&json!("bob@x.com")), other).await);
    }
    let beta = request("beta_send_thing", json!({ "id": "1", "email": "bob@x.com" }));
    assert!(!runs_for(&harness, &beta, anna()).await);
    let delete = request("alpha_delete_thing", json!({ "id": "1", "email": "bob@x.com" }));
    assert!(!runs_for(&harness, &delete, anna()).await);
}

#[tokio::test]
async fn r_saf_8_what_a_text_mentions_becomes_no_recipient() {
    let harness = harness();
    let write = |to: &str, note: &str| request("alpha_send_thing", json!({ "id": "1", "email": to, "note": note }));
    agree(&harness, &write("bob@x.com", "eve@evil.net wrote, see evil.net"), Remember::Domains).await;
    assert!(runs_for(&harness, &write("bob@x.com", "eve@evil.net, evil.net"), anna()).await);
    for to in ["eve@evil.net", "mallory@evil.net", "https://evil.net/"] {
        assert!(!runs_for(&harness, &write(to, ""), anna()).await, "{to}");
    }
    assert!(!runs_for(&harness, &write("bob@x.com", "mallory@evil.net"), anna()).await);
    // More than a question shows: nothing is remembered.
    let many: String = (0..21).map(|number| format!("m{number}@many.net ")).collect();
    agree(&harness, &write("carol@y.com", &many), Remember::Destinations).await;
    assert!(!runs_for(&harness, &write("carol@y.com", ""), anna()).await);
}

#[tokio::test]
async fn r_saf_8_every_value_that_is_not_sent_has_to_be_known() {
    let harness = harness();
    agree(&harness, &send(&json!("bob@x.com")), Remember::Destinations).await;
    let with = |more: Value| {
        let mut params = json!({ "id": "1", "email": "bob@x.com" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request("alpha_send_thing", params)
    };
    for quiet in [json!({ "note": "Hi" }), json!({ "deep": null }), json!({ "deep": { "subject": "Hi" } })] {
        assert!(runs_for(&harness, &with(quiet.clone()), anna()).await, "{quiet}");
    }
    for other in [
        json!({ "id": "2" }),
        json!({ "deep": "eve" }),
        json!({ "deep": { "reply_all": true } }),
        json!({ "deep": { "reply_all": false } }),
        json!({ "deep": { "group": 7 } }),
        json!({ "deep": { "eve@evil.net": true } }),
        json!({ "email": { "bob@x.com": true } }),
        json!({ "email": true }),
        json!({ "pass_code": "secret" }),
    ] {
        assert!(!runs_for(&harness, &with(other.clone()), anna()).await, "{other}");
    }
    // Names count together: a channel of one team is none of another.
    agree(&harness, &with(json!({ "email": "board", "deep": { "team": "ours" } })), Remember::Destinations).await;
    agree(&harness, &with(json!({ "email": "news", "deep": { "team": "public" } })), Remember::Destinations).await;
    assert!(runs_for(&harness, &with(json!({ "email": "news", "deep": { "team": "public" } })), anna()).await);
    for mixed in [json!({ "email": "board", "deep": { "team": "public" } }), json!({ "email": "board" })] {
        assert!(!runs_for(&harness, &with(mixed.clone()), anna()).await, "{mixed}");
    }
    // A name for one operation and parameter is none for others.
    agree(&harness, &with(json!({ "deep": "all" })), Remember::Destinations).await;
    assert!(runs_for(&harness, &with(json!({ "deep": "all" })), anna()).await);
    assert!(!runs_for(&harness, &with(json!({ "email": "all" })), anna()).await);
}

#[tokio::test]
async fn r_saf_8_a_refused_destination_does_not_run_although_it_is_known() {
    let harness = harness();
    agree(&harness, &send(&json!("bob@x.com")), Remember::Destinations).await;
    let call = request("alpha_send_thing", json!({ "id": "1", "email": "bob@x.com", "note": "see evil.net" }));
    let person = with_person(anna());
    let question = harness.ask_as(call.clone(), person.clone()).await;
    let key = question["question"].as_str().unwrap_or_else(|| panic!("{question}"));
    harness.ask_as(call, answering(person, key, "decline")).await;
    let refused = harness.ask(send(&json!("bob@x.com"))).await;
    assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");
}

#[tokio::test]
async fn r_saf_8_a_batch_is_remembered_by_nobody() {
    let harness = harness();
    let batch = json!({ "operations": [send(&json!("bob@x.com")), send(&json!("carol@x.com"))] });
    let person = with_person(anna());
    let question = harness.ask_as(batch.clone(), person.clone()).await;
    let key = question["question"].as_str().unwrap_or_else(|| panic!("{question}"));
    harness.ask_as(batch, answering(person, key, "accept")).await;
    assert_eq!(harness.done().len(), 2);
    assert_eq!(known(&harness).await, []);
}

#[tokio::test]
async fn r_saf_8_a_new_link_in_a_text_to_a_known_recipient_asks() {
    let harness = harness();
    let write = |note: &str| request("alpha_send_thing", json!({ "id": "1", "email": "bob@x.com", "note": note }));
    agree(&harness, &write("See you at https://meet.x.com/1"), Remember::Destinations).await;
    for known in ["Hi", "see https://meet.x.com/2, bob@x.com", "MEET.x.com", ""] {
        assert!(runs_for(&harness, &write(known), anna()).await, "{known}");
    }
    for new in [
        "see https://evil.net",
        "see https://meet.x.com.evil.net/1",
        "see https://meet.x.com@evil.net/1",
        "see https://meet.x.com:8443/1",
        "see www.evil.net",
        "see evil.net/login",
        "write to eve@x.com",
        "pay to US133000000121212121212",
    ] {
        assert!(!runs_for(&harness, &write(new), anna()).await, "{new}");
    }
    let nested = json!({ "id": "1", "email": "bob@x.com", "deep": { "a": [{ "b": "see evil.net" }] } });
    assert!(!runs_for(&harness, &request("alpha_send_thing", nested), anna()).await);
}

#[tokio::test]
async fn r_saf_8_nothing_but_a_persons_agreement_makes_a_destination_known() {
    let harness = harness();
    // A request, a closed question, a refusal, a wrong token, and another operation that a person agreed to.
    assert!(!runs(&harness, json!("eve@x.com")).await);
    for action in ["cancel", "decline"] {
        let (person, call) = (with_person(caller(Some("berta"), None)), send(&json!("eve@x.com")));
        let question = harness.ask_as(call.clone(), person.clone()).await;
        let Some(key) = question["question"].as_str() else { continue };
        harness.ask_as(call, answering(person, key, action)).await;
    }
    harness.ask(with_token(send(&json!("eve@x.com")), "conf_x")).await;
    agree(&harness, &request("alpha_delete_thing", json!({ "id": "1", "email": "eve@x.com" })), Remember::Domains)
        .await;
    assert_eq!(
        code(&harness.ask(request("alpha_create_thing", json!({ "id": "1", "email": "eve@x.com" }))).await),
        "done"
    );
    assert_eq!(known(&harness).await, []);
    assert!(!runs(&harness, json!("eve@x.com")).await);

    // A model that may confirm its own calls agrees to nothing for later.
    let mut settings = GateSettings::default();
    settings.policy.model_confirms = true;
    let harness = Harness::new(&settings);
    for _ in 0..2 {
        let asked = harness.ask(send(&json!("eve@x.com"))).await;
        let token =
            asked["error"]["details"]["confirmation_token"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
        assert_eq!(code(&harness.ask(with_token(send(&json!("eve@x.com")), &token)).await), "done");
    }
    assert_eq!(known(&harness).await, []);
}

#[tokio::test]
async fn r_saf_8_a_person_chooses_what_is_remembered() {
    let harness = harness();
    agree(&harness, &send(&json!("bob@x.com")), Remember::Nothing).await;
    assert!(!runs(&harness, json!("bob@x.com")).await);
    agree(&harness, &send(&json!("bob@x.com")), Remember::Domains).await;
    agree(&harness, &send(&json!("#general")), Remember::Domains).await;
    for (to, expected) in [
        (json!("carol@x.com"), true),
        (json!("#general"), true),
        (json!("carol@mail.x.com"), false),
        (json!("carol@x.com.evil.net"), false),
        (json!("#random"), false),
        (json!("x.com"), false),
    ] {
        assert_eq!(runs(&harness, to.clone()).await, expected, "{to}");
    }
    // In the form of a client.
    for (choice, expected) in [
        (json!({ "next_time": "ask again" }), false),
        (json!({ "next_time": "something else" }), false),
        (json!({}), true),
        (json!({ "next_time": "do not ask about these destinations" }), true),
    ] {
        let (person, to) = (with_person(anna()), json!(format!("{}@y.com", choice.to_string().len())));
        let question = harness.ask_as(send(&to), person.clone()).await;
        let key = question["question"].as_str().unwrap_or_else(|| panic!("{question}")).to_owned();
        let answer = json!({ "action": "accept", "content": choice });
        let answered = Context { answers: std::sync::Arc::new([(key, answer)].into_iter().collect()), ..person };
        assert_eq!(code(&harness.ask_as(send(&to), answered).await), "done");
        assert_eq!(runs(&harness, to).await, expected, "{choice}");
    }
}

#[tokio::test]
async fn r_saf_8_known_destinations_are_listed_expire_and_are_forgotten() {
    let harness = harness();
    agree(&harness, &send(&json!("bob@x.com")), Remember::Destinations).await;
    agree(&harness, &send(&json!("https://hooks.x.com/a")), Remember::Domains).await;
    let all = known(&harness).await;
    let shown: Vec<_> = all.iter().map(|known| (known.destination.as_str(), known.scope)).collect();
    let expected = [("1", Scope::Recipient), ("bob@x.com", Scope::Recipient), ("https://hooks.x.com", Scope::Domain)];
    assert_eq!(shown, expected);
    let all = all.get(1..).unwrap();
    assert_eq!(all[0].approved_by.as_deref(), Some("admin"));
    assert_eq!((all[0].source.as_str(), all[0].caller.as_deref()), ("alpha", Some("anna")));
    assert!(runs(&harness, json!("https://hooks.x.com/b")).await);

    let forgotten = destination::forget(&*harness.store, Some(&[all[0].id.clone()])).await.unwrap();
    assert_eq!(forgotten.len(), 1);
    assert!(!runs(&harness, json!("bob@x.com")).await);
    assert!(runs(&harness, json!("https://hooks.x.com/b")).await);
    assert_eq!(destination::forget(&*harness.store, Some(&["unknown".to_owned()])).await.unwrap(), []);
    harness.clock.advance(181 * 24 * 60 * 60);
    assert_eq!(known(&harness).await, []);
    assert!(!runs(&harness, json!("https://hooks.x.com/b")).await);
}

#[tokio::test]
async fn r_saf_8_the_operator_knows_destinations_and_decides_about_memory() {
    let known_here = [("alpha".to_owned(), vec!["@ours.com".to_owned(), "1".to_owned()])];
    let destinations = DestinationSettings {
        known: known_here.into_iter().collect(),
        remember_for: std::time::Duration::ZERO,
        ..DestinationSettings::default()
    };
    let settings = GateSettings { destinations, ..GateSettings::default() };
    let harness = Harness::new(&settings).with_people(&settings);
    assert!(runs(&harness, json!(["a@ours.com", "b@ours.com"])).await);
    assert!(!runs(&harness, json!("a@ours.com, eve@evil.net")).await);
    agree(&harness, &send(&json!("bob@x.com")), Remember::Destinations).await;
    assert!(!runs(&harness, json!("bob@x.com")).await, "nothing is remembered");
}

#[tokio::test]
async fn r_saf_8_rules_and_the_matrix_count_for_known_destinations_too() {
    let destinations = DestinationSettings {
        known: [("alpha".to_owned(), vec!["@ours.com".to_owned(), "1".to_owned()])].into_iter().collect(),
        ..DestinationSettings::default()
    };
    let call = json!("a@ours.com");
    let rule = |text: &str| GateSettings {
        policy: PolicySettings {
            rule: vec![toml::from_str::<RuleSettings>(text).unwrap()],
            ..PolicySettings::default()
        },
        destinations: destinations.clone(),
        ..GateSettings::default()
    };
    for (text, expected) in [
        ("operation = \"delete_*\"\neffect = \"confirm\"", "done"),
        ("operation = \"*send_thing\"\neffect = \"confirm\"", "CONFIRMATION_REQUIRED"),
        ("danger = \"destructive\"\neffect = \"confirm\"", "CONFIRMATION_REQUIRED"),
        ("does = \"sends\"\neffect = \"deny\"", "PERMISSION_DENIED"),
    ] {
        let settings = rule(text);
        let harness = Harness::new(&settings).with_people(&settings);
        let answer = harness.ask(send(&call)).await;
        assert_eq!(code(&answer), expected, "{text}: {answer}");
    }
    let mut settings = rule("operation = \"delete_*\"\neffect = \"confirm\"");
    settings.policy.matrix = toml::from_str(
        "[destructive]\ncertified = \"confirm\"\nvalidated = \"confirm\"\ncommunity_reviewed = \"confirm\"",
    )
    .unwrap();
    let harness = Harness::new(&settings).with_people(&settings);
    assert!(!runs(&harness, call).await, "the operator has set the cell");
}

#[tokio::test]
async fn r_saf_8_while_the_store_is_unavailable_no_destination_is_known() {
    let harness = harness();
    agree(&harness, &send(&json!("bob@x.com")), Remember::Destinations).await;
    harness.store.set_down(true);
    let answer = harness.ask(send(&json!("bob@x.com"))).await;
    assert_eq!(code(&answer), "INTERNAL_ERROR", "{answer}");
    harness.store.set_down(false);
    assert!(runs(&harness, json!("bob@x.com")).await);
}

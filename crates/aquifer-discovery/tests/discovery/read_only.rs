//! What a source that is read-only offers, for generated names, descriptions, parameters and hints (R-DIS-4a).
//!
//! Each generated tool is known to act or not to act, because it is made of parts that say so. The words are chosen here and
//! not taken from the tables of the classification. No tool that acts may be offered, whatever the rest of it says.

use aquifer_discovery::Offer;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::bundle;

const READING: &[&str] = &["get", "list", "search", "read", "find", "fetch", "describe"];

const WRITING: &[&str] = &[
    "create", "add", "update", "set", "delete", "remove", "send", "pay", "refund", "invite", "grant", "share",
    "publish", "deploy", "install", "restart", "cancel", "transfer", "purge", "revoke", "notify", "upload", "rename",
    "archive", "enable",
];

const NOUNS: &[&str] =
    &["note", "notes", "customer", "page", "item_list", "file", "team", "report", "list", "user_view"];

/// What descriptions say that is done, each complete.
const STATEMENTS: &[&str] = &[
    "This emails the owner.",
    "It also sends a copy to the team.",
    "An SMS goes out to the customer.",
    "Each call is billed and sends a mail.",
    "Each call charges one credit.",
    "The file is deleted afterwards.",
    "Old entries are automatically purged.",
    "The customer receives an email.",
    "The owner gets a text message and a notification.",
    "A payment is made.",
    "The participants are notified.",
    "Then deletes it.",
    "Deletes the page after that.",
    "Triggers a payment to the vendor.",
    "The tool invites everybody to the channel.",
    "It will send the report to the owner.",
    "The system also revokes the token.",
    "Also updates the page.",
    "Access is granted to the caller.",
    "Unsaved changes are lost.",
];

/// What descriptions of reads say, which must not hide a statement beside them.
const HARMLESS: &[&str] = &[
    "Gets the page.",
    "Returns messages that were sent to the user.",
    "Lists orders and refunds.",
    "Use the id to delete it with another tool.",
    "Does not send anything.",
    "Fails if the page was deleted.",
    "Results are sorted by name.",
];

/// A generated tool, and whether it acts.
#[derive(Debug, Clone)]
struct Generated {
    tool: Value,
    acts: bool,
    declares_reading: bool,
    is_unknown: bool,
}

/// A name, whether it says that something is done, and whether its first word is unknown.
fn any_name() -> impl Strategy<Value = (String, bool, bool)> {
    let reading = || prop::sample::select(READING);
    let writing = || prop::sample::select(WRITING);
    let noun = || prop::sample::select(NOUNS);
    let unknown = || "zq[b-df-hj-np-tv-z]{2,5}";
    prop_oneof![
        (reading(), noun()).prop_map(|(verb, noun)| (format!("{verb}_{noun}"), false, false)),
        (writing(), noun()).prop_map(|(verb, noun)| (format!("{verb}_{noun}"), true, false)),
        (reading(), writing(), noun()).prop_map(|(read, verb, noun)| (
            format!("{read}_and_{verb}_{noun}"),
            true,
            false
        )),
        (reading(), noun(), writing()).prop_map(|(read, noun, verb)| (format!("{read}_or_{verb}_{noun}"), true, false)),
        (unknown(), reading(), noun()).prop_map(|(word, read, noun)| (format!("{word}_{read}_{noun}"), false, true)),
        (unknown(), noun()).prop_map(|(word, noun)| (format!("{word}_{noun}"), false, true)),
        (unknown(), writing(), noun()).prop_map(|(word, verb, noun)| (format!("{word}_{verb}_{noun}"), true, true)),
    ]
}

fn any_tool() -> impl Strategy<Value = Generated> {
    let statement = prop::option::of(prop::sample::select(STATEMENTS));
    let harmless = prop::collection::vec(prop::sample::select(HARMLESS), 0..3);
    let hints = (any::<Option<bool>>(), any::<Option<bool>>(), any::<Option<bool>>(), any::<Option<bool>>());
    (any_name(), statement, harmless, any::<bool>(), hints).prop_map(
        |((name, says_acting, is_unknown), statement, harmless, is_before, hints)| {
            let mut sentences = harmless;
            let at = if is_before { 0 } else { sentences.len() };
            statement.into_iter().for_each(|statement| sentences.insert(at, statement));
            let (read_only, destructive, idempotent, open_world) = hints;
            let annotations = json!({ "readOnlyHint": read_only, "destructiveHint": destructive,
                "idempotentHint": idempotent, "openWorldHint": open_world });
            let tool = json!({ "name": name, "description": sentences.join(" "), "annotations": annotations,
                "inputSchema": { "type": "object", "properties": { "id": { "type": "string" } } } });
            let acts = says_acting || statement.is_some();
            Generated { tool, acts, is_unknown, declares_reading: read_only == Some(true) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn r_dis_4a_a_read_only_source_offers_nothing_that_acts(generated in any_tool()) {
        let offer = Offer::from_bundle(&bundle(json!([generated.tool])), "example");
        for operation in offer.operations.iter().filter(|operation| operation.only_reads()) {
            prop_assert!(!generated.acts, "{} is offered: {:?}", operation.name, generated.tool);
            prop_assert!(operation.safety.effects.only_read());
            // Only its server can say that a tool reads whose first word nobody knows.
            prop_assert!(!generated.is_unknown || generated.declares_reading, "{}", operation.name);
        }
    }
}

/// The generator also makes reads, and those are offered.
#[test]
fn r_dis_4a_a_read_only_source_offers_reads() {
    for (name, description) in
        READING.iter().flat_map(|verb| HARMLESS.iter().map(move |text| (format!("{verb}_note"), *text)))
    {
        let offer = Offer::from_bundle(
            &bundle(json!([{ "name": name, "description": description, "inputSchema": {} }])),
            "example",
        );
        assert!(offer.operations.iter().all(|operation| operation.only_reads()), "{name}: {description}");
    }
}

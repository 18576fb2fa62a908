//! Categories and danger, from evidence (R-DIS-4).

use std::fmt::Write as _;

use aquifer_discovery::bundle::{RawCapture, ServerIdentity};
use aquifer_discovery::classify::{Confidence, OwnPrefix, Subject, classify, danger, judge};
use aquifer_discovery::normalize;
use aquifer_discovery::tool::Annotations;
use aquifer_protocol::category::Category::{self, Create, Delete, Execute, Read, Update};
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::Effect;
use serde_json::json;

use crate::fixture::{bundle, bundles, http};

fn hints(words: &str) -> Annotations {
    let hint = |letter: &str| {
        let given = |sign: &str| words.contains(&format!("{letter}{sign}"));
        if given("+") {
            Some(true)
        } else if given("-") {
            Some(false)
        } else {
            None
        }
    };
    Annotations { read_only: hint("r"), destructive: hint("d"), idempotent: hint("i"), open_world: hint("o") }
}

#[test]
fn r_dis_4_annotations_outrank_verbs_and_verbs_descriptions() {
    #[rustfmt::skip]
    #[expect(clippy::type_complexity, reason = "a table")]
    let table: &[(&str, &str, &str, &str, Category, Confidence, bool, Danger)] = &[
        // hints, name, description, parameter → category, confidence, needs review, danger
        ("r+", "get_user", "Get a user", "", Read, Confidence::High, false, Danger::Safe),
        ("r+", "whoami", "Identify the user", "", Read, Confidence::High, false, Danger::Safe),
        ("r+", "trigger_report", "Shows a report", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("r+", "login", "Logs in", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("r+", "logout_user", "", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("r+", "send_mail", "", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("r+", "report", "Triggers a report", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("r+", "get_report", "Calls the server for a report", "", Read, Confidence::High, false, Danger::Safe),
        ("r+", "get_and_run_report", "Get it", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("r+", "execute_sql", "Execute SQL", "sql", Execute, Confidence::Low, true, Danger::Destructive),
        ("r+", "run_select_query", "Run a SELECT query", "", Read, Confidence::Medium, false, Danger::Safe),
        ("r+", "run_search_and_delete", "Search", "", Delete, Confidence::Low, true, Danger::Destructive),
        ("r+", "get_update_status", "Get the status", "", Read, Confidence::Medium, false, Danger::Safe),
        ("r+", "delete_user", "Delete a user", "", Delete, Confidence::Low, true, Danger::Destructive),
        ("r+", "get_or_create_user", "Get a user", "", Create, Confidence::Low, true, Danger::Destructive),
        ("r+", "users", "Deletes every user", "", Delete, Confidence::Low, true, Danger::Destructive),
        ("r- d-", "create_user", "Create a user", "", Create, Confidence::High, false, Danger::Reversible),
        ("r- d-", "user", "Creates a user", "", Create, Confidence::Medium, false, Danger::Reversible),
        ("r- d+", "update_user", "Update a user", "", Update, Confidence::High, false, Danger::Destructive),
        ("r- d+", "upload_file", "Upload a file", "", Update, Confidence::Low, true, Danger::Destructive),
        ("r- d-", "delete_user", "Delete a user", "", Delete, Confidence::Low, true, Danger::Destructive),
        ("r-", "create_user", "Create a user", "", Create, Confidence::High, false, Danger::Reversible),
        ("r-", "get_user", "Get a user", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("r- d-", "frobnicate", "Frobnicate it", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("r- d-", "run_job", "Run a job", "", Execute, Confidence::High, false, Danger::Destructive),
        ("r- d-", "start_timer", "Start a timer", "", Execute, Confidence::High, false, Danger::Reversible),
        ("", "get_user", "Get a user", "", Read, Confidence::Medium, false, Danger::Safe),
        ("", "pods_list", "", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "read_query", "Execute a SELECT query", "", Read, Confidence::Medium, false, Danger::Safe),
        ("", "read_query", "Execute a query", "sql", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "read_query", "Execute an INSERT or SELECT query", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "search_web", "Performs a web search", "", Read, Confidence::Medium, false, Danger::Safe),
        ("", "get_report", "Trigger a report", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "get_report", "Runs the report", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "run_query", "Run a query", "", Execute, Confidence::Medium, false, Danger::Destructive),
        ("", "log", "Shows the commit logs", "", Read, Confidence::Medium, false, Danger::Safe),
        ("", "git_log", "Shows the commit logs", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "suspend_mailing_list", "Suspends a mailing list", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "deny_list", "Show the list", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "list_and_suspend", "Whatever", "", Execute, Confidence::Medium, false, Danger::Destructive),
        ("", "list_users_and_groups", "Whatever", "", Read, Confidence::Medium, false, Danger::Safe),
        ("r+", "pods_list", "List the pods", "", Read, Confidence::High, false, Danger::Safe),
        ("", "git_log", "Whatever", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "open_position", "Open a position", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "return_book", "Return a book", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "get_rows", "Get rows", "sql", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "get_user", "Delete the user and get it", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "get_scale", "Get or update the scale", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "get_update_status", "Get the status", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "get_report", "Get a report", "force", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "get_report", "Get a report", "command", Execute, Confidence::Low, true, Danger::Destructive),
        ("d+", "get_report", "Get a report", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "create_or_update_file", "Create or update a file", "", Update, Confidence::Medium, false, Danger::Destructive),
        ("", "search_and_replace", "Search text", "", Update, Confidence::Medium, false, Danger::Destructive),
        ("", "find_or_delete", "Find", "", Delete, Confidence::Medium, false, Danger::Destructive),
        ("", "post_message", "Post a message", "", Create, Confidence::Medium, false, Danger::Destructive),
        ("", "post", "A post", "", Create, Confidence::Low, true, Danger::Destructive),
        ("", "frobnicate", "Get things", "", Execute, Confidence::Low, true, Danger::Destructive),
        ("", "update_user", "Deletes a user", "", Delete, Confidence::Low, true, Danger::Destructive),
        ("", "drop_table", "Drop a table", "", Delete, Confidence::Medium, false, Danger::Forbidden),
        ("r- d-", "force_sync", "Sync", "", Update, Confidence::Medium, false, Danger::Dangerous),
        ("", "", "", "", Execute, Confidence::Low, true, Danger::Destructive),
    ];
    for (words, name, description, parameter, category, confidence, review, level) in table {
        let parameters: Vec<&str> = [*parameter].into_iter().filter(|name| !name.is_empty()).collect();
        let annotations = hints(words);
        let subject = Subject { name, description, parameters: &parameters, annotations };
        let found = classify(subject);
        let (found_danger, _) = danger(subject, found.category, !found.review_reasons.is_empty());
        let row = format!("{words} {name} {description:?} {parameter}: {found:?}");
        assert_eq!(found.category, *category, "{row}");
        assert_eq!(found.confidence, *confidence, "{row}");
        assert_eq!(!found.review_reasons.is_empty(), *review, "{row}");
        assert_eq!(found_danger, *level, "{row}");
        assert!(found.category != Read || found_danger == Danger::Safe, "R-DIS-4a: {row}");
    }
}

/// A verb of reading counts only as the first word, after the name of the source or of the server.
#[test]
fn r_dis_4_a_read_begins_with_its_verb() {
    let judged = |source: &str, server: &str, tool: &str| {
        let tools =
            json!({ "tools": [{ "name": tool, "description": "Whatever", "inputSchema": { "type": "object" } }] });
        let mut from = http(source);
        from.server = Some(ServerIdentity::read(&json!({ "name": server })));
        let bundle = normalize(from, RawCapture::from_pages(&[&tools.to_string()]).unwrap());
        let operation = bundle.normalized_bundle.operations.first().unwrap().clone();
        (operation.endpoint, operation.needs_review)
    };
    for (source, server, tool) in [
        ("any", "any", "list_issues"),
        ("github", "any", "github_list_issues"),
        ("GitHub", "any", "githubListIssues"),
        ("work", "github-mcp-server", "github.list_issues"),
        ("issues", "any", "issue/get"),
        ("issue", "any", "issues-get"),
        ("google maps", "any", "google_maps_search_places"),
        ("notion", "any", "API-get-user"),
        ("any", "any", "mcp__list_files"),
    ] {
        assert_eq!(judged(source, server, tool), (Read, false), "{tool} of {source}, {server}");
    }
    for (source, server, tool) in [
        ("any", "any", "suspend_mailing_list"),
        ("any", "any", "deny_list"),
        ("any", "any", "freezePriceList"),
        ("any", "any", "freeze.price.list"),
        ("any", "any", "suspend/mailing-list"),
        ("lists", "list-server", "freeze_price_list"),
        ("mailing", "any", "suspend_mailing_list"),
        ("list", "any", "deny_list"),
        ("price", "freeze", "freeze_price_list"),
        ("any", "github", "gitlab_list_issues"),
        ("google maps", "any", "google_search_places"),
        ("delete", "any", "delete_list"),
        ("any", "any", "flush_view"),
        ("any", "any", "SUSPEND_GET"),
    ] {
        let found = judged(source, server, tool);
        assert!(found.0 == Delete || (found.0 != Read && found.1), "{tool} of {source}, {server}: {found:?}");
    }
}

/// A verb of adding or changing counts only as the first word, after words that are known to be no verb. Verbs that make an
/// operation ask count anywhere.
#[test]
fn r_dis_4_an_unknown_first_word_is_unknown_whatever_follows() {
    let judged = |tools: &[&str], hints: serde_json::Value| -> Vec<(Category, Danger, bool)> {
        let tool =
            |name: &&str| json!({ "name": name, "description": "Whatever", "inputSchema": {}, "annotations": hints });
        let bundle = bundle(tools.iter().map(tool).collect());
        let operations = bundle.normalized_bundle.operations.iter();
        operations.map(|operation| (operation.endpoint, operation.danger_level, operation.needs_review)).collect()
    };
    for name in [
        "frobnicate_update_note",
        "suspend_create_user",
        "suspendCreateUser",
        "notes_create",
        "freeze.set.status",
        "deny_and_add_note",
        "order_note_create",
    ] {
        for hints in
            [json!({}), json!({ "readOnlyHint": false }), json!({ "readOnlyHint": false, "destructiveHint": false })]
        {
            let [(_, danger, needs_review)] = judged(&[name], hints.clone())[..] else { panic!("{name}") };
            assert!(danger >= Danger::Destructive && needs_review, "{name} {hints}");
        }
    }
    // Before different verbs, it is what they act on.
    for (tools, count) in [
        (&["notes_create", "notes_list", "notes_update", "notes_delete"][..], 4),
        (&["jira_add_worklog", "jira_get_issue"], 2),
        (&["API-post-page", "API-get-page", "API-create-page"], 3),
        (&["acme_crm_update_deal", "acme_crm_list_deals"], 2),
        (&["noteCreate", "noteGet"], 2),
    ] {
        for (name, (category, danger, needs_review)) in tools.iter().zip(judged(tools, json!({}))) {
            let asks = name.contains("delete") || name.contains("post");
            assert_eq!(danger >= Danger::Destructive, asks, "{name}: {category}, {danger}");
            assert_eq!(needs_review, name.contains("post"), "{name}");
        }
        assert_eq!(tools.len(), count);
    }
    // One verb several times shows nothing, neither do nouns that may be verbs, and what follows has to begin with its verb.
    for tools in [
        &["suspend_create_user", "suspend_create_group"][..],
        &["suspend_post", "suspend_comment", "suspend_draft"],
        &["notes_create", "notes_list", "notes_frobnicate_update"],
        &["email_customer", "email_create", "email_list"],
        &["freeze_note_update", "note_create", "note_list"],
    ] {
        for (name, (_, danger, _)) in tools.iter().zip(judged(tools, json!({}))) {
            let is_known = matches!(*name, "notes_create" | "notes_list" | "note_create" | "note_list");
            assert_eq!(danger >= Danger::Destructive, !is_known, "{name} of {tools:?}");
        }
    }
}

/// Where the server declares nothing, clear additions and changes are reversible, and everything else asks first.
#[test]
fn r_dis_4_only_clear_changes_are_reversible() {
    let clear: &[(&str, &str)] = &[
        ("create_issue", "Create a new issue in a repository"),
        ("create_event", "Creates an event"),
        ("create_merge_request", "Create a new merge request in a project"),
        ("update_issue", "Update an existing issue"),
        ("rename_branch", ""),
        ("archive_page", "Archives a page"),
        ("add_labels_to_issue", "Adds labels"),
        ("set_status", "Set the status of an issue"),
        ("disable_reminders", "Disable reminders"),
        ("create_email_template", "Create a template"),
        ("update_order_note", "Update the note of an order"),
        ("add_payment_note", "Add a note"),
        ("append_to_file", "Appends a line to a file"),
        ("append_document_content", ""),
        ("update_document_version", "Update a version of a document"),
    ];
    let unclear: &[(&str, &str, &str)] = &[
        // removing and overwriting
        ("clear_cache", "Clear the cache", ""),
        ("update_page", "Update or delete a page", ""),
        ("create_or_update_note", "Create or update a note", ""),
        ("write_file", "Write a file", ""),
        ("create_file", "Create a new file or completely overwrite an existing one", ""),
        ("update_file", "Update a file", ""),
        ("update_file_in_folder", "Update a file", ""),
        ("edit_page_content", "", ""),
        ("replace_block", "Replace a block", ""),
        ("edit_all_rows", "Edit rows", ""),
        ("update_record", "Update a record", "overwrite"),
        ("update_branch", "Update", "force"),
        // merging and moving
        ("merge_pull_request", "Merge a pull request", ""),
        ("push_files", "Push files", ""),
        ("update_pull_request_branch", "Update a pull request branch with the latest changes from the base branch", ""),
        ("update_ref", "Update a reference", ""),
        ("move_file", "Move a file", ""),
        // sending to others
        ("send_message", "Send a message", ""),
        ("create_message", "Create a message", ""),
        ("create_draft", "Creates a draft and sends it", ""),
        ("add_event", "Add an event and notify everybody", ""),
        ("invite_user", "Invite a user", ""),
        ("create_pull_request_review", "Create a review on a pull request", ""),
        ("publish_page", "Publish a page", ""),
        ("create_post", "Create a post", ""),
        // money and access
        ("create_payment", "Create a payment", ""),
        ("create_refund", "Creates a refund", ""),
        ("create_order", "Create an order", ""),
        ("add_collaborator", "Add a collaborator", ""),
        ("update_permissions", "Update permissions", ""),
        // several things in one, and words of no list
        ("update_issue", "Update an issue", "action"),
        ("modify_data", "Modify data", "sql"),
        ("create_table", "Create a new table", "query"),
        ("sync_calendar", "Sync a calendar", ""),
        ("approve_request", "Approve a request", ""),
        ("scale_deployment", "Scale it", ""),
        ("run_job", "Run a job", ""),
    ];
    let judge = |name: &str, description: &str, parameters: &[&str], annotations| {
        let subject = Subject { name, description, parameters, annotations };
        let found = classify(subject);
        danger(subject, found.category, !found.review_reasons.is_empty()).0
    };
    for (name, description) in clear {
        assert_eq!(judge(name, description, &[], hints("")), Danger::Reversible, "{name}: {description}");
        assert_eq!(judge(name, description, &[], hints("r- d+")), Danger::Destructive, "{name} declares it");
    }
    for (name, description, parameter) in unclear {
        let parameters: Vec<&str> = [*parameter].into_iter().filter(|name| !name.is_empty()).collect();
        let level = judge(name, description, &parameters, hints(""));
        assert!(level >= Danger::Destructive, "{name}: {description}");
    }
}

#[test]
fn r_dis_4_captures_agree_with_their_annotations() {
    let (mut hinted, mut agreed) = (0, 0);
    for (server, bundle) in bundles() {
        for (tool, operation) in bundle.tools().iter().zip(&bundle.normalized_bundle.operations) {
            let what = format!("{server} {}: {operation:?}", tool.name);
            let permissions = operation.endpoint.permissions();
            if operation.endpoint == Read {
                // In doubt only the server's own word makes it READ.
                assert!(!operation.needs_review, "{what}");
                assert_ne!(tool.annotations.read_only, Some(false), "{what}");
                assert_ne!(tool.annotations.destructive, Some(true), "{what}");
            }
            let is_silent = tool.annotations.destructive.is_none();
            if operation.needs_review || (matches!(operation.endpoint, Delete | Execute) && is_silent) {
                assert!(operation.danger_level >= Danger::Destructive, "{what}");
            }
            if let Some(read_only) = tool.annotations.read_only {
                hinted += 1;
                let risk = tool.annotations.destructive == Some(true);
                // A name that acts contradicts the hint.
                let is_conflict = read_only && operation.needs_review && operation.endpoint == Execute;
                let fits = (permissions.read_only == read_only || is_conflict)
                    && (!risk || (permissions.destructive && operation.danger_level >= Danger::Destructive));
                agreed += usize::from(fits);
                assert!(fits, "{what}");
            }
        }
    }
    assert!(hinted > 90, "{hinted}");
    assert_eq!(hinted, agreed);
}

#[test]
fn r_dis_4_missing_statements_are_no_evidence() {
    let schema = json!({ "type": "object", "properties": { "a": {} } });
    let silent = bundle(json!([
        { "name": "getUser", "inputSchema": schema },
        { "name": "frobnicate", "inputSchema": schema, "annotations": { "readOnlyHint": false, "destructiveHint": false } },
    ]));
    let [read, unsure] = &silent.normalized_bundle.operations[..] else { panic!("{silent:?}") };
    assert_eq!((read.endpoint, read.needs_review), (Read, false), "{read:?}");
    assert_eq!((unsure.endpoint, unsure.needs_review), (Execute, true), "{unsure:?}");
}

/// The annotations are the answer, the rest of the evidence the guess: how far does it get alone?
#[test]
fn r_dis_4_without_annotations_no_write_is_called_read() {
    let (mut reads, mut found, mut writes, mut category) = (0, 0, 0, 0);
    for (server, bundle) in bundles() {
        for (tool, operation) in bundle.tools().iter().zip(&bundle.normalized_bundle.operations) {
            let Some(read_only) = tool.annotations.read_only else { continue };
            let parameters: Vec<&str> = operation.params.iter().map(|parameter| parameter.name.as_str()).collect();
            let guess = classify(Subject {
                name: &operation.operation_name,
                description: &operation.description,
                parameters: &parameters,
                annotations: Annotations::default(),
            });
            if read_only {
                reads += 1;
                found += usize::from(guess.category == Read);
            } else {
                writes += 1;
                category += usize::from(guess.category == operation.endpoint);
                assert_ne!(guess.category, Read, "{server} {}", tool.name);
            }
        }
    }
    eprintln!("reads found {found} of {reads}, categories of writes {category} of {writes}");
    // Half of the names begin with a noun, such as `pods_list`: whether these read is the server's word.
    assert!(found * 10 >= reads * 5, "{found} of {reads}");
    assert!(category * 10 >= writes * 8, "{category} of {writes}");
}

/// What servers declare is the answer, and their words alone the guess. Known differences are listed.
#[test]
fn r_dis_4_without_annotations_little_that_is_declared_destructive_looks_clear() {
    let (mut declared, mut harmless, mut found, mut silent) = (0, 0, 0, 0);
    let (mut changed, mut wrong) = (Vec::new(), Vec::new());
    for (server, bundle) in bundles() {
        for (tool, operation) in bundle.tools().iter().zip(&bundle.normalized_bundle.operations) {
            if operation.endpoint == Read {
                continue;
            }
            let parameters: Vec<&str> = operation.params.iter().map(|parameter| parameter.name.as_str()).collect();
            let subject = Subject {
                name: &operation.operation_name,
                description: &operation.description,
                parameters: &parameters,
                annotations: Annotations::default(),
            };
            let guess = classify(subject);
            let (level, _) = danger(subject, guess.category, !guess.review_reasons.is_empty());
            match tool.annotations.destructive {
                Some(true) => {
                    declared += 1;
                    if level < Danger::Destructive {
                        wrong.push(format!("{server}: {}", tool.name));
                    }
                }
                Some(false) => {
                    harmless += 1;
                    found += usize::from(level == Danger::Reversible);
                }
                None => {
                    silent += 1;
                    if operation.danger_level == Danger::Reversible {
                        changed.push(format!("{server}: {}", tool.name));
                    }
                }
            }
        }
    }
    eprintln!("declared destructive {declared}; declared harmless {harmless}, found {found}");
    eprintln!("silent {silent}, of which reversible {}: {changed:?}", changed.len());
    assert!(declared > 20, "{declared}");
    // It changes settings of a project, which can be undone. Its server declares every update so.
    assert_eq!(wrong, ["sentry: update_project"]);
}

#[test]
fn r_dis_4_a_verb_of_writing_is_never_read() {
    let given = [None, Some(true), Some(false)];
    for verb in
        ["create", "add", "update", "write", "set", "delete", "remove", "drop", "purge", "upsert", "merge", "push"]
    {
        for name in [format!("{verb}_it"), format!("it_{verb}"), format!("get_or_{verb}_it"), verb.to_owned()] {
            for description in ["Get it", "Returns it", "", "Reads"] {
                for read_only in given {
                    for destructive in given {
                        let annotations = Annotations { read_only, destructive, ..Annotations::default() };
                        let subject = Subject { name: &name, description, parameters: &[], annotations };
                        let found = classify(subject);
                        let review = !found.review_reasons.is_empty();
                        let (level, _) = danger(subject, found.category, review);
                        let is_clear = ["create", "add", "update", "set"].contains(&verb) && destructive.is_none();
                        let what = format!("{name} {description:?} {annotations:?}: {found:?} {level}");
                        assert_ne!(found.category, Read, "{what}");
                        let may_be_less = !review && (destructive == Some(false) || is_clear);
                        assert!(level >= Danger::Destructive || may_be_less, "{what}");
                        assert_eq!(review, found.confidence == Confidence::Low, "{what}");
                    }
                }
            }
        }
    }
}

/// Every decision with its reasons, to be read by people.
#[test]
fn r_dis_4_decisions_on_the_captures() {
    let mut table = String::new();
    for (server, bundle) in bundles() {
        writeln!(table, "{server}").unwrap();
        for (tool, operation) in bundle.tools().iter().zip(&bundle.normalized_bundle.operations) {
            let parameters: Vec<&str> = operation.params.iter().map(|parameter| parameter.name.as_str()).collect();
            let decision = classify(Subject {
                name: &operation.operation_name,
                description: &operation.description,
                parameters: &parameters,
                annotations: tool.annotations,
            });
            let review = if operation.needs_review { "REVIEW" } else { "" };
            writeln!(
                table,
                "  {:<36}{:<8} {:<7} {:<12} {:<6} {}{}",
                operation.operation_name,
                operation.endpoint.as_str(),
                operation.endpoint_confidence.as_str(),
                operation.danger_level.as_str(),
                review,
                decision.evidence.join("; "),
                operation.review_reasons.iter().map(|reason| format!(" | {reason}")).collect::<String>(),
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!("decisions", table);
}

/// What sends, pays, grants, removes or runs something asks, whatever the server declares, and the effect is named.
#[test]
fn r_dis_4b_effects_are_found_and_no_hint_hides_them() {
    use Effect::{Grants, Pays, Removes, Runs, Sends};
    let found: &[(&str, &str, &[&str], Effect)] = &[
        // by the verb, wherever the name puts it
        ("send_email", "", &[], Sends),
        ("post_message", "", &[], Sends),
        ("message_create", "", &[], Sends),
        ("reserve_table", "", &[], Pays),
        ("invite_user", "", &[], Grants),
        ("share_file", "", &[], Grants),
        ("create_and_send_invoice", "", &[], Sends),
        ("cancel_event", "", &[], Removes),
        ("reset_device", "", &[], Removes),
        ("run_job", "", &[], Runs),
        // by what is added or changed
        ("create_payment", "", &[], Pays),
        ("update_scheduled_transaction", "", &[], Pays),
        ("create_api_key", "", &[], Grants),
        ("update_user_password", "", &[], Grants),
        ("add_user_to_channel", "", &[], Grants),
        ("disable_mfa", "", &[], Grants),
        ("update_email_address", "", &[], Grants),
        ("transfer", "", &["value", "dest"], Pays),
        ("create_entry", "Creates an entry", &["recipient_ids"], Sends),
        ("create_repository_webhook", "", &[], Grants),
        ("create_or_update_org_secret", "", &[], Grants),
        ("create_thing", "Creates a new payment for the customer.", &[], Pays),
        // by any sentence of the description
        ("create_event", "Creates an event. It also sends an e-mail to the participants.", &[], Sends),
        ("create_event", "Creates an event. The participants will be notified by mail.", &[], Sends),
        ("create_event", "Creates an event\nand automatically invites everybody.", &[], Grants),
        ("update_plan", "Updates the plan. The difference is charged immediately.", &[], Pays),
        ("update_page", "Updates a page. Existing text is overwritten.", &[], Removes),
        // by parameters
        ("create_event", "Creates an event", &["title", "participants"], Sends),
        ("create_entry", "Creates an entry", &["to", "subject"], Sends),
        ("create_entry", "Creates an entry", &["amount", "account_id"], Pays),
        ("update_booking", "Updates a booking", &["payment_id"], Pays),
        ("update_user", "Updates a user", &["role", "user_id"], Grants),
        ("update_user", "Updates a user", &["new_password"], Grants),
        ("create_report", "Creates a report", &["sql"], Runs),
    ];
    for (name, description, parameters, effect) in found {
        for annotations in [hints(""), hints("r-"), hints("r- d-"), hints("r- d- i+ o-"), hints("r- d+ o+")] {
            let subject = Subject { name, description, parameters, annotations };
            let category = classify(subject).category;
            let judged = judge(subject, category, false, &OwnPrefix::default());
            let row = format!("{name} {description:?} {parameters:?} {annotations:?}: {judged:?}");
            assert!(judged.effects.contains(*effect), "{row}");
            assert!(judged.danger >= Danger::Destructive, "{row}");
        }
    }
    for (name, ..) in found.iter().filter(|(.., effect)| *effect != Runs) {
        let subject = Subject { name, description: "", parameters: &[], annotations: hints("r+") };
        assert_ne!(classify(subject).category, Read, "{name} declares that it only reads");
    }
}

/// Words that only look like an effect do not ask.
#[test]
fn r_dis_4b_other_meanings_of_the_words_do_not_ask() {
    let clear: &[(&str, &str, &[&str])] = &[
        ("create_message_template", "Creates a template for messages", &["name", "content"]),
        ("update_notification_settings", "Updates settings", &["channel"]),
        ("create_payment_note", "Creates a note about a payment", &[]),
        ("create_note", "Creates a note. It does not send anything.", &["text"]),
        ("create_note", "Creates a note. Nothing is sent to the participants.", &["text"]),
        ("create_note", "Creates a note. Use `send_email` to send it.", &["text"]),
        ("create_note", "Creates a note. Fails if the page was deleted.", &["text"]),
        ("create_period", "Creates a period", &["from", "to"]),
        ("update_message", "Changes the text of a message", &["text"]),
        ("mark_notification_as_read", "Marks a notification as read", &[]),
        ("create_price", "Creates a price", &["amount"]),
    ];
    for (name, description, parameters) in clear {
        let subject = Subject { name, description, parameters, annotations: hints("") };
        let found = classify(subject);
        let judged = judge(subject, found.category, !found.review_reasons.is_empty(), &OwnPrefix::default());
        assert_eq!(judged.danger, Danger::Reversible, "{name} {description:?}: {found:?} {judged:?}");
    }
}

/// A read whose description says in a later sentence that it does more is a conflict, not a read.
#[test]
fn r_dis_4a_every_sentence_counts_against_a_read() {
    for (words, name, description, parameters) in [
        ("", "get_report", "Gets the report. Also sends a copy to the owner.", &[][..]),
        ("r+", "get_report", "Gets the report. Deletes it afterwards.", &[]),
        ("r+", "list_items", "Lists the items.\nCharges one credit for each.", &[]),
        ("r+", "get_order", "Gets the order. An SMS goes out to the customer.", &[]),
        ("r+", "get_order", "Gets the order. The customer then receives an email.", &[]),
        ("", "get_order", "Gets the order. This emails the owner.", &[]),
        ("r+", "get_order", "Each call is billed and sends a mail.", &[]),
        ("r+", "get_order", "Gets the order. The file is deleted afterwards.", &[]),
        ("r+", "get_order", "Gets the order and sends it to the owner.", &[]),
        ("r+", "get_order", "Get the order and send it to the owner.", &[]),
        ("r+", "get_order", "Gets the order. A payment is made for each call.", &[]),
        ("r+", "get_order", "Gets the order. Triggers a refund.", &[]),
        ("r+", "get_order", "Gets the order. Also updates the counter.", &[]),
        ("r+", "share_report", "", &[]),
        ("r+", "frobnicate_share_note", "", &[]),
        ("", "download_file", "Downloads a file.", &["url", "path"]),
        ("r+", "download_file", "Downloads a file.", &["url", "output_path"]),
        ("", "check_in_guest", "Checks in a guest.", &[]),
        ("", "check_out_book", "", &[]),
        ("", "list_for_sale", "", &[]),
        ("", "list_item_for_sale", "", &[]),
    ] {
        let subject = Subject { name, description, parameters, annotations: hints(words) };
        assert_ne!(classify(subject).category, Read, "{name} {description:?}: {:?}", classify(subject));
    }
    for (words, name, description) in [
        ("", "check_network_status", "Checks the network"),
        ("", "can_send_mms", ""),
        ("", "count_rows", ""),
        ("", "verify_address", ""),
        ("", "estimate_costs", ""),
        ("", "download_report", "Downloads a report"),
        ("r+", "get_messages", "Gets messages. Send the cursor of the last page to get the next."),
        ("", "get_messages", "Gets messages that were sent to the user. Use send_message to reply."),
        ("", "calculate", "Calculates a formula"),
        ("r+", "post_stats", ""),
        ("r+", "order_list", ""),
        ("", "list_orders", "Lists orders and refunds."),
        ("", "list_messages", "Get notifications and messages of a user."),
        ("", "get_shared_links", "Get shared links of a file."),
        ("", "get_order", "Returns whether the order is paid."),
        ("", "get_file", "Gets a file. This endpoint is deprecated and will be removed."),
        ("", "list_files", "Lists the files that are shared with the user."),
        ("", "list_mails", "Lists mails in the order in which they are sent."),
        ("", "get_file", "Gets a file. Nothing is sent."),
        ("", "get_file", "Gets a file. Use the id to share it."),
    ] {
        let subject = Subject { name, description, parameters: &[], annotations: hints(words) };
        assert_eq!(classify(subject).category, Read, "{name} {description:?}: {:?}", classify(subject));
    }
}

/// Whatever generated names, texts and hints say: an operation that counts as a read has none of the effects that need a
/// person, and none of its words names one first.
#[test]
fn r_dis_4a_nothing_with_an_effect_is_a_read() {
    let verbs = ["send", "pay", "delete", "invite", "grant", "remove", "refund", "publish", "notify"];
    let reads = ["get", "list", "search", "check"];
    let given = [None, Some(true), Some(false)];
    for verb in verbs {
        let names = reads.iter().flat_map(|read| {
            [
                format!("{verb}_it"),
                format!("{verb}_{read}"),
                format!("{read}_and_{verb}"),
                format!("{read}_or_{verb}_it"),
            ]
        });
        for name in names {
            for description in ["", "Gets it", "Returns the list. Gets it."] {
                for read_only in given {
                    for open_world in given {
                        let annotations = Annotations { read_only, open_world, ..Annotations::default() };
                        let subject = Subject { name: &name, description, parameters: &[], annotations };
                        let found = classify(subject);
                        assert_ne!(found.category, Read, "{name} {description:?} {annotations:?}: {found:?}");
                        let review = !found.review_reasons.is_empty();
                        let judged = judge(subject, found.category, review, &OwnPrefix::default());
                        assert!(
                            judged.danger >= Danger::Destructive,
                            "{name} {description:?} {annotations:?}: {judged:?}"
                        );
                    }
                }
            }
        }
    }
}

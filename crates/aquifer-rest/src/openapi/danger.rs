//! Classifies operations: what they do and how much harm they can do, judged by method and wording.
//!
//! The method corresponds to MCP annotations: GET declares that an operation only reads, DELETE that it destroys. POST
//! declares nothing, so the wording decides, as for a tool without annotations.

mod path_words;

use std::cmp::Ordering;

use aquifer_discovery::classify::{self, Classification, OwnPrefix, Subject};
use aquifer_discovery::tool::Annotations;
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::{Effect, Effects, SettledBy};
use aquifer_protocol::inflect::without_s;
use aquifer_protocol::text::secrets::names_secret;

use crate::route::Method;

/// What is known about the effects of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) category: Category,
    pub(super) danger: Danger,
    pub(super) effects: Effects,
    /// The evidence for the category and the danger, in brief.
    pub(super) evidence: String,
    pub(super) is_idempotent: bool,
    /// Why its effects are unclear, if they are.
    pub(super) doubt: Option<String>,
}

/// The input of the classification.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) method: Method,
    /// Its id in snake_case, if it has one.
    pub(super) id: Option<&'a str>,
    /// Its complete name. A name derived from the method and the path adds no information.
    pub(super) name: &'a str,
    pub(super) path: &'a str,
    /// What its name may begin with: its tags and the parts of its path.
    pub(super) prefix: &'a OwnPrefix,
    /// Its cleaned text.
    pub(super) description: &'a str,
    /// The names of its parameters.
    pub(super) parameters: &'a [&'a str],
    /// Whether it declares a result with a schema.
    pub(super) has_result: bool,
}

/// Determines the effects of an operation: the most severe ones that its id, its name and its path indicate.
///
/// A name that is made of the method and the path says nothing about a POST, PUT or PATCH. Its title stands for the name
/// then, and what the path is about can only raise it.
pub(super) fn judge(evidence: Evidence<'_>) -> Judgement {
    let judged = |name: &str| judge_name(without_generated_suffix(name, evidence.method, evidence.path), evidence);
    let title = Some(evidence).filter(is_unnamed).and_then(|evidence| classify::name_in_sentence(evidence.description));
    let judged = match title {
        Some(title) => raise_by_resource(judge_name(&title, evidence), evidence),
        None => evidence.id.map(judged).into_iter().fold(judged(evidence.name), more_severe),
    };
    let judged = doubt_unknown_verb(raise_by_credentials(judged, evidence), evidence);
    let mut judged = match path_words::judge(evidence, &judged) {
        Some(by_path) => more_severe(judged, by_path),
        None => judged,
    };
    // What a path says is not part of what was judged, so no request is sure to send nothing.
    let most = if judged.doubt.is_some() { SettledBy::Nothing } else { SettledBy::KnownDestinations };
    judged.effects.settled_by = judged.effects.settled_by.min(most);
    judged
}

/// Whether a request that may write has no name of its own: no id, or one that begins with its method.
fn is_unnamed(evidence: &Evidence<'_>) -> bool {
    matches!(evidence.method, Method::Post | Method::Put | Method::Patch)
        && evidence.id.is_none_or(|id| id_without_method(id, evidence.method).is_some())
}

fn id_without_method(id: &str, method: Method) -> Option<&str> {
    id.strip_prefix(&method.as_str().to_lowercase()).filter(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Doubts that a request only reads if nothing but its method says so, and its description begins with an unknown verb:
/// `GET /event/{id}`, "Ingest a profile".
fn doubt_unknown_verb(judged: Judgement, evidence: Evidence<'_>) -> Judgement {
    let says_reading = |id: &str| {
        let words: Vec<&str> = id.split('_').filter(|word| !word.is_empty()).collect();
        words.get(evidence.prefix.count_words(&words)).is_some_and(|word| READING_WORDS.contains(word))
    };
    if judged.category != Category::Read || evidence.id.is_some_and(says_reading) {
        return judged;
    }
    let Some(verb) = classify::unknown_verb(evidence.description) else { return judged };
    let doubt = format!("{} should only read, but its description begins with '{verb}'", evidence.method.as_str());
    let category = Category::Execute;
    let unknown = judgement(category, Danger::Destructive, Effects::default(), doubt.clone(), judged.is_idempotent);
    Judgement { doubt: Some(doubt), ..unknown }
}

/// Parts of paths that name what gives access, beside secrets.
const LOGINS: &[&str] = &["oauth", "oidc", "saml", "sso", "ssh_key"];

/// Adds that a request that may write gives access, if a part of its path says that it is about credentials.
fn raise_by_credentials(mut judged: Judgement, evidence: Evidence<'_>) -> Judgement {
    if !matches!(evidence.method, Method::Post | Method::Put | Method::Patch) || judged.category == Category::Read {
        return judged;
    }
    let segments = evidence.path.split(['/', '?']).filter(|segment| !segment.contains('{')).map(snake_identifier);
    let names_credential = |segment: &String| {
        let whole = without_s(segment);
        let is_login = |word: &&str| whole == *word || segment.split('_').any(|part| without_s(part) == *word);
        names_secret(whole)
            || segment.split('_').any(|part| names_secret(without_s(part)))
            || LOGINS.iter().any(is_login)
    };
    let mut segments = segments;
    if let Some(segment) = segments.find(names_credential) {
        let reason = format!("its path says '{segment}'");
        if judged.danger < Danger::Destructive {
            (judged.danger, judged.evidence) = (Danger::Destructive, reason.clone());
        }
        judged.effects.add(Effect::Grants, reason);
    }
    judged
}

/// Adds the effects of adding or changing what the last part of the path names, `/payments`, and what the id names after
/// the method.
fn raise_by_resource(mut judged: Judgement, evidence: Evidence<'_>) -> Judgement {
    let (verb, category) = match evidence.method {
        Method::Post => ("create", Category::Create),
        _ => ("update", Category::Update),
    };
    let mut segments = evidence.path.split('?').next().unwrap_or_default().rsplit('/');
    let last = segments.find(|segment| !segment.is_empty() && !segment.contains('{')).map(snake_identifier);
    let in_id = evidence.id.and_then(|id| id_without_method(id, evidence.method)).map(str::to_owned);
    for (place, resource) in [("path ends with", last), ("id says", in_id)] {
        let Some(resource) = resource else { continue };
        let resource = resource.trim_start_matches('_');
        let name = format!("{verb}_{resource}");
        let subject = Subject { name: &name, description: "", parameters: &[], annotations: Annotations::default() };
        let effects = classify::judge(subject, category, false, &OwnPrefix::default()).effects;
        if let Some(found) = effects.first_for_person() {
            let reason = format!("its {place} '{resource}'");
            if judged.danger < Danger::Destructive {
                (judged.danger, judged.evidence) = (Danger::Destructive, reason.clone());
            }
            judged.effects.add(found.effect, reason);
        }
    }
    judged
}

fn more_severe(one: Judgement, other: Judgement) -> Judgement {
    let is_idempotent = one.is_idempotent && other.is_idempotent;
    let is_higher = match other.danger.cmp(&one.danger) {
        Ordering::Equal => classify::more_severe(one.category, other.category) != one.category,
        order => order == Ordering::Greater,
    };
    let (chosen, lesser) = if is_higher { (other, one) } else { (one, other) };
    let mut effects = chosen.effects.clone();
    effects.merge(lesser.effects);
    Judgement { is_idempotent, effects, ..chosen }
}

/// The name without what a generator appended to it: the path and the method (FastAPI), the method alone (NSwag), or a
/// version. `create_item_api_v1_items_post` reads as posting otherwise.
fn without_generated_suffix<'a>(name: &'a str, method: Method, path: &str) -> &'a str {
    let word = method.as_str().to_lowercase();
    let mut rest = name;
    let is_version = |word: &str| {
        let digits = word.strip_prefix('v').unwrap_or(word);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    while let Some((before, _)) = rest.rsplit_once('_').filter(|(_, last)| is_version(last)) {
        rest = before;
    }
    let own = rest;
    let without = |suffix: &str| own.strip_suffix(suffix)?.strip_suffix('_').filter(|before| !before.is_empty());
    if let Some(before) = without(&format!("{}_{word}", snake_identifier(path))) {
        return before;
    }
    let is_said_twice = |before: &&str| classify::begins_with_verb(before) && before.contains('_');
    without(&word).filter(is_said_twice).unwrap_or(own)
}

/// Determines the effects of an operation with this name.
fn judge_name(name: &str, evidence: Evidence<'_>) -> Judgement {
    let Evidence { method, description, parameters, prefix, .. } = evidence;
    let subject = Subject { name, description, parameters, annotations: Annotations::for_method(method.as_str()) };
    let decision = classify::classify_with_prefix(subject, prefix);
    match method {
        Method::Get | Method::Head | Method::Options | Method::Trace | Method::Query => {
            reading(method, subject, decision, prefix)
        }
        Method::Delete => {
            let judged = classify::judge(subject, Category::Delete, false, prefix);
            let evidence = "DELETE removes something".to_owned();
            judgement(Category::Delete, judged.danger, Effects::only(Effect::Removes, &*evidence), evidence, true)
        }
        Method::Put | Method::Patch => changing(method, subject, decision, prefix),
        Method::Post => posting(subject, decision, evidence),
    }
}

fn judgement(category: Category, danger: Danger, effects: Effects, evidence: String, is_idempotent: bool) -> Judgement {
    Judgement { category, danger, effects, evidence, is_idempotent, doubt: None }
}

/// The first doubt, phrased in HTTP terms.
fn doubt(method: Method, decision: &Classification) -> Option<String> {
    let word = method.as_str();
    let reason = decision.review_reasons.first()?;
    let reason = reason
        .replace("readOnlyHint is true, but", &format!("{word} should only read, but"))
        .replace("readOnlyHint is false, but", &format!("{word} changes something, but"))
        .replace("no annotation, and ", "");
    Some(reason)
}

/// The first words of descriptions of operations that only read.
const READING_WORDS: &[&str] = &[
    "get",
    "gets",
    "list",
    "lists",
    "read",
    "reads",
    "retrieve",
    "retrieves",
    "return",
    "returns",
    "fetch",
    "fetches",
    "show",
    "shows",
    "find",
    "finds",
    "search",
    "searches",
    "view",
    "watch",
    "check",
    "checks",
    "download",
    "downloads",
    "describe",
    "describes",
];

/// Whether a text begins with a verb of reading.
fn begins_with_reading(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    READING_WORDS.contains(&first.as_str())
}

/// A method that only reads, confirmed by the description, outweighs a word of the name that may be a noun:
/// `term_store_get_set`. It does not outweigh a verb of writing at the beginning or end of the name, or a verb of
/// removing anywhere: `users_delete`.
fn is_noun(subject: Subject<'_>, decision: &Classification) -> bool {
    let in_name = decision.review_reasons.first().and_then(|reason| reason.split("the name says '").nth(1));
    let Some(verb) = in_name.and_then(|rest| rest.split('\'').next()) else { return false };
    let mut words = subject.name.split('_');
    words.next() != Some(verb)
        && words.next_back() != Some(verb)
        && !subject.name.split('_').any(path_words::is_removing)
        && begins_with_reading(subject.description)
        && classify::classify(Subject { name: "get", ..subject }).review_reasons.is_empty()
}

fn reading(method: Method, subject: Subject<'_>, decision: Classification, prefix: &OwnPrefix) -> Judgement {
    let reads = || Effects::only(Effect::Reads, format!("{} only reads", method.as_str()));
    if is_noun(subject, &decision) {
        let evidence = format!("{} only reads, and its description says so", method.as_str());
        return judgement(Category::Read, Danger::Safe, reads(), evidence, true);
    }
    let doubt = doubt(method, &decision);
    let judged = classify::judge(subject, decision.category, doubt.is_some(), prefix);
    let evidence = doubt.clone().unwrap_or_else(|| format!("{} only reads", method.as_str()));
    let effects = if decision.category == Category::Read { reads() } else { judged.effects };
    Judgement { doubt, ..judgement(decision.category, judged.danger, effects, evidence, true) }
}

/// PUT and PATCH change something, even if the wording leaves that open.
fn changing(method: Method, subject: Subject<'_>, decision: Classification, prefix: &OwnPrefix) -> Judgement {
    let says_reading = decision.review_reasons.iter().any(|reason| reason.contains("that it reads"));
    let category = match decision.category {
        Category::Read => Category::Update,
        Category::Execute if !decision.review_reasons.is_empty() => Category::Update,
        category => category,
    };
    let doubt = doubt(method, &decision).filter(|_| says_reading);
    let judged = classify::judge(subject, category, doubt.is_some(), prefix);
    let evidence = match (&doubt, judged.danger) {
        (Some(doubt), _) => doubt.clone(),
        (None, Danger::Safe | Danger::Reversible) => reversible_evidence(category).to_owned(),
        (None, danger) => hard_evidence(subject, danger, &judged.effects).unwrap_or_else(|| {
            format!("{} overwrites something, and nothing says that it can be undone", method.as_str())
        }),
    };
    let is_idempotent = method == Method::Put;
    Judgement { doubt, ..judgement(category, judged.danger, judged.effects, evidence, is_idempotent) }
}

/// The words with which the name, or the last part of the path, of a POST begins that may read: its query is too long for an
/// address.
const READING_POSTS: &[&str] = &["search", "query", "filter", "count", "paginate"];

fn posting(subject: Subject<'_>, decision: Classification, known: Evidence<'_>) -> Judgement {
    let prefix = known.prefix;
    let words: Vec<&str> = subject.name.split('_').filter(|word| !word.is_empty()).collect();
    let first = words.get(prefix.count_words(&words)).copied().unwrap_or_default();
    let last = known.path.split('?').next().and_then(|path| path.trim_end_matches('/').rsplit('/').next());
    let last = snake_identifier(last.unwrap_or_default());
    let is_query_path = last.split('_').next().is_some_and(|word| READING_POSTS.contains(&word));
    let is_query = READING_POSTS.contains(&first) || is_query_path;
    // `row_view_search` begins with what is searched, which the path confirms.
    let decision = if decision.category != Category::Read && is_query_path && classify::only_reads(subject.name) {
        classify::classify_with_prefix(Subject { name: &last, ..subject }, prefix)
    } else {
        decision
    };
    let may_read = decision.category != Category::Read || is_query;
    let doubt = doubt(Method::Post, &decision)
        .or_else(|| (!may_read).then(|| format!("its name says '{first}', but POST usually changes something")));
    let category = if may_read { decision.category } else { Category::Execute };
    let judged = classify::judge(subject, category, doubt.is_some(), prefix);
    let evidence = match (&doubt, category, judged.danger) {
        (Some(doubt), _, _) => doubt.clone(),
        (None, Category::Read, _) => "its name says that it only reads".to_owned(),
        (None, category, Danger::Reversible) => reversible_evidence(category).to_owned(),
        (None, _, danger) => hard_evidence(subject, danger, &judged.effects)
            .unwrap_or_else(|| "POST changes something, and nothing says that it can be undone".to_owned()),
    };
    let is_idempotent = category == Category::Read;
    Judgement { doubt, ..judgement(category, judged.danger, judged.effects, evidence, is_idempotent) }
}

const fn reversible_evidence(category: Category) -> &'static str {
    match category {
        Category::Create => "its words say that it adds something",
        _ => "its words say that it changes something",
    }
}

/// What makes an operation as dangerous as it is: the effect for which a person has to agree, or its name.
fn hard_evidence(subject: Subject<'_>, danger: Danger, effects: &Effects) -> Option<String> {
    let by_effect = || effects.first_for_person().map(|found| found.evidence.to_string());
    let by_name = classify::assess(subject).hard.filter(|hard| hard.danger == danger).map(|hard| hard.reason);
    if danger == Danger::Destructive { by_effect().or(by_name) } else { by_name.or_else(by_effect) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The judgement of a name without a path.
    fn judge_words(method: Method, name: &str, description: &str) -> Judgement {
        let prefix = OwnPrefix::default();
        let (id, path, prefix) = (None, "", &prefix);
        judge_name(name, Evidence { method, id, name, path, prefix, description, parameters: &[], has_result: true })
    }

    #[test]
    fn method_and_words_decide() {
        use Category::{Create, Delete, Execute, Read, Update};
        use Danger::{Destructive, Reversible, Safe};
        for (method, name, description, category, danger) in [
            (Method::Get, "issues_list_for_repo", "List repository issues", Read, Safe),
            (Method::Get, "get_reset_status", "", Read, Safe),
            (Method::Get, "delete_user", "Delete a user", Delete, Destructive),
            (Method::Get, "term_store_list_sets", "List all sets.", Read, Safe),
            (Method::Get, "term_store_list_sets", "", Update, Destructive),
            (Method::Get, "user_delete", "Get rid and delete a user", Delete, Destructive),
            (Method::Get, "users_delete", "Returns the removed user", Delete, Destructive),
            (Method::Get, "store_delete_user", "Returns the removed user", Update, Destructive),
            (Method::Get, "sms_send", "Returns the id of the message", Execute, Destructive),
            (Method::Get, "login_user", "Logs user into the system", Execute, Destructive),
            (Method::Get, "logout_user", "", Execute, Destructive),
            (Method::Query, "query_pets", "", Read, Safe),
            (Method::Post, "search_issues", "Search issues.", Read, Safe),
            (Method::Post, "create_pet", "Add a pet.", Create, Reversible),
            (Method::Post, "send_message", "Send a message.", Execute, Destructive),
            (Method::Post, "pay_invoice", "Pay an invoice.", Execute, Destructive),
            (Method::Post, "publish_post", "Publish a post.", Create, Destructive),
            (Method::Post, "merge_branch", "Merge a branch.", Update, Destructive),
            (Method::Post, "pets", "", Execute, Destructive),
            (Method::Put, "update_pet", "Update a pet.", Update, Reversible),
            (Method::Put, "pet", "", Update, Destructive),
            (Method::Patch, "patch_pet", "", Update, Reversible),
            (Method::Delete, "pet", "", Delete, Destructive),
            (Method::Delete, "delete_all_pets", "", Delete, Danger::Forbidden),
        ] {
            let judged = judge_words(method, name, description);
            assert_eq!((judged.category, judged.danger), (category, danger), "{method:?} {name}: {judged:?}");
            assert!(!judged.evidence.is_empty());
            assert!(!judged.evidence.contains("Hint"), "{}", judged.evidence);
        }
    }

    #[test]
    fn the_most_severe_evidence_counts() {
        use Category::{Create, Delete, Execute, Read, Update};
        use Danger::{Destructive, Reversible, Safe};
        for (method, id, name, path, description, category, danger) in [
            (Method::Get, None, "get_user_delete", "/users/{id}/delete", "", Delete, Destructive),
            (Method::Get, None, "get_user_delete", "/users/{id}/delete", "Returns the user", Delete, Destructive),
            (Method::Get, None, "get_delete_user", "/delete/user/{id}", "", Delete, Destructive),
            (Method::Get, None, "get_api", "/api?action=deleteUser", "", Delete, Destructive),
            (Method::Get, None, "get_deleteuser", "/deleteuser/{id}", "", Delete, Destructive),
            (Method::Get, None, "get_users", "/users#delete", "", Delete, Destructive),
            (Method::Get, None, "get_users", "/users:purge", "", Delete, Destructive),
            (Method::Get, None, "get_deleted_users", "/users/deleted", "", Read, Safe),
            (Method::Get, None, "get_deletions", "/users/{id}/deletions", "", Read, Safe),
            (Method::Get, None, "get_device_reboot", "/device/reboot", "", Execute, Destructive),
            (Method::Get, Some("get_device_reboot"), "get_device_reboot", "/device/reboot", "", Execute, Destructive),
            (Method::Get, None, "get_light_toggle", "/light/toggle", "", Update, Destructive),
            (Method::Get, None, "get_store_inventory", "/store/inventory", "", Read, Safe),
            (Method::Get, Some("get_import_status"), "get_import_status", "/repos/{id}/import", "", Read, Safe),
            (Method::Get, None, "get_pull_merge", "/pulls/{id}/merge", "Check if it was merged", Read, Safe),
            // Two operations have the same id, so they are named after their paths.
            (Method::Get, Some("delete_user"), "get_a", "/a", "", Delete, Destructive),
            (Method::Post, Some("list_users"), "list_users", "/users/delete", "", Execute, Destructive),
            (Method::Post, Some("get_user"), "get_user", "/users", "Get a user", Execute, Destructive),
            (Method::Post, Some("search_users"), "search_users", "/users", "", Read, Safe),
            (
                Method::Post,
                Some("read_flow_runs_flow_runs_filter_post"),
                "read_flow_runs_flow_runs_filter_post",
                "/flow_runs/filter",
                "Query for flow runs.",
                Read,
                Safe,
            ),
            (Method::Post, Some("delete_users"), "delete_users", "/users/search", "", Delete, Destructive),
            (
                Method::Post,
                Some("create_item_api_v1_items_post"),
                "create_item_api_v1_items_post",
                "/api/v1/items/",
                "Create Item",
                Create,
                Reversible,
            ),
            (Method::Post, Some("create_item_v2"), "create_item_v2", "/items", "", Create, Reversible),
            (Method::Post, Some("create_payment_v2"), "create_payment_v2", "/payments", "", Create, Destructive),
            (Method::Post, Some("create_item_post"), "create_item_post", "/items", "", Create, Reversible),
            (Method::Post, Some("create_pet"), "create_pet", "/pets/purge", "", Create, Destructive),
            (Method::Post, Some("create_pet"), "create_pet", "/pets", "", Create, Reversible),
            // A name that is made of the path says nothing. The title stands for it, and the path can raise it.
            (Method::Post, None, "post_project", "/projects", "Creates a new project.", Create, Reversible),
            (Method::Put, None, "put_folder", "/folders/{id}", "Update a folder. Moves it, too.", Update, Reversible),
            (Method::Post, Some("post_models"), "post_models", "/models", "Create a model", Create, Reversible),
            (Method::Post, Some("post_note_route"), "post_note_route", "/notes", "Create a note", Create, Reversible),
            (Method::Post, Some("post_api_key"), "post_api_key", "/things", "Create a thing", Create, Destructive),
            (Method::Patch, None, "patch_event", "/events/{id}", "Update one or more events.", Update, Reversible),
            (Method::Post, Some("row_view_search"), "row_view_search", "/rows/search", "Search rows", Read, Safe),
            (Method::Post, Some("frob_update_search"), "frob_update_search", "/rows/search", "", Update, Destructive),
            // What a parameter identifies is a thing.
            (Method::Get, None, "get_order", "/order/{id}", "Detailed information.", Read, Safe),
            (Method::Get, None, "get_field_set", "/field-set/{id}", "", Read, Safe),
            (Method::Get, None, "get_order", "/pizza/order", "Detailed information.", Execute, Destructive),
            (Method::Get, None, "get_set_state", "/set-state/{id}", "", Update, Destructive),
            (Method::Get, None, "get_device_reboot", "/device-reboot/{id}", "", Execute, Destructive),
            (Method::Get, None, "get_reserve", "/reserve/{id}", "", Execute, Destructive),
            // Only the method says that it reads, and the description says something else.
            (Method::Get, None, "get_event", "/event/{id}", "Ingest a profile.", Execute, Destructive),
            (Method::Get, Some("get_event"), "get_event", "/event/{id}", "Obtain a profile.", Read, Safe),
            (Method::Get, None, "get_event", "/event/{id}", "Specific events of a profile.", Read, Safe),
            (Method::Get, None, "get_event", "/event/{id}", "About the profile.", Read, Safe),
            // A thing may have the name of a verb of reading.
            (Method::Put, Some("list_update"), "list_update", "/notes/{id}", "Update a list", Update, Destructive),
            (Method::Put, None, "put_oidc", "/security/oidc", "Update a thing", Update, Destructive),
            (Method::Post, None, "post_payment", "/payments", "Create an object", Create, Destructive),
            (Method::Post, None, "post_project", "/projects", "Frobnicates a project.", Create, Destructive),
            (Method::Post, None, "post_project", "/projects", "", Create, Destructive),
            (Method::Post, Some("create_ticket"), "create_ticket", "/oauth/tickets", "", Create, Destructive),
            (Method::Post, Some("create_note"), "create_note", "/api-keys/{id}/notes", "", Create, Destructive),
            (Method::Post, Some("suspend_create_user"), "suspend_create_user", "/users", "", Create, Destructive),
            (Method::Post, Some("users_create"), "users_create", "/users", "", Create, Reversible),
            (Method::Post, Some("suspend_update"), "suspend_update", "/users/{id}/suspend", "", Update, Destructive),
            (Method::Post, Some("send"), "post_a", "/a", "", Execute, Destructive),
            (Method::Patch, Some("update_pet"), "update_pet", "/pets/{delete}", "", Update, Reversible),
        ] {
            let prefix = &OwnPrefix::of_route([], path);
            let evidence = Evidence { method, id, name, path, prefix, description, parameters: &[], has_result: true };
            let judged = judge(evidence);
            assert_eq!((judged.category, judged.danger), (category, danger), "{method:?} {name} {path}: {judged:?}");
            assert!(!judged.evidence.is_empty());
        }
    }

    #[test]
    fn words_of_removing_that_name_something_are_read() {
        use Category::{Delete, Execute, Read};
        const RESOURCES: &str = "/droplets/{id}/destroy_with_associated_resources";
        const STATUS: &str = "/droplets/{id}/destroy_with_associated_resources/status";
        let get = Method::Get;
        for (method, id, path, description, has_result, category) in [
            (get, Some("droplets_list_resources"), RESOURCES, "List the resources of a droplet", true, Read),
            (get, Some("droplets_get_destroy_status"), STATUS, "Check the status of a request", true, Read),
            (
                get,
                Some("droplets_get_destroy_associated_resources_status"),
                STATUS,
                "Check Status of a Droplet Destroy with Associated Resources Request",
                true,
                Read,
            ),
            (get, Some("clusters_list_resources"), RESOURCES, "List Resources for Cluster Deletion", true, Read),
            (get, None, "/trash", "List everything in the trash", true, Read),
            (get, Some("list_trash"), "/files/trash/{id}", "Get a file in the trash", true, Read),
            // Without one part of the evidence, the word counts.
            (get, Some("droplets_list_resources"), RESOURCES, "List the resources of a droplet", false, Delete),
            (get, Some("droplets_list_resources"), RESOURCES, "", true, Delete),
            (get, Some("droplets_list_resources"), RESOURCES, "Returns the resources", true, Delete),
            (get, None, RESOURCES, "List the resources of a droplet", true, Delete),
            (get, Some("get_destroy_with_associated_resources"), RESOURCES, "List the resources", true, Delete),
            (get, Some("droplets_get_destroy_status"), RESOURCES, "Check the status of a request", true, Delete),
            (get, None, "/trash", "List everything in the trash", false, Delete),
            (get, None, "/trash", "", true, Delete),
            (get, None, "/files/{id}/trash", "Returns the file", true, Delete),
            (get, None, "/files/{id}/trash", "Get rid of a file and delete it", true, Delete),
            (get, None, "/trash_file/{id}", "Get a file", true, Delete),
            (Method::Post, Some("list_trash"), "/trash", "List everything in the trash", true, Execute),
            // A segment that is nothing but a verb always counts.
            (get, Some("users_get_user"), "/users/{id}/delete", "Get a user", true, Delete),
            (get, Some("users_get_user"), "/users/{id}/delete/status", "Get a user", true, Delete),
            (get, Some("users_get_user"), "/delete/users/{id}", "List users", true, Delete),
            (get, Some("users_get_user"), "/users/{id}/remove", "Check a user", true, Delete),
        ] {
            let name = id.unwrap_or("get_something");
            let prefix = &OwnPrefix::default();
            let judged = judge(Evidence { method, id, name, path, prefix, description, parameters: &[], has_result });
            let danger = if category == Read { Danger::Safe } else { Danger::Destructive };
            assert_eq!((judged.category, judged.danger), (category, danger), "{path} {id:?} {description}: {judged:?}");
        }
    }

    #[test]
    fn doubts_are_told_in_words_of_http() {
        let judged = judge_words(Method::Get, "delete_user", "");
        assert_eq!(judged.doubt.as_deref(), Some("GET should only read, but the name says 'delete'"));
        assert_eq!(judge_words(Method::Post, "pets", "").doubt.as_deref(), Some("no verb in the name"));
        assert_eq!(judge_words(Method::Get, "get_pet", "").evidence, "GET only reads");
    }
}

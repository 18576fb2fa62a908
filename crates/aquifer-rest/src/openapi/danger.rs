//! Classifies operations: what they do and how much harm they can do, judged by method and wording.
//!
//! The method corresponds to MCP annotations: GET declares that an operation only reads, DELETE that it destroys. POST
//! declares nothing, so the wording decides, as for a tool without annotations.

mod path_words;

use std::cmp::Ordering;

use aquifer_discovery::classify::{self, Classification, Subject};
use aquifer_discovery::tool::Annotations;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;

use crate::route::Method;

/// What is known about the effects of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Effects {
    pub(super) category: Category,
    pub(super) danger: Danger,
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
    /// Its cleaned text.
    pub(super) description: &'a str,
    /// The names of its parameters.
    pub(super) parameters: &'a [&'a str],
    /// Whether it declares a result with a schema.
    pub(super) has_result: bool,
}

/// Determines the effects of an operation: the most severe ones that its id, its name and its path indicate.
pub(super) fn judge(evidence: Evidence<'_>) -> Effects {
    let Evidence { method, description, parameters, .. } = evidence;
    let by_name = judge_name(method, evidence.name, description, parameters);
    let by_id = evidence.id.map(|id| judge_name(method, id, description, parameters));
    let judged = by_id.into_iter().fold(by_name, more_severe);
    match path_words::judge(evidence, &judged) {
        Some(by_path) => more_severe(judged, by_path),
        None => judged,
    }
}

fn more_severe(one: Effects, other: Effects) -> Effects {
    let is_idempotent = one.is_idempotent && other.is_idempotent;
    let is_higher = match other.danger.cmp(&one.danger) {
        Ordering::Equal => classify::more_severe(one.category, other.category) != one.category,
        order => order == Ordering::Greater,
    };
    Effects { is_idempotent, ..if is_higher { other } else { one } }
}

/// Determines the effects of an operation with this name. `description` is its cleaned text.
fn judge_name(method: Method, name: &str, description: &str, parameters: &[&str]) -> Effects {
    let subject = Subject { name, description, parameters, annotations: Annotations::for_method(method.as_str()) };
    let decision = classify::classify(subject);
    match method {
        Method::Get | Method::Head | Method::Options | Method::Trace | Method::Query => {
            reading(method, subject, decision)
        }
        Method::Delete => {
            let (danger, _) = classify::danger(subject, Category::Delete, false);
            effects(Category::Delete, danger, "DELETE removes something".to_owned(), true)
        }
        Method::Put | Method::Patch => changing(method, subject, decision),
        Method::Post => posting(subject, decision),
    }
}

fn effects(category: Category, danger: Danger, evidence: String, is_idempotent: bool) -> Effects {
    Effects { category, danger, evidence, is_idempotent, doubt: None }
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

fn reading(method: Method, subject: Subject<'_>, decision: Classification) -> Effects {
    if is_noun(subject, &decision) {
        let evidence = format!("{} only reads, and its description says so", method.as_str());
        return effects(Category::Read, Danger::Safe, evidence, true);
    }
    let doubt = doubt(method, &decision);
    let (danger, _) = classify::danger(subject, decision.category, doubt.is_some());
    let evidence = doubt.clone().unwrap_or_else(|| format!("{} only reads", method.as_str()));
    Effects { doubt, ..effects(decision.category, danger, evidence, true) }
}

/// PUT and PATCH change something, even if the wording leaves that open.
fn changing(method: Method, subject: Subject<'_>, decision: Classification) -> Effects {
    let says_reading = decision.review_reasons.iter().any(|reason| reason.contains("that it reads"));
    let category = match decision.category {
        Category::Read => Category::Update,
        Category::Execute if !decision.review_reasons.is_empty() => Category::Update,
        category => category,
    };
    let doubt = doubt(method, &decision).filter(|_| says_reading);
    let (danger, _) = classify::danger(subject, category, doubt.is_some());
    let evidence = match (&doubt, danger) {
        (Some(doubt), _) => doubt.clone(),
        (None, Danger::Safe | Danger::Reversible) => reversible_evidence(category).to_owned(),
        (None, _) => hard_evidence(subject, danger).unwrap_or_else(|| {
            format!("{} overwrites something, and nothing says that it can be undone", method.as_str())
        }),
    };
    Effects { doubt, ..effects(category, danger, evidence, method == Method::Put) }
}

fn posting(subject: Subject<'_>, decision: Classification) -> Effects {
    let doubt = doubt(Method::Post, &decision);
    let (danger, _) = classify::danger(subject, decision.category, doubt.is_some());
    let evidence = match (&doubt, decision.category, danger) {
        (Some(doubt), _, _) => doubt.clone(),
        (None, Category::Read, _) => "its name says that it only reads".to_owned(),
        (None, category, Danger::Reversible) => reversible_evidence(category).to_owned(),
        (None, _, danger) => hard_evidence(subject, danger)
            .unwrap_or_else(|| "POST changes something, and nothing says that it can be undone".to_owned()),
    };
    let is_idempotent = decision.category == Category::Read;
    Effects { doubt, ..effects(decision.category, danger, evidence, is_idempotent) }
}

const fn reversible_evidence(category: Category) -> &'static str {
    match category {
        Category::Create => "its words say that it adds something",
        _ => "its words say that it changes something",
    }
}

fn hard_evidence(subject: Subject<'_>, danger: Danger) -> Option<String> {
    classify::assess(subject).hard.filter(|hard| hard.danger == danger).map(|hard| hard.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let judged = judge_name(method, name, description, &[]);
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
            (Method::Post, Some("list_users"), "list_users", "/users/delete", "", Delete, Destructive),
            (Method::Post, Some("create_pet"), "create_pet", "/pets/purge", "", Create, Destructive),
            (Method::Post, Some("create_pet"), "create_pet", "/pets", "", Create, Reversible),
            (Method::Post, Some("send"), "post_a", "/a", "", Execute, Destructive),
            (Method::Patch, Some("update_pet"), "update_pet", "/pets/{delete}", "", Update, Reversible),
        ] {
            let evidence = Evidence { method, id, name, path, description, parameters: &[], has_result: true };
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
            let judged = judge(Evidence { method, id, name, path, description, parameters: &[], has_result });
            let danger = if category == Read { Danger::Safe } else { Danger::Destructive };
            assert_eq!((judged.category, judged.danger), (category, danger), "{path} {id:?} {description}: {judged:?}");
        }
    }

    #[test]
    fn doubts_are_told_in_words_of_http() {
        let judged = judge_name(Method::Get, "delete_user", "", &[]);
        assert_eq!(judged.doubt.as_deref(), Some("GET should only read, but the name says 'delete'"));
        assert_eq!(judge_name(Method::Post, "pets", "", &[]).doubt.as_deref(), Some("no verb in the name"));
        assert_eq!(judge_name(Method::Get, "get_pet", "", &[]).evidence, "GET only reads");
    }
}

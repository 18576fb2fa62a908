//! Operation names: the ids of the description, or else names made from the method and the path.
//!
//! A name depends on the operation itself, not on the order of operations, so adding an operation renames nothing. Only
//! operations that would have the same name are distinguished, by the rest of their paths.

use std::collections::HashMap;

use aquifer_discovery::name;
use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::inflect::singular_name;

use crate::route::Method;

/// The maximum number of characters of an id that are considered.
const MAX_ID_CHARS: usize = 512;

/// The parts from which a name is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) id: Option<&'a str>,
}

/// The name of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OperationName {
    /// The name, unique and of limited length.
    pub(super) name: String,
    /// The name in which verbs are searched for: not truncated, and without a meaningless method.
    pub(super) whole: String,
}

/// Names all operations of a description.
pub(super) fn assign(candidates: &[Candidate<'_>]) -> Vec<OperationName> {
    let mut wholes: Vec<String> = candidates.iter().map(preferred).collect();
    make_unique(&mut wholes, candidates, |one| made_of_path(one, Detail::Parameters));
    make_unique(&mut wholes, candidates, |one| format!("{}_{}", method_word(one.method), snake_identifier(one.path)));
    // The inputs must be distinct; a method with its path always is.
    let mut originals = wholes.clone();
    make_unique(&mut originals, candidates, |one| format!("{} {}", method_word(one.method), one.path));
    let assigned = name::operations(originals.iter().map(String::as_str));
    let pairs = assigned.into_iter().zip(wholes).zip(candidates);
    pairs
        .map(|((assigned, whole), one)| OperationName { name: assigned.name, whole: without_method(whole, one) })
        .collect()
}

/// The name without the method that an id begins with: `GET_TerminateInstances` does not read anything.
fn without_method(whole: String, one: &Candidate<'_>) -> String {
    let word = method_word(one.method);
    let is_method =
        one.id.is_some_and(|id| id.strip_prefix(&word.to_uppercase()).is_some_and(|rest| rest.starts_with('_')));
    let rest = whole.strip_prefix(word).and_then(|rest| rest.strip_prefix('_')).filter(|_| is_method);
    rest.map(str::to_owned).unwrap_or(whole)
}

/// The words of an id in snake_case, without the method that it begins with. Also defined for ids that are too long for
/// a name.
pub(super) fn id_words(method: Method, id: &str) -> Option<String> {
    let start: String = id.chars().take(MAX_ID_CHARS).collect();
    let prefix = format!("{}_", method.as_str());
    let words = snake_identifier(start.strip_prefix(&prefix).unwrap_or(&start));
    Some(words).filter(|words| !words.is_empty())
}

fn preferred(one: &Candidate<'_>) -> String {
    match one.id.map(snake_identifier).filter(|id| !id.is_empty()) {
        Some(id) => id,
        None => made_of_path(one, Detail::Segments),
    }
}

/// Renames every operation whose name is not unique.
fn make_unique(names: &mut [String], candidates: &[Candidate<'_>], other: impl Fn(&Candidate<'_>) -> String) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    names.iter().for_each(|name| *counts.entry(name.clone()).or_default() += 1);
    for (name, candidate) in names.iter_mut().zip(candidates) {
        if counts.get(name.as_str()).is_some_and(|count| *count > 1) {
            *name = other(candidate);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Segments,
    Parameters,
}

/// `GET /pets/{id}/toys` becomes `get_pet_toys`, and with parameters `get_pet_toys_by_id`.
fn made_of_path(one: &Candidate<'_>, detail: Detail) -> String {
    let segments: Vec<&str> = one.path.split('/').filter(|segment| !segment.is_empty()).collect();
    let is_parameter = |segment: &str| segment.starts_with('{') && segment.ends_with('}');
    let mut words = vec![method_word(one.method).to_owned()];
    let mut parameters = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        if is_parameter(segment) {
            parameters.push(snake_identifier(segment));
            continue;
        }
        let is_last = index + 1 == segments.len();
        if !is_last && is_prefix(segment) && words.len() == 1 {
            continue;
        }
        let word = snake_identifier(segment);
        let names_one = segments.get(index + 1).is_some_and(|next| is_parameter(next));
        words.push(if names_one { singular_name(&word) } else { word });
    }
    if detail == Detail::Parameters {
        parameters.first_mut().into_iter().for_each(|first| *first = format!("by_{first}"));
    }
    if detail == Detail::Parameters || words.len() == 1 {
        words.append(&mut parameters);
    }
    words.retain(|word| !word.is_empty());
    if words.len() == 1 {
        words.push("root".to_owned());
    }
    words.join("_")
}

/// Common first segments without meaning: `api`, `v1`, `2.0`.
fn is_prefix(segment: &str) -> bool {
    let version = segment.strip_prefix(['v', 'V']).unwrap_or(segment);
    let is_version = version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_');
    is_version || segment.eq_ignore_ascii_case("api") || segment.eq_ignore_ascii_case("rest")
}

/// The verb for a method in a name.
pub(super) const fn method_word(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Head => "head",
        Method::Options => "options",
        Method::Trace => "trace",
        Method::Query => "query",
        Method::Post => "post",
        Method::Put => "put",
        Method::Patch => "patch",
        Method::Delete => "delete",
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn names(all: &[(Method, &str, Option<&str>)]) -> Vec<String> {
        let all: Vec<Candidate<'_>> =
            all.iter().map(|(method, path, id)| Candidate { method: *method, path, id: *id }).collect();
        assign(&all).into_iter().map(|name| name.name).collect()
    }

    #[test]
    fn ids_and_paths_become_readable_names() {
        use Method::{Delete, Get, Post};
        for (method, path, id, expected) in [
            (Get, "/repos/{owner}/{repo}/issues", Some("issues/list-for-repo"), "issues_list_for_repo"),
            (Get, "/pets", Some("findPets"), "find_pets"),
            (Get, "/pets/{id}/toys", None, "get_pet_toys"),
            (Get, "/pets", None, "get_pets"),
            (Get, "/pets/{id}", None, "get_pet"),
            (Delete, "/api/v1/categories/{id}", None, "delete_category"),
            (Post, "/v2/boxes/{id}:archive", None, "post_boxes_id_archive"),
            (Get, "/", None, "get_root"),
            (Get, "/{id}", None, "get_id"),
            (Get, "/address/{x}/status/{y}", Some(" "), "get_address_status"),
            (Get, "/x", Some("introspect"), "introspect_tool"),
        ] {
            assert_eq!(names(&[(method, path, id)]), [expected], "{path}");
        }
    }

    #[test]
    fn operations_that_would_share_a_name_are_told_apart() {
        use Method::Get;
        let all = [
            (Get, "/pets/{id}", None),
            (Get, "/pets/{id}/{name}", None),
            (Get, "/pet", None),
            (Get, "/v1/toys", None),
            (Get, "/v2/toys", None),
            (Get, "/a", Some("same")),
            (Get, "/b", Some("same")),
            (Get, "/c/a-b", None),
            (Get, "/c/a_b", None),
        ];
        let given = names(&all);
        assert_eq!(
            given[..7],
            ["get_pet_by_id", "get_pet_by_id_name", "get_pet", "get_v1_toys", "get_v2_toys", "get_a", "get_b"]
        );
        assert_ne!(given[7], given[8]);
        let mut reversed = all;
        reversed.reverse();
        let mut again = names(&reversed);
        again.reverse();
        assert_eq!(given, again);
    }

    #[test]
    fn long_ids_are_shortened_and_their_words_kept() {
        let id = "a_very_long_operation_id_that_says_everything_about_what_the_operation_deletes";
        let candidate = Candidate { method: Method::Post, path: "/x", id: Some(id) };
        let assigned = assign(&[candidate]);
        assert!(assigned[0].name.len() <= 48);
        assert_eq!(assigned[0].whole, id);
        let candidate = Candidate { method: Method::Get, path: "/x", id: Some("GET_TerminateInstances") };
        let assigned = assign(&[candidate]);
        assert_eq!(
            (assigned[0].name.as_str(), assigned[0].whole.as_str()),
            ("get_terminate_instances", "terminate_instances")
        );
    }
}

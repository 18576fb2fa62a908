//! The path of a request: a template whose placeholders are filled with encoded values.
//!
//! A placeholder may be a segment or a part of one (`/{id}.json`, `/compare/{base}...{head}`). Slashes in values are
//! encoded. Encoding does not protect against `.` and `..`, because clients and servers decode `%2e` there, and some
//! servers decode `%2F`. A segment that would become one of them, or contain one between slashes, is therefore refused.

use aquifer_protocol::error::{Code, Failure};
use serde_json::{Map, Value};

use super::encoding::{Escape, push_path_literal};
use super::header::holds_text;
use super::request::invalid_route;
use super::{Notation, Place, Route, RouteParameter, Style, notation};

/// Fills the template of a route.
pub(super) fn path(route: &Route, params: &Map<String, Value>) -> Result<String, Failure> {
    let template = &*route.path;
    let Some(segments) = template.strip_prefix('/') else {
        return Err(invalid_route("its path does not begin with a slash"));
    };
    let mut path = String::with_capacity(template.len() + 32);
    for segment in segments.split('/') {
        path.push('/');
        push_segment(&mut path, segment, route, params)?;
    }
    Ok(path)
}

fn push_segment(path: &mut String, template: &str, route: &Route, params: &Map<String, Value>) -> Result<(), Failure> {
    let start = path.len();
    let mut filled: Vec<&RouteParameter> = Vec::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        push_literal(path, literal)?;
        let Some((name, after)) = after.split_once('}') else {
            return Err(invalid_route("its path has unbalanced braces"));
        };
        let (parameter, notation) = find_parameter(route, name)?;
        path.push_str(&value(parameter, notation, params)?);
        filled.push(parameter);
        rest = after;
    }
    push_literal(path, rest)?;
    if !is_dot_segment(path.get(start..).unwrap_or_default()) {
        return Ok(());
    }
    match filled.first() {
        Some(parameter) => {
            Err(Failure::invalid_value(&parameter.name, "must not be '.' or '..', nor contain them between slashes"))
        }
        None => Err(invalid_route("its path contains '.' or '..'")),
    }
}

fn push_literal(path: &mut String, literal: &str) -> Result<(), Failure> {
    if literal.contains(['?', '#', '}', '\\']) || literal.chars().any(char::is_control) {
        return Err(invalid_route("its path contains a character that a path cannot contain"));
    }
    push_path_literal(path, literal);
    Ok(())
}

fn find_parameter<'a>(route: &'a Route, name: &str) -> Result<(&'a RouteParameter, Notation), Failure> {
    let find = |parameter: &'a RouteParameter| match parameter.place {
        Place::Path(notation) if &*parameter.original_name == name => Some((parameter, notation)),
        _ => None,
    };
    route.parameters.iter().find_map(find).ok_or_else(|| invalid_route("its path names an unknown parameter"))
}

fn value(parameter: &RouteParameter, notation: Notation, params: &Map<String, Value>) -> Result<String, Failure> {
    let name = &*parameter.name;
    let value = params.get(name).filter(|value| !value.is_null()).ok_or_else(|| missing_parameter(name))?;
    if holds_text(value, &|text| text.chars().any(char::is_control)) {
        return Err(Failure::invalid_value(name, "contains a control character, which a path cannot contain"));
    }
    let text = notation::text(&parameter.original_name, value, notation, Escape::Unreserved).unwrap_or_default();
    let is_empty = match notation {
        Notation::Style { style: Style::Label, .. } => text == ".",
        _ => text.is_empty(),
    };
    if is_empty {
        return Err(Failure::invalid_value(name, "must not be empty"));
    }
    Ok(text)
}

/// Whether a segment is `.` or `..`, or contains one between slashes. Slashes that are encoded count, even more than
/// once, because some servers decode repeatedly.
fn is_dot_segment(segment: &str) -> bool {
    const MAX_DECODINGS: usize = 3;
    // Nearly all segments. Decoding the others takes a dozen copies.
    if !segment.contains(['.', '%']) {
        return false;
    }
    // Some servers ignore everything after a semicolon.
    let is_dots = |piece: &str| matches!(piece.split(';').next(), Some("." | ".."));
    let mut text = segment.to_ascii_lowercase();
    (0..MAX_DECODINGS).any(|decoding| {
        for (escape, character) in [("%2e", "."), ("%2f", "/"), ("%5c", "\\"), ("%3b", ";"), ("%25", "%")] {
            text = text.replace(escape, character);
        }
        let has_slash = text.contains(['/', '\\']);
        (decoding == 0 || has_slash) && text.split(['/', '\\']).any(is_dots)
    })
}

/// The failure for a missing required parameter.
pub(super) fn missing_parameter(name: &str) -> Failure {
    Failure::new(Code::ValidationMissingParam, format!("Missing required parameter '{name}'"))
        .detail("param_name", name)
}

//! Pagination of a target's lists, without I/O: which parameters request a page, and where the list continues after it.

use std::sync::Arc;

use aquifer_query::shape::{
    RowLocation, announced_count, announced_page, announced_pages, announced_total, announces_more, next_marks,
};
use reqwest::Url;
use reqwest::header::{CONTENT_RANGE, HeaderMap, LINK};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::route::{
    BodyEncoding, HttpRequest, Method, Notation, Pagination, Place, Route, RouteParameter, Style, is_same_origin,
};

/// The page size for targets that do not state a maximum.
const DEFAULT_PAGE_SIZE: usize = 100;

/// Where a list continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Position {
    /// After this number of rows.
    Offset(u64),
    /// At the page with this number.
    Page(u64),
    /// At a cursor.
    Cursor(Value),
    /// At a URL of the target.
    Url(String),
}

/// A requested page: where it begins, and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestedPage {
    position: Option<Position>,
    size: Option<u64>,
    /// Whether all rows are needed.
    is_whole: bool,
}

impl Pagination {
    /// The original names of the target's paging parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let (position, size) = match self {
            Pagination::Offset { offset, limit, .. } => (Some(offset), limit),
            Pagination::Page { page, size, .. } => (Some(page), size),
            Pagination::Cursor { cursor, limit, .. } => (Some(cursor), limit),
            Pagination::Link { limit, .. } => (None, limit),
        };
        position.into_iter().chain(size).map(|name| &**name)
    }

    fn size_parameter(&self) -> Option<&Arc<str>> {
        match self {
            Pagination::Offset { limit, .. } | Pagination::Cursor { limit, .. } | Pagination::Link { limit, .. } => {
                limit
            }
            Pagination::Page { size, .. } => size,
        }
        .as_ref()
    }

    fn max_size(&self) -> Option<u64> {
        match self {
            Pagination::Offset { max_size, .. }
            | Pagination::Page { max_size, .. }
            | Pagination::Cursor { max_size, .. }
            | Pagination::Link { max_size, .. } => *max_size,
        }
    }

    /// Chooses the page to request. `rows` is the number of rows that the caller needs, or `None` for as many as
    /// possible.
    pub(crate) fn page(&self, position: Option<Position>, rows: Option<usize>) -> RequestedPage {
        let max_rows = self.max_size().and_then(|size| usize::try_from(size).ok()).unwrap_or(DEFAULT_PAGE_SIZE).max(1);
        let is_size_known = self.max_size().is_some() || rows.is_some();
        let size = match self {
            // Numbered pages must all have the same size.
            Pagination::Page { max_size, .. } => *max_size,
            _ => u64::try_from(rows.unwrap_or(max_rows).clamp(1, max_rows)).ok().filter(|_| is_size_known),
        };
        let size = size.filter(|_| self.size_parameter().is_some());
        RequestedPage { position, size, is_whole: rows.is_none() }
    }

    /// The parameter values of a page, by original name.
    pub(crate) fn values(&self, page: &RequestedPage) -> Vec<(Arc<str>, Value)> {
        let size = self.size_parameter().zip(page.size).map(|(name, size)| (name.clone(), Value::from(size)));
        let position = match (self, &page.position) {
            (Pagination::Offset { offset, .. }, Some(Position::Offset(skipped))) => {
                Some((offset.clone(), Value::from(*skipped)))
            }
            (Pagination::Page { page, .. }, Some(Position::Page(number))) => Some((page.clone(), Value::from(*number))),
            (Pagination::Cursor { cursor, .. }, Some(Position::Cursor(next))) => Some((cursor.clone(), next.clone())),
            _ => None,
        };
        size.into_iter().chain(position).collect()
    }

    /// Where the list continues after a page, if it does.
    pub(crate) fn next(&self, page: &RequestedPage, response: &PageAnswer<'_>) -> Option<Position> {
        let rows = u64::try_from(response.rows).ok()?;
        // If no size was requested, only an empty page marks the end. A target may return less than was requested: its
        // own maximum, which is a round number, or what is left of a page that it filtered itself. Where all rows are
        // needed, a short page is therefore not the last, either.
        let may_be_maximum = rows.is_multiple_of(10) || rows == 25;
        let is_full = rows > 0 && (page.is_whole || may_be_maximum || page.size.is_none_or(|size| rows >= size));
        match self {
            Pagination::Offset { .. } => {
                let skipped = if let Some(Position::Offset(skipped)) = page.position { skipped } else { 0 };
                let end = skipped.checked_add(rows)?;
                let by_total = response.total().map(|total| end < total);
                let has_more = by_total.or_else(|| announces_more(response.body)).unwrap_or(is_full);
                (rows > 0 && has_more).then_some(Position::Offset(end))
            }
            Pagination::Page { first, .. } => {
                // Whether the first page has the number 0 or 1 is not always described.
                let reported = announced_page(response.body).filter(|number| *number <= 1).unwrap_or(*first);
                let first = if page.position.is_none() { reported } else { *first };
                let number = if let Some(Position::Page(number)) = page.position { number } else { first };
                let seen = page.size.map(|size| size.saturating_mul(number.saturating_sub(first).saturating_add(1)));
                // A target may return fewer rows than requested on every page, so that they cannot be counted.
                let by_total = response.total().zip(seen).map(|(total, seen)| seen < total);
                let has_more = announces_more(response.body).or(by_total).unwrap_or(is_full);
                (rows > 0 && has_more).then_some(Position::Page(number.checked_add(1)?))
            }
            Pagination::Cursor { next, .. } => {
                // Every page has a last row, so its key does not say whether the list continues.
                if is_key_of_last_row(next) && !announces_more(response.body).unwrap_or(is_full) {
                    return None;
                }
                let next_cursor = at_path(response.body, next)?;
                let is_present = match next_cursor {
                    Value::String(cursor) => !cursor.is_empty(),
                    Value::Number(_) => true,
                    _ => false,
                };
                is_present.then(|| Position::Cursor(next_cursor.clone()))
            }
            Pagination::Link { .. } => response.next_link().map(Position::Url),
        }
    }
}

/// Whether the cursor at this path is a value of the last row, such as `data.-1.id`.
fn is_key_of_last_row(path: &str) -> bool {
    steps(path).any(|step| step == "-1")
}

/// The steps of a path such as `meta.next_cursor`.
pub(crate) fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').filter(|step| !step.is_empty() && *step != "$")
}

impl Pagination {
    /// Removes the target's cursor from a response. Callers use the cursors of this server, and the target's would
    /// mislead them.
    pub(crate) fn remove_cursor(&self, body: &mut Value) {
        let Pagination::Cursor { next, .. } = self else { return };
        let steps: Vec<&str> = steps(next).collect();
        // An object such as `next_page` describes nothing but the next page.
        let end = if let [.., "next" | "next_page", _] = steps.as_slice() { steps.len() - 1 } else { steps.len() };
        remove_field(body, steps.get(..end).unwrap_or_default());
    }
}

/// Removes a field, and the enclosing objects that become empty.
fn remove_field(value: &mut Value, steps: &[&str]) {
    let (Some(fields), Some((first, rest))) = (value.as_object_mut(), steps.split_first()) else { return };
    let Some(field) = fields.get_mut(*first) else { return };
    if !rest.is_empty() {
        remove_field(field, rest);
    }
    if rest.is_empty() || field.as_object().is_some_and(Map::is_empty) {
        fields.shift_remove(*first);
    }
}

/// The parts of a response that determine the next page.
pub(crate) struct PageAnswer<'a> {
    pub(crate) body: &'a Value,
    pub(crate) headers: &'a HeaderMap,
    /// The URL that responded.
    pub(crate) url: &'a str,
    /// The number of rows on the page.
    pub(crate) rows: usize,
}

impl PageAnswer<'_> {
    /// The total number of rows that the response reports, in its body or in a header.
    pub(crate) fn total(&self) -> Option<u64> {
        announced_total(self.body).or_else(|| total_in(self.headers))
    }

    /// The link with `rel="next"` of its `Link` header (RFC 8288), as an absolute URL.
    pub(crate) fn next_link(&self) -> Option<String> {
        next_link(self.headers, self.url)
    }

    /// The URLs of the next page that the body contains: `next` and its spellings, in the body itself, in an object
    /// about the page, or beside the rows (JSON:API, HAL, OData and others).
    pub(crate) fn next_urls(&self) -> Vec<String> {
        let Ok(base) = Url::parse(self.url) else { return Vec::new() };
        let is_list_holder = |value: &&Value| value.as_object().is_some_and(|one| one.values().any(Value::is_array));
        let inside = self.body.as_object().into_iter().flat_map(|fields| fields.values()).filter(is_list_holder);
        let marks = std::iter::once(self.body).chain(inside).flat_map(next_marks);
        let text = |mark: &Value| mark.as_str().or_else(|| mark.get("href")?.as_str()).map(str::to_owned);
        // Other texts, such as cursors, are not URLs.
        let is_url = |text: &String| text.starts_with('/') || text.contains('?') || text.contains("://");
        let mut urls: Vec<String> =
            marks.filter_map(text).filter(is_url).filter_map(|text| base.join(&text).ok()).map(Into::into).collect();
        urls.dedup();
        urls
    }

    /// Whether the response has no rows, and says that there are more nevertheless.
    pub(crate) fn is_gap(&self) -> bool {
        self.rows == 0 && announces_more(self.body) == Some(true)
    }

    /// Whether the list certainly continues after this page, or certainly ends, if the response says so.
    pub(crate) fn continues(&self) -> Option<bool> {
        let rows = u64::try_from(self.rows).unwrap_or(u64::MAX);
        let is_more = |found: Option<bool>| found.filter(|more| *more);
        announces_more(self.body)
            .or_else(|| self.total().map(|total| total > rows))
            .or_else(|| is_more(announced_count(self.body).map(|count| count > rows)))
            .or_else(|| is_more(announced_pages(self.body).map(|pages| pages > 1)))
            .or_else(|| is_more(Some(names_next_page(self.headers))))
    }
}

impl Route {
    /// Adds the paging parameters that the description does not list for the operation.
    pub(crate) fn complete_paging(&mut self) {
        let Some(pagination) = &self.pagination else { return };
        let is_known = |name: &str| self.parameters.iter().any(|parameter| &*parameter.original_name == name);
        let notation = Notation::Style { style: Style::Form, explode: true };
        let has_json_body = self.body.as_ref().is_some_and(|body| body.encoding == BodyEncoding::Json);
        let place = match has_json_body && !matches!(self.method, Method::Get | Method::Head) {
            true => Place::BodyField,
            false => Place::Query { notation, allow_reserved: false },
        };
        let missing: Vec<RouteParameter> = pagination
            .parameters()
            .filter(|name| !is_known(name))
            .map(|name| RouteParameter { name: name.into(), original_name: name.into(), place })
            .collect();
        self.parameters.extend(missing);
    }

    /// Adds the paging parameters of a page to the parameters of a call.
    pub(crate) fn add_page(&self, page: &RequestedPage, params: &mut Map<String, Value>) {
        let Some(pagination) = &self.pagination else { return };
        for (original, value) in pagination.values(page) {
            if let Some(parameter) = self.parameters.iter().find(|parameter| parameter.original_name == original) {
                params.insert(parameter.name.to_string(), value);
            }
        }
    }
}

/// Points a request at the URL of the next page. Returns `None` if more than the path and the query differ.
pub(crate) fn continue_at(request: &mut HttpRequest, next: &str) -> Option<()> {
    let next = Url::parse(next).ok()?;
    is_same_origin(&request.url, &next).then(|| request.url = next)
}

/// The number of rows on a page.
pub(crate) fn count_rows(body: &Value, unwrap: Option<&str>) -> usize {
    RowLocation::find(body, unwrap).map_or(0, |location| location.count(body))
}

/// The value at a path such as `meta.next_cursor`. Negative indexes of lists count from the end.
pub(crate) fn at_path<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    steps(path).try_fold(value, |value, step| match value {
        Value::Array(elements) => match step.strip_prefix('-') {
            Some(from_end) => elements.get(elements.len().checked_sub(from_end.parse().ok()?)?),
            None => elements.get(step.parse::<usize>().ok()?),
        },
        value => value.get(step),
    })
}

/// The link with `rel="next"` of a `Link` header (RFC 8288), as an absolute URL.
fn next_link(headers: &HeaderMap, url: &str) -> Option<String> {
    let base = Url::parse(url).ok()?;
    headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok()).find_map(|text| {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once('<') {
            let (target, after) = after.split_once('>')?;
            let (attributes, next) = split_attributes(after);
            let relation = attributes.iter().find(|(name, _)| name == "rel");
            if relation.is_some_and(|(_, value)| value.split_whitespace().any(|word| word == "next")) {
                return base.join(target.trim()).ok().map(Into::into);
            }
            rest = next;
        }
        None
    })
}

/// Splits off the attributes of a link at the comma that ends it, and returns them with the remaining text. Commas and
/// semicolons in quotes belong to a value.
fn split_attributes(text: &str) -> (Vec<(String, String)>, &str) {
    let mut is_quoted = false;
    let mut attributes = Vec::new();
    let mut start = 0;
    let mut add = |part: Option<&str>| {
        let (name, value) = part?.split_once('=')?;
        attributes.push((name.trim().to_ascii_lowercase(), value.trim().trim_matches('"').to_ascii_lowercase()));
        Some(())
    };
    for (index, c) in text.char_indices() {
        is_quoted ^= c == '"';
        if is_quoted || !matches!(c, ',' | ';') {
            continue;
        }
        add(text.get(start..index));
        start = index + 1;
        if c == ',' {
            return (attributes, text.get(start..).unwrap_or_default());
        }
    }
    add(text.get(start..));
    (attributes, "")
}

/// The total number of rows in a header: one for this purpose, or the range of rows (`items 0-49/500`).
pub(crate) fn total_in(headers: &HeaderMap) -> Option<u64> {
    const TOTAL_HEADERS: &[&str] =
        &["x-total-count", "x-total", "total-count", "x-pagination-total-count", "x-wp-total", "x-total-results"];
    let header = |name: &&str| headers.get(*name)?.to_str().ok()?.trim().parse().ok();
    TOTAL_HEADERS.iter().find_map(header).or_else(|| {
        let (_, total) = headers.get(CONTENT_RANGE)?.to_str().ok()?.rsplit_once('/')?;
        total.trim().parse().ok()
    })
}

/// Whether a header names the next page.
pub(crate) fn names_next_page(headers: &HeaderMap) -> bool {
    const NEXT_HEADERS: &[&str] = &[
        "x-next-page",
        "x-next-cursor",
        "x-next-token",
        "x-next-page-token",
        "x-continuation-token",
        "x-ms-continuation",
    ];
    NEXT_HEADERS.iter().any(|name| headers.get(*name).is_some_and(|value| !value.is_empty()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use reqwest::header::HeaderValue;
    use serde_json::json;

    use super::*;

    fn after(
        pagination: &Pagination,
        position: Option<Position>,
        rows: Option<usize>,
        body: &Value,
    ) -> Option<Position> {
        let page = pagination.page(position, rows);
        let response =
            PageAnswer { body, headers: &HeaderMap::new(), url: "https://a.example/x", rows: count_rows(body, None) };
        pagination.next(&page, &response)
    }

    fn offset(max_size: Option<u64>) -> Pagination {
        Pagination::Offset { offset: "skip".into(), limit: Some("limit".into()), max_size }
    }

    #[test]
    fn offsets_continue_while_pages_are_full() {
        let rows = |count: usize| json!(vec![json!({ "a": 1 }); count]);
        assert_eq!(after(&offset(Some(10)), None, None, &rows(10)), Some(Position::Offset(10)));
        assert_eq!(after(&offset(Some(10)), Some(Position::Offset(10)), Some(10), &rows(9)), None);
        let whole = after(&offset(Some(10)), Some(Position::Offset(10)), None, &rows(9));
        assert_eq!(whole, Some(Position::Offset(19)), "only an empty page is certainly the last");
        assert_eq!(after(&offset(Some(100)), None, Some(50), &rows(20)), Some(Position::Offset(20)), "a lower maximum");
        assert_eq!(after(&offset(Some(10)), None, Some(3), &rows(3)), Some(Position::Offset(3)));
        assert_eq!(after(&offset(None), None, None, &rows(7)), Some(Position::Offset(7)), "the usual size is unknown");
        assert_eq!(after(&offset(None), Some(Position::Offset(7)), None, &rows(0)), None);
        let counted = json!({ "total": 12, "items": vec![json!({}); 4] });
        assert_eq!(after(&offset(None), Some(Position::Offset(4)), None, &counted), Some(Position::Offset(8)));
        assert_eq!(after(&offset(None), Some(Position::Offset(8)), None, &counted), None, "the total is reached");
    }

    #[test]
    fn numbered_pages_keep_their_size() {
        let pages =
            Pagination::Page { page: "page".into(), size: Some("per_page".into()), first: 1, max_size: Some(50) };
        let first = pages.page(None, Some(3));
        assert_eq!(pages.values(&first), [("per_page".into(), json!(50))]);
        let second = pages.page(Some(Position::Page(2)), None);
        assert_eq!(pages.values(&second), [("per_page".into(), json!(50)), ("page".into(), json!(2))]);
        let full = json!(vec![json!({}); 50]);
        assert_eq!(after(&pages, None, Some(3), &full), Some(Position::Page(2)));
        assert_eq!(after(&pages, Some(Position::Page(2)), None, &full), Some(Position::Page(3)));
    }

    #[test]
    fn paging_ends_without_a_cursor() {
        let pages = Pagination::Cursor {
            cursor: "starting_after".into(),
            next: "meta.next".into(),
            limit: None,
            max_size: None,
        };
        let body = |next: Value| json!({ "items": [{}], "meta": { "next": next } });
        assert_eq!(after(&pages, None, None, &body(json!("c2"))), Some(Position::Cursor(json!("c2"))));
        assert_eq!(after(&pages, None, None, &body(json!(7))), Some(Position::Cursor(json!(7))));
        for end in [json!(null), json!(""), json!(false)] {
            assert_eq!(after(&pages, None, None, &body(end)), None);
        }
    }

    #[test]
    fn the_last_row_can_be_the_cursor() {
        let pages = |next: &str| Pagination::Cursor {
            cursor: "starting_after".into(),
            next: next.into(),
            limit: Some("limit".into()),
            max_size: Some(2),
        };
        let at = |id: &str| Some(Position::Cursor(json!(id)));
        let body = |more: bool| json!({ "data": [{ "id": "a" }, { "id": "b" }], "has_more": more });
        assert_eq!(after(&pages("data.-1.id"), None, None, &body(true)), at("b"));
        assert_eq!(after(&pages("data.-1.id"), None, None, &body(false)), None);
        assert_eq!(after(&pages("-1.id"), None, None, &json!([{ "id": "a" }, { "id": "b" }])), at("b"));
        assert_eq!(after(&pages("-1.id"), None, Some(2), &json!([{ "id": "a" }])), None, "a short page is the last");
        assert_eq!(after(&pages("-1.id"), None, None, &json!([])), None, "an empty page is the last");
        let mut kept = body(true);
        pages("data.-1.id").remove_cursor(&mut kept);
        assert_eq!(kept, body(true));
    }

    #[test]
    fn bodies_can_contain_the_url_of_the_next_page() {
        for (body, expected) in [
            (json!({ "next": "https://a.example/x?page=2" }), &["https://a.example/x?page=2"][..]),
            (json!({ "links": { "next": "/x?page=2" } }), &["https://a.example/x?page=2"]),
            (json!({ "_links": { "next": { "href": "?page=2" } } }), &["https://a.example/x?page=2"]),
            (json!({ "artists": { "items": [], "next": "/x?after=7" } }), &["https://a.example/x?after=7"]),
            (json!({ "next": "c2", "next_page": 2, "links": { "next": null } }), &[]),
            (json!([{ "next": "/x" }]), &[]),
        ] {
            let answer = PageAnswer { body: &body, headers: &HeaderMap::new(), url: "https://a.example/x", rows: 1 };
            assert_eq!(answer.next_urls(), expected, "{body}");
        }
    }

    #[test]
    fn the_cursor_of_the_target_is_removed() {
        let pages =
            |next: &str| Pagination::Cursor { cursor: "c".into(), next: next.into(), limit: None, max_size: None };
        for (next, body, expected) in [
            ("meta.next", json!({ "data": [], "meta": { "next": "c2" } }), json!({ "data": [] })),
            ("meta.next", json!({ "meta": { "next": "c2", "n": 1 } }), json!({ "meta": { "n": 1 } })),
            ("next", json!({ "next": null, "data": [1] }), json!({ "data": [1] })),
            (
                "next_page.offset",
                json!({ "data": [], "next_page": { "offset": "a", "uri": "b" } }),
                json!({ "data": [] }),
            ),
            ("meta.next", json!({ "meta": 5 }), json!({ "meta": 5 })),
            ("next", json!([1]), json!([1])),
        ] {
            let mut body = body;
            pages(next).remove_cursor(&mut body);
            assert_eq!(body, expected);
        }
    }

    #[test]
    fn links_may_be_relative_and_one_of_several() {
        let next = |text: &str| {
            let headers = HeaderMap::from_iter([(LINK, HeaderValue::from_str(text).unwrap())]);
            next_link(&headers, "https://a.example/issues?page=1")
        };
        let expected = Some("https://a.example/issues?page=2".to_owned());
        assert_eq!(next("<https://a.example/issues?page=2>; rel=\"next\""), expected);
        assert_eq!(next("</x,y>; title=\"a, b\"; rel=last, </issues?page=2>; rel=\"prev next\""), expected);
        assert_eq!(next("<?page=2>; rel=next"), expected);
        assert_eq!(next("</issues?page=2>; rel=\"last\""), None);
        assert_eq!(next("</issues?page=2"), None);
    }

    #[test]
    fn a_short_page_is_not_the_last_one_if_the_response_says_so() {
        let offset = Pagination::Offset { offset: "offset".into(), limit: Some("limit".into()), max_size: None };
        let page = offset.page(None, Some(5));
        for (body, continues) in [
            (json!({ "data": [1] }), false),
            (json!({ "data": [1], "total": 100 }), true),
            (json!({ "data": [1], "meta": { "total": 100 } }), true),
            (json!({ "data": [1], "meta": { "total": 1, "next": "/x?offset=5" } }), false),
            (json!({ "data": [1], "meta": { "next": "/x?offset=5" } }), true),
            (json!({ "data": [1], "meta": { "next": null } }), false),
            (json!({ "data": [1], "pagination": { "has_more": true } }), true),
            (json!({ "data": [1], "more": true }), true),
            (json!({ "data": [1], "moreResults": true, "nextRecordsUrl": "/x" }), true),
            (json!({ "data": [1], "isLast": false }), true),
            (json!({ "data": [1], "truncated": true, "NextMarker": "b" }), true),
            (json!({ "data": [1], "metadata": { "continue": "abc" } }), true),
            (json!({ "data": [1], "incomplete_results": false, "last_name": false, "next_delivery": "b" }), false),
            (json!({ "data": [1, 2, 3, 4, 5], "links": { "next": null } }), false),
        ] {
            let rows = body.get("data").and_then(Value::as_array).map_or(0, Vec::len);
            let answer = PageAnswer { body: &body, headers: &HeaderMap::new(), url: "https://a.example/x", rows };
            assert_eq!(offset.next(&page, &answer).is_some(), continues, "{body}");
        }
    }

    #[test]
    fn a_link_to_another_origin_is_not_followed() {
        let request = || HttpRequest {
            method: crate::route::Method::Get,
            url: Url::parse("https://a.example/x").unwrap(),
            headers: Vec::new(),
            body: None,
        };
        for other in ["https://b.example/x", "http://a.example/x", "https://a.example:8443/x", "file:///x"] {
            let mut request = request();
            assert_eq!(continue_at(&mut request, other), None, "{other}");
            assert_eq!(request.url.as_str(), "https://a.example/x");
        }
        let mut request = request();
        assert!(continue_at(&mut request, "https://a.example/y?page=2").is_some());
        assert_eq!(request.url.as_str(), "https://a.example/y?page=2");
    }
}

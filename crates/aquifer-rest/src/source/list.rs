//! Responses to calls that read: where a list continues, and whether it may have rows that are not fetched.

use std::sync::Arc;

use aquifer_engine::source::{Answer, Call};
use aquifer_protocol::error::Failure;
use aquifer_protocol::exact_number;
use aquifer_protocol::response::{Data, JsonText};
use aquifer_protocol::warning::Warning;
use reqwest::Url;
use reqwest::header::LINK;
use serde_json::{Map, Value};

use super::targets::CallLinks;
use super::{Endpoint, RestSource, answer};
use crate::client::{HttpAnswer, LinkCheck};
use crate::pagination::{self, PageAnswer, Position, RequestedPage};
use crate::route::{Method, Pagination, Route, UnmanagedPaging, is_same_origin};

/// The call that a response belongs to.
pub(super) struct ListCall<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) call: &'a Call,
    /// The parameters of the request.
    pub(super) params: &'a Map<String, Value>,
    pub(super) links: &'a Arc<CallLinks>,
}

/// What follows after a page.
#[derive(Debug, Default)]
struct Continuation {
    next: Option<Position>,
    /// Whether there may be rows that cannot be fetched.
    is_partial: bool,
}

impl RestSource {
    /// Reads the response of a call that only reads.
    pub(super) fn read_list(
        &self,
        list: &ListCall<'_>,
        page: Option<RequestedPage>,
        answer: HttpAnswer,
    ) -> Result<Answer, Failure> {
        let route = &*list.endpoint.route;
        let managed = route.pagination.as_ref().zip(page);
        let looks_inside = managed.is_some()
            || list.call.page.is_shaped
            || !route.unmanaged_paging.is_empty()
            || answer.headers.contains_key(LINK)
            || pagination::total_in(&answer.headers).is_some()
            || pagination::names_next_page(&answer.headers);
        if !looks_inside || (managed.is_none() && !answer.is_json()) {
            return self.read_unpaged(route, answer);
        }
        let mut body = answer.json().map_err(|error| error.into_failure(&self.name))?;
        let rows = pagination::count_rows(&body, route.unwrap.as_deref());
        let described = PageAnswer { body: &body, headers: &answer.headers, url: &answer.url, rows };
        let Continuation { next, is_partial } = match &managed {
            Some((pagination, page)) => list.after_page(pagination, page, &described),
            None => list.after_unmanaged(&described),
        };
        let next_page = next.and_then(|next| serde_json::to_value(next).ok()).map(Box::new);
        let warnings = match is_partial {
            true if described.is_gap() => vec![ended_warning("returned an empty page, although it has further ones")],
            true => vec![partial_warning(rows, route)],
            false => Vec::new(),
        };
        if managed.is_none() && !list.call.page.is_shaped {
            return Ok(Answer { warnings, is_partial, ..self.read_unpaged(route, answer)? });
        }
        let received = answer.body.clone();
        let shown = self.client.without_credentials_in(answer);
        if shown.body != received {
            body = shown.json().map_err(|error| error.into_failure(&self.name))?;
        }
        if let Some((pagination, _)) = managed {
            pagination.remove_cursor(&mut body);
        }
        let data = exact_data(answer::unwrapped(body, route.unwrap.as_deref()), &shown);
        Ok(Answer { next_page, warnings, is_partial, ..Answer::new(data) })
    }

    fn read_unpaged(&self, route: &Route, answer: HttpAnswer) -> Result<Answer, Failure> {
        let answer = self.client.without_credentials_in(answer);
        answer::read(&answer, route.unwrap.as_deref()).map_err(|error| error.into_failure(&self.name))
    }
}

/// The data of an answer, with numbers as the target wrote them.
pub(super) fn exact_data(value: Value, answer: &HttpAnswer) -> Data {
    let may_hold_exact = std::str::from_utf8(&answer.body).is_ok_and(exact_number::may_occur);
    if may_hold_exact { Data::Text(JsonText::vouched(exact_number::to_text(&value))) } else { Data::Value(value) }
}

impl ListCall<'_> {
    fn after_page(&self, pagination: &Pagination, page: &RequestedPage, answer: &PageAnswer<'_>) -> Continuation {
        match pagination.next(page, answer) {
            Some(Position::Url(next)) => self.at_url(answer, Some(next)),
            Some(next) => Continuation { next: Some(next), is_partial: false },
            None if answer.is_gap() => Continuation { next: None, is_partial: true },
            // The target may continue in another way than the one that is known.
            None => self.at_url(answer, self.next_url(answer).filter(|_| answer.rows > 0)),
        }
    }

    /// What follows if the description does not say how the target paginates: what the response itself says.
    fn after_unmanaged(&self, answer: &PageAnswer<'_>) -> Continuation {
        if let Some(next) = self.next_url(answer) {
            return match self.call.page.is_shaped && self.is_list() {
                true => self.at_url(answer, Some(next)),
                false => Continuation { next: None, is_partial: true },
            };
        }
        let is_partial = answer.continues().unwrap_or_else(|| self.may_be_page(answer.rows));
        Continuation { next: None, is_partial: is_partial && answer.rows > 0 }
    }

    /// Whether the engine can be asked to fetch further pages.
    fn is_list(&self) -> bool {
        self.call
            .operation
            .capabilities
            .shaping
            .as_ref()
            .is_some_and(|shaping| shaping.is_paged && shaping.rows.is_known())
    }

    /// The URL of the next page: a `Link` header, or a URL in the body that belongs to the same operation.
    fn next_url(&self, answer: &PageAnswer<'_>) -> Option<String> {
        let (method, name) = (self.endpoint.route.method, &*self.call.name);
        if method != Method::Get {
            return None;
        }
        let is_own = |url: &String| Url::parse(url).is_ok_and(|url| self.links.targets.leads_to(method, &url, name));
        answer.next_link().or_else(|| answer.next_urls().into_iter().find(is_own))
    }

    /// Continues at a URL, unless it is on another host or the caller may not request it.
    fn at_url(&self, answer: &PageAnswer<'_>, next: Option<String>) -> Continuation {
        let Some(next) = next else { return Continuation::default() };
        // A page that leads to itself leads no further.
        let is_allowed = |next: Url| {
            Url::parse(answer.url).is_ok_and(|own| is_same_origin(&own, &next) && own != next)
                && self.links.allows(&reqwest::Method::GET, &next)
        };
        match Url::parse(&next).is_ok_and(is_allowed) {
            true => Continuation { next: Some(Position::Url(next)), is_partial: false },
            false => Continuation { next: None, is_partial: true },
        }
    }

    /// Whether a result with this number of rows may be one page of a longer list: it has paging parameters, and is not
    /// shorter than the page that was requested.
    fn may_be_page(&self, rows: usize) -> bool {
        let paging = &self.endpoint.route.unmanaged_paging;
        let requested =
            |size: &UnmanagedPaging| self.params.get(&*size.name).and_then(Value::as_u64).or(size.default_size);
        let size = paging.iter().filter(|one| one.is_size).find_map(requested);
        !paging.is_empty() && size.is_none_or(|size| rows as u64 >= size)
    }
}

/// The answer for a page that the target refuses. Whether an offset or a page number exists is only known when it is
/// requested; links and cursors come from the target itself.
pub(super) fn after_last_page(position: Option<&Position>, failure: Failure) -> Result<Answer, Failure> {
    if !matches!(position, Some(Position::Offset(_) | Position::Page(_))) {
        return Err(failure);
    }
    match failure.details().get("http_status").and_then(Value::as_u64) {
        Some(404 | 410 | 416) => Ok(Answer::new(Value::Null)),
        // Many targets return only the beginning of a long list.
        Some(400 | 422) => {
            let warnings = vec![ended_warning("refuses further pages")];
            Ok(Answer { warnings, is_partial: true, ..Answer::new(Value::Null) })
        }
        _ => Err(failure),
    }
}

/// The warning for a list that its API does not return to the end.
fn ended_warning(what: &str) -> Warning {
    let message =
        format!("The API {what}. Filters, order, counts and aggregates cover only the rows of the list before that");
    Warning::new("RESULT_INCOMPLETE", message).before_data()
}

/// The warning for a list that may have rows that are not fetched.
fn partial_warning(rows: usize, route: &Route) -> Warning {
    let names: Vec<String> = route.unmanaged_paging.iter().take(4).map(|one| format!("'{}'", one.name)).collect();
    let remedy = match names.is_empty() {
        true => String::new(),
        false => format!(" For others, use {}", names.join(", ")),
    };
    let message = format!(
        "The list may have more than these {rows} rows. Filters, order, counts and aggregates cover only them.{remedy}"
    );
    Warning::new("RESULT_INCOMPLETE", message).detail("rows", rows).before_data()
}

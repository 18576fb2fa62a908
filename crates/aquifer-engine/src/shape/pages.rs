//! Pages of rows and of text: the first from the answer of the source, later ones from the held result.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::exact_number;
use aquifer_protocol::response::{Data, JsonText};
use aquifer_protocol::warning::Warning;
use aquifer_query::collection::PageLimits;
use aquifer_query::shape::{
    CursorParam, Cursors, PageStart, RowSelection, Rows, TextPage, add_envelope, announced_total, announces_more,
    envelope_tokens, not_applied_warning,
};
use serde_json::Value;

use super::held_results::{HeldContent, HeldRows};
use super::{MANY_ROWS, ShapedPage, Shaper, Shaping};

/// The id of a held result.
#[derive(Clone, PartialEq, Eq, Debug)]
enum HeldId {
    /// A random number inside a sealed cursor.
    Cursor([u8; 8]),
    /// The call of its owner, for pages by offset or number.
    Call(String),
    /// None: the result was returned whole. Its cursors lead to another call of the source.
    Whole,
}

impl HeldId {
    fn key(&self) -> String {
        match self {
            HeldId::Cursor(number) => format!("{:016x}", u64::from_be_bytes(*number)),
            HeldId::Call(name) => format!("call/{name}"),
            HeldId::Whole => String::new(),
        }
    }
}

/// The lookup of a later page in the held results.
pub(super) enum HeldPage {
    /// Found, or refused.
    Found(ShapedPage),
    /// The list is held as far as it was fetched, and the page needs further rows.
    Continues(Box<ListProgress>),
    /// Not held.
    NotHeld,
}

/// What a call that fetches a list from its source knows about the list.
#[derive(Debug, Default)]
pub(super) struct ListProgress {
    held: HeldRows,
    /// Where the list continues.
    pub(super) next_page: Option<Value>,
    /// The envelope of the first page.
    envelope: Value,
    warnings: Vec<Warning>,
    /// How many pages this call has fetched.
    pages: usize,
    /// Whether a limit of the source forbids further pages.
    pub(super) is_limited: bool,
    /// The held result that the rows belong to, and where its page starts.
    continued: Option<(HeldId, PageStart)>,
}

/// A page of a list from its source.
#[derive(Debug, Default)]
pub(super) struct SourcePage {
    pub(super) rows: Vec<Value>,
    pub(super) envelope: Value,
    pub(super) warnings: Vec<Warning>,
    pub(super) next_page: Option<Value>,
    pub(super) is_partial: bool,
    pub(super) may_hold_exact: bool,
}

impl ListProgress {
    /// Whether nothing has been fetched yet.
    pub(super) fn is_at_start(&self) -> bool {
        self.pages == 0 && self.continued.is_none()
    }

    /// Adds a page of the source.
    pub(super) fn add(&mut self, page: SourcePage) {
        let SourcePage { rows, envelope, warnings, next_page, is_partial, may_hold_exact } = page;
        let is_first = self.is_at_start();
        let is_repeated = !is_first && repeats(&self.held.rows, &rows);
        // Some sources have a cursor for the end, too: it leads to empty pages with the same cursor.
        let is_end = rows.is_empty() && next_page.is_some() && next_page == self.next_page;
        if is_first {
            (self.held.rows, self.envelope) = (rows, envelope);
        } else if !is_repeated {
            self.held.rows.extend(rows);
        }
        self.held.is_partial |= is_partial;
        self.held.may_hold_exact |= may_hold_exact;
        self.warnings.extend(warnings);
        self.held.fetched.extend(self.next_page.as_ref().map(digest));
        // Pages that lead to each other would be fetched forever.
        let leads_back = next_page.as_ref().is_some_and(|next| self.held.fetched.contains(&digest(next)));
        self.next_page = next_page.filter(|_| !is_repeated && !leads_back);
        if is_repeated || (leads_back && !is_end) {
            self.held.is_partial = true;
            self.warnings.push(unsure_warning(self.held.rows.len(), "fetched before"));
        }
        self.pages += 1;
    }

    /// Ends the list with a page that has no list of rows. Only an empty one says that there are no others.
    pub(super) fn end_without_rows(&mut self, warnings: Vec<Warning>, is_partial: bool, is_empty: bool) {
        self.add(SourcePage { warnings, is_partial: is_partial || !is_empty, ..SourcePage::default() });
        if !is_empty {
            self.warnings.push(unsure_warning(self.held.rows.len(), "without a list of rows"));
        }
    }
}

/// The result of shaping the rows that are known so far.
pub(super) enum ListPage {
    /// The page.
    Ready(ShapedPage),
    /// Rows of the next page of the source are needed.
    NeedsMore(Shaping),
}

impl Shaper {
    /// The page from a held result, if the call requests a later page. A cursor leads to another call of the source
    /// only if the source returned a part of the list.
    pub(super) async fn held_page(&self, shaping: &Shaping) -> HeldPage {
        if let Some(param) = shaping.request.cursor() {
            let Some((id, position)) = self.open_cursor(param.cursor, shaping) else {
                let problem = "is not a cursor of this call. Start again without it";
                return HeldPage::Found(Err(Failure::invalid_value(param.name, problem)));
            };
            if id == HeldId::Whole {
                return HeldPage::NotHeld;
            }
            let Some(content) = self.held.get(&id.key()).await else {
                let problem = "leads into a result no longer held. Call again without it";
                return HeldPage::Found(Err(Failure::invalid_value(param.name, problem)));
            };
            let start_at = start_at(param, position);
            return match &*content {
                HeldContent::Rows(held) => self.later_rows(shaping, held, start_at, id),
                HeldContent::Text(text) => {
                    let (page, warnings) = self.text_page(shaping, text, position, &id);
                    HeldPage::Found(Ok((page.into(), warnings)))
                }
            };
        }
        if !shaping.request.is_later_counted_page() {
            return HeldPage::NotHeld;
        }
        let Some(id) = self.held_id(shaping) else { return HeldPage::NotHeld };
        match self.held.get(&id.key()).await.as_deref() {
            Some(HeldContent::Rows(held)) => self.later_rows(shaping, held, PageStart::Start, id),
            Some(HeldContent::Text(_)) | None => HeldPage::NotHeld,
        }
    }

    /// Shapes the rows of a list that the source has returned so far.
    pub(super) async fn rows_page(&self, mut shaping: Shaping) -> ListPage {
        let start_at = match &shaping.progress.continued {
            Some((_, start_at)) => *start_at,
            None => self.start_in_whole(&shaping),
        };
        let envelope = std::mem::take(&mut shaping.progress.envelope);
        let reserved = shaping.request.max_tokens().map_or(0, |_| envelope_tokens(&envelope));
        let rows = &shaping.progress.held.rows;
        let selection = match self.select_rows(rows, &shaping, start_at, reserved) {
            Ok(selection) => selection,
            Err(failure) => return ListPage::Ready(Err(failure)),
        };
        let mut selection = match &shaping.progress.next_page {
            Some(_) => selection.open_ended(),
            None => selection,
        };
        let mut incomplete = None;
        if selection.needs_more_rows() {
            let max_pages = shaping.operation.capabilities.shaping.as_ref().and_then(|shaping| shaping.max_pages);
            let max_pages = max_pages.unwrap_or(self.settings.max_source_pages);
            let may_fetch = !shaping.progress.is_limited && shaping.progress.pages < max_pages;
            if may_fetch && self.held.has_room_for(rows) {
                shaping.progress.envelope = envelope;
                return ListPage::NeedsMore(shaping);
            }
            incomplete = Some(incomplete_warning(rows.len(), &shaping.progress, selection.needs_all_rows()));
        } else if shaping.progress.next_page.is_none()
            && !shaping.progress.held.is_partial
            && shaping.request.controls().keys().any(|name| !["fields", "preset", "shape"].contains(&name.as_str()))
        {
            incomplete = unfetched_warning(rows.len(), shaping.progress.pages, &envelope);
            shaping.progress.held.is_partial = incomplete.is_some();
        }
        if shaping.progress.held.is_partial {
            selection = selection.partial();
        }
        let ListProgress { mut held, next_page, mut warnings, continued, .. } = *std::mem::take(&mut shaping.progress);
        // Rows that are added later would have to be sorted and counted with the others.
        held.next_page = next_page.filter(|_| !selection.needs_all_rows());
        warnings.extend(incomplete);
        warnings.append(&mut selection.warnings);
        let (has_items, may_hold_exact) = (selection.has_items(), held.may_hold_exact);
        let id = match continued {
            Some((id, _)) => Some(id),
            None if selection.is_part() => self.held_id(&shaping),
            None => Some(HeldId::Whole),
        };
        let (mut data, shortened) = match id {
            Some(HeldId::Whole) => self.write(&shaping, selection, Rows::Owned(held.rows), Some(&HeldId::Whole)),
            Some(id) if self.held.has_room_for(&held.rows) => {
                let content = Arc::new(HeldContent::Rows(held));
                self.held.insert(&id.key(), content.clone(), shaping.session()).await;
                let HeldContent::Rows(held) = &*content else {
                    return ListPage::Ready(Err(Failure::internal("the held result has no rows")));
                };
                self.write(&shaping, selection, Rows::Shared(&held.rows), Some(&id))
            }
            Some(_) => {
                warnings.push(not_held_warning());
                self.write(&shaping, selection, Rows::Owned(held.rows), None)
            }
            None => self.write(&shaping, selection, Rows::Owned(held.rows), None),
        };
        if has_items && let Value::Object(data) = &mut data {
            let is_filtered = shaping.request.controls().contains_key("filter");
            warnings.extend(add_envelope(data, envelope, is_filtered));
        }
        warnings.extend(shortened);
        ListPage::Ready(Ok((exact_data(data, may_hold_exact), warnings)))
    }

    fn later_rows(&self, shaping: &Shaping, held: &HeldRows, start_at: PageStart, id: HeldId) -> HeldPage {
        let selection = match self.select_rows(&held.rows, shaping, start_at, 0) {
            Ok(selection) => selection,
            Err(failure) => return HeldPage::Found(Err(failure)),
        };
        let mut selection = match &held.next_page {
            Some(_) => selection.open_ended(),
            None if held.is_partial => selection.partial(),
            None => selection,
        };
        if selection.needs_more_rows() {
            let (held, next_page) = (HeldRows { next_page: None, ..held.clone() }, held.next_page.clone());
            let continued = Some((id, start_at));
            return HeldPage::Continues(Box::new(ListProgress {
                held,
                next_page,
                continued,
                ..ListProgress::default()
            }));
        }
        let mut warnings = std::mem::take(&mut selection.warnings);
        let (data, shortened) = self.write(shaping, selection, Rows::Shared(&held.rows), Some(&id));
        warnings.extend(shortened);
        HeldPage::Found(Ok((exact_data(data, held.may_hold_exact), warnings)))
    }

    fn write(
        &self,
        shaping: &Shaping,
        selection: RowSelection,
        rows: Rows<'_>,
        id: Option<&HeldId>,
    ) -> (Value, Option<Warning>) {
        let seal = |position| self.seal_cursor(id?, position, shaping);
        let (data, shortened) = selection.write(rows, &Cursors { seal: &seal });
        (Value::Object(data), shortened)
    }

    /// The first page of a text. If there are more, the text is held.
    pub(super) async fn first_text(&self, shaping: &Shaping, text: String) -> ShapedPage {
        let page = self.page_of_text(shaping, &text, 0);
        if page.next.is_none() {
            let warnings = self.unused_controls_warning(shaping).into_iter().collect();
            return Ok((Value::String(text).into(), warnings));
        }
        let id = if page.next.is_some() && shaping.is_offered("after") { self.random_id() } else { None };
        match id {
            Some(id) if self.held.has_room_for_text(&text) => {
                let content = Arc::new(HeldContent::Text(text));
                self.held.insert(&id.key(), content.clone(), shaping.session()).await;
                let HeldContent::Text(text) = &*content else {
                    return Err(Failure::internal("the held result has no text"));
                };
                let (page, warnings) = self.text_page(shaping, text, 0, &id);
                Ok((page.into(), warnings))
            }
            _ => {
                let mut warnings: Vec<Warning> = self.unused_controls_warning(shaping).into_iter().collect();
                warnings.extend(page.next.map(|_| not_held_warning()));
                Ok((page.write(None).into(), warnings))
            }
        }
    }

    fn text_page(&self, shaping: &Shaping, text: &str, start_at: usize, id: &HeldId) -> (Value, Vec<Warning>) {
        let page = self.page_of_text(shaping, text, start_at);
        let cursor = page.next.and_then(|next| self.seal_cursor(id, next, shaping));
        let warnings = self.unused_controls_warning(shaping).into_iter().chain(page.warning(text)).collect();
        (page.write(cursor), warnings)
    }

    fn page_of_text<'t>(&self, shaping: &Shaping, text: &'t str, start_at: usize) -> TextPage<'t> {
        let (request, max_bytes) = (&shaping.request, self.settings.max_text_bytes);
        // A page size counts rows. Text has none.
        TextPage::within(text, start_at, max_bytes, None, request.max_tokens())
    }

    /// The warning for controls that do not apply to text.
    fn unused_controls_warning(&self, shaping: &Shaping) -> Option<Warning> {
        let others: Vec<&str> =
            shaping.request.controls().keys().map(String::as_str).filter(|name| *name != "after").collect();
        not_applied_warning(&others, "text")
    }

    fn select_rows(
        &self,
        rows: &[Value],
        shaping: &Shaping,
        start_at: PageStart,
        reserved: usize,
    ) -> Result<RowSelection, Failure> {
        let pages = PageLimits {
            default_size: 1,
            max_size: self.settings.max_page_size,
            max_bytes: self.settings.max_page_bytes,
        };
        self.within_limits(shaping, rows.len() > MANY_ROWS, |work| {
            RowSelection::within(rows, &shaping.request, start_at, pages, reserved, work)
        })
    }

    /// The id for the result of this call. `None` for pages by offset or number without an owner.
    fn held_id(&self, shaping: &Shaping) -> Option<HeldId> {
        if shaping.request.is_counted_page() {
            return shaping.caller.owner().map(|_| HeldId::Call(self.key.seal_bytes(&[], &shaping.binding)));
        }
        self.random_id()
    }

    /// A random id for a held result. Without randomness nothing is held.
    fn random_id(&self) -> Option<HeldId> {
        let mut number = [0; 8];
        getrandom::fill(&mut number).ok().map(|()| HeldId::Cursor(number))
    }

    fn seal_cursor(&self, id: &HeldId, position: usize, shaping: &Shaping) -> Option<String> {
        let number: &[u8] = match id {
            HeldId::Cursor(number) => number,
            HeldId::Call(_) => return None,
            HeldId::Whole => &[],
        };
        let position = u64::try_from(position).ok()?.to_be_bytes();
        // Leading zeros are omitted, because every character of a cursor costs tokens.
        let zeros = position.iter().take_while(|byte| **byte == 0).count();
        let plain: Vec<u8> = number.iter().chain(position.get(zeros..)?).copied().collect();
        Some(self.key.seal_bytes(&plain, &shaping.binding))
    }

    fn open_cursor(&self, cursor: &str, shaping: &Shaping) -> Option<(HeldId, usize)> {
        let plain = self.key.open_bytes(cursor, &shaping.binding)?;
        // A position alone is shorter than the id of a held result.
        let (id, position) = match plain.split_first_chunk::<8>() {
            Some((number, position)) => (HeldId::Cursor(*number), position),
            None => (HeldId::Whole, plain.as_slice()),
        };
        let position =
            position.iter().try_fold(0_usize, |sum, byte| sum.checked_mul(256)?.checked_add((*byte).into()))?;
        Some((id, position))
    }

    /// Where the page starts in a result that was returned whole before.
    fn start_in_whole(&self, shaping: &Shaping) -> PageStart {
        let cursor = shaping.request.cursor().and_then(|param| Some((param, self.open_cursor(param.cursor, shaping)?)));
        match cursor {
            Some((param, (HeldId::Whole, position))) => start_at(param, position),
            _ => PageStart::Start,
        }
    }
}

/// The data of a page. Numbers that were held as text become numbers again.
pub(super) fn exact_data(data: Value, may_hold_exact: bool) -> Data {
    if may_hold_exact { Data::Text(JsonText::vouched(exact_number::to_text(&data))) } else { Data::Value(data) }
}

fn start_at(param: CursorParam<'_>, position: usize) -> PageStart {
    if param.name == "after" { PageStart::After(position) } else { PageStart::Before(position) }
}

/// Whether a page has the same rows as the one before, because the source ignored which one was requested. Rows that are
/// all alike say nothing.
fn repeats(before: &[Value], page: &[Value]) -> bool {
    page.iter().any(|row| Some(row) != page.first()) && before.ends_with(page)
}

/// Recognizes a position that was fetched before.
fn digest(position: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    position.to_string().hash(&mut hasher);
    hasher.finish()
}

/// The warning for a list whose further pages say nothing about its end.
fn unsure_warning(rows: usize, problem: &str) -> Warning {
    let message = format!(
        "After {rows} rows the source returned a page {problem}. The list may have others: filters, order, counts and \
         aggregates cover only these"
    );
    Warning::new("RESULT_INCOMPLETE", message).detail("rows", rows).before_data()
}

/// The warning for a list that was not fetched to its end.
fn incomplete_warning(rows: usize, progress: &ListProgress, covers_all: bool) -> Warning {
    let cause = if progress.is_limited { ", because a rate limit of the API is reached" } else { "" };
    let effect = if covers_all {
        "Order, counts and aggregates cover only these rows"
    } else {
        "Go on with 'after', or narrow it with the operation's own parameters"
    };
    Warning::new("RESULT_INCOMPLETE", format!("Only the first {rows} rows of the list were fetched{cause}. {effect}"))
        .detail("rows", rows)
        .before_data()
}

/// The warning for a list whose source says that it continues, without a way to fetch the rest that is known here.
fn unfetched_warning(rows: usize, pages: usize, envelope: &Value) -> Option<Warning> {
    // The envelope is that of the first page: what it says about the next one is known by now, its total counts.
    let total = announced_total(envelope).filter(|total| *total > rows as u64);
    if total.is_none() && (pages != 1 || announces_more(envelope) != Some(true)) {
        return None;
    }
    let of_total = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = format!(
        "The source returned {rows} rows{of_total}. Pages, filters, order, counts and aggregates cover only these. For others, \
         use the operation's own parameters"
    );
    Some(Warning::new("RESULT_INCOMPLETE", message).detail("rows", rows).before_data())
}

fn not_held_warning() -> Warning {
    Warning::new(
        "RESULT_NOT_HELD",
        "There is more, but the result is too large to be held for later pages. Narrow it with the operation's own parameters or a 'filter'",
    )
}

//! Pages of rows and of text: the first from the answer of the source, later ones from the held result.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
use aquifer_query::collection::PageLimits;
use aquifer_query::shape::{
    Cursors, PageStart, RowSelection, Rows, TextPage, add_envelope, envelope_tokens, not_applied_warning,
};
use serde_json::Value;

use super::held_results::HeldContent;
use super::{MANY_ROWS, ShapedPage, Shaper, Shaping, run_blocking};

/// The id of a held result.
#[derive(Clone, PartialEq, Eq, Debug)]
enum HeldId {
    /// A random number inside a sealed cursor.
    Cursor([u8; 8]),
    /// The call of its owner, for pages by offset or number.
    Call(String),
}

impl HeldId {
    fn key(&self) -> String {
        match self {
            HeldId::Cursor(number) => format!("{:016x}", u64::from_be_bytes(*number)),
            HeldId::Call(name) => format!("call/{name}"),
        }
    }
}

impl Shaper {
    /// The page from a held result, if the call requests a later page. A cursor never leads to another call of the source.
    pub(super) async fn held_page(&self, shaping: &Shaping) -> Option<ShapedPage> {
        if let Some(param) = shaping.request.cursor() {
            let Some((number, position)) = self.open_cursor(param.cursor, shaping) else {
                let problem = "is not a cursor of this call. Start again without it";
                return Some(Err(Failure::invalid_value(param.name, problem)));
            };
            let id = HeldId::Cursor(number);
            let Some(content) = self.held.get(&id.key()).await else {
                let problem = "leads into a result no longer held. Call again without it";
                return Some(Err(Failure::invalid_value(param.name, problem)));
            };
            let start_at = if param.name == "after" { PageStart::After(position) } else { PageStart::Before(position) };
            return Some(match &*content {
                HeldContent::Rows(rows) => self.later_rows(shaping, rows, start_at, &id),
                HeldContent::Text(text) => Ok(self.text_page(shaping, text, position, &id)),
            });
        }
        if !shaping.request.is_later_counted_page() {
            return None;
        }
        let id = self.held_id(shaping)?;
        let content = self.held.get(&id.key()).await?;
        match &*content {
            HeldContent::Rows(rows) => Some(self.later_rows(shaping, rows, PageStart::Start, &id)),
            HeldContent::Text(_) => None,
        }
    }

    pub(super) async fn first_rows(&self, shaping: &Shaping, rows: Vec<Value>, envelope: Value) -> ShapedPage {
        let reserved = shaping.request.max_tokens().map_or(0, |_| envelope_tokens(&envelope));
        let mut selection = self.select_rows(&rows, shaping, PageStart::Start, reserved)?;
        let mut warnings = std::mem::take(&mut selection.warnings);
        let has_items = selection.has_items();
        let id = if selection.is_part() { self.held_id(shaping) } else { None };
        let (mut data, shortened) = match id {
            Some(id) if self.held.has_room_for(&rows) => {
                let content = Arc::new(HeldContent::Rows(rows));
                self.held.insert(&id.key(), content.clone(), shaping.session.clone()).await;
                let HeldContent::Rows(rows) = &*content else { return Err(Failure::internal("rows are rows")) };
                self.write(shaping, selection, Rows::Shared(rows), Some(&id))
            }
            Some(_) => {
                warnings.push(not_held_warning());
                self.write(shaping, selection, Rows::Owned(rows), None)
            }
            None => self.write(shaping, selection, Rows::Owned(rows), None),
        };
        if has_items && let Value::Object(data) = &mut data {
            warnings.extend(add_envelope(data, envelope));
        }
        warnings.extend(shortened);
        Ok((data, warnings))
    }

    fn later_rows(&self, shaping: &Shaping, rows: &[Value], start_at: PageStart, id: &HeldId) -> ShapedPage {
        let mut selection = self.select_rows(rows, shaping, start_at, 0)?;
        let mut warnings = std::mem::take(&mut selection.warnings);
        let (data, shortened) = self.write(shaping, selection, Rows::Shared(rows), Some(id));
        warnings.extend(shortened);
        Ok((data, warnings))
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
        let first = shaping.request.first();
        let page = self.page_of_text(shaping, &text, 0);
        if page.next.is_none() && first.is_none() {
            let warnings = self.unused_controls_warning(shaping).into_iter().collect();
            return Ok((Value::String(text), warnings));
        }
        let id = if page.next.is_some() && shaping.is_offered("after") { self.random_id() } else { None };
        match id {
            Some(id) if self.held.has_room_for_text(&text) => {
                let content = Arc::new(HeldContent::Text(text));
                self.held.insert(&id.key(), content.clone(), shaping.session.clone()).await;
                let HeldContent::Text(text) = &*content else { return Err(Failure::internal("text is text")) };
                Ok(self.text_page(shaping, text, 0, &id))
            }
            _ => {
                let mut warnings: Vec<Warning> = self.unused_controls_warning(shaping).into_iter().collect();
                warnings.extend(page.next.map(|_| not_held_warning()));
                Ok((page.write(None), warnings))
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
        TextPage::within(text, start_at, max_bytes, request.first(), request.max_tokens())
    }

    /// The warning for controls that do not apply to text.
    fn unused_controls_warning(&self, shaping: &Shaping) -> Option<Warning> {
        let others: Vec<&str> = shaping
            .request
            .controls()
            .keys()
            .map(String::as_str)
            .filter(|name| !["first", "after"].contains(name))
            .collect();
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
        run_blocking(rows.len() > MANY_ROWS, || RowSelection::beside(rows, &shaping.request, start_at, pages, reserved))
    }

    /// The id for the result of this call. `None` for pages by offset or number without an owner.
    fn held_id(&self, shaping: &Shaping) -> Option<HeldId> {
        if shaping.request.is_counted_page() {
            return shaping.owned.then(|| HeldId::Call(self.key.seal_bytes(&[], &shaping.binding)));
        }
        self.random_id()
    }

    /// A random id for a held result. Without randomness nothing is held.
    fn random_id(&self) -> Option<HeldId> {
        let mut number = [0; 8];
        getrandom::fill(&mut number).ok().map(|()| HeldId::Cursor(number))
    }

    fn seal_cursor(&self, id: &HeldId, position: usize, shaping: &Shaping) -> Option<String> {
        let HeldId::Cursor(number) = id else { return None };
        let position = u64::try_from(position).ok()?.to_be_bytes();
        // Leading zeros are omitted, because every character of a cursor costs tokens.
        let zeros = position.iter().take_while(|byte| **byte == 0).count();
        let plain: Vec<u8> = number.iter().chain(position.get(zeros..)?).copied().collect();
        Some(self.key.seal_bytes(&plain, &shaping.binding))
    }

    fn open_cursor(&self, cursor: &str, shaping: &Shaping) -> Option<([u8; 8], usize)> {
        let plain = self.key.open_bytes(cursor, &shaping.binding)?;
        let (number, position) = plain.split_first_chunk::<8>()?;
        let position =
            position.iter().try_fold(0_usize, |sum, byte| sum.checked_mul(256)?.checked_add((*byte).into()))?;
        Some((*number, position))
    }
}

fn not_held_warning() -> Warning {
    Warning::new(
        "RESULT_NOT_HELD",
        "There is more, but the result is too large to be held for later pages. Narrow it with the operation's own parameters or a 'filter'",
    )
}

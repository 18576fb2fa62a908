//! Pages of rows and of text: the first from the source's answer, every later one from what is held.

use std::sync::Arc;

use aquifer_protocol::error::Failure;
use aquifer_protocol::warning::Warning;
use aquifer_query::collection::Pages;
use aquifer_query::shape::{Cursors, PageStart, Picked, Rows, beside, not_applied, text_page};
use serde_json::Value;

use super::held::Content;
use super::{MANY_ROWS, Shaped, Shaper, Shaping, apart};

/// How a held result is found again.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Id {
    /// By a number that only a sealed cursor holds.
    Cursor([u8; 8]),
    /// By the same owner making the same call, for pages that are counted.
    Call(String),
}

impl Id {
    fn key(&self) -> String {
        match self {
            Id::Cursor(number) => format!("{:016x}", u64::from_be_bytes(*number)),
            Id::Call(name) => format!("call/{name}"),
        }
    }
}

impl Shaper {
    /// The page from a held result, if the call asks for a later one. A cursor never leads back to the source.
    pub(super) async fn held_page(&self, shaping: &Shaping) -> Option<Shaped> {
        if let Some(sent) = shaping.asked.cursor() {
            let Some((number, position)) = self.open(sent.cursor, shaping) else {
                let problem = "is not a cursor of this call. Start again without it";
                return Some(Err(Failure::invalid_value(sent.name, problem)));
            };
            let id = Id::Cursor(number);
            let Some(content) = self.held.get(&id.key()).await else {
                let problem = "leads into a result no longer held. Call again without it";
                return Some(Err(Failure::invalid_value(sent.name, problem)));
            };
            let from = if sent.name == "after" { PageStart::After(position) } else { PageStart::Before(position) };
            return Some(match &*content {
                Content::Rows(rows) => self.later_rows(shaping, rows, from, &id),
                Content::Text(text) => Ok(self.text(shaping, text, position, &id)),
            });
        }
        if !shaping.asked.skips() {
            return None;
        }
        let id = self.id(shaping)?;
        let content = self.held.get(&id.key()).await?;
        match &*content {
            Content::Rows(rows) => Some(self.later_rows(shaping, rows, PageStart::Start, &id)),
            Content::Text(_) => None,
        }
    }

    pub(super) async fn first_rows(&self, shaping: &Shaping, rows: Vec<Value>, around: Value) -> Shaped {
        let mut picked = self.pick(&rows, shaping, PageStart::Start)?;
        let mut warnings = std::mem::take(&mut picked.warnings);
        let has_items = picked.has_items();
        let id = if picked.is_part() { self.id(shaping) } else { None };
        let mut data = match id {
            Some(id) if self.held.has_room_for(&rows) => {
                let content = Arc::new(Content::Rows(rows));
                self.held.put(&id.key(), content.clone(), shaping.session.clone()).await;
                let Content::Rows(rows) = &*content else { return Err(Failure::internal("rows are rows")) };
                self.write(shaping, picked, Rows::Held(rows), Some(&id))
            }
            Some(_) => {
                warnings.push(not_held());
                self.write(shaping, picked, Rows::Ours(rows), None)
            }
            None => self.write(shaping, picked, Rows::Ours(rows), None),
        };
        if has_items && let Value::Object(data) = &mut data {
            warnings.extend(beside(data, around));
        }
        Ok((data, warnings))
    }

    fn later_rows(&self, shaping: &Shaping, rows: &[Value], from: PageStart, id: &Id) -> Shaped {
        let mut picked = self.pick(rows, shaping, from)?;
        let warnings = std::mem::take(&mut picked.warnings);
        Ok((self.write(shaping, picked, Rows::Held(rows), Some(id)), warnings))
    }

    fn write(&self, shaping: &Shaping, picked: Picked, rows: Rows<'_>, id: Option<&Id>) -> Value {
        let seal = |position| self.seal(id?, position, shaping);
        Value::Object(picked.write(rows, &Cursors { seal: &seal }))
    }

    /// Text, from its beginning. What does not fit is held.
    pub(super) async fn first_text(&self, shaping: &Shaping, text: String) -> Shaped {
        let first = shaping.asked.first();
        let page = text_page(&text, 0, self.settings.text_bytes, first);
        if page.next.is_none() && first.is_none() {
            let warnings = self.unused(shaping).into_iter().collect();
            return Ok((Value::String(text), warnings));
        }
        let id = if page.next.is_some() && shaping.offers("after") { self.number() } else { None };
        match id {
            Some(id) if self.held.has_room_for_text(&text) => {
                let content = Arc::new(Content::Text(text));
                self.held.put(&id.key(), content.clone(), shaping.session.clone()).await;
                let Content::Text(text) = &*content else { return Err(Failure::internal("text is text")) };
                Ok(self.text(shaping, text, 0, &id))
            }
            _ => {
                let mut warnings: Vec<Warning> = self.unused(shaping).into_iter().collect();
                warnings.extend(page.next.map(|_| not_held()));
                Ok((page.write(None), warnings))
            }
        }
    }

    fn text(&self, shaping: &Shaping, text: &str, from: usize, id: &Id) -> (Value, Vec<Warning>) {
        let page = text_page(text, from, self.settings.text_bytes, shaping.asked.first());
        let cursor = page.next.and_then(|next| self.seal(id, next, shaping));
        let warnings = self.unused(shaping).into_iter().chain(page.warning(text)).collect();
        (page.write(cursor), warnings)
    }

    /// Controls that mean nothing to text.
    fn unused(&self, shaping: &Shaping) -> Option<Warning> {
        let others: Vec<&str> = shaping
            .asked
            .controls()
            .keys()
            .map(String::as_str)
            .filter(|name| !["first", "after"].contains(name))
            .collect();
        not_applied(&others, "text")
    }

    fn pick(&self, rows: &[Value], shaping: &Shaping, from: PageStart) -> Result<Picked, Failure> {
        let pages = Pages { default: 1, largest: self.settings.max_page_size, bytes: self.settings.page_bytes };
        apart(rows.len() > MANY_ROWS, || Picked::new(rows, &shaping.asked, from, pages))
    }

    /// How the result of this call will be found again; not at all, where pages are counted and nobody owns them.
    fn id(&self, shaping: &Shaping) -> Option<Id> {
        if shaping.asked.counts() {
            return shaping.owned.then(|| Id::Call(self.key.seal_bytes(&[], &shaping.binding)));
        }
        self.number()
    }

    /// A number of its own for a held result. Without randomness nothing is held.
    fn number(&self) -> Option<Id> {
        let mut number = [0; 8];
        getrandom::fill(&mut number).ok().map(|()| Id::Cursor(number))
    }

    fn seal(&self, id: &Id, position: usize, shaping: &Shaping) -> Option<String> {
        let Id::Cursor(number) = id else { return None };
        let position = u64::try_from(position).ok()?.to_be_bytes();
        // Leading zeros are left out: cursors are paid for by the token.
        let zeros = position.iter().take_while(|byte| **byte == 0).count();
        let plain: Vec<u8> = number.iter().chain(position.get(zeros..)?).copied().collect();
        Some(self.key.seal_bytes(&plain, &shaping.binding))
    }

    fn open(&self, cursor: &str, shaping: &Shaping) -> Option<([u8; 8], usize)> {
        let plain = self.key.open_bytes(cursor, &shaping.binding)?;
        let (number, position) = plain.split_first_chunk::<8>()?;
        let position =
            position.iter().try_fold(0_usize, |sum, byte| sum.checked_mul(256)?.checked_add((*byte).into()))?;
        Some((*number, position))
    }
}

fn not_held() -> Warning {
    Warning::new(
        "RESULT_NOT_HELD",
        "There is more, but the result is too large to be held for later pages. Narrow it with the operation's own parameters or a 'filter'",
    )
}

//! Reads a collection page by page.

use serde_json::{Map, Value, json};

use crate::context::CheckContext;
use crate::description::Operation;
use crate::mcp::Reply;
use crate::mcp::rows::{Row, page_info, rows};

/// How a collection is paged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Paging {
    /// `first` and `after`.
    Cursor,
    /// `limit` and `offset`.
    Offset,
    /// `page` and `page_size`.
    Number,
    /// Not at all.
    Whole,
}

impl Paging {
    /// The paging styles that an operation documents, the preferred one first.
    pub(crate) fn documented_by(operation: &Operation) -> Vec<Self> {
        let mut styles = Vec::new();
        for (style, one, other) in
            [(Self::Cursor, "first", "after"), (Self::Offset, "limit", "offset"), (Self::Number, "page", "page_size")]
        {
            if operation.has_parameter(one) && operation.has_parameter(other) {
                styles.push(style);
            }
        }
        styles
    }
}

/// The result of reading a collection.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) rows: Vec<Row>,
    /// Whether the end was reached.
    pub(crate) complete: bool,
    /// The answers with the first and the last page.
    pub(crate) first: Option<Reply>,
    pub(crate) last: Option<Reply>,
    /// Descriptions of pages that state incorrectly whether there are more.
    pub(crate) wrong_ends: Vec<&'static str>,
    pub(crate) pages: usize,
}

/// A collection and its rows.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) operation: Operation,
    /// The parameters of the request.
    pub(crate) params: Map<String, Value>,
    pub(crate) rows: Vec<Row>,
    /// Whether these are all the rows.
    pub(crate) complete: bool,
    /// The fields that identify a row, if known.
    pub(crate) key: Vec<String>,
    /// The fields with scalar values in every row, and their number of distinct values.
    plain: Vec<(String, usize)>,
}

impl Collection {
    pub(crate) fn new(operation: Operation, params: Map<String, Value>, key: Vec<String>, walk: Walk) -> Self {
        let (rows, complete) = (walk.rows, walk.complete);
        let holds_plain =
            |row: &Row, field: &str| row.get(field).is_some_and(|value| !value.is_object() && !value.is_array());
        let names = rows.first().into_iter().flat_map(Row::keys).filter(|field| !field.starts_with('_'));
        let mut plain: Vec<(String, usize)> = names
            .filter(|field| rows.iter().all(|row| holds_plain(row, field)))
            .map(|field| (field.clone(), distinct(&rows, field)))
            .collect();
        // Fields with few distinct values make the best filters, but a single value is useless.
        plain.sort_by_key(|(_, distinct)| if *distinct < 2 { usize::MAX } else { *distinct });
        Self { operation, params, rows, complete, key, plain }
    }

    /// Identifies a row: by its key, or by the whole row.
    pub(crate) fn identity(&self, row: &Row) -> String {
        if self.key.is_empty() || !self.key.iter().all(|key| row.contains_key(key)) {
            return Value::Object(row.clone()).to_string();
        }
        self.key.iter().map(|key| row.get(key).map(Value::to_string).unwrap_or_default()).collect::<Vec<_>>().join("/")
    }

    /// The fields with scalar values, starting with those that have several distinct values.
    pub(crate) fn plain_fields(&self) -> Vec<String> {
        self.plain.iter().map(|(field, _)| field.clone()).collect()
    }

    /// The number of distinct values of such a field.
    pub(crate) fn distinct(&self, field: &str) -> usize {
        self.plain.iter().find(|(own, _)| own == field).map(|(_, distinct)| *distinct).unwrap_or_default()
    }
}

fn distinct(rows: &[Row], field: &str) -> usize {
    let mut values: Vec<String> = rows.iter().filter_map(|row| row.get(field)).map(Value::to_string).collect();
    values.sort_unstable();
    values.dedup();
    values.len()
}

impl CheckContext<'_> {
    /// Reads a collection from the start to the end, or until `max_rows` rows were read.
    pub(crate) async fn walk(
        &mut self,
        operation: &Operation,
        base: &Map<String, Value>,
        paging: Paging,
        size: usize,
        max_rows: usize,
    ) -> Walk {
        let mut walk = Walk::default();
        let mut cursor: Option<String> = None;
        loop {
            let mut params = base.clone();
            match paging {
                Paging::Cursor => {
                    params.insert("first".into(), json!(size));
                    params.extend(cursor.take().map(|cursor| ("after".to_owned(), json!(cursor))));
                }
                Paging::Offset => {
                    params.insert("limit".into(), json!(size));
                    params.insert("offset".into(), json!(walk.rows.len()));
                }
                Paging::Number => {
                    params.insert("page_size".into(), json!(size));
                    params.insert("page".into(), json!(walk.pages + 1));
                }
                Paging::Whole => {}
            }
            let reply = self.call(operation, params).await;
            let found = rows(reply.data()).unwrap_or_default();
            let came = found.len();
            walk.pages += 1;
            walk.rows.extend(found);
            let (more, next) = match paging {
                Paging::Cursor => {
                    let info = page_info(reply.data());
                    (info.is_some_and(|(more, _)| more), info.and_then(|(_, cursor)| cursor.map(str::to_owned)))
                }
                Paging::Offset | Paging::Number => {
                    let reported = reply.data().pointer("/pagination/has_more").and_then(Value::as_bool);
                    (reported.unwrap_or(came == size), None)
                }
                Paging::Whole => (false, None),
            };
            if more && came == 0 {
                walk.wrong_ends.push("an empty page states more rows");
            }
            let failed = !reply.is_success();
            walk.first.get_or_insert_with(|| reply.clone());
            walk.last = Some(reply);
            let stuck = paging == Paging::Cursor && next.is_none();
            if failed || !more || came == 0 || stuck {
                walk.complete = !(failed || more && stuck);
                return walk;
            }
            if walk.rows.len() >= max_rows {
                return walk;
            }
            cursor = next;
        }
    }
}

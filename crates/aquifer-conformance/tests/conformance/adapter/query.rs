//! Collections: filter, sort, fields, pages, totals, aggregates.

use std::cmp::Ordering;

use aquifer_conformance::record::Mode;
use serde_json::{Map, Value, json};

use super::{Answer, Failure, Flaw, Server};

type Row = Map<String, Value>;

const MAX_PAGE_SIZE: usize = 40;

fn invalid(message: String) -> Failure {
    Failure("VALIDATION_INVALID_VALUE", message, Value::Null)
}

fn unknown(field: &str, place: &str) -> Failure {
    Failure("VALIDATION_UNKNOWN_FIELD", format!("Unknown field '{field}' in '{place}'"), Value::Null)
}

fn compare(left: &Value, right: &Value) -> Ordering {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        _ => left.as_str().unwrap_or("\u{ffff}").cmp(right.as_str().unwrap_or("\u{ffff}")),
    }
}

/// The position of a cursor of this query.
fn place_of(cursor: &str, seal: &str) -> Option<usize> {
    cursor.strip_prefix("at:")?.strip_suffix(seal)?.parse().ok()
}

impl Server {
    pub(super) fn collection(&mut self, noun: &str, params: &Map<String, Value>) -> Answer {
        let mut rows = self.world.rows(noun).clone();
        if self.mode == Mode::Single && self.has(Flaw::SingleModeDiffers) {
            rows.pop();
        }
        if let Some(words) = params.get("query").and_then(Value::as_str) {
            rows.retain(|row| words.split_whitespace().any(|word| row["title"].as_str().unwrap().contains(word)));
        }
        if let Some(filter) = params.get("filter").and_then(Value::as_object).filter(|_| !self.has(Flaw::FilterIgnored))
        {
            self.filter(&mut rows, filter)?;
        }
        if let Some(sort) = params.get("sort") {
            let field = sort["field"].as_str().unwrap_or_default();
            if !rows.first().is_none_or(|row| row.contains_key(field)) {
                return Err(unknown(field, "sort"));
            }
            rows.sort_by(|left, right| compare(&left[field], &right[field]));
            if sort["order"] == "desc" {
                rows.reverse();
                if self.has(Flaw::DescendingWrong) && rows.len() > 5 {
                    rows.swap(0, 5);
                }
            }
        }
        if let Some(aggregate) = params.get("aggregate").and_then(Value::as_object) {
            let answers: Map<String, Value> =
                aggregate.iter().map(|(name, asked)| (name.clone(), self.aggregated(&rows, asked))).collect();
            let mut data = json!({"aggregations": answers});
            if params.get("include_items") == Some(&json!(true)) {
                data["items"] = json!(rows);
            }
            return Ok((data, Vec::new()));
        }
        self.page(noun, rows, params)
    }

    fn filter(&self, rows: &mut Vec<Row>, filter: &Map<String, Value>) -> Result<(), Failure> {
        for (field, wanted) in filter {
            if !rows.first().is_none_or(|row| row.contains_key(field)) {
                if self.has(Flaw::UnknownFilterSilent) {
                    continue;
                }
                return Err(unknown(field, "filter"));
            }
            let Some(operators) = wanted.as_object() else {
                rows.retain(|row| row[field] == *wanted);
                if self.has(Flaw::FilterLosesRow) && rows.len() > 2 {
                    rows.pop();
                }
                continue;
            };
            for (operator, bound) in operators {
                let inclusive = self.has(Flaw::RangeInclusive);
                rows.retain(|row| match (operator.as_str(), compare(&row[field], bound)) {
                    ("gt", order) => order == Ordering::Greater || (inclusive && order == Ordering::Equal),
                    ("gte", order) => order != Ordering::Less,
                    ("lt", order) => order == Ordering::Less,
                    (_, order) => order != Ordering::Greater,
                });
            }
        }
        Ok(())
    }

    fn aggregated(&self, rows: &[Row], asked: &Value) -> Value {
        let (function, field) =
            asked.as_object().unwrap().iter().next().map(|(name, field)| (name.as_str(), field)).unwrap();
        let numbers = || rows.iter().filter_map(|row| row[field.as_str().unwrap()].as_f64());
        let count = rows.len() + usize::from(self.has(Flaw::CountWrong));
        match function {
            "count" => json!(count),
            "group_by" => {
                let mut groups = Map::new();
                let lost = usize::from(self.has(Flaw::GroupsLoseOne));
                for row in rows.iter().skip(lost) {
                    let value = row[field.as_str().unwrap()].as_str().unwrap_or("null").to_owned();
                    let counted = groups.get(&value).and_then(Value::as_u64).unwrap_or_default();
                    groups.insert(value, json!(counted + 1));
                }
                Value::Object(groups)
            }
            "sum" => json!(numbers().sum::<f64>()),
            "avg" => json!(numbers().sum::<f64>() / (rows.len() + usize::from(self.has(Flaw::AverageWrong))) as f64),
            "min" => json!(numbers().fold(f64::INFINITY, f64::min)),
            _ => json!(numbers().fold(f64::NEG_INFINITY, f64::max)),
        }
    }

    fn page(&mut self, noun: &str, rows: Vec<Row>, params: &Map<String, Value>) -> Answer {
        let all = rows.len();
        let number = |name: &str| params.get(name).and_then(Value::as_u64).map(|number| number as usize);
        let mut warnings = Vec::new();
        let mut clamped = |size: usize, silent: bool| {
            if size > MAX_PAGE_SIZE && !silent {
                warnings.push(json!({"code": "PAGE_SIZE_CLAMPED", "message": "The page was cut down to 40"}));
            }
            size.min(MAX_PAGE_SIZE)
        };
        let loose = self.has(Flaw::CursorUnbound);
        let seal = if loose { String::new() } else { format!(":{:?}{:?}", params.get("sort"), params.get("filter")) };
        let silent = self.has(Flaw::SilentClamp);
        let mut data = json!({"items": []});
        let (start, end);
        if let Some(first) = number("first") {
            let size = clamped(first, silent);
            start = match params.get("after").and_then(Value::as_str) {
                None => 0,
                Some(cursor) => match place_of(cursor, &seal) {
                    Some(place) => {
                        let skip = usize::from(self.has(Flaw::CursorSkips) && size < 10);
                        let repeat = usize::from(self.has(Flaw::CursorRepeats) && size < 10);
                        place + skip - repeat
                    }
                    None if self.has(Flaw::AnyCursor) => 0,
                    None => return Err(invalid("Parameter 'after' is no cursor of ours".into())),
                },
            }
            .min(all);
            end = (start + size).min(all);
            let more = end < all || self.has(Flaw::AlwaysMore);
            let mut info = json!({"hasNextPage": more, "hasPreviousPage": start > 0});
            if end > start {
                info["endCursor"] = json!(format!("at:{end}{seal}"));
            }
            data["pageInfo"] = info;
        } else {
            let usual = if self.has(Flaw::WrongDefault) { 8 } else { 10 };
            let size = clamped(number("limit").unwrap_or(usual), false);
            let mut offset = number("offset").unwrap_or_default();
            if self.has(Flaw::OffsetOverlaps) && offset >= 7 {
                offset -= 1;
            }
            start = offset.min(all);
            end = (start + size).min(all);
            let shown = if number("limit").is_some() { size } else { 10 };
            data["pagination"] =
                json!({"limit": shown, "offset": offset, "returned": end - start, "has_more": end < all});
        }
        if params.get("total") == Some(&json!(true)) && !self.has(Flaw::TotalIgnored) {
            let total = all + usize::from(self.has(Flaw::TotalWrong));
            let place = if data.get("pageInfo").is_some() { "/pageInfo" } else { "/pagination" };
            let name = if place == "/pageInfo" { "totalCount" } else { "total_items" };
            data.pointer_mut(place).unwrap()[name] = json!(total);
        }
        let fields = params.get("fields").cloned().unwrap_or(json!("standard"));
        let ignored = self.has(Flaw::FieldsIgnored) && fields.is_array();
        let fields = if ignored { json!("standard") } else { fields };
        data["items"] = json!(self.selected(noun, &fields, rows[start..end].to_vec())?);
        Ok((data, warnings))
    }

    pub(super) fn selected(&self, noun: &str, fields: &Value, rows: Vec<Row>) -> Result<Vec<Row>, Failure> {
        let all: Vec<&str> = match noun {
            "book" => vec!["id", "title", "author_id", "pages", "genre", "rating", "note", "tags", "added_at"],
            _ => vec!["id", "name", "country"],
        };
        let preset = |count: usize| all.iter().take(count).map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let mut wanted: Vec<String> = match fields {
            Value::String(name) => match name.as_str() {
                "full" if self.has(Flaw::PresetRefused) => {
                    return Err(invalid("Parameter 'fields' is no preset".into()));
                }
                "full" if self.has(Flaw::PresetShrinks) => all.iter().skip(1).map(|name| (*name).to_owned()).collect(),
                "full" | "*" => preset(all.len()),
                "standard" => preset(all.len().min(8)),
                "minimal" => preset(2),
                _ => return Err(unknown(name, "fields")),
            },
            _ => fields.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
        };
        if self.has(Flaw::FieldsAddId) && !wanted.contains(&"id".to_owned()) {
            wanted.push("id".into());
        }
        for name in &wanted {
            let known = all.contains(&name.as_str()) || (name == "_computed.title_length" && noun == "book");
            if !known && !self.has(Flaw::UnknownFieldSilent) {
                return Err(unknown(name, "fields"));
            }
        }
        let select = |row: Row| {
            let mut selected = Row::new();
            for name in &wanted {
                if name.starts_with("_computed") && !self.has(Flaw::ComputedMissing) {
                    let length = row["title"].as_str().unwrap().len();
                    selected.insert("_computed".into(), json!({"title_length": length}));
                } else if let Some(value) = row.get(name) {
                    selected.insert(name.clone(), value.clone());
                }
            }
            selected
        };
        Ok(rows.into_iter().map(select).collect())
    }
}

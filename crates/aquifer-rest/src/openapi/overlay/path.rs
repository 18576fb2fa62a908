//! The subset of JSONPath that overlays need: names, indexes, wildcards, descendants and simple filters.

use serde_json::Value;

/// The maximum number of locations that a query selects or visits.
const MAX_VISITED: usize = 1_000_000;

/// The maximum depth of descendants.
const MAX_DEPTH: usize = 128;

/// The maximum length of a query.
const MAX_CHARS: usize = 2_000;

/// A step to a location in a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Index(usize),
    Name(String),
}

/// The steps from the root to a location.
pub(super) type Location = Vec<Step>;

/// A parsed query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Query(Vec<Segment>);

#[derive(Debug, Clone, PartialEq)]
struct Segment {
    /// Whether all descendants are searched, not only the children.
    is_deep: bool,
    selector: Selector,
}

#[derive(Debug, Clone, PartialEq)]
enum Selector {
    Names(Vec<String>),
    Index(i64),
    Wildcard,
    Filter(Filter),
}

/// `@.name == 'value'`, or only `@.name`.
#[derive(Debug, Clone, PartialEq)]
struct Filter {
    path: Vec<String>,
    comparison: Option<(bool, Value)>,
}

impl Query {
    /// Parses a query. The error message continues the phrase "the target …".
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.chars().count() > MAX_CHARS {
            return Err("is too long".to_owned());
        }
        let mut parser = Parser { rest: text.trim() };
        if !parser.take("$") {
            return Err("must begin with '$'".to_owned());
        }
        let mut segments = Vec::new();
        while !parser.rest.is_empty() {
            segments.push(parser.segment()?);
        }
        Ok(Self(segments))
    }

    /// The locations that the query selects, in document order.
    pub(super) fn find(&self, root: &Value) -> Result<Vec<Location>, String> {
        let mut search = Search { visits_left: MAX_VISITED };
        let mut found: Vec<(Location, &Value)> = vec![(Vec::new(), root)];
        for segment in &self.0 {
            let mut next = Vec::new();
            for (location, value) in found {
                search.select(segment, location, value, &mut next, 0)?;
            }
            found = next;
        }
        Ok(found.into_iter().map(|(location, _)| location).collect())
    }
}

/// The value at a location.
pub(super) fn get_mut<'v>(root: &'v mut Value, location: &[Step]) -> Option<&'v mut Value> {
    location.iter().try_fold(root, |value, step| match step {
        Step::Name(name) => value.get_mut(name.as_str()),
        Step::Index(index) => value.get_mut(*index),
    })
}

struct Search {
    visits_left: usize,
}

impl Search {
    fn select<'v>(
        &mut self,
        segment: &Segment,
        location: Location,
        value: &'v Value,
        found: &mut Vec<(Location, &'v Value)>,
        depth: usize,
    ) -> Result<(), String> {
        self.visits_left = self.visits_left.checked_sub(1).ok_or("it selects too much")?;
        for (step, child) in children(value) {
            let is_selected = segment.selector.selects(&step, value, child);
            let is_searched = segment.is_deep && depth < MAX_DEPTH && (child.is_object() || child.is_array());
            if !is_selected && !is_searched {
                continue;
            }
            let mut inner = location.clone();
            inner.push(step);
            if is_selected {
                self.visits_left = self.visits_left.checked_sub(1).ok_or("it selects too much")?;
                found.push((inner.clone(), child));
            }
            if is_searched {
                self.select(segment, inner, child, found, depth + 1)?;
            }
        }
        Ok(())
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = (Step, &Value)> + '_> {
    match value {
        Value::Object(members) => Box::new(members.iter().map(|(name, child)| (Step::Name(name.clone()), child))),
        Value::Array(items) => Box::new(items.iter().enumerate().map(|(index, child)| (Step::Index(index), child))),
        _ => Box::new(std::iter::empty()),
    }
}

impl Selector {
    fn selects(&self, step: &Step, parent: &Value, child: &Value) -> bool {
        match (self, step) {
            (Selector::Wildcard, _) => true,
            (Selector::Names(names), Step::Name(name)) => names.contains(name),
            (Selector::Index(wanted), Step::Index(index)) => match usize::try_from(*wanted) {
                Ok(wanted) => wanted == *index,
                // Counts from the end.
                Err(_) => {
                    let len = parent.as_array().map_or(0, Vec::len) as i64;
                    len + wanted == *index as i64
                }
            },
            (Selector::Filter(filter), _) => filter.admits(child),
            _ => false,
        }
    }
}

impl Filter {
    fn admits(&self, value: &Value) -> bool {
        let found = self.path.iter().try_fold(value, |value, name| value.get(name));
        match &self.comparison {
            None => found.is_some(),
            Some((is_equal, expected)) => (found == Some(expected)) == *is_equal,
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn take(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unsupported(&self) -> String {
        let near: String = self.rest.chars().take(20).collect();
        format!(
            "uses what is not supported, near '{near}': names, indexes, '*', '..name' and filters such as [?(@.name=='x')] are"
        )
    }

    fn segment(&mut self) -> Result<Segment, String> {
        let is_deep = self.take("..");
        if !is_deep && self.take(".") || is_deep && !self.rest.starts_with('[') {
            if self.take("*") {
                return Ok(Segment { is_deep, selector: Selector::Wildcard });
            }
            let name = self.name();
            return match name.is_empty() {
                true => Err(self.unsupported()),
                false => Ok(Segment { is_deep, selector: Selector::Names(vec![name.to_owned()]) }),
            };
        }
        if !self.take("[") {
            return Err(self.unsupported());
        }
        self.skip_blanks();
        let selector = self.bracketed()?;
        self.skip_blanks();
        if !self.take("]") {
            return Err(self.unsupported());
        }
        Ok(Segment { is_deep, selector })
    }

    fn name(&mut self) -> &'t str {
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name
    }

    fn bracketed(&mut self) -> Result<Selector, String> {
        if self.take("*") {
            return Ok(Selector::Wildcard);
        }
        if self.take("?") {
            return self.filter().map(Selector::Filter);
        }
        if self.rest.starts_with(['\'', '"']) {
            let mut names = vec![self.quoted()?];
            loop {
                self.skip_blanks();
                if !self.take(",") {
                    return Ok(Selector::Names(names));
                }
                self.skip_blanks();
                names.push(self.quoted()?);
            }
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let index = digits.parse().map_err(|_| self.unsupported())?;
        self.rest = rest;
        Ok(Selector::Index(index))
    }

    fn quoted(&mut self) -> Result<String, String> {
        let mut letters = self.rest.chars();
        let Some(quote @ ('\'' | '"')) = letters.next() else { return Err(self.unsupported()) };
        let mut text = String::new();
        loop {
            match letters.next() {
                None => return Err("has a quote that does not end".to_owned()),
                Some(letter) if letter == quote => break,
                Some('\\') => text.extend(letters.next()),
                Some(letter) => text.push(letter),
            }
        }
        self.rest = letters.as_str();
        Ok(text)
    }

    fn filter(&mut self) -> Result<Filter, String> {
        self.skip_blanks();
        let is_bracketed = self.take("(");
        self.skip_blanks();
        if !self.take("@") {
            return Err(self.unsupported());
        }
        let mut path = Vec::new();
        loop {
            if self.take(".") {
                let name = self.name().to_owned();
                if name.is_empty() {
                    return Err(self.unsupported());
                }
                path.push(name);
            } else if self.take("[") {
                path.push(self.quoted()?);
                if !self.take("]") {
                    return Err(self.unsupported());
                }
            } else {
                break;
            }
        }
        self.skip_blanks();
        let comparison = match (self.take("=="), self.rest.starts_with("!=")) {
            (true, _) => Some((true, self.literal()?)),
            (false, true) => {
                self.take("!=");
                Some((false, self.literal()?))
            }
            (false, false) => None,
        };
        self.skip_blanks();
        match is_bracketed && !self.take(")") {
            true => Err(self.unsupported()),
            false => Ok(Filter { path, comparison }),
        }
    }

    fn literal(&mut self) -> Result<Value, String> {
        self.skip_blanks();
        if self.rest.starts_with(['\'', '"']) {
            return self.quoted().map(Value::String);
        }
        let end = self.rest.find([')', ']', ' ']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let value = serde_json::from_str(word).map_err(|_| self.unsupported())?;
        self.rest = rest;
        Ok(value)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    fn count(query: &str) -> usize {
        let document = json!({
            "paths": { "/a": { "get": { "x": 1 }, "post": {} }, "/b": { "get": {} } },
            "tags": [{ "name": "a", "n": 5 }, { "name": "b'c" }, { "other": true }]
        });
        Query::parse(query).unwrap().find(&document).unwrap().len()
    }

    #[test]
    fn queries_select() {
        for (query, expected) in [
            ("$", 1),
            ("$.paths", 1),
            ("$['paths']['/a']", 1),
            ("$.paths.*", 2),
            ("$.paths[*].get", 2),
            ("$.paths['/a','/b']", 2),
            ("$..get", 2),
            ("$..*", 15),
            ("$..['x']", 1),
            ("$.tags[0]", 1),
            ("$.tags[-1].other", 1),
            ("$.tags[5]", 0),
            ("$.tags[?(@.name=='a')]", 1),
            ("$.tags[?@.name == \"b'c\"]", 1),
            ("$.tags[?(@.name!='a')]", 2),
            ("$.tags[?(@.name)]", 2),
            ("$.tags[?(@['n'] == 5)]", 1),
            ("$.paths[?@.post]", 1),
        ] {
            assert_eq!(count(query), expected, "{query}");
        }
    }

    #[test]
    fn what_is_not_supported_is_said() {
        for query in [
            "paths",
            "$.",
            "$[1:2]",
            "$.a[?@.b > 1]",
            "$.a[?(@.b=='x' && @.c)]",
            "$.a[",
            "$.a['b",
            "$..",
            "$[?length(@)]",
            "$.a.b()",
        ] {
            assert!(Query::parse(query).is_err(), "{query}");
        }
        assert!(Query::parse("$[1:2]").unwrap_err().contains("not supported"));
    }

    #[test]
    fn searches_are_bounded() {
        let wide = json!(vec![json!(vec![json!([0, 0]); 1_000]); 400]);
        assert!(Query::parse("$..*").unwrap().find(&wide).is_err());
    }
}

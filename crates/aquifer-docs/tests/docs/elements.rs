//! Reads the HTML that we write, strictly: what this reader does not know, a page must not contain.

use std::collections::BTreeMap;

/// An opening tag.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
}

impl Element {
    pub(crate) fn get(&self, attribute: &str) -> Option<&str> {
        self.attributes.get(attribute).map(String::as_str)
    }
}

/// Elements without an end.
const VOID: [&str; 7] = ["br", "hr", "img", "input", "link", "meta", "!doctype"];

/// The opening tags of a text, after checking that every element is closed in order and every value is quoted.
pub(crate) fn elements(html: &str) -> Vec<Element> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    for part in html.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("no end: <{part}"));
        assert!(!text.contains('>'), "a bare > after <{tag}>: {text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "</{name}> closes something else");
            continue;
        }
        let element = element(tag);
        if !VOID.contains(&element.name.as_str()) {
            open.push(element.name.clone());
        }
        found.push(element);
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    found
}

fn element(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut attributes = BTreeMap::new();
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let (attribute, after) = rest.split_at(end);
        let (value, after) = match after.strip_prefix("=\"") {
            Some(quoted) => quoted.split_once('"').unwrap_or_else(|| panic!("no quote: <{tag}>")),
            None => ("", after),
        };
        assert!(attributes.insert(attribute.to_owned(), unescape(value)).is_none(), "twice: <{tag}>");
        rest = after.trim_start();
    }
    Element { name: name.to_owned(), attributes }
}

fn unescape(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&amp;", "&")
}

//! Texts with `{name}` in place of a value.

/// A part of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text as it is.
    Text(&'a str),
    /// The name of a value, written in braces. Dots go into a value: `order.amount`.
    Name(&'a str),
}

/// Splits a template. Braces around anything but a name are text.
pub fn split(template: &str) -> Vec<Piece<'_>> {
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_name = |name: &str| name.split('.').all(is_plain);
    let mut pieces = Vec::new();
    let (mut rest, mut from) = (template, 0);
    while let Some(open) = rest.get(from..).and_then(|text| text.find('{')).map(|found| from + found) {
        from = open + 1;
        let name = rest.get(from..).and_then(|text| text.split_once('}')).map(|(name, _)| name);
        let Some(name) = name.filter(|name| is_name(name)) else { continue };
        pieces.extend(rest.get(..open).filter(|text| !text.is_empty()).map(Piece::Text));
        pieces.push(Piece::Name(name));
        rest = rest.get(from + name.len() + 1..).unwrap_or_default();
        from = 0;
    }
    pieces.extend((!rest.is_empty()).then_some(Piece::Text(rest)));
    pieces
}

#[cfg(test)]
mod tests {
    use super::Piece::{Name, Text};
    use super::*;

    #[test]
    fn names_in_braces_are_found() {
        for (template, expected) in [
            ("", vec![]),
            ("Erase {id}?", vec![Text("Erase "), Name("id"), Text("?")]),
            ("{a}{b_1}", vec![Name("a"), Name("b_1")]),
            ("{ä} {} {not a name} {{id}", vec![Text("{ä} {} {not a name} {"), Name("id")]),
            ("{open", vec![Text("{open")]),
            ("{a.b.c_1} {.a} {a.} {a..b}", vec![Name("a.b.c_1"), Text(" {.a} {a.} {a..b}")]),
        ] {
            assert_eq!(split(template), expected, "{template}");
        }
    }
}

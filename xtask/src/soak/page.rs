//! docs/soak.md, whose reports stand between marks.

use anyhow::{Context, Result};

use crate::step::root;

/// Puts a report between the marks of this name.
pub(super) fn put(name: &str, report: &str) -> Result<()> {
    let path = root().join("docs/soak.md");
    let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let page = replaced(&page, name, report).with_context(|| format!("docs/soak.md has no place for '{name}'"))?;
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

fn replaced(page: &str, name: &str, report: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{report}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let page =
            "a\n<!-- soak: begin -->\nold\n<!-- soak: end -->\nb\n<!-- soak gate: begin -->\n<!-- soak gate: end -->\n";
        let page = replaced(page, "soak gate", "new\n").unwrap_or_default();
        assert!(page.contains("begin -->\nold\n<!--") && page.contains("begin -->\nnew\n<!--"), "{page}");
        assert_eq!(replaced("nothing", "soak", "new"), None);
    }
}

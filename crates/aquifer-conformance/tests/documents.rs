//! The table of checks in docs/conformance.md matches the registry.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use aquifer_conformance::checks::{self, Check};
use aquifer_conformance::report::Category;

const BEGIN: &str = "<!-- checks: cargo xtask conformance --update-docs -->\n";
const END: &str = "<!-- /checks -->";

fn table() -> String {
    let mut out = String::new();
    for category in Category::ALL.into_iter().filter(|category| category.blocks()) {
        let own: Vec<&Check> = checks::all().into_iter().filter(|check| check.category == category).collect();
        assert!(!own.is_empty(), "{category:?} has no check: no level could be granted");
        out += &format!("### {} (level {})\n\n| check | holds | |\n|---|---|---|\n", category.name(), category.level());
        for check in own {
            let writes = if check.writes { "writes" } else { "" };
            out += &format!("| `{}` | {} | {writes} |\n", check.id, check.name);
        }
        out.push('\n');
    }
    out
}

#[test]
fn the_documented_checks_match_the_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let fresh = format!("{before}{BEGIN}\n{}{END}{after}", table());
    if std::env::var_os("AQUIFER_CONFORMANCE_DOCS").is_some() {
        std::fs::write(path, fresh).unwrap();
        return;
    }
    assert!(fresh == page, "docs/conformance.md is stale: cargo xtask conformance --update-docs");
}

//! The conformance level of an HTTP API behind the binary.

use super::Fixture;
use crate::support::text;

#[test]
fn an_adapter_file_reaches_level_2_and_everything_created_is_deleted() {
    let fixture = Fixture::adapted();
    // The checks call far more often than the file allows.
    let limits = "rate_limits:\n  requests_per_day: 1000\n  api_limits:\n    - { scope: endpoint, endpoint: \"/report\", limit: 2, window: day }\n";
    fixture.edit("shop-adapter.md", limits, "");
    let before = fixture.shop.product_count();
    let aquifer = env!("CARGO_BIN_EXE_aquifer");
    let arguments =
        ["conformance", "--allow-writes", "--", aquifer, "serve", "shop-adapter.md", "--trust", "validated"];
    let output = fixture.command(&arguments).output().unwrap();
    let report = text(&output.stdout);
    assert!(report.contains("Level 2 is granted"), "{report}{}", text(&output.stderr));
    assert!(report.contains(" 0 warned, 0 failed"), "{report}");
    assert_eq!(fixture.shop.product_count(), before, "the run leaves nothing behind");
    // Such a run makes it 'validated', and then its file may say so.
    assert!(text(&output.stderr).contains("trusted as 'validated'"), "{}", text(&output.stderr));
    let shown = fixture.command(&["policy", "show", "shop-adapter.md", "--trust", "accepted"]).output().unwrap();
    assert!(text(&shown.stdout).contains("trusted as 'validated'"), "{}", text(&shown.stdout));
}

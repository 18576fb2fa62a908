//! Edits of an adapter file and of a description take effect without a restart, and broken ones do not.

use super::Fixture;
use crate::support::shop::description;
use crate::support::{StdioServer, signal, until};

fn offered(server: &mut StdioServer, operation: &str) -> bool {
    server.operations().iter().any(|known| known == operation)
}

#[test]
fn r_dis_7_an_edited_file_changes_the_operations() {
    for (fixture, file, from, to) in [
        (Fixture::adapted(), "shop-adapter.md", "name: get_report", "name: read_report"),
        (Fixture::described(""), "shop.yaml", "operationId: getReport", "operationId: readReport"),
    ] {
        let mut server = fixture.serve();
        assert!(offered(&mut server, "get_report") && !offered(&mut server, "read_report"));
        fixture.edit(file, from, to);
        server.says("the changed configuration is in effect");
        until("the new name is there", || offered(&mut server, "read_report").then_some(()));
        assert!(!offered(&mut server, "get_report"));
        // A broken edit: the log names the place, and what was there stays.
        let (line, text) = match file {
            "shop.yaml" => ("openapi: 3.1.0", "openapi: 3.1.0\ninfo: { title: Shop"),
            _ => ("type: adapter", "type: adaptor"),
        };
        fixture.edit(file, line, text);
        server.says("is invalid, so the old one stays in effect");
        let last = server.stderr_so_far().lines().last().unwrap().to_owned();
        let place = last.split_once(&format!("{file}:")).unwrap_or_else(|| panic!("{last}")).1;
        let mut numbers = place.split(':').map(|part| part.trim().parse::<u32>().ok());
        assert!(numbers.next().flatten().is_some() && numbers.next().flatten().is_some(), "line and column: {last}");
        assert!(offered(&mut server, "read_report"));
    }
}

#[test]
fn a_hangup_fetches_a_description_again() {
    let fixture = Fixture::described("");
    let text = description(&fixture.shop);
    fixture.shop.publish(&text);
    let target = format!("openapi:{}/openapi.yaml", fixture.shop.url());
    let mut server = Fixture::start(&mut fixture.command(&["serve", &target]));
    assert!(offered(&mut server, "get_report"));
    fixture.shop.publish(&text.replace("operationId: getReport", "operationId: readReport"));
    signal("-HUP", server.pid());
    until("the new name is there", || offered(&mut server, "read_report").then_some(()));
    // A description that cannot be served changes nothing.
    fixture.shop.publish("paths: 5");
    signal("-HUP", server.pid());
    server.says("was not replaced");
    assert!(offered(&mut server, "read_report"));
}

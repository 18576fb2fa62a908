//! A redirect of the API does not lead to an operation that the operator denies or excludes.

use serde_json::json;

use super::Fixture;
use crate::support::{Server, Transport};

#[test]
fn redirects_do_not_lead_past_the_rules() {
    let deny = "[[gate.rule]]\nname = \"no report\"\neffect = \"deny\"\noperation = \"get_report\"\n";
    for (keys, rule, code) in
        [("", deny, "PERMISSION_DENIED"), ("exclude = [\"get_report\"]", "", "PERMISSION_DENIED"), ("", "", "done")]
    {
        let fixture = Fixture::described("");
        let moved = "paths:\n  /moved:\n    get: { operationId: getMoved, summary: Get what was moved., responses: { \"200\": { description: OK. } } }\n";
        fixture.edit("shop.yaml", "paths:\n", moved);
        fixture.configure(&format!(
            "[[source]]\nopenapi = \"shop.yaml\"\nbase_url = \"{}\"\nbearer_env = \"SHOP_TOKEN\"\n{keys}\n{rule}",
            fixture.shop.url()
        ));
        for transport in Transport::BOTH {
            let mut server = Server::spawn(transport, &mut fixture.command(&["serve"]));
            let request = json!({ "operation": "get_moved", "params": {} });
            assert_eq!(server.code("mcp_aql_read", request), code, "{transport:?} {keys} {rule}");
            assert_eq!(fixture.shop.take("/report").len(), usize::from(code == "done"), "{transport:?} {keys} {rule}");
        }
    }
}

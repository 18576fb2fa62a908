//! Who confirms: by default a person, and a model only if the operator says so, which every place that shows the policy
//! then tells.

use serde_json::{Value, json};

use crate::safety::{Fixture, delete, delete_with};
use crate::support::{Server, Transport, aquifer, text, token, with_people};

const MODEL_CONFIRMS: &str = "the model confirms its own calls";

fn serve(fixture: &Fixture, transport: Transport, options: &[&str]) -> Server {
    Server::spawn(transport, with_people(fixture.command(&["serve"])).args(options))
}

/// Sends a deletion twice, the second time with the token of the first answer.
fn delete_with_own_token(server: &mut Server) -> Value {
    let asked = server.call("mcp_aql_delete", delete(1));
    let token = token(&asked).unwrap_or_else(|| panic!("{asked}")).to_owned();
    server.call("mcp_aql_delete", delete_with(1, &token))
}

#[test]
fn r_saf_7_by_default_a_model_cannot_confirm_its_own_call() {
    for transport in Transport::BOTH {
        let fixture = Fixture::new("");
        let answer = delete_with_own_token(&mut serve(&fixture, transport, &[]));
        assert_eq!(answer["error"]["details"]["approval_status"], "pending", "{transport:?}: {answer}");
        assert_eq!(fixture.books(), 50, "{transport:?}");
        let shown = with_people(fixture.command(&["policy", "show"])).output().unwrap();
        assert!(text(&shown.stdout).contains("confirm (elicit, else approval)"), "{}", text(&shown.stdout));
        assert!(!text(&shown.stdout).contains(MODEL_CONFIRMS));
    }
}

#[test]
fn r_saf_7_an_operator_who_lets_models_confirm_is_told_so_everywhere() {
    let setting = "[gate.confirmation]\nmodel_confirms = true\n";
    let strength = "[gate.strength]\ndestructive = \"token\"\n";
    let rule =
        "[[gate.rule]]\neffect = \"confirm\"\nloosen = true\nstrength = \"token\"\noperation = \"delete_book\"\n";
    for (keys, options) in [(setting, &[][..]), (strength, &[]), (rule, &[]), ("", &["--model-confirms"])] {
        for transport in Transport::BOTH {
            let fixture = Fixture::new(keys);
            let mut server = serve(&fixture, transport, options);
            let answer = delete_with_own_token(&mut server);
            assert_eq!(answer["success"], true, "{keys} {options:?}: {answer}");
            match &mut server {
                Server::Stdio(piped) => piped.says(MODEL_CONFIRMS),
                Server::Http(served) => assert!(served.stderr_so_far().contains(MODEL_CONFIRMS)),
            }
            let said = |words: &[&str]| {
                let output = with_people(fixture.command(&[words, options].concat())).output().unwrap();
                text(&output.stdout) + &text(&output.stderr)
            };
            let shown = said(&["policy", "show"]);
            assert!(shown.contains(MODEL_CONFIRMS), "{keys}: {shown}");
            let told: Value = serde_json::from_str(&said(&["policy", "show", "--json"])).unwrap();
            assert_eq!(told["model_confirms"], true, "{keys}");
            if options.is_empty() {
                let config = fixture.folder.path("aquifer.toml");
                let validated = text(&with_people(aquifer()).args(["validate", &config]).output().unwrap().stderr);
                assert!(validated.contains(MODEL_CONFIRMS), "{keys}: {validated}");
            }
            let audit = text(&fixture.run(&["audit", "show"]).stdout);
            assert!(audit.contains("the model confirmed its own call"), "{audit}");
        }
    }
}

#[test]
fn r_saf_7_configurations_of_version_1_are_told_what_has_changed() {
    let fixture = Fixture::new("");
    let path = fixture.folder.path("aquifer.toml");
    let written = std::fs::read_to_string(&path).unwrap();
    let validate = |text_of_file: &str| {
        std::fs::write(&path, text_of_file).unwrap();
        let output = with_people(aquifer()).args(["validate", &path]).output().unwrap();
        assert!(output.status.success());
        text(&output.stderr)
    };
    for old in [written.clone(), format!("version = 1\n{written}")] {
        let warned = validate(&old);
        assert!(warned.contains("model_confirms = true") && warned.contains("version = 2"), "{warned}");
    }
    assert_eq!(validate(&format!("version = 2\n{written}")), "");
    assert!(!validate(&format!("{written}\n[gate.confirmation]\nmodel_confirms = true\n")).contains("version = 2"));
}

#[test]
fn r_saf_7_the_command_line_asks_the_person_at_the_terminal() {
    let fixture = Fixture::new("");
    let call = ["call", "delete_book", r#"{"id": 3}"#];
    let (code, shown) = fixture.person(&[("[y/N]", "n")], &call);
    assert_eq!((code, fixture.books()), (1, 50), "{shown}");
    let other = ["call", "delete_book", r#"{"id": 4}"#];
    let (code, shown) = fixture.person(&[("[y/N]", "y")], &other);
    assert_eq!((code, fixture.books()), (0, 49), "{shown}");
    // Without a terminal, the call waits.
    let waits = with_people(fixture.command(&["call", "delete_book", r#"{"id": 5}"#])).output().unwrap();
    let answer: Value = serde_json::from_slice(&waits.stdout).unwrap();
    assert_eq!(answer["error"]["details"]["approval_status"], json!("pending"), "{answer}");
}

//! `docs/tutorial.md`, followed step by step with one running demo.
//!
//! A block in `jsonc` is a request to the tool in its first line, and the next block in `json` is its answer. Commands are
//! run, and print what is shown. In answers and outputs, `…` stands for any text.

use serde_json::{Value, json};

use crate::documents::{read, root};
use crate::pages::{assert_shown, blocks, commands, is_same};
use crate::safety::Fixture;
use crate::support::{HttpServer, StdioServer, aquifer, shell, text, token, with_people};

/// The id of the approval in the commands of the page.
const APPROVAL: &str = "m3xk7q2p";

/// Somebody who follows the page.
struct Reader {
    demo: HttpServer,
    /// What the demo printed.
    printed: String,
    /// The answer to the latest request, until it was compared.
    answer: Option<Value>,
    /// The latest token and approval, and the secret to approve with.
    token: String,
    approval: String,
    secret: String,
    requests: usize,
    commands: usize,
}

#[test]
fn the_tutorial_works_as_written() {
    let mut demo = HttpServer::spawn(with_people(aquifer()).args(["demo", "--http", "127.0.0.1:0"]));
    let printed = demo.says("Press Ctrl-C to stop");
    let state = printed.lines().find_map(|line| line.trim().strip_prefix("aquifer audit show --state ")).unwrap();
    let page = read("docs/tutorial.md");
    let page = page.replace("/tmp/aquifer-demo-…", state).replace("127.0.0.1:3910", &demo.authority);
    let mut reader = Reader {
        demo,
        printed,
        answer: None,
        token: String::new(),
        approval: String::new(),
        secret: String::new(),
        requests: 0,
        commands: 0,
    };
    for block in blocks(&page) {
        match block.language {
            "jsonc" => reader.send(&block.text),
            "json" => reader.compare(&block.text),
            "text" => assert_shown(&block.text, &reader.printed, "aquifer demo"),
            "sh" => block.text.lines().for_each(|command| reader.type_command(command)),
            "console" => reader.run_commands(&block.text),
            other => panic!("nobody tries blocks in '{other}'"),
        }
    }
    assert!(reader.answer.is_none() && reader.requests >= 7 && reader.commands >= 6);
}

impl Reader {
    fn send(&mut self, block: &str) {
        let (tool, request) = block.strip_prefix("// ").unwrap().split_once('\n').unwrap();
        let mut request: Value = serde_json::from_str(request).unwrap();
        if let Some(shown) = request["params"].get_mut("confirmation_token") {
            assert_eq!(shown, "conf_…");
            *shown = json!(self.token);
        }
        let answer = self.demo.call(tool, request);
        if let Some(token) = token(&answer) {
            token.clone_into(&mut self.token);
        }
        if let Some(id) = answer["error"]["details"]["approval_id"].as_str() {
            id.clone_into(&mut self.approval);
        }
        assert!(self.answer.replace(answer).is_none(), "a request without an answer");
        self.requests += 1;
    }

    /// Compares an answer, or tries a configuration of a client.
    fn compare(&mut self, block: &str) {
        let shown: Value = serde_json::from_str(block).unwrap();
        let Some(answer) = self.answer.take() else { return self.connect(block, &shown) };
        // Answers may have tokens in them, which must not be printed.
        assert!(is_same(&shown, &answer), "the answer differs from {shown}");
    }

    fn connect(&self, block: &str, configuration: &Value) {
        let server = &configuration["mcpServers"]["aquifer"];
        let Some(arguments) = server["args"].as_array() else {
            assert!(self.printed.contains(block.trim()), "{block}");
            return;
        };
        assert_eq!(server["command"], "aquifer");
        let arguments: Vec<&str> = arguments.iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(StdioServer::initialized(&arguments, "2025-06-18").tools().len(), 5);
    }

    /// Commands that need a person, or that were carried out before.
    fn type_command(&mut self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["cargo", "install", "--path", path] => assert!(root().join(path).join("Cargo.toml").exists(), "{path}"),
            ["aquifer", "demo"] => {}
            ["aquifer", "approvals", "secret", ..] => {
                let shown = person(&[], &words);
                let secret = shown.lines().map(str::trim).find(|line| line.len() == 64 && line.contains('-'));
                secret.unwrap().clone_into(&mut self.secret);
            }
            ["aquifer", "approvals", "approve", ..] => {
                let words: Vec<&str> =
                    words.iter().map(|word| if *word == APPROVAL { &self.approval } else { *word }).collect();
                person(&[("Admin secret:", &self.secret), ("[y/N]", "y")], &words);
            }
            _ => panic!("nobody tries {command}"),
        }
        self.commands += 1;
    }

    fn run_commands(&mut self, block: &str) {
        for (command, shown) in commands(block) {
            let output = shell(command);
            let printed = text(&output.stdout);
            assert!(output.status.success(), "{command}: {printed}{}", text(&output.stderr));
            if !shown.trim().is_empty() {
                assert_shown(&shown, &printed, command);
            }
            self.commands += 1;
        }
    }
}

fn person(talk: &[(&str, &str)], words: &[&str]) -> String {
    let command = [&[env!("CARGO_BIN_EXE_aquifer")], &words[1..]].concat();
    let (code, shown) = Fixture::at_terminal("", talk, &command);
    assert_eq!(code, 0, "{words:?}: {shown}");
    shown
}

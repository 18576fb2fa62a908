//! `env_file`: what `${NAME}` stands for, kept beside the configuration and out of it.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::support::{Folder, StdioServer, children, forgetful, server, text, tools};

/// Two servers that can be asked for their environment, each with a variable of the file.
fn configured(folder: &Folder, values: &str) -> String {
    let [python, program, offered] = server(&folder.tools("tools.json", &tools()));
    let source = |name: &str, variable: &str| {
        format!(
            "[[source]]\nname = \"{name}\"\ncommand = \"{python}\"\nargs = [\"{program}\", \"{offered}\"]\n\
             env = {{ SEEN = \"<${{{variable}}}>\" }}\n"
        )
    };
    put(folder, values);
    folder.file("aquifer.toml", &format!("env_file = \"values.env\"\n{}{}", source("one", "ONE"), source("two", "TWO")))
}

fn put(folder: &Folder, values: &str) {
    let path = folder.file("values.env.draft", values);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(path, folder.path("values.env")).unwrap();
}

fn seen(piped: &mut StdioServer, source: &str, name: &str) -> String {
    let answer = piped.data("read", &format!("{source}_environment"), json!({ "name": name }));
    answer["wanted"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The file wins over the environment, servers see what is theirs, and a change reaches whom it concerns.
#[test]
fn values_come_from_the_file_and_change_with_it() {
    let folder = Folder::new();
    let config = configured(&folder, "# mine\nONE='first one'\nTWO=two\nOTHER=other\n");
    let mut command = forgetful(&folder);
    let mut piped =
        StdioServer::spawn(command.args(["serve", "--config", &config]).env("ONE", "of the shell").env("OTHER", "x"));
    piped.initialize("2025-06-18");
    assert_eq!(seen(&mut piped, "one", "SEEN"), "<first one>");
    assert_eq!(seen(&mut piped, "two", "SEEN"), "<two>");
    for hidden in ["ONE", "TWO", "OTHER"] {
        assert_eq!(seen(&mut piped, "one", hidden), "", "{hidden} was not named");
    }
    let before = children(piped.pid());
    put(&folder, "ONE=second\nTWO=two\nOTHER=another\n");
    piped.says("the changed configuration is in effect");
    assert_eq!(seen(&mut piped, "one", "SEEN"), "<second>");
    assert_eq!(seen(&mut piped, "two", "SEEN"), "<two>");
    let same = children(piped.pid()).iter().filter(|child| before.contains(child)).count();
    assert_eq!(same, 1, "the server that does not use what changed goes on");
    // What nobody refers to changes nothing, and a value that is gone is an error that changes nothing, either.
    put(&folder, "ONE=second\n");
    piped.says("TWO");
    assert_eq!(seen(&mut piped, "two", "SEEN"), "<two>");
}

#[test]
fn a_file_that_others_can_read_is_reported_and_one_that_is_missing_is_an_error() {
    let folder = Folder::new();
    let config = configured(&folder, "ONE=hush-4730\nTWO=hush-4731\n");
    std::fs::set_permissions(folder.path("values.env"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let call = || {
        let mut command = forgetful(&folder);
        command.args(["call", "one_environment", "{\"name\": \"PATH\"}", "--config", &config]).output().unwrap()
    };
    let open = call();
    let printed = text(&open.stderr);
    assert!(open.status.success() && printed.contains("chmod 600") && !printed.contains("hush"), "{printed}");
    std::fs::remove_file(folder.path("values.env")).unwrap();
    let missing = call();
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("values.env"), "{}", text(&missing.stderr));
}

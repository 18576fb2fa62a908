//! What `aquifer doctor` says about settings of tables that do not match the tables.

use serde_json::Value;

use crate::doctor::Machine;

/// The problems that the doctor finds with these settings of the only database.
fn problems(settings: &str) -> Vec<Value> {
    let machine = Machine::new();
    let target = machine.line("target =");
    machine.edit(&target, &format!("{target}\n{settings}"));
    machine.examine().0.into_iter().filter(|finding| finding["status"] == "problem").collect()
}

#[test]
fn settings_that_match_no_column_are_problems_of_their_source() {
    for (settings, expected) in [
        ("[source.tables.books]\nkey = [\"Nope\"]", "'key' names 'Nope', which is not a column of it"),
        (
            "[source.tables.books]\npresets.p = [\"titel\"]",
            "preset 'p' names 'titel', which is not a column of it. Did you mean 'title'?",
        ),
        (
            "[source.tables.bocks]\npresets.p = [\"title\"]",
            "names table 'bocks', which does not exist. Did you mean 'books'?",
        ),
        (
            "[source.tables.books]\ncomputed.x = { sql = \"nope(\", type = \"integer\" }",
            "computed field 'x' is left out, because the database rejects its expression",
        ),
        ("[source.tables.books]\nhide = [\"titel\"]", "'hide' names 'titel'"),
        ("[source.tables.bocks]\nhide = [\"title\"]", "'hide' is set for table 'bocks'"),
    ] {
        let found = problems(settings);
        assert_eq!(found.len(), 1, "{settings}: {found:#?}");
        let (message, advice) = (found[0]["message"].as_str().unwrap(), found[0]["advice"].as_str().unwrap());
        assert_eq!(found[0]["subject"], "source 'library'", "{found:?}");
        assert!(message.contains(expected), "{settings}: {message}");
        assert!(advice.contains("[source.tables]"), "{settings}: {advice}");
        assert!(!message.contains("Rejected") && !message.contains("SELECT"), "{message}");
    }
}

#[test]
fn settings_of_a_table_that_is_left_out_are_no_problem() {
    let found = problems("exclude = [\"old\"]\n[source.tables.old]\npresets.p = [\"title\"]");
    assert!(found.is_empty(), "{found:?}");
}

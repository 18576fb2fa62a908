//! Invalid settings are refused with the name of the rule and a suggestion.

use aquifer_gate::policy::{Policy, PolicySettings};

fn refused(toml: &str) -> String {
    match toml::from_str::<PolicySettings>(toml) {
        Ok(settings) => Policy::new(&settings).map(|_| ()).expect_err(toml).to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn r_saf_2_invalid_settings_are_reported_with_their_location() {
    let rule = |more: &str| format!("[[rule]]\neffect = \"deny\"\n[[rule]]\nname = \"second\"\n{more}\n");
    let place = "rule 2 'second': ";
    #[rustfmt::skip]
    let table = [
        (rule("effect = \"deny\"\noperation = \"\""), [place, "operation: an empty pattern"]),
        (rule("effect = \"deny\"\nsource = [\"a\", \"b|c\"]"), [place, "the pattern 'b|c' has '|' in it"]),
        (rule("effect = \"deny\"\ncaller = \" a\""), [place, "begins or ends with a blank"]),
        (rule("effect = \"deny\"\nscope = \"!\""), [place, "scope: an empty pattern"]),
        (rule("effect = \"deny\"\ndanger = \"destructve\""), [place, "unknown danger 'destructve'. Did you mean 'destructive'?"]),
        (rule("effect = \"deny\"\ndanger = \"x*\""), [place, "unknown danger 'x*'. Known are safe, "]),
        (rule("effect = \"deny\"\ncategory = \"DELTE\""), [place, "unknown category 'DELTE'. Did you mean 'DELETE'?"]),
        (rule("effect = \"deny\"\ncategory = \"READ+\""), [place, "unknown category"]),
        (rule("effect = \"deny\"\ncategory = [\"READ\", \"!READ\"]"), [place, "it can never apply"]),
        (rule("effect = \"deny\"\ndanger = \"!safe+\""), [place, "it can never apply"]),
        (rule("effect = \"deny\"\nloosen = true\noperation = \"*\""), [place, "a denial cannot loosen"]),
        (rule("effect = \"allow\"\nloosen = true"), [place, "has to name what it loosens"]),
        (rule("effect = \"allow\"\nloosen = true\nwhen = [{ param = \"a\", present = true }]"), [place, "has to name what it loosens"]),
        (rule("effect = \"allow\"\nloosen = true\ntable = \"orders\""), [place, "has to name the source of the tool or table"]),
        (rule("effect = \"allow\"\nloosen = true\nsource = \"!x\"\ntool = \"send\""), [place, "has to name the source of the tool or table"]),
        (rule("effect = \"allow\"\nloosen = true\nsource = \"*\"\ntool = \"send\""), [place, "has to name the source of the tool or table"]),
        (rule("effect = \"allow\"\nloosen = true\nsource = [\"shop\", \"s?\"]\ntable = \"orders\""), [place, "has to name the source of the tool or table"]),
        (rule("effect = \"deny\"\ntool = \"\""), [place, "tool: an empty pattern"]),
        (rule("effect = \"deny\"\ntable = \"a[b\""), [place, "table: the pattern 'a[b'"]),
        (rule("effect = \"deny\"\nwhen = [{ param = \"a\", greater = 1, ignore_case = true }]"), [place, "there is no case to ignore"]),
        (rule("effect = \"deny\"\nstrength = \"token\""), [place, "has a strength"]),
        (rule("effect = \"allow\"\nstrength = \"token\""), [place, "has a strength"]),
        (rule("effect = \"deny\"\nwhen = [{ param = \"a\" }]"), [place, "the condition on 'a' tests nothing"]),
        (rule("effect = \"deny\"\nwhen = [{ param = \"a\", equals = 1, less = 2 }]"), [place, "has two tests"]),
        (rule("effect = \"deny\"\nwhen = [{ param = \"a\", one_of = [] }]"), [place, "'one_of' is empty"]),
        (rule("effect = \"deny\"\nwhen = [{ param = \"a\", equals = [1] }]"), [place, "a list or a table"]),
        (rule("effect = \"deny\"\nwhen = [{ param = \"a\", greater = nan }]"), [place, "other than a number"]),
        (rule("effect = \"deny\"\nwhen = [{ param = \"a\", matches = \"[x]\" }]"), [place, "'a': the pattern '[x]'"]),
        (rule("effect = \"deny\"\nwhen = [{ equals = 1 }]"), [place, "needs 'param'"]),
        (rule("effect = \"deny\"\nwhen = [{ param = \"a..b\", equals = 1 }]"), [place, "needs 'param'"]),
        (rule("effect = \"deny\"\n[[rule]]\nname = \"second\"\neffect = \"deny\""), ["rule 3 'second': ", "the same name"]),
        ("[[rule]]\neffect = \"deny\"\nname = \" \"\n".to_owned(), ["rule 1 ' ': ", "its name is empty"]),
        ("[[rule]]\neffect = \"deny\"\noperation = \"\"\n".to_owned(), ["rule 1: ", "an empty pattern"]),
        ("[matrix.destructiv]\ncertified = \"allow\"\n".to_owned(), ["matrix: ", "Did you mean 'destructive'?"]),
        ("[matrix.safe]\ncertifid = \"allow\"\n".to_owned(), ["matrix: ", "Did you mean 'certified'?"]),
        ("[strength]\ndangerus = \"approval\"\n".to_owned(), ["strength: ", "Did you mean 'dangerous'?"]),
        ("[trust_policy]\nminimum_trust_for_deletes = \"comunity_reviewed\"\n".to_owned(), ["minimum_trust_for_deletes: ", "Did you mean 'community_reviewed'?"]),
        ("[trust_policy]\nrequire_confirmation_below = \"some\"\n".to_owned(), ["require_confirmation_below: ", "Known are untested, "]),
        // Errors of serde have a line and a column.
        ("[[rule]]\noperation = \"a\"\n".to_owned(), ["line 1", "missing field `effect`"]),
        ("[[rule]]\neffect = \"alow\"\n".to_owned(), ["line 2", "expected one of `allow`, `confirm`, `deny`"]),
        ("[[rule]]\neffect = \"deny\"\nopration = \"a\"\n".to_owned(), ["line 3", "unknown field `opration`"]),
        ("[[rule]]\neffect = \"deny\"\noperation = 3\n".to_owned(), ["line 3", "expected a string or a list of strings"]),
        ("[[rule]]\neffect = \"allow\"\nloosen = true\noperation = []\n".to_owned(), ["line 4", "an empty list is not allowed: list at least one pattern, or remove the key to match everything"]),
        ("[matrix.safe]\nuntested = \"ask\"\n".to_owned(), ["line 2", "`introspect_only`"]),
        ("[trust_policy]\nminimum_trust_for_delete = \"validated\"\n".to_owned(), ["line 2", "`minimum_trust_for_deletes`"]),
        ("rules = []\n".to_owned(), ["line 1", "expected one of `matrix`, `trust_policy`, `strength`, `model_confirms`, `rule`"]),
    ];
    for (toml, words) in table {
        let message = refused(&toml);
        for words in words {
            assert!(message.contains(words), "{toml}\nsays: {message}\nwithout: {words}");
        }
    }
}

#[test]
fn r_saf_2_all_problems_are_reported_at_once() {
    let message = refused(
        "[matrix.x]\nsafe = \"deny\"\n[strength]\ny = \"token\"\n[trust_policy]\nminimum_trust_for_reads = \"z\"\n\
         [[rule]]\neffect = \"deny\"\noperation = \"\"\ndanger = \"w\"\n[[rule]]\neffect = \"deny\"\nloosen = true\n",
    );
    assert_eq!(message.lines().count(), 8, "{message}");
}

#[test]
fn r_saf_2_empty_settings_give_the_published_policy() {
    assert_eq!(toml::from_str::<PolicySettings>("").unwrap(), PolicySettings::default());
    assert!(Policy::new(&PolicySettings::default()).is_ok());
}

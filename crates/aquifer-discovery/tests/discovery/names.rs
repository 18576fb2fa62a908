//! Names (R-DIS-3, R-END-5a).

use aquifer_discovery::name::{self, NameReason};

#[test]
fn r_dis_3_operations_are_snake_case_and_unique() {
    let names = |tools: &[&str]| -> Vec<String> {
        name::operations(tools.iter().copied()).into_iter().map(|assigned| assigned.name).collect()
    };
    for (tool, expected) in [
        ("get_user", "get_user"),
        ("getUser", "get_user"),
        ("get-user", "get_user"),
        ("Get User", "get_user"),
        ("getHTTPResponse", "get_http_response"),
        ("_private", "private"),
        ("a.b/c", "a_b_c"),
        ("größe", "grosse"),
        ("2fa", "n2fa"),
        ("", "tool"),
        ("!!!", "tool"),
    ] {
        assert_eq!(names(&[tool]), [expected], "{tool}");
    }
}

#[test]
fn r_dis_3_collisions_do_not_depend_on_the_order() {
    let tools =
        ["get_user", "getUser", "get-user", "listAll", "list-all", "introspect", "Introspect", "introspect_tool"];
    let names = name::operations(tools);
    let mut reversed = name::operations(tools.iter().rev().copied());
    reversed.reverse();
    assert_eq!(names, reversed);
    assert_eq!(names[0].name, "get_user");
    assert_eq!((names[1].reason, names[2].reason), (NameReason::Collided, NameReason::Collided));
    assert!(names[1].name.starts_with("get_user_x"), "{names:?}");
    assert_eq!(names[5].reason, NameReason::Reserved);
    let mut unique: Vec<&String> = names.iter().map(|assigned| &assigned.name).collect();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), tools.len());
}

#[test]
fn r_end_5a_reserved_names_are_changed() {
    for reserved in aquifer_protocol::operation::RESERVED {
        let assigned = name::operations([*reserved]).remove(0);
        assert_eq!((assigned.name, assigned.reason), (format!("{reserved}_tool"), NameReason::Reserved));
    }
}

#[test]
fn r_dis_7_parameters_are_translated() {
    let originals =
        ["_meta", "userId", "user_id", "per-page", "sort by", "größe", "operation", "confirmation_token", "日本"];
    let names: Vec<String> = name::parameters(originals).into_iter().map(|assigned| assigned.name).collect();
    assert_eq!(names[0], "meta");
    assert!(names[1].starts_with("user_id_x"), "{names:?}");
    assert_eq!(names[2..8], ["user_id", "per_page", "sort_by", "grosse", "operation", "confirmation_token_parameter"]);
    assert!(aquifer_protocol::operation::is_snake_case(&names[8]), "{names:?}");
}

#[test]
fn r_dis_7a_established_names_stay_and_no_other_tool_gets_them() {
    // Established tools with their names, names kept for tools that are away, what is listed, and the names that come.
    #[expect(clippy::type_complexity, reason = "a table")]
    let table: &[(&[(&str, &str)], &[&str], &[&str], &[&str])] = &[
        (&[("foo-bar", "foo_bar")], &[], &["foo_bar", "foo-bar"], &["foo_bar_x", "foo_bar"]),
        (&[("foo-bar", "foo_bar")], &[], &["foo-bar", "fooBar", "foo.bar"], &["foo_bar", "foo_bar_x", "foo_bar_x"]),
        (&[], &["foo_bar"], &["foo_bar"], &["foo_bar_x"]),
        (&[("a", "b")], &[], &["a", "b"], &["b", "b_x"]),
        // Two that changed places keep what they had.
        (&[("a", "b"), ("b", "a")], &[], &["a", "b"], &["b", "a"]),
        // What could not be served, or what two claim, is given anew.
        (&[("a", "introspect")], &[], &["a"], &["a"]),
        (&[("a", "Not Snake")], &[], &["a"], &["a"]),
        (&[("a", "x"), ("b", "x")], &[], &["a", "b"], &["x", "b"]),
        (&[("gone", "foo_bar")], &["foo_bar"], &["foo_bar"], &["foo_bar_x"]),
    ];
    for (known, reserved, listed, expected) in table {
        let mut established = name::EstablishedNames::default();
        known.iter().for_each(|(tool, operation)| established.keep(tool, operation));
        reserved.iter().for_each(|operation| established.reserve(operation));
        let assigned = name::operations_with_established(listed.iter().copied(), &established);
        let names: Vec<&str> = assigned.iter().map(|assigned| assigned.name.as_str()).collect();
        for (name, expected) in names.iter().zip(*expected) {
            let is_expected = match expected.strip_suffix("_x") {
                Some(base) => name.starts_with(&format!("{base}_x")) && name.len() > base.len() + 2,
                None => name == expected,
            };
            assert!(is_expected, "{known:?} {reserved:?} {listed:?}: {names:?}");
        }
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len(), "{names:?}");
    }
}

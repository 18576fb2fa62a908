//! Each limit, at its exact value and one beyond it (R-REQ-7).

use super::*;

/// Replaces `~` by 38 spaces, so that `[~]` has the maximum length of a request.
fn blanks(message: &str) -> String {
    message.replace('~', &" ".repeat(SMALL.max_request_size - 2))
}

#[track_caller]
fn check_small(frame: Frame, cases: &[(&str, Result<(), Problem>)]) {
    let cases: Vec<_> = cases.iter().map(|(message, expected)| (blanks(message), expected.clone())).collect();
    check(frame, &SMALL, &cases);
}

#[test]
fn r_req_7_a_bare_request_meets_each_limit() {
    let deep = |actual| too_large(LimitKind::NestingDepth, 3, actual);
    let wide = |actual| too_large(LimitKind::ArrayElements, 3, actual);
    let long = |actual| too_large(LimitKind::StringLength, 9, actual);
    let large = |actual| too_large(LimitKind::RequestSize, 40, actual);
    check_small(
        Frame::Bare,
        &[
            ("[[[1]]]", Ok(())),
            ("[[[[1], [[]]]]]", deep(5)),
            (r#"[{"a":[]}, {"a":{"[[[": "{"}}]"#, Ok(())),
            (r#"[{"a":{"b":[{"c":"]]["}, 1]}}]"#, deep(5)),
            ("[1,2,3]", Ok(())),
            (r#"[[1,2,3,[4,5],"6,6",{}],7]"#, wide(6)),
            (r#""123456789""#, Ok(())),
            (r#""1234567890""#, long(10)),
            (r#"{"1234567890":1}"#, long(10)),
            (r#""\u0031\u0032\u0033\u0034\u0035""#, Ok(())),
            (r#""12345678\u00e9""#, long(10)),
            (r#""123456\ud83d\ude00""#, long(10)),
            (r#""1234567é""#, Ok(())),
            (r#""12345678é""#, long(10)),
            (r#"["1","~"]"#, long(38)),
            ("[~]", Ok(())),
            ("[~ ]", large(41)),
            ("[~]\n", large(41)),
        ],
    );
}

#[test]
fn r_req_7_inside_mcp_only_the_arguments_are_the_request() {
    let deep = |actual| too_large(LimitKind::NestingDepth, 3, actual);
    let wide = |actual| too_large(LimitKind::ArrayElements, 3, actual);
    let long = |actual| too_large(LimitKind::StringLength, 9, actual);
    let large = |actual| too_large(LimitKind::RequestSize, 40, actual);
    for (arguments, expected) in [
        ("[[[]]]", Ok(())),
        ("[[[[]]]]", deep(4)),
        ("[1,2,3]", Ok(())),
        ("[1,2,3,4]", wide(4)),
        (r#""1234567890""#, long(10)),
        ("[~]", Ok(())),
        (" [~] ", Ok(())),
        ("[~ ]", large(41)),
        ("  [~ ]  ", large(41)),
        ("[~  1 2]  ", large(45)),
        ("[1 2~  ]  ", syntax(46, "`,` or `]`")),
    ] {
        let message = format!(r#"{{"id":1,"params":{{"name":"aql","arguments":{arguments}}},"method":"call"}}"#);
        check_small(Frame::Mcp, &[(&message, expected)]);
    }
    check_small(
        Frame::Mcp,
        &[
            (r#"{"p\u0061rams":{"\u0061rguments":[~~]}}"#, large(78)),
            (r#"{"params":{"arguments":[~~],"arguments":1}}"#, large(78)),
            (r#"{"params":{"_meta":[~~]}}"#, Ok(())),
            (r#"{"params":[{"arguments":[~~]}]}"#, Ok(())),
            (r#"{"params":{"a":{"arguments":[~~]}}}"#, Ok(())),
            (r#"{"arguments":[~~]}"#, Ok(())),
            (r#"{"other":{"arguments":[~~]}}"#, Ok(())),
            (r#"{"params":{},"other":{"arguments":[~~]}}"#, Ok(())),
            (r#"[{"params":{"arguments":[~~]}}]"#, Ok(())),
            (r#"{"a":[[[[]]]]}"#, Ok(())),
            (r#"{"a":[[[[[]]]]]}"#, deep(4)),
            (r#"{"a":["1234567890"]}"#, long(10)),
        ],
    );
}

#[test]
fn r_req_7_the_first_problem_in_byte_order_is_the_one_reported() {
    let deep = |actual| too_large(LimitKind::NestingDepth, 3, actual);
    let wide = |actual| too_large(LimitKind::ArrayElements, 3, actual);
    let long = |actual| too_large(LimitKind::StringLength, 9, actual);
    let large = |actual| too_large(LimitKind::RequestSize, 40, actual);
    check_small(
        Frame::Bare,
        &[
            (r#"{"a":1,"a":{"b":1,"b":2}}"#, duplicate(7, "a")),
            (r#"{"a":{"b":1,"b":2},"a":1}"#, duplicate(12, "b")),
            (r#"{"a":1,"a":2"#, duplicate(7, "a")),
            (r#"{"a":1,"a":{"b":1,"b":2,?"#, duplicate(7, "a")),
            (r#"{"a":1,"a":[1,2,3,4]}"#, duplicate(7, "a")),
            (r#"{"a":[1,2,3,4],"a":1}"#, wide(4)),
            (r#"[1,2,3,4"#, wide(4)),
            (r#"[[[["\x"#, deep(4)),
            (r#"[01,[[["#, syntax(2, "`,` or `]`")),
            (r#""1234567890\x""#, long(10)),
            (r#""1\x234567890""#, syntax(3, "a known escape")),
            ("  x~~", syntax(2, "a value")),
            ("  []~x", large(43)),
            ("[~]x", syntax(40, "nothing after the value")),
            (r#""1234567890"~~"#, long(10)),
            (r#"~"1234567890""#, large(50)),
            (r#"{"a":0,"a":1,~~b}"#, duplicate(7, "a")),
            (r#"{"a":0,~"a":1}"#, large(51)),
        ],
    );
}

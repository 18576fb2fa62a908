//! Messages designed to be expensive (R-REQ-7). The tests check the answer; with more than linear time they would not
//! finish.

use super::*;

const WIDE: Limits = Limits {
    max_request_size: 64 << 20,
    max_response_size: 1 << 20,
    max_string_length: 1 << 20,
    max_array_elements: 10_000,
    max_nesting_depth: 32,
};

fn in_mcp(arguments: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"arguments":{arguments}}},"id":7}}"#)
}

#[test]
fn r_req_7_hostile_nesting() {
    let open = "[".repeat(1_000_000);
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
    let deep = |actual| too_large(LimitKind::NestingDepth, 32, actual);
    check(
        Frame::Bare,
        &WIDE,
        &[
            (&open, deep(1_000_000)),
            (&nested(1_000_000), deep(1_000_000)),
            (&nested(200), deep(200)),
            (&nested(33), deep(33)),
            (&nested(32), Ok(())),
            (&objects, deep(200)),
        ],
    );
    check(
        Frame::Mcp,
        &WIDE,
        &[
            (in_mcp(&open), deep(1_000_000)),
            (in_mcp(&nested(200)), deep(200)),
            (in_mcp(&objects), deep(200)),
            (in_mcp(&nested(33)), deep(33)),
            (in_mcp(&nested(32)), Ok(())),
        ],
    );
}

#[test]
fn r_req_7_hostile_arrays() {
    let array = |count: usize| format!("[0{}]", ",0".repeat(count - 1));
    let long = |actual| too_large(LimitKind::ArrayElements, 10_000, actual);
    let endless = format!("[{}", "[],".repeat(1_000_000));
    check(
        Frame::Bare,
        &WIDE,
        &[
            (array(1_000_000), long(1_000_000)),
            (array(10_001), long(10_001)),
            (array(10_000), Ok(())),
            (endless, long(1_000_001)),
        ],
    );
}

#[test]
fn r_req_7_hostile_strings() {
    let mebi = 1 << 20;
    let long = |actual| too_large(LimitKind::StringLength, mebi, actual);
    let quoted = |text: &str, count: usize| format!("\"{}\"", text.repeat(count));
    check(
        Frame::Bare,
        &WIDE,
        &[
            (quoted("a", mebi), Ok(())),
            (quoted("a", mebi + 1), long(mebi + 1)),
            (quoted("a", 3_000_000), long(3_000_000)),
            (quoted("\\u0061", mebi), Ok(())),
            (quoted("\\ud83d\\ude00", mebi), long(4 * mebi)),
            (format!("\"{}", "a\\\\".repeat(mebi)), long(2 * mebi)),
        ],
    );
    check(
        Frame::Mcp,
        &Limits::default(),
        &[
            (in_mcp(&quoted("a", mebi)), too_large(LimitKind::RequestSize, mebi, mebi + 2)),
            (in_mcp(&format!("[{},?]", quoted("a", mebi))), too_large(LimitKind::RequestSize, mebi, mebi + 6)),
            (format!("{{\"a\":{}}}", quoted("a", mebi + 1)), long(mebi + 1)),
        ],
    );
}

#[test]
fn r_req_7_hostile_objects() {
    let members = |count: usize| (0..count).map(|n| format!("\"k{n}\":0,")).collect::<String>();
    let many = members(100_000);
    let open_objects = format!("{{{many}\"x\":").repeat(3);
    check(
        Frame::Bare,
        &WIDE,
        &[
            (format!("{{{many}\"last\":0}}"), Ok(())),
            (format!("{{{many}\"k7\":0}}"), duplicate(many.len() + 1, "k7")),
            (format!("{{{many}\"\\u006b0\":0,\"k1\":0,\"k0\":0}}"), duplicate(many.len() + 1, "k0")),
            (format!("{open_objects}?"), syntax(open_objects.len(), "a value")),
            (format!("{{{many}\"k9\":0,{open_objects}?"), duplicate(many.len() + 1, "k9")),
        ],
    );
}

//! The id in the answer to a message that could not be parsed. A message that exceeds a limit is answered with a
//! failure (R-REQ-7), which its client can assign only by the id.

use super::*;

#[track_caller]
fn check(cases: &[(&str, Option<&str>, Option<&str>)]) {
    for (message, id, method) in cases {
        let mut salvage = Salvage::new();
        salvage.push(message.as_bytes());
        let expected = (id.map(str::to_owned), method.map(str::to_owned), message.len());
        let found = salvage.finish();
        assert_eq!((found.id, found.method, found.bytes), expected, "{message}");
        assert_eq!(found.has_id, Salvage::search(message.as_bytes()).has_id, "{message}");
    }
}

#[test]
fn r_req_7_the_id_is_found_wherever_it_stands() {
    check(&[
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Some("1"), Some("ping")),
        (r#"{"method":"tools/call","params":{"arguments":{"id":5}},"id":2}"#, Some("2"), Some("tools/call")),
        (r#" { "id" : "a\u0062" , "method" : "m\u0065thod" } "#, Some(r#""a\u0062""#), Some("method")),
        (r#"{"id":-3,"params":[[{"id":4}],"]}"]}"#, Some("-3"), None),
        (r#"{"params":{"text":"\"}, \"id\":9, {\\"},"id":3}"#, Some("3"), None),
        (r#"{"\u0069d":18446744073709551615}"#, Some("18446744073709551615"), None),
        (r#"{"params":"\ud800","id":"x","method":"m"}"#, Some("\"x\""), Some("m")),
        (r#"{"id":8,"params":{"cut":"#, Some("8"), None),
        (r#"{"params":{"a":1,,},"id":8}"#, Some("8"), None),
    ]);
}

#[test]
fn r_req_7_no_id_rather_than_a_wrong_one() {
    check(&[
        ("", None, None),
        ("[]", None, None),
        (r#"[{"id":1,"method":"ping"}]"#, None, None),
        (r#"["id",1]"#, None, None),
        (r#"{"params":{"id":1,"method":"x"}}"#, None, None),
        (r#"{"a":"id","b":"\"id\":1"}"#, None, None),
        (r#"{"id":1,"id":1}"#, None, None),
        (r#"{"id":1,"\u0069d":2,"method":"m"}"#, None, Some("m")),
        (r#"{"id":1}{"id":2}"#, None, None),
        (r#"{"id":1,"id":"#, None, None),
        (r#"{"method":"a","id":1,"method":"b"}"#, Some("1"), None),
        (r#"{"id":null}"#, None, None),
        (r#"{"id":true}"#, None, None),
        (r#"{"id":1.5}"#, None, None),
        (r#"{"id":1e3}"#, None, None),
        (r#"{"id":18446744073709551616}"#, None, None),
        (r#"{"id":{"id":1}}"#, None, None),
        (r#"{"id":[1],"method":["m"]}"#, None, None),
        (r#"{"id":01}"#, None, None),
        (r#"{"id":1 2}"#, None, None),
        (r#"{"id":"a" "b"}"#, None, None),
        (r#"{"id":"a"b}"#, None, None),
        (r#"{"id":1:2}"#, None, None),
        (r#"{"id":"\ud800"}"#, None, None),
        (r#"{"id":"\x"}"#, None, None),
        (r#"{"id":}"#, None, None),
        (r#"{"id"}"#, None, None),
        (r#"{"id":12"#, None, None),
        (r#"{"id":"12"#, None, None),
        (r#"{"id":1]"#, None, None),
        (r#"{"params":{"a":[1},"id":2}"#, None, None),
        (r#"{"params":{"a":1],"id":2,"b":3}"#, None, None),
        (r#"}{"id":2}"#, None, None),
    ]);
}

#[test]
fn r_req_7_a_long_id_is_not_kept() {
    let message = |length: usize| format!(r#"{{"id":"{}"   }}"#, "i".repeat(length - 2));
    let longest = format!("\"{}\"", "i".repeat(254));
    check(&[(&message(256), Some(&longest), None), (&message(257), None, None)]);
}

#[test]
fn r_req_8_an_id_that_is_not_unicode_is_not_kept() {
    let mut salvage = Salvage::new();
    salvage.push(b"{\"id\":\"\xff\",\"method\":\"m\xff\"}");
    assert_eq!(salvage.finish(), SalvagedMessage { id: None, has_id: true, method: None, bytes: 24 });
}

#[test]
fn r_req_7_the_id_is_found_behind_any_amount_of_hostile_text() {
    let nested = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let text = format!("\"{}\"", "a\\\"".repeat(1_000_000));
    let wide = format!("[{}0]", "0,".repeat(1_000_000));
    for params in [nested, text, wide] {
        let message = format!(r#"{{"method":"tools/call","params":{params},"id":"behind"}}"#);
        check(&[(&message, Some("\"behind\""), Some("tools/call"))]);
    }
}

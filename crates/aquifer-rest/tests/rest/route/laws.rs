//! Properties that hold for all values: the target reads what the caller sent, in the place where it belongs.

use aquifer_rest::route::{Body, BodyEncoding, FieldEncoding, Method, Place, Style};
use base64::Engine as _;
use proptest::prelude::*;
use serde_json::json;

use super::{get, parameter, request, route, simple, style};

/// Text with all characters that have a meaning in URLs and headers.
fn odd_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z./?#%&=+;,:@ \\\\\\[\\]{}|'\"<>~!$()*^`-]{0,12}",
        "(%2[eEfF]|\\.|/|\\\\){0,6}",
        "\\PC{0,8}",
        any::<String>(),
    ]
}

/// Decodes percent-encoding alone.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap();
                bytes.push(u8::try_from(digit(high) * 16 + digit(low)).unwrap());
                rest = after;
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Whether a value is a dot segment, or has one next to a slash, in any spelling.
fn has_dot_segment(value: &str) -> bool {
    let is_dots = |piece: &str| matches!(piece.split(';').next().unwrap(), "." | "..");
    let mut read = value.to_lowercase();
    for _ in 0..3 {
        for (escape, character) in [("%25", "%"), ("%2e", "."), ("%2f", "/"), ("%5c", "/"), ("\\", "/"), ("%3b", ";")] {
            read = read.replace(escape, character);
        }
    }
    is_dots(value) || (read.contains('/') && read.split('/').any(is_dots))
}

proptest! {
    #[test]
    fn path_values_fill_exactly_their_segment(value in odd_text()) {
        let route = get("/a/{v}/b", &[("v", simple())]);
        if let Ok(request) = request(&route, json!({"v": value})) {
            let url = request.url.clone();
            let segments: Vec<&str> = url.path_segments().unwrap().collect();
            prop_assert_eq!(segments.len(), 4, "{}", request.url);
            prop_assert_eq!((segments[0], segments[1], segments[3]), ("v1", "a", "b"));
            prop_assert_eq!(decoded(segments[2]), value);
            prop_assert_eq!((url.query(), url.fragment(), url.host_str()), (None, None, Some("api.example")));
        } else {
            let is_refused = value.is_empty() || has_dot_segment(&value) || value.chars().any(char::is_control);
            prop_assert!(is_refused, "{:?}", value);
        }
    }

    #[test]
    fn query_values_arrive_as_they_were_sent(name in odd_text(), value in odd_text(), next in odd_text()) {
        let notation = style(Style::Form, true);
        let place = Place::Query { notation, allow_reserved: false };
        let mut route = get("/a", &[("v", place), ("w", place)]);
        route.parameters[0].original_name = name.as_str().into();
        let request = request(&route, json!({"v": value, "w": next})).unwrap();
        let url = request.url.clone();
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        prop_assert_eq!(pairs, vec![(name, value), ("w".to_owned(), next)]);
        prop_assert_eq!(url.fragment(), None);
    }

    #[test]
    fn reserved_values_never_become_another_parameter(value in odd_text()) {
        let place = |allow_reserved| Place::Query { notation: style(Style::Form, true), allow_reserved };
        let route = get("/a", &[("v", place(true)), ("w", place(false))]);
        let request = request(&route, json!({"v": value, "w": 1})).unwrap();
        let url = request.url.clone();
        let names: Vec<String> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
        prop_assert_eq!(names, vec!["v", "w"]);
        prop_assert_eq!((url.path(), url.fragment()), ("/v1/a", None));
    }

    #[test]
    fn headers_and_cookies_stay_in_their_line(value in odd_text(), cookie in odd_text()) {
        let header = Place::Header(style(Style::Simple, true));
        let route = get("/a", &[("X-V", header), ("c", Place::Cookie(style(Style::Form, true))), ("d", Place::Cookie(style(Style::Form, true)))]);
        if let Ok(request) = request(&route, json!({"X-V": value, "c": cookie, "d": 1})) {
            prop_assert_eq!(request.headers.len(), 3);
            prop_assert_eq!(&request.headers[1].1, value.trim_matches(' ').trim());
            for (_, text) in &request.headers {
                prop_assert!(text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')), "{:?}", text);
            }
            let cookies: Vec<&str> = request.headers[2].1.split("; ").collect();
            prop_assert_eq!(cookies.len(), 2);
            prop_assert_eq!(decoded(cookies[0].strip_prefix("c=").unwrap()), cookie);
        }
    }

    #[test]
    fn multipart_parts_contain_exactly_their_content(content in any::<Vec<u8>>(), filename in odd_text(), text in odd_text()) {
        let body = Body {
            media_type: "multipart/form-data".into(),
            encoding: BodyEncoding::Multipart,
            required: true,
            fields: vec![("file".into(), FieldEncoding::File)],
        };
        let mut route = route(Method::Post, "/a");
        route.body = Some(body);
        route.parameters = vec![parameter("text", Place::BodyField), parameter("file", Place::BodyField)];
        let base64 = base64::engine::general_purpose::STANDARD.encode(&content);
        let request = request(&route, json!({"text": text, "file": {"content": base64, "filename": filename}})).unwrap();
        let body = request.body.unwrap();
        let boundary = format!("--{}", body.media_type.split_once("boundary=").unwrap().1);
        let starts: Vec<usize> = (0..body.bytes.len()).filter(|at| body.bytes[*at..].starts_with(boundary.as_bytes())).collect();
        prop_assert_eq!(starts.len(), 3);
        let part = |number: usize| {
            let part = &body.bytes[starts[number] + boundary.len() + 2..starts[number + 1] - 2];
            let end = part.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
            (String::from_utf8(part[..end].to_vec()).unwrap(), part[end + 4..].to_vec())
        };
        prop_assert_eq!(part(0).1, text.into_bytes());
        let (head, actual) = part(1);
        prop_assert_eq!(actual, content);
        prop_assert_eq!(head.lines().count(), 2, "{}", head);
    }
}

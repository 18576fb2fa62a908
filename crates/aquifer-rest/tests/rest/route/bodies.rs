//! Bodies: JSON, forms, multipart data, text and bytes.

use aquifer_protocol::error::Code;
use aquifer_rest::Route;
use aquifer_rest::route::{Body, BodyEncoding, FieldEncoding, Method, Notation, Place, Style};
use serde_json::{Value, json};

use super::{assert_refused, parameter, request, route, style};

fn post(encoding: BodyEncoding, media_type: &str, parameters: &[(&str, Place)]) -> Route {
    let body = Body { media_type: media_type.into(), encoding, required: true, fields: Vec::new() };
    let parameters = parameters.iter().map(|(name, place)| parameter(name, *place)).collect();
    Route { parameters, body: Some(body), ..route(Method::Post, "/x") }
}

fn with_field(mut route: Route, name: &str, encoding: FieldEncoding) -> Route {
    route.body.as_mut().unwrap().fields.push((name.into(), encoding));
    route
}

/// The media type and the body of a request.
fn sent(route: &Route, params: Value) -> (String, String) {
    let body = request(route, params).unwrap().body.unwrap();
    (body.media_type, String::from_utf8(body.bytes.to_vec()).unwrap())
}

#[test]
fn json_bodies_keep_order_and_null() {
    let fields = [("b", Place::BodyField), ("a", Place::BodyField), ("c", Place::BodyField)];
    let route = post(BodyEncoding::Json, "application/merge-patch+json", &fields);
    let (media_type, text) = sent(&route, json!({"a": 1, "b": null}));
    assert_eq!((media_type.as_str(), text.as_str()), ("application/merge-patch+json", r#"{"b":null,"a":1}"#));
    assert_eq!(sent(&route, json!({})).1, "{}");
    let whole = post(BodyEncoding::Json, "application/json", &[("body", Place::Body)]);
    assert_eq!(sent(&whole, json!({"body": [1, {"z": 1, "a": 1.10}]})).1, r#"[1,{"z":1,"a":1.1}]"#);
    assert_refused(&whole, json!({}), Code::ValidationMissingParam, "body");
    let both = post(BodyEncoding::Json, "application/json", &[("body", Place::Body), ("a", Place::BodyField)]);
    assert_eq!(sent(&both, json!({"body": {"b": 1}, "a": 2})).1, r#"{"b":1,"a":2}"#);
    assert_refused(&both, json!({"body": [1], "a": 2}), Code::ValidationInvalidType, "body");
}

#[test]
fn optional_bodies_are_left_out() {
    let mut route = post(BodyEncoding::Json, "application/json", &[("a", Place::BodyField)]);
    route.body.as_mut().unwrap().required = false;
    assert_eq!(request(&route, json!({})).unwrap().body, None);
    assert_eq!(sent(&route, json!({"a": null})).1, r#"{"a":null}"#);
}

#[test]
fn forms_are_encoded() {
    let fields = [("a", Place::BodyField), ("list", Place::BodyField), ("object", Place::BodyField)];
    let route = post(BodyEncoding::Form, "application/x-www-form-urlencoded", &fields);
    let params = json!({"a": "x&y=z é", "list": [1, "b c"], "object": {"k": true}});
    let (media_type, text) = sent(&route, params.clone());
    assert_eq!(media_type, "application/x-www-form-urlencoded");
    assert_eq!(text, "a=x%26y%3Dz%20%C3%A9&list=1&list=b%20c&object=%7B%22k%22%3Atrue%7D");
    let deep = FieldEncoding::Notation(style(Style::DeepObject, true));
    let route = with_field(with_field(route, "object", deep.clone()), "list", deep);
    assert!(sent(&route, params).1.ends_with("list%5B%5D=1&list%5B%5D=b%20c&object%5Bk%5D=true"));
    let whole = post(BodyEncoding::Form, "application/x-www-form-urlencoded", &[("body", Place::Body)]);
    assert_eq!(sent(&whole, json!({"body": {"a": 1, "b": null}})).1, "a=1");
    assert_refused(&whole, json!({"body": "a=1"}), Code::ValidationInvalidType, "body");
}

fn boundary(media_type: &str) -> String {
    media_type.strip_prefix("multipart/form-data; boundary=").unwrap().to_owned()
}

#[test]
fn multipart_data_is_written_exactly() {
    let fields = [
        ("note", Place::BodyField),
        ("tags", Place::BodyField),
        ("meta", Place::BodyField),
        ("file", Place::BodyField),
    ];
    let route = with_field(post(BodyEncoding::Multipart, "multipart/form-data", &fields), "file", FieldEncoding::File);
    let file = json!({"content": "aGVs\nbG8", "filename": "a.txt", "media_type": "text/plain"});
    let params = json!({"note": "n", "tags": [1, null, "b"], "meta": {"k": 1}, "file": [file, "aGk="]});
    let (media_type, text) = sent(&route, params.clone());
    let b = boundary(&media_type);
    let expected = format!(
        "--{b}\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nn\r\n\
         --{b}\r\nContent-Disposition: form-data; name=\"tags\"\r\n\r\n1\r\n\
         --{b}\r\nContent-Disposition: form-data; name=\"tags\"\r\n\r\nb\r\n\
         --{b}\r\nContent-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{{\"k\":1}}\r\n\
         --{b}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n\
         --{b}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n\
         Content-Type: application/octet-stream\r\n\r\nhi\r\n--{b}--\r\n"
    );
    assert_eq!(text, expected);
    assert_eq!(sent(&route, params).1, text, "the same parameters make the same request");
}

#[test]
fn multipart_content_cannot_end_its_part() {
    let fields = [("a\"\r\nX: y", Place::BodyField), ("file", Place::BodyField)];
    let route = with_field(post(BodyEncoding::Multipart, "multipart/form-data", &fields), "file", FieldEncoding::File);
    let name = "a\"\r\nX: y";
    let first = sent(&route, json!({name: "x", "file": {"content": "", "filename": "b\"; x=\"\r\n\r\n\0"}}));
    assert!(first.1.contains("name=\"a%22%0D%0AX: y\""), "{}", first.1);
    assert!(first.1.contains("filename=\"b%22; x=%22%0D%0A%0D%0A%00\""), "{}", first.1);
    // A value that contains the boundary of an earlier request changes the boundary.
    let old = boundary(&first.0);
    let second = sent(&route, json!({name: format!("\r\n--{old}--\r\n")}));
    assert_ne!(boundary(&second.0), old);
    for media_type in ["text/plain\r\nX: y", "text", "a b/c", "é/x"] {
        let file = json!({"content": "", "media_type": media_type});
        assert_refused(&route, json!({"file": file}), Code::ValidationInvalidValue, "file");
    }
    for file in [json!("a*b"), json!({"content": "%%"}), json!({"filename": "x"}), json!("a")] {
        assert_refused(&route, json!({"file": file}), Code::ValidationInvalidValue, "file");
    }
    assert_refused(&route, json!({"file": 1}), Code::ValidationInvalidType, "file");
    assert_refused(&route, json!({"file": {"content": 1}}), Code::ValidationInvalidType, "file.content");
}

#[test]
fn parts_may_have_encodings_of_their_own() {
    let fields = [("a", Place::BodyField), ("b", Place::BodyField), ("c", Place::BodyField)];
    let mut route = post(BodyEncoding::Multipart, "multipart/form-data", &fields);
    route = with_field(route, "a", FieldEncoding::MediaType("application/xml, text/xml".into()));
    route = with_field(route, "b", FieldEncoding::MediaType("application/vnd.x+json".into()));
    route = with_field(route, "c", FieldEncoding::Notation(style(Style::Form, false)));
    let (_, text) = sent(&route, json!({"a": "<x/>", "b": [1, 2], "c": ["x y", "z"]}));
    assert!(text.contains("name=\"a\"\r\nContent-Type: application/xml\r\n\r\n<x/>\r\n"), "{text}");
    assert!(text.contains("name=\"b\"\r\nContent-Type: application/vnd.x+json\r\n\r\n[1,2]\r\n"), "{text}");
    assert!(text.contains("name=\"c\"\r\n\r\nx y,z\r\n"), "{text}");
}

#[test]
fn text_and_bytes_are_sent_as_they_are() {
    let text = post(BodyEncoding::Text, "text/markdown", &[("body", Place::Body)]);
    assert_eq!(sent(&text, json!({"body": "# é\r\n"})), ("text/markdown".to_owned(), "# é\r\n".to_owned()));
    assert_eq!(sent(&text, json!({"body": 1})).1, "1");
    let binary = post(BodyEncoding::Binary, "image/*", &[("body", Place::Body)]);
    let body = request(&binary, json!({"body": "_-8="})).unwrap().body.unwrap();
    assert_eq!((body.media_type.as_str(), &*body.bytes), ("application/octet-stream", &[0xff, 0xef][..]));
    assert_refused(&binary, json!({"body": "not base64!"}), Code::ValidationInvalidValue, "body");
    assert_refused(&binary, json!({"body": 1}), Code::ValidationInvalidType, "body");
    assert_refused(&binary, json!({}), Code::ValidationMissingParam, "body");
    let odd = post(BodyEncoding::Text, "text/plain\r\nX: y", &[("body", Place::Body)]);
    assert_eq!(request(&odd, json!({"body": "x"})).unwrap_err().code(), Code::InternalError);
}

#[test]
fn json_text_of_forms_is_stated_by_the_description() {
    let route = post(BodyEncoding::Form, "application/x-www-form-urlencoded", &[("a", Place::BodyField)]);
    let route = with_field(route, "a", FieldEncoding::Notation(Notation::Json));
    assert_eq!(sent(&route, json!({"a": [1]})).1, "a=%5B1%5D");
}

//! The style examples of OpenAPI 3.1.1 and 3.2, and values that the specification does not define.

use aquifer_rest::route::{Notation, Place, Style};
use serde_json::{Value, json};

use super::{get, request, style, url};

/// The values of the specification's table: empty, string, array, object.
fn values() -> [Value; 4] {
    [json!(""), json!("blue"), json!(["blue", "black", "brown"]), json!({"R": 100, "G": 200, "B": 150})]
}

fn query(notation: Notation) -> Place {
    Place::Query { notation, allow_reserved: false }
}

#[test]
fn paths_follow_the_table_of_the_specification() {
    let table = [
        (Style::Matrix, false, [";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"]),
        (Style::Matrix, true, [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"]),
        (Style::Label, false, ["refused", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"]),
        (Style::Label, true, ["refused", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"]),
        (Style::Simple, false, ["refused", "blue", "blue,black,brown", "R,100,G,200,B,150"]),
        (Style::Simple, true, ["refused", "blue", "blue,black,brown", "R=100,G=200,B=150"]),
    ];
    for (name, explode, expected) in table {
        let route = get("/x/{color}", &[("color", Place::Path(style(name, explode)))]);
        for (value, expected) in values().into_iter().zip(expected) {
            let built = request(&route, json!({"color": value}));
            let actual = built
                .map_or("refused".to_owned(), |request| request.url.as_str().rsplit('/').next().unwrap().to_owned());
            assert_eq!(actual, expected, "{name:?} {explode} {value}");
        }
    }
}

#[test]
fn queries_follow_the_table_of_the_specification() {
    let form_exploded = ["color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"];
    let table = [
        (Style::Form, false, ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
        (Style::Form, true, form_exploded),
        (
            Style::SpaceDelimited,
            false,
            ["color=", "color=blue", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"],
        ),
        (Style::SpaceDelimited, true, form_exploded),
        (
            Style::PipeDelimited,
            false,
            ["color=", "color=blue", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"],
        ),
        (Style::PipeDelimited, true, form_exploded),
        (
            Style::DeepObject,
            true,
            [
                "color=",
                "color=blue",
                "color%5B%5D=blue&color%5B%5D=black&color%5B%5D=brown",
                "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
            ],
        ),
    ];
    for (name, explode, expected) in table {
        let route = get("/x", &[("color", query(style(name, explode)))]);
        for (value, expected) in values().into_iter().zip(expected) {
            assert_eq!(url(&route, json!({"color": value})), format!("/x?{expected}"), "{name:?} {explode} {value}");
        }
    }
}

#[test]
fn headers_and_cookies_follow_the_table_of_the_specification() {
    let header = |explode, value: Value| {
        let route = get("/x", &[("X-Color", Place::Header(style(Style::Simple, explode)))]);
        let headers = request(&route, json!({"X-Color": value})).unwrap().headers;
        headers.into_iter().find(|(name, _)| name == "X-Color").unwrap().1
    };
    let cookie = |explode, value: Value| {
        let route = get("/x", &[("color", Place::Cookie(style(Style::Form, explode)))]);
        let headers = request(&route, json!({"color": value})).unwrap().headers;
        headers.into_iter().find(|(name, _)| name == "Cookie").unwrap().1
    };
    let headers =
        [["", "blue", "blue,black,brown", "R,100,G,200,B,150"], ["", "blue", "blue,black,brown", "R=100,G=200,B=150"]];
    let cookies = [
        ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
        ["color=", "color=blue", "color=blue; color=black; color=brown", "R=100; G=200; B=150"],
    ];
    for (index, explode) in [false, true].into_iter().enumerate() {
        for (value, expected) in values().into_iter().zip(headers[index]) {
            assert_eq!(header(explode, value.clone()), expected, "header {explode} {value}");
        }
        for (value, expected) in values().into_iter().zip(cookies[index]) {
            assert_eq!(cookie(explode, value.clone()), expected, "cookie {explode} {value}");
        }
    }
}

#[test]
fn deep_objects_nest() {
    let route = get("/x", &[("a", query(style(Style::DeepObject, true)))]);
    let value = json!({"b": {"c": "d"}, "list": [1, 2], "rows": [{"k": 1}, {"k": [true]}], "none": null, "e&=": "]"});
    let expected = "/x?a%5Bb%5D%5Bc%5D=d&a%5Blist%5D%5B%5D=1&a%5Blist%5D%5B%5D=2&a%5Brows%5D%5B0%5D%5Bk%5D=1\
                    &a%5Brows%5D%5B1%5D%5Bk%5D%5B%5D=true&a%5Be%26%3D%5D=%5D";
    assert_eq!(url(&route, json!({"a": value})), expected);
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({"n": deep});
    }
    let written = url(&route, json!({"a": deep}));
    assert_eq!(written.matches("%5Bn%5D").count(), 32, "deeper levels are JSON text");
}

#[test]
fn values_are_written_exactly() {
    let route = get("/x", &[("v", query(style(Style::Form, true)))]);
    for (value, expected) in [
        (json!("a b&c=d+e/f?g#h%20é"), "/x?v=a%20b%26c%3Dd%2Be%2Ff%3Fg%23h%2520%C3%A9"),
        (json!(1.0), "/x?v=1.0"),
        (json!(1e300), "/x?v=1e%2B300"),
        (json!(18_446_744_073_709_551_615_u64), "/x?v=18446744073709551615"),
        (json!(-0.5), "/x?v=-0.5"),
        (json!(true), "/x?v=true"),
        (json!(null), "/x"),
        (json!([]), "/x"),
        (json!({}), "/x"),
        (json!([null, 1, null]), "/x?v=1"),
        (json!([[1, 2], {"a": 1}]), "/x?v=%5B1%2C2%5D&v=%7B%22a%22%3A1%7D"),
        (json!("\0\r\n"), "/x?v=%00%0D%0A"),
    ] {
        assert_eq!(url(&route, json!({"v": value})), expected, "{value}");
    }
    assert_eq!(url(&route, json!({"other": 1})), "/x", "parameters without a place are not sent");
}

#[test]
fn separators_inside_values_are_encoded() {
    let form = get("/x", &[("v", query(style(Style::Form, false)))]);
    assert_eq!(url(&form, json!({"v": ["a,b", "c"]})), "/x?v=a%2Cb,c");
    let matrix = get("/x{v}", &[("v", Place::Path(style(Style::Matrix, true)))]);
    assert_eq!(url(&matrix, json!({"v": ["a;b=c"]})), "/x;v=a%3Bb%3Dc");
    let label = get("/x{v}", &[("v", Place::Path(style(Style::Label, true)))]);
    assert_eq!(url(&label, json!({"v": {"a": "b/c"}})), "/x.a=b%2Fc");
}

#[test]
fn json_notation_writes_json() {
    let route = get("/x", &[("v", query(Notation::Json))]);
    assert_eq!(url(&route, json!({"v": {"a": ["b", null]}})), "/x?v=%7B%22a%22%3A%5B%22b%22%2Cnull%5D%7D");
    assert_eq!(url(&route, json!({"v": "text"})), "/x?v=%22text%22");
    assert_eq!(url(&route, json!({"v": null})), "/x");
    let route = get("/{v}", &[("v", Place::Path(Notation::Json))]);
    assert_eq!(url(&route, json!({"v": {"a": "/"}})), "/%7B%22a%22%3A%22%2F%22%7D");
    let route = get("/x", &[("X-V", Place::Header(Notation::Json))]);
    let headers = request(&route, json!({"X-V": {"a": "é😀\n"}})).unwrap().headers;
    assert_eq!(headers[1], ("X-V".to_owned(), r#"{"a":"\u00e9\ud83d\ude00\n"}"#.to_owned()));
}

#[test]
fn reserved_characters_pass_but_never_end_the_value() {
    let place = Place::Query { notation: style(Style::Form, true), allow_reserved: true };
    let route = get("/x", &[("v", place)]);
    assert_eq!(url(&route, json!({"v": "a/b?c:d@e,f;g=h"})), "/x?v=a/b?c:d@e,f;g=h");
    assert_eq!(url(&route, json!({"v": "1&admin=true#x+[y]'z"})), "/x?v=1%26admin=true%23x%2B%5By%5D%27z");
    assert_eq!(url(&route, json!({"v": "%2F 100% %zz"})), "/x?v=%2F%20100%25%20%25zz");
}

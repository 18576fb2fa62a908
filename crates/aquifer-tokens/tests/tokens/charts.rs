//! Charts for terminals, files and as SVG.

use aquifer_tokens::render::chart::Chart;
use aquifer_tokens::render::text::Canvas;
use aquifer_tokens::render::{svg, text};
use serde_json::json;

use crate::fixture::{FakeServer, own, report, semantic, single, tool};

fn chart() -> Chart {
    let tasks = "[[task]]\nname = 'look at things'\nsearch = 'things'\noperation = 'list_things'\n\
                 [[task]]\nname = 'b'\noperation = 'delete_thing'";
    Chart::from_report(&report(&[own()], &[semantic(), single()], Some(tasks), false))
}

/// Names with which a server tries to control a terminal or to inject markup.
fn hostile() -> Chart {
    let name = "</text><script>alert(1)</script>&\"'\u{1b}[2J\u{0}\u{202e}\u{ffff}";
    let mut bad = tool(name, json!({ "readOnlyHint": true }));
    bad["description"] = name.repeat(20).into();
    let server = FakeServer::new(vec![bad], |_, _| json!({ "content": [] }));
    let task = r#"
        [[task]]
        name = "</svg><x>\u0007"
        search = "]]>"
        operation = "</desc>"
    "#;
    let mut report = report(&[server], &[single()], Some(task), false);
    report.subject = name.to_owned();
    report.remarks.push(name.to_owned());
    Chart::from_report(&report)
}

#[test]
fn a_chart_is_no_wider_than_its_canvas() {
    for chart in [chart(), hostile()] {
        for width in [60, 80, 100, 140, 220] {
            for blocks in [false, true] {
                let drawn = text::draw(&chart, Canvas { width, blocks });
                // The title is never truncated, so that it can be copied.
                for line in drawn.lines().skip(1) {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
            }
        }
    }
}

#[test]
fn block_characters_are_used_only_on_terminals() {
    let plain = text::draw(&chart(), Canvas::PLAIN);
    assert!(plain.contains("###") && !plain.contains('█'), "{plain}");
    let blocks = text::draw(&chart(), Canvas { width: 80, blocks: true });
    assert!(blocks.contains('█') && !blocks.contains("##"), "{blocks}");
}

#[test]
fn the_first_lines_summarize_the_report() {
    let drawn = text::draw(&chart(), Canvas::PLAIN);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(lines[0], "Token cost of 'things'");
    assert!(lines[1].starts_with("At connect: ") && lines[1].contains("its own 4 tools, "), "{drawn}");
    assert!(lines[2].starts_with("From connect to the answer (the task): "), "{drawn}");
    assert!(drawn.contains("not called: it may write"), "{drawn}");
    assert!(drawn.contains("look at things: search \"things\", call list_things"), "{drawn}");
}

#[test]
fn names_from_servers_cannot_inject_escapes_or_markup() {
    let drawn = text::draw(&hostile(), Canvas::PLAIN);
    assert!(!drawn.contains(|c: char| c.is_control() && c != '\n'), "{drawn:?}");
    let picture = svg::draw(&hostile());
    assert!(!picture.contains("<script") && !picture.contains("<x>"), "{picture}");
    assert!(!picture.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{ffff}'), "{picture:?}");
}

#[test]
fn an_svg_is_well_formed_and_self_contained() {
    for chart in [chart(), hostile()] {
        let picture = svg::draw(&chart);
        assert!(picture.contains("prefers-color-scheme:dark"));
        let addresses = picture.matches("http").count();
        assert_eq!(addresses, 1, "only the namespace: {picture}");
        assert_eq!(open_elements(&picture), Vec::<String>::new());
    }
}

/// Parses all tags and returns those that are not closed properly.
fn open_elements(document: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut rest = document;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag ends");
        rest = after;
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop().as_deref(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().unwrap().to_owned()),
        }
    }
    for piece in document.split('&').skip(1) {
        let entity = piece.split(';').next().unwrap();
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity), "&{entity}");
    }
    open
}

//! No step grows faster than what an upstream sends: four times the input takes about four times the work.
//!
//! Work is the processor time of this thread, so that other tests running beside this one do not count. A step that
//! grows with the square would take sixteen times as long; the bound leaves room for noise on a busy machine.

use std::fmt::Write as _;

use aquifer_discovery::adapter::build;
use aquifer_discovery::digest::pin;
use aquifer_discovery::{Adapter, Offer, Overrides, PinBook};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use serde_json::{Map, Value, json};

use crate::fixture::{bundle, catalog};

/// Work for four times the input, in multiples of the work for one.
const MAX_RATIO: f64 = 9.0;

/// The processor time of this thread, in nanoseconds.
fn work() -> u64 {
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    scheduled.split(' ').next().unwrap().parse().unwrap()
}

/// The least work of a few attempts, in milliseconds.
fn measured(mut act: impl FnMut()) -> f64 {
    let once = |act: &mut dyn FnMut()| {
        let before = work();
        act();
        (work() - before) as f64 / 1e6
    };
    (0..3).map(|_| once(&mut act)).fold(f64::INFINITY, f64::min)
}

/// Everything that is done with a capture, from its bytes to the catalog that callers see.
fn take_over(tools: &Value) {
    let made = bundle(tools.clone());
    let mut reviewed = made.clone();
    Overrides::default().apply(&mut reviewed);
    let pins = made.pins();
    let mut book = PinBook::default();
    for (pin, operation) in pins.iter().zip(&made.normalized_bundle.operations) {
        let _ = book.pin(pin, &operation.operation_name, Category::Read, Danger::Safe, 1);
    }
    let read = PinBook::read(&book.write()).unwrap();
    pins.iter().for_each(|pin| drop(read.compare(pin)));
    let offer = Offer::from_bundle(&made, "s");
    let built = catalog(&offer);
    for operation in built.operations().iter().take(1) {
        drop(operation.input_schema(built.types()));
    }
    for call in offer.calls.values() {
        let params: Map<String, Value> = call.names().map(|(name, _)| (name.to_owned(), Value::Null)).collect();
        drop(call.arguments(params));
    }
}

fn tool(schema: Value) -> Value {
    json!([{ "name": "tool", "description": "Read it.", "inputSchema": schema }])
}

fn object(fields: impl Iterator<Item = (String, Value)>) -> Value {
    Value::Object(fields.collect())
}

/// Names that differ only in what stands between their letters.
fn alike(number: usize, between: char) -> String {
    let letters = ('a'..='m').enumerate().map(|(place, letter)| {
        let count = 1 + (number >> place & 1);
        format!("{letter}{}", between.to_string().repeat(count))
    });
    letters.chain(["z".to_owned()]).collect()
}

/// What upstreams could send, by size.
#[expect(clippy::type_complexity, reason = "a table")]
fn inputs() -> Vec<(&'static str, usize, fn(usize) -> Value)> {
    vec![
        ("tools", 60, |n| (0..n).map(|i| json!({ "name": format!("get_{i}"), "inputSchema": {} })).collect()),
        ("tools whose names collide", 60, |n| {
            (0..n).map(|i| json!({ "name": alike(i, '-'), "inputSchema": {} })).collect()
        }),
        ("properties", 150, |n| {
            let properties = object((0..n).map(|i| (format!("p{i}"), json!({ "type": "string" }))));
            tool(
                json!({ "type": "object", "properties": properties, "required": (0..n).map(|i| format!("p{i}")).collect::<Vec<_>>() }),
            )
        }),
        ("properties whose names collide", 120, |n| {
            let properties = object((0..n).map(|i| (alike(i, '-'), json!({ "type": "string" }))));
            tool(json!({ "type": "object", "properties": properties }))
        }),
        ("nested objects whose types want one name", 80, |n| {
            let inner = |i: usize| json!({ "type": "object", "properties": { format!("f{i}"): { "type": "string" } } });
            let properties = object((0..n).map(|i| (alike(i, '_'), inner(i))));
            tool(json!({ "type": "object", "properties": properties }))
        }),
        ("definitions whose types want one name", 80, |n| {
            let name = |i: usize| alike(i, '_');
            let inner = |i: usize| json!({ "type": "object", "properties": { format!("f{i}"): { "type": "string" } } });
            let definitions = object((0..n).map(|i| (name(i), inner(i))));
            let properties =
                object((0..n).map(|i| (format!("p{i}"), json!({ "$ref": format!("#/$defs/{}", name(i)) }))));
            tool(json!({ "type": "object", "properties": properties, "$defs": definitions }))
        }),
        ("required names", 300, |n| {
            tool(json!({ "type": "object", "required": (0..n).map(|i| format!("p{i}")).collect::<Vec<_>>() }))
        }),
        ("names of types", 1_000, |n| {
            let names: Vec<String> = (0..n).map(|i| format!("t{i}")).collect();
            tool(json!({ "type": "object", "properties": { "p": { "type": names } } }))
        }),
        ("parts of an allOf", 80, |n| {
            let part = |i: usize| json!({ "type": "object", "properties": { format!("f{i}"): { "type": "string" } } });
            let inner = json!({ "allOf": (0..n).map(part).collect::<Vec<_>>() });
            tool(json!({ "type": "object", "properties": { "p": inner } }))
        }),
        ("alternatives", 80, |n| {
            let one =
                |i: usize| json!({ "properties": { "same": { "const": i }, format!("f{i}"): { "type": "string" } } });
            tool(json!({ "type": "object", "oneOf": (0..n).map(one).collect::<Vec<_>>() }))
        }),
        ("references to one large list of words", 80, |n| {
            let words: Vec<String> = (0..n * 4).map(|i| format!("word{i}")).collect();
            let properties = object((0..n).map(|i| (format!("p{i}"), json!({ "$ref": "#/$defs/w" }))));
            tool(
                json!({ "type": "object", "properties": properties, "$defs": { "w": { "type": "string", "enum": words } } }),
            )
        }),
        ("references to one large object", 40, |n| {
            let fields = object((0..n * 4).map(|i| (format!("f{i}"), json!({ "type": "string" }))));
            let members = vec![json!({ "$ref": "#/$defs/o" }); n];
            tool(
                json!({ "type": "object", "anyOf": members, "$defs": { "o": { "type": "object", "properties": fields } } }),
            )
        }),
        ("parts that refer to one large object", 40, |n| {
            let fields = object((0..n * 4).map(|i| (format!("f{i}"), json!({ "type": "string" }))));
            let inner = json!({ "allOf": vec![json!({ "$ref": "#/$defs/o" }); n] });
            tool(
                json!({ "type": "object", "properties": { "p": inner }, "$defs": { "o": { "type": "object", "properties": fields } } }),
            )
        }),
        ("references to one large union", 40, |n| {
            let members: Vec<Value> =
                (0..n * 4).map(|i| json!({ "type": "object", "properties": { format!("m{i}"): {} } })).collect();
            let properties = object((0..n).map(|i| (format!("p{i}"), json!({ "$ref": "#/$defs/u" }))));
            tool(json!({ "type": "object", "properties": properties, "$defs": { "u": { "anyOf": members } } }))
        }),
        ("what stands under long names", 60, |n| {
            let inner = object((0..n).map(|i| (format!("p{i}"), json!({ "type": "string", "not": {} }))));
            let outer = json!({ "type": "object", "properties": { "x".repeat(n * 100): { "type": "object", "properties": inner } } });
            tool(json!({ "type": "object", "properties": { "p": outer } }))
        }),
        (
            "letters of a description",
            6_000,
            |n| json!([{ "name": "tool", "description": "Reads. ".repeat(n), "inputSchema": {} }]),
        ),
    ]
}

#[test]
fn r_dis_7_no_step_grows_faster_than_what_an_upstream_sends() {
    let mut table = String::new();
    let mut is_fine = true;
    for (what, size, make) in inputs() {
        let (small, large) = (make(size), make(size * 4));
        let (one, four) = (measured(|| take_over(&small)), measured(|| take_over(&large)));
        // The smallest amounts are noise.
        let ratio = four / one.max(2.0);
        let _ = writeln!(table, "{what}: {one:.1} ms, {four:.1} ms, {ratio:.1} times");
        is_fine &= ratio < MAX_RATIO;
    }
    assert!(is_fine, "work grows faster than its input:\n{table}");
}

#[test]
fn r_dis_6_an_adapter_file_is_read_and_held_to_the_evidence_in_time() {
    let make = |n: usize| {
        let tools: Value = (0..n).map(|i| json!({ "name": format!("get_{i}"), "inputSchema": {} })).collect();
        build(&bundle(tools)).unwrap()
    };
    let read = |built: &aquifer_discovery::adapter::AdapterFiles| {
        let adapter = Adapter::read(&built.adapter, Some(&built.sidecar)).unwrap();
        drop(Offer::from_adapter(&adapter, "s"));
    };
    let (small, large) = (make(100), make(400));
    let (one, four) = (measured(|| read(&small)), measured(|| read(&large)));
    assert!(four / one.max(2.0) < MAX_RATIO, "{one:.1} ms, {four:.1} ms");
}

#[test]
fn r_dis_7a_a_book_of_pins_fits_into_one_record() {
    let mut book = PinBook::default();
    let mut pinned = 0_u32;
    for number in 0..8_000 {
        let tools = bundle(json!([{ "name": format!("{}{number}", "\u{1}".repeat(400)), "inputSchema": {} }])).tools();
        let name = format!("{number:0>48}");
        if book.pin(&pin(&tools[0]), &name, Category::Execute, Danger::Destructive, u64::MAX >> 11).is_err() {
            break;
        }
        pinned += 1;
    }
    assert!((3_000..8_000).contains(&pinned), "{pinned}");
    assert!(book.write().len() <= 1 << 20, "{}", book.write().len());
    book.make_room([]);
    assert!(book.write().len() <= 1 << 19);
}

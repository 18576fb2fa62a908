//! What is counted, and what is never called.

use aquifer_tokens::report::{Doing, Kind, Outcome, Report, Task, Way};
use aquifer_tokens::{Counts, seen};
use serde_json::{Value, json};

use crate::fixture::{Fake, aql, own, refusal, report, semantic, single, tool};

fn way(task: &Task, surface: Kind, shaped: bool) -> &Way {
    task.ways.iter().find(|way| way.surface == surface && way.shaped == shaped).unwrap()
}

fn connect(report: &Report, kind: Kind) -> Counts {
    report.surfaces.iter().find(|surface| surface.surface == kind).unwrap().connect
}

const DELETE: &str = "[[task]]\nname = 'gone'\noperation = 'delete_thing'\nparams = { id = 1 }";

#[test]
fn what_may_write_is_called_only_if_it_is_named_and_allowed() {
    let (direct, served) = ([own()], [semantic(), single()]);
    let found = report(&direct, &served, Some(DELETE), false);
    for way in &found.tasks[0].ways {
        assert_eq!(way.outcome, Outcome::NotCalled, "{way:?}");
        assert!(way.why.as_deref().unwrap().contains("--allow-writes"), "{way:?}");
    }
    assert_eq!([direct[0].done(), served[0].done(), served[1].done()], [const { Vec::<String>::new() }; 3]);

    let found = report(&direct, &served, Some(DELETE), true);
    assert!(found.tasks[0].ways.iter().all(|way| way.outcome == Outcome::Answered), "{:?}", found.tasks[0].ways);
    // Once over each surface, however it may be shaped.
    assert_eq!(direct[0].done(), ["delete-thing"]);
    assert_eq!([served[0].done(), served[1].done()], [["delete_thing"]; 2]);
}

#[test]
fn a_reading_operation_does_not_open_the_way_for_a_writing_tool() {
    let (direct, served) = ([own()], [single()]);
    let trap = "[[task]]\nname = 'trap'\noperation = 'list_things'\ntool = 'delete-thing'";
    let found = report(&direct, &served, Some(trap), false);
    assert_eq!(way(&found.tasks[0], Kind::Direct, false).outcome, Outcome::NotCalled);
    assert!(direct[0].done().is_empty());
    // A server's own word is enough for a tool that nobody else knows.
    let declared = [Fake::new(vec![tool("peek", json!({ "readOnlyHint": true }))], |_, _| json!({ "content": [] }))];
    let peek = "[[task]]\nname = 'peek'\noperation = 'list_things'\ntool = 'peek'";
    report(&declared, &served, Some(peek), false);
    assert_eq!(declared[0].done(), ["peek"]);
}

#[test]
fn what_would_have_to_be_confirmed_is_not_called_whatever_it_calls_itself() {
    let (direct, served) = ([own()], [single()]);
    let doubtful = "[[task]]\nname = 'doubtful'\noperation = 'read_doubtful'";
    let found = report(&direct, &served, Some(doubtful), false);
    assert!(found.tasks[0].ways.iter().all(|way| way.outcome == Outcome::NotCalled), "{:?}", found.tasks[0].ways);
    // Nor is it found to be a task by itself.
    let found = report(&direct, &served, None, false);
    assert!(found.tasks.iter().all(|task| task.operation == "list_things"), "{:?}", found.tasks);
    let all: Vec<String> = [direct[0].done(), served[0].done()].concat();
    assert!(all.iter().all(|name| !name.contains("doubtful")), "{all:?}");
}

#[test]
fn a_task_costs_what_is_shown_written_and_read() {
    let (direct, served) = ([own()], [single()]);
    let tasks = "[[task]]\nname = 'look'\nsearch = 'things'\noperation = 'list_things'\nparams = { first = 3 }\nshaped = { first = 1 }";
    let found = report(&direct, &served, Some(tasks), false);
    let task = &found.tasks[0];
    let plain = way(task, Kind::Single, false);
    let steps: Vec<Doing> = plain.steps.iter().map(|step| step.step).collect();
    assert_eq!(steps, [Doing::Connect, Doing::Search, Doing::Detail, Doing::Call]);
    assert_eq!(plain.steps[0].read, Counts::of(&seen::tools(&served[0].tools)));
    let arguments = json!({ "operation": "list_things", "params": { "first": 3 } });
    assert_eq!(plain.steps[3].wrote, Counts::of(&json!({ "name": "mcp_aql", "arguments": arguments }).to_string()));
    let rows: Vec<Value> = (0..3).map(|n| json!({ "id": n, "name": "x", "note": "long words" })).collect();
    assert_eq!(plain.steps[3].read, Counts::of(&json!({ "success": true, "data": { "items": rows } }).to_string()));
    assert_eq!(plain.total, plain.steps.iter().map(|step| step.wrote + step.read).sum());
    assert_eq!(plain.found, Some(true));
    assert!(way(task, Kind::Single, true).total.o200k_base < plain.total.o200k_base);
    let directly = way(task, Kind::Direct, false);
    let wrote = Counts::of(r#"{"name":"list-things","arguments":{"first":3}}"#);
    assert_eq!(directly.total, connect(&found, Kind::Direct) + wrote + Counts::of(&"thing ".repeat(30)));
    let shapes: Vec<&str> = task.answers.iter().map(|answer| answer.shape.as_str()).collect();
    assert_eq!(shapes, ["as it comes", "shaped"]);
}

#[test]
fn tasks_are_found_among_what_only_reads_and_tried_in_the_usual_shapes() {
    let served = [semantic(), single()];
    let found = report(&[], &served, None, false);
    let names: Vec<&str> = found.tasks.iter().map(|task| task.operation.as_str()).collect();
    assert_eq!(names, ["list_things"]);
    let task = &found.tasks[0];
    let answers: Vec<(&str, usize)> =
        task.answers.iter().map(|one| (one.shape.as_str(), one.read.o200k_base)).collect();
    let [("as it comes", plain), ("fields", fields), ("page", page), ("both", both)] = answers[..] else {
        panic!("{answers:?}")
    };
    assert!(both < page && both < fields && fields < plain && page < plain, "{answers:?}");
    assert_eq!(task.ways.len(), 4);
    assert!(found.surfaces.iter().all(|surface| surface.surface != Kind::Direct));
}

#[test]
fn lists_are_read_to_their_last_page() {
    let found = report(&[], &[single()], None, false);
    let introspection = found.introspection.unwrap();
    assert_eq!((introspection.operations, introspection.list.pages), (4, 2));
    assert!(introspection.list.first_page.o200k_base < introspection.list.all_pages.o200k_base);
    let detail = introspection.detail.unwrap();
    assert_eq!((detail.measured, detail.largest_name.as_str()), (4, "list_things"));
    assert!(introspection.search.unwrap().measured > 0);
}

#[test]
fn what_a_search_misses_and_who_refuses_is_told() {
    let tasks = "[[task]]\nname = 'a'\nsearch = 'nonsense'\noperation = 'list_things'\n\
                 [[task]]\nname = 'b'\noperation = 'no_such_thing'";
    let found = report(&[own()], &[single()], Some(tasks), false);
    assert_eq!(way(&found.tasks[0], Kind::Single, false).found, Some(false));
    let unknown = way(&found.tasks[1], Kind::Single, false);
    assert_eq!(
        (unknown.outcome, unknown.why.as_deref()),
        (Outcome::NotCalled, Some("there is no operation 'no_such_thing'"))
    );
    assert!(way(&found.tasks[1], Kind::Direct, false).why.as_deref().unwrap().contains("no tool of its own"));
}

#[test]
fn images_icons_and_instructions_are_apart() {
    let mut server = own().saying("Be careful with things.");
    let plain = Counts::of(&seen::tools(&server.tools));
    server.tools[0]["icons"] = json!([{ "src": format!("data:image/png;base64,{}", "A".repeat(8_000)) }]);
    let tasks = "[[task]]\nname = 'look'\noperation = 'get_picture'\nparams = { id = 1 }";
    let found = report(&[server], &[single()], Some(tasks), false);
    let direct = &found.surfaces[0];
    assert_eq!((direct.connect, direct.apart.icons, direct.apart.bytes), (plain, 1, 6_000));
    assert_eq!(direct.instructions, Some(Counts::of("Be careful with things.")));
    assert_eq!(found.largest_tools.iter().find(|tool| tool.name == "list-things").unwrap().apart.icons, 1);
    for way in &found.tasks[0].ways {
        assert_eq!((way.apart.images, way.apart.bytes), (1, 3_000), "{way:?}");
        assert!(way.steps.last().unwrap().read.o200k_base < 40, "a picture is no text: {way:?}");
    }
}

#[test]
fn a_running_server_is_measured_as_it_is() {
    let found = report(&[], &[own()], None, false);
    assert_eq!(found.surfaces.len(), 1);
    assert_eq!((found.surfaces[0].surface, found.surfaces[0].tools), (Kind::Direct, 4));
    assert!(found.introspection.is_none() && found.tasks.is_empty());
    let modes = [
        (&["mcp_aql"][..], Kind::Single),
        (&["github_mcp_aql"], Kind::Single),
        (&["mcp_aql_read"], Kind::Semantic),
        (&["mcp_aql_delete", "mcp_aql_read"], Kind::Semantic),
        (&["mcp_aql", "mcp_aql_read"], Kind::All),
    ];
    for (names, kind) in modes {
        assert_eq!(report(&[], &[aql(names)], None, false).surfaces[0].surface, kind, "{names:?}");
    }
    // It takes operations, and still it is not MCP-AQL.
    let mut other = aql(&["run"]);
    other = Fake::new(other.tools.clone(), |_, _| refusal("Unknown"));
    assert_eq!(report(&[], &[other], None, false).surfaces[0].surface, Kind::Direct);
}

#[test]
fn the_json_is_as_its_schema_says() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/tokens.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let tasks = "[[task]]\nname = 'a'\nsearch = 'things'\noperation = 'list_things'\n[[task]]\nname='p'\noperation='get_picture'\n\
                 [[task]]\nname = 'b'\noperation = 'delete_thing'";
    let whole = report(&[own().saying("Words.")], &[semantic(), single()], Some(tasks), false);
    for report in [whole.clone(), report(&[], &[own()], None, false)] {
        let json = serde_json::to_value(&report).unwrap();
        let problems: Vec<String> =
            schema.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
    }
    // The schema has teeth.
    for (place, value) in
        [("/format", json!(2)), ("/surfaces/0/surface", json!("other")), ("/tasks/0/ways/0/total", json!(7))]
    {
        let mut json = serde_json::to_value(&whole).unwrap();
        *json.pointer_mut(place).unwrap() = value;
        assert!(!schema.is_valid(&json), "{place}");
    }
}

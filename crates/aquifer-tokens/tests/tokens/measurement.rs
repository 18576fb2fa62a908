//! What is counted, and what is never called.

use aquifer_tokens::report::{Outcome, Report, StepKind, SurfaceKind, Task, TaskRun};
use aquifer_tokens::{TokenCounts, model_view};
use serde_json::{Value, json};

use crate::fixture::{FakeServer, aql, own, refusal, report, semantic, single, tool};

fn run(task: &Task, surface: SurfaceKind, shaped: bool) -> &TaskRun {
    task.runs.iter().find(|run| run.surface == surface && run.shaped == shaped).unwrap()
}

fn connect(report: &Report, kind: SurfaceKind) -> TokenCounts {
    report.surfaces.iter().find(|surface| surface.kind == kind).unwrap().connect
}

const DELETE: &str = "[[task]]\nname = 'gone'\noperation = 'delete_thing'\nparams = { id = 1 }";

#[test]
fn operations_that_may_write_are_called_only_if_named_and_allowed() {
    let (direct, served) = ([own()], [semantic(), single()]);
    let found = report(&direct, &served, Some(DELETE), false);
    for run in &found.tasks[0].runs {
        assert_eq!(run.outcome, Outcome::NotCalled, "{run:?}");
        assert!(run.reason.as_deref().unwrap().contains("--allow-writes"), "{run:?}");
    }
    assert_eq!([direct[0].called(), served[0].called(), served[1].called()], [const { Vec::<String>::new() }; 3]);

    let found = report(&direct, &served, Some(DELETE), true);
    assert!(found.tasks[0].runs.iter().all(|run| run.outcome == Outcome::Answered), "{:?}", found.tasks[0].runs);
    // It is called once through each surface and never again for a shape.
    assert_eq!(direct[0].called(), ["delete-thing"]);
    assert_eq!([served[0].called(), served[1].called()], [["delete_thing"]; 2]);
}

#[test]
fn only_a_task_that_says_so_confirms_and_the_question_is_counted() {
    let asking = "[[task]]\nname = 'gone'\noperation = 'delete_thing'\nparams = { id = 9 }";
    let confirming = format!("{asking}\nconfirm = true");
    let served = [single()];
    let done = |tasks: &str, allow_writes: bool| {
        let found = report(&[], &served, Some(tasks), allow_writes);
        let run = run(&found.tasks[0], SurfaceKind::Single, false).clone();
        let calls = run.steps.iter().filter(|step| step.kind == StepKind::Call).count();
        (run.outcome, calls, run.total.o200k_base)
    };
    let (outcome, calls, question) = done(asking, true);
    assert_eq!((outcome, calls), (Outcome::Refused, 1));
    let (outcome, calls, whole) = done(&confirming, true);
    assert_eq!((outcome, calls), (Outcome::Answered, 2));
    assert!(whole > question, "{whole} {question}");
    let (outcome, calls, _) = done(&confirming, false);
    assert_eq!((outcome, calls), (Outcome::NotCalled, 0));
}

#[test]
fn a_read_operation_does_not_permit_calling_a_tool_that_writes() {
    let (direct, served) = ([own()], [single()]);
    let trap = "[[task]]\nname = 'trap'\noperation = 'list_things'\ntool = 'delete-thing'";
    let found = report(&direct, &served, Some(trap), false);
    assert_eq!(run(&found.tasks[0], SurfaceKind::Direct, false).outcome, Outcome::NotCalled);
    assert!(direct[0].called().is_empty());
    // The declaration of the server is enough for a tool without an operation.
    let declared =
        [FakeServer::new(vec![tool("peek", json!({ "readOnlyHint": true }))], |_, _| json!({ "content": [] }))];
    let peek = "[[task]]\nname = 'peek'\noperation = 'list_things'\ntool = 'peek'";
    report(&declared, &served, Some(peek), false);
    assert_eq!(declared[0].called(), ["peek"]);
}

#[test]
fn operations_that_need_confirmation_are_not_called_even_if_declared_read() {
    let (direct, served) = ([own()], [single()]);
    let doubtful = "[[task]]\nname = 'doubtful'\noperation = 'read_doubtful'";
    let found = report(&direct, &served, Some(doubtful), false);
    assert!(found.tasks[0].runs.iter().all(|run| run.outcome == Outcome::NotCalled), "{:?}", found.tasks[0].runs);
    // It is not chosen as a task either.
    let found = report(&direct, &served, None, false);
    assert!(found.tasks.iter().all(|task| task.operation == "list_things"), "{:?}", found.tasks);
    let all: Vec<String> = [direct[0].called(), served[0].called()].concat();
    assert!(all.iter().all(|name| !name.contains("doubtful")), "{all:?}");
}

#[test]
fn a_task_costs_the_tokens_shown_written_and_read() {
    let (direct, served) = ([own()], [single()]);
    let tasks = "[[task]]\nname = 'look'\nsearch = 'things'\noperation = 'list_things'\nparams = { first = 3 }\nshaped = { first = 1 }";
    let found = report(&direct, &served, Some(tasks), false);
    let task = &found.tasks[0];
    let plain = run(task, SurfaceKind::Single, false);
    let steps: Vec<StepKind> = plain.steps.iter().map(|step| step.kind).collect();
    assert_eq!(steps, [StepKind::Connect, StepKind::Search, StepKind::Detail, StepKind::Call]);
    assert_eq!(plain.steps[0].read, TokenCounts::count(&model_view::tools(&served[0].tools)));
    let arguments = json!({ "operation": "list_things", "params": { "first": 3 } });
    assert_eq!(
        plain.steps[3].wrote,
        TokenCounts::count(&json!({ "name": "mcp_aql", "arguments": arguments }).to_string())
    );
    let rows: Vec<Value> = (0..3).map(|n| json!({ "id": n, "name": "x", "note": "long words" })).collect();
    assert_eq!(
        plain.steps[3].read,
        TokenCounts::count(&json!({ "success": true, "data": { "items": rows } }).to_string())
    );
    assert_eq!(plain.total, plain.steps.iter().map(|step| step.wrote + step.read).sum());
    assert_eq!(plain.found, Some(true));
    assert!(run(task, SurfaceKind::Single, true).total.o200k_base < plain.total.o200k_base);
    let direct_run = run(task, SurfaceKind::Direct, false);
    let wrote = TokenCounts::count(r#"{"name":"list-things","arguments":{"first":3}}"#);
    assert_eq!(
        direct_run.total,
        connect(&found, SurfaceKind::Direct) + wrote + TokenCounts::count(&"thing ".repeat(30))
    );
    let shapes: Vec<&str> = task.answers.iter().map(|answer| answer.shape.as_str()).collect();
    assert_eq!(shapes, ["as it comes", "shaped"]);
}

#[test]
fn tasks_are_chosen_among_read_operations_and_tried_in_the_usual_shapes() {
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
    assert_eq!(task.runs.len(), 4);
    assert!(found.surfaces.iter().all(|surface| surface.kind != SurfaceKind::Direct));
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
fn missed_searches_and_refusals_are_reported() {
    let tasks = "[[task]]\nname = 'a'\nsearch = 'nonsense'\noperation = 'list_things'\n\
                 [[task]]\nname = 'b'\noperation = 'no_such_thing'";
    let found = report(&[own()], &[single()], Some(tasks), false);
    assert_eq!(run(&found.tasks[0], SurfaceKind::Single, false).found, Some(false));
    let unknown = run(&found.tasks[1], SurfaceKind::Single, false);
    assert_eq!(
        (unknown.outcome, unknown.reason.as_deref()),
        (Outcome::NotCalled, Some("there is no operation 'no_such_thing'"))
    );
    assert!(
        run(&found.tasks[1], SurfaceKind::Direct, false).reason.as_deref().unwrap().contains("no tool of the source")
    );
}

#[test]
fn images_icons_and_instructions_are_counted_separately() {
    let mut server = own().with_instructions("Be careful with things.");
    let plain = TokenCounts::count(&model_view::tools(&server.tools));
    server.tools[0]["icons"] = json!([{ "src": format!("data:image/png;base64,{}", "A".repeat(8_000)) }]);
    let tasks = "[[task]]\nname = 'look'\noperation = 'get_picture'\nparams = { id = 1 }";
    let found = report(&[server], &[single()], Some(tasks), false);
    let direct = &found.surfaces[0];
    assert_eq!((direct.connect, direct.non_text.icons, direct.non_text.bytes), (plain, 1, 6_000));
    assert_eq!(direct.instructions, Some(TokenCounts::count("Be careful with things.")));
    assert_eq!(found.largest_tools.iter().find(|tool| tool.name == "list-things").unwrap().non_text.icons, 1);
    for run in &found.tasks[0].runs {
        assert_eq!((run.non_text.images, run.non_text.bytes), (1, 3_000), "{run:?}");
        assert!(run.steps.last().unwrap().read.o200k_base < 40, "a picture is no text: {run:?}");
    }
}

#[test]
fn a_running_server_is_measured_without_starting_another() {
    let found = report(&[], &[own()], None, false);
    assert_eq!(found.surfaces.len(), 1);
    assert_eq!((found.surfaces[0].kind, found.surfaces[0].tools), (SurfaceKind::Direct, 4));
    assert!(found.introspection.is_none() && found.tasks.is_empty());
    let modes = [
        (&["mcp_aql"][..], SurfaceKind::Single),
        (&["github_mcp_aql"], SurfaceKind::Single),
        (&["mcp_aql_read"], SurfaceKind::Semantic),
        (&["mcp_aql_delete", "mcp_aql_read"], SurfaceKind::Semantic),
        (&["mcp_aql", "mcp_aql_read"], SurfaceKind::All),
    ];
    for (names, kind) in modes {
        assert_eq!(report(&[], &[aql(names)], None, false).surfaces[0].kind, kind, "{names:?}");
    }
    // A tool with an `operation` parameter alone is not MCP-AQL.
    let mut other = aql(&["run"]);
    other = FakeServer::new(other.tools.clone(), |_, _| refusal("Unknown"));
    assert_eq!(report(&[], &[other], None, false).surfaces[0].kind, SurfaceKind::Direct);
}

#[test]
fn the_json_report_matches_its_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/tokens.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let tasks = "[[task]]\nname = 'a'\nsearch = 'things'\noperation = 'list_things'\n[[task]]\nname='p'\noperation='get_picture'\n\
                 [[task]]\nname = 'b'\noperation = 'delete_thing'";
    let whole = report(&[own().with_instructions("Words.")], &[semantic(), single()], Some(tasks), false);
    for report in [whole.clone(), report(&[], &[own()], None, false)] {
        let json = serde_json::to_value(&report).unwrap();
        let problems: Vec<String> =
            schema.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
    }
    // The schema rejects invalid reports.
    for (place, value) in
        [("/format", json!(2)), ("/surfaces/0/surface", json!("other")), ("/tasks/0/ways/0/total", json!(7))]
    {
        let mut json = serde_json::to_value(&whole).unwrap();
        *json.pointer_mut(place).unwrap() = value;
        assert!(!schema.is_valid(&json), "{place}");
    }
}

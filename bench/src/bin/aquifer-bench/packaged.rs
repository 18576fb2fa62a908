//! The binary of the packages, which is static, compared with the same build for glibc.

use aquifer_bench::words;
use aquifer_report::Figure;

use crate::Bench;
use crate::client::{own_kb, resident_kb, round_trips, start_ms, starts};
use crate::connection::{Target, Transport};
use crate::round_trips::{CALL, PREPARE, large_call, title};

/// The reference.
const DYNAMIC: &str = "the same for glibc";

/// One kind of call.
struct Scenario {
    name: String,
    transport: Transport,
    /// The sources that are served.
    source: String,
    call: String,
    prepare: Option<&'static str>,
}

/// A page of a table, and sums of groups.
const LIST: &str = r#"{"operation":"list_orders","params":{"limit":50,"fields":["id","total","status"]}}"#;
const GROUPS: &str = r#"{"operation":"list_orders","params":{"aggregate":{"by":{"group_by":"status","sum":"total"}}}}"#;
/// A call of the upstream.
const ECHO: &str = r#"{"operation":"echo","params":{"text":"Water the plants"}}"#;

pub(crate) fn compare(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for transport in [Transport::Stdio, Transport::Http] {
        for scenario in scenarios(bench, transport)? {
            let [packaged, dynamic] = scenario.servers(bench);
            let measured = round_trips(&packaged, &dynamic, bench.plan(8, 10, 200))?;
            figures.push(measured.p50(format!("{}, p50", scenario.name)));
            figures.push(measured.cpu(format!("{}, CPU in the server", scenario.name)));
        }
        let title = title(transport);
        let idle = Scenario::tasks(String::new(), transport, r#"{"operation":"list_tasks"}"#.to_owned(), None);
        let [packaged, dynamic] = &idle.servers(bench);
        let memory = format!("{title}: idle memory, one call done");
        figures.push(starts(memory, "kB", [packaged, dynamic], bench.runs(9), resident_kb)?);
        let own = format!("{title}: idle memory without pages of files");
        figures.push(starts(own, "kB", [packaged, dynamic], bench.runs(9), own_kb)?);
        let start = format!("{title}: start to first answer");
        figures.push(starts(start, "ms", [packaged, dynamic], bench.runs(25), start_ms)?);
    }
    Ok(figures)
}

fn scenarios(bench: &Bench, transport: Transport) -> anyhow::Result<Vec<Scenario>> {
    let title = title(transport);
    let echo = bench.servers_file("echo", &[("echo", bench.echo(Transport::Stdio))])?;
    let served = |name: &str, source: &str, call: &str| Scenario {
        name: format!("{title}: {name}"),
        transport,
        source: source.to_owned(),
        call: call.to_owned(),
        prepare: None,
    };
    Ok(vec![
        Scenario::tasks(format!("{title}: small call"), transport, CALL.to_owned(), Some(PREPARE)),
        Scenario::tasks(format!("{title}: call with 8 KB"), transport, large_call(), None),
        served("50 rows of SQLite", "demo:", LIST),
        served("sums of groups from SQLite", "demo:", GROUPS),
        served("call of an upstream", &echo, ECHO),
    ])
}

impl Scenario {
    /// A call of the tasks that are built in.
    fn tasks(name: String, transport: Transport, call: String, prepare: Option<&'static str>) -> Self {
        Self { name, transport, source: "tasks:".to_owned(), call, prepare }
    }

    /// The packaged binary and the reference, serving the same.
    fn servers(&self, bench: &Bench) -> [Target; 2] {
        let programs = [("packaged", bench.packaged.clone()), (DYNAMIC, bench.program("aquifer"))];
        programs.map(|(name, program)| {
            let state = format!("XDG_STATE_HOME={}", bench.home.join("bench-packaged").join(name).display());
            let mut command = words(&["env", &state, &program, "serve", &self.source, "--mode", "single"]);
            if self.transport == Transport::Http {
                command.extend(words(&["--http", "127.0.0.1:0"]));
            }
            let target = Target::new(name, self.transport, "mcp_aql", &self.call, command);
            Target { prepare: self.prepare, ..target }
        })
    }
}

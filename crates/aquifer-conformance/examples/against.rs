//! Runs against a command or an address and prints the report as JSON: `against [--no-writes] URL | COMMAND …`.

use aquifer_conformance::Target;
use aquifer_conformance::run::{Options, run};

#[tokio::main]
#[allow(clippy::print_stdout)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut argv: Vec<String> = std::env::args().skip(1).collect();
    let no_writes = argv.first().is_some_and(|first| first == "--no-writes");
    if no_writes {
        argv.remove(0);
    }
    let target = match argv.as_slice() {
        [url] if url.starts_with("http") => Target::Url { url: url.clone(), second: None, headers: Vec::new() },
        _ => Target::Command { argv, env: Vec::new() },
    };
    let options = Options { allow_writes: !no_writes, ..Options::default() };
    let begun = std::time::Instant::now();
    let done =
        run(&target, &options, |progress| eprintln!("{:>6} ms {progress:?}", begun.elapsed().as_millis())).await?;
    println!("{}", serde_json::to_string_pretty(&done.report)?);
    Ok(())
}

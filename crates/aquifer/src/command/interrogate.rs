//! `aquifer interrogate`: what a server says of itself, as a discovery bundle.

use crate::Ending;
use crate::cli::InterrogateArgs;

use super::{call, capture, write};

pub(crate) async fn run(arguments: InterrogateArgs) -> anyhow::Result<Ending> {
    let settings = capture::server(arguments.source.as_deref(), arguments.name.as_deref(), &arguments.upstream)?;
    let bundle = capture::capture(&settings).await?;
    let text = bundle.write()?;
    match arguments.output.as_ref().filter(|path| !write::is_stdout(path)) {
        Some(path) => {
            write::file(path, &text, true)?;
            let operations = bundle.normalized_bundle.operations.len();
            let review = bundle.normalized_bundle.operations.iter().filter(|made| made.needs_review).count();
            eprintln!("{}: {operations} operations, {review} to review", path.display());
        }
        None => call::print(text.trim_end())?,
    }
    Ok(Ending::Done)
}

//! MCP servers behind us: connect, interrogate, call, supervise, reload.

mod interrogate;
mod settings;
mod upstream;

pub use interrogate::Interrogation;
pub use interrogate::interrogate;
pub use settings::Bearer;
pub use settings::Settings;
pub use settings::Transport;
pub use upstream::Upstream;

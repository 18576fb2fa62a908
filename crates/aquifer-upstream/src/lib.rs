//! MCP servers behind us: connect, interrogate, call, supervise, reload.

//! A Redis of the test's own, to be stopped, killed and started again.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use aquifer_gate::store::{RedisSettings, RedisStore};

use super::setup::{Folder, Process, TEST_TIMEOUT};

pub(super) const PASSWORD: &str = "a-secret-for-nobody";

pub(crate) struct Server {
    pub(super) folder: Folder,
    pub(super) port: u16,
    process: Option<Process>,
    extra: Vec<String>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| Vec::new())
    }

    /// With more options, which may name files in the server's directory.
    pub(super) fn start_with(extra: impl FnOnce(&Folder) -> Vec<String>) -> Self {
        let folder = Folder::new();
        let extra = extra(&folder);
        let port = free_port();
        let mut server = Self { folder, port, process: None, extra };
        server.restart();
        server
    }

    /// Every write is on disk before it is answered.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let (port, folder) = (self.port.to_string(), self.folder.0.to_str().unwrap());
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--dir", folder, "--requirepass", PASSWORD, "--save", ""]);
        command.args(["--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes"]);
        match self.extra.is_empty() {
            true => command.args(["--port", &port]),
            false => command.args(["--port", "0"]).args(&self.extra).args(["--tls-port", &port]),
        };
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("redis-server starts");
        self.process = Some(Process(process));
        let until = Instant::now() + TEST_TIMEOUT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(Instant::now() < until, "Redis does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// At once, without a chance to write anything.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    /// Sends a signal by its name.
    pub(super) fn signal(&self, name: &str) {
        let id = self.process.as_ref().unwrap().0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    pub(super) fn url(&self) -> String {
        format!("redis://:{PASSWORD}@127.0.0.1:{}", self.port)
    }

    pub(crate) fn store(&self) -> RedisStore {
        RedisStore::new(&RedisSettings::new(self.url())).unwrap()
    }

    /// Runs a command as the operator.
    pub(super) fn run_command(&self, words: &[&str]) {
        self.run_command_as(PASSWORD, words);
    }

    pub(super) fn run_command_as(&self, password: &str, words: &[&str]) {
        let client = redis::Client::open(format!("redis://:{password}@127.0.0.1:{}", self.port)).unwrap();
        let mut connection = client.get_connection_with_timeout(TEST_TIMEOUT).unwrap();
        let (first, rest) = words.split_first().unwrap();
        redis::cmd(first).arg(rest).exec(&mut connection).unwrap();
    }
}

pub(super) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

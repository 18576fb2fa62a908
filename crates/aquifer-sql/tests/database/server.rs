//! A database and roles on the PostgreSQL server of the tests. They are dropped with their value.

use aquifer_sql::Settings;
use parking_lot::Mutex;
use tokio_postgres::{Client, Config, NoTls};

use crate::support::unique;

/// A database of its own.
pub(crate) struct Server {
    pub(crate) database: String,
    client: Client,
    roles: Mutex<Vec<String>>,
}

/// The superuser's URL.
fn superuser() -> String {
    std::env::var("AQUIFER_TEST_POSTGRES").expect("AQUIFER_TEST_POSTGRES is set: cargo xtask test does it")
}

/// The address of the server.
pub(crate) fn address() -> (String, u16) {
    let config: Config = superuser().parse().unwrap();
    let host = match config.get_hosts().first() {
        Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
        _ => "127.0.0.1".to_owned(),
    };
    (host, config.get_ports().first().copied().unwrap_or(5432))
}

/// A connection as the superuser, to any database.
pub(crate) async fn connect(database: &str) -> Client {
    let mut config: Config = superuser().parse().unwrap();
    config.dbname(database).application_name("tests");
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

impl Server {
    pub(crate) async fn new(sql: &str) -> Self {
        let database = unique("aquifer");
        connect("postgres").await.batch_execute(&format!("CREATE DATABASE {database}")).await.unwrap();
        let server = Self { client: connect(&database).await, database, roles: Mutex::default() };
        server.run(sql).await;
        server
    }

    /// Another connection as the superuser.
    pub(crate) async fn connect(&self) -> Client {
        connect(&self.database).await
    }

    pub(crate) async fn run(&self, sql: &str) {
        let done = self.client.batch_execute(sql).await;
        done.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    }

    pub(crate) async fn value(&self, sql: &str) -> String {
        let rows = self.client.simple_query(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
        let found = rows.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no row: {sql}"))
    }

    /// Creates a role that may only log in, and returns its name.
    pub(crate) async fn role(&self) -> String {
        let role = unique("role");
        self.run(&format!("CREATE ROLE {role} LOGIN PASSWORD 'open-sesame-{role}'")).await;
        self.roles.lock().push(role.clone());
        role
    }

    /// A text that would reveal the superuser.
    pub(crate) fn password(&self) -> String {
        let config: Config = superuser().parse().unwrap();
        let password = config.get_password().unwrap_or(b"there is no password");
        String::from_utf8_lossy(password).into_owned()
    }

    /// The URL of this database for the superuser.
    pub(crate) fn url(&self) -> String {
        let url = superuser();
        let (base, _) = url.rsplit_once('/').unwrap();
        format!("{base}/{}", self.database)
    }

    /// The URL of this database for a role, at any address.
    pub(crate) fn url_of(&self, role: &str) -> String {
        let (host, port) = address();
        format!("postgres://{role}:open-sesame-{role}@{host}:{port}/{}", self.database)
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new("here", &self.url()).unwrap()
    }

    pub(crate) fn settings_of(&self, role: &str) -> Settings {
        Settings::new("here", &self.url_of(role)).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let (database, roles) = (self.database.clone(), std::mem::take(&mut *self.roles.lock()));
        // `drop` cannot wait, but a separate thread can.
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let client = connect("postgres").await;
                let _ = client.batch_execute(&format!("DROP DATABASE {database} WITH (FORCE)")).await;
                for role in roles {
                    let _ = client.batch_execute(&format!("DROP ROLE {role}")).await;
                }
            });
        });
        let _ = cleaning.join();
    }
}

//! A client over one HTTP connection that is kept: of revision 2026-07-28, which has no sessions, or of an older one.

use aquifer_bench::http::{Address, Http};
use aquifer_bench::mcp::{Dialect, FIRST_ID, Prepared, Ready, check};

pub(crate) struct HttpConnection {
    http: Http,
    address: Address,
    dialect: Dialect,
    out: Vec<u8>,
    next: u64,
}

impl HttpConnection {
    pub(crate) fn open(address: Address, in_session: bool) -> anyhow::Result<Self> {
        let dialect = if in_session { Dialect::session(&address)? } else { Dialect::Stateless };
        Ok(Self { http: dialect.connect(&address)?, address, dialect, out: Vec::new(), next: FIRST_ID })
    }

    pub(crate) fn prepare(&self, request: &Prepared) -> Ready {
        Ready::in_dialect(request, &self.address, &self.dialect)
    }

    pub(crate) fn send(&mut self, ready: &Ready) -> anyhow::Result<&[u8]> {
        let id = self.next.to_string();
        self.next += 1;
        ready.write(&id, &mut self.out);
        let answer = self.http.exchange(&self.out)?;
        check(answer, &id)?;
        Ok(answer)
    }
}

//! A client of revision 2026-07-28: requests without a session, plain JSON answers, one connection kept alive.

use aquifer_bench::http::{Address, Http};
use aquifer_bench::mcp::{FIRST_ID, Prepared, Ready, check};

pub(crate) struct HttpConnection {
    http: Http,
    address: Address,
    out: Vec<u8>,
    next: u64,
}

impl HttpConnection {
    pub(crate) fn open(url: &str) -> anyhow::Result<Self> {
        let address = Address::read(url)?;
        Ok(Self { http: Http::open(&address)?, address, out: Vec::new(), next: FIRST_ID })
    }

    pub(crate) fn prepare(&self, request: &Prepared) -> Ready {
        Ready::over_http(request, &self.address)
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

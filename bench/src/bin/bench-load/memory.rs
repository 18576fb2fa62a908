//! Resident memory while large answers are made: one after the other, then many at once.

use anyhow::bail;

use crate::answer::Size;
use crate::target::{Running, Target};
use crate::{Figures, Plan};

/// For each server: `N.before_kb` once a first answer is given, `N.one_kb` and `N.many_kb` the peaks while requests
/// come one after the other and in storms from all clients at once, `N.again_kb` the peak of as many storms more, and
/// `N.bytes`. What grows from one peak to the next of the same kind is not flat.
pub(crate) fn measure(targets: &[Target], plan: &Plan) -> anyhow::Result<Figures> {
    let mut figures = Figures::new();
    for (index, target) in targets.iter().enumerate() {
        let server = target.start()?;
        let size = server.first_answer(plan.rows)?;
        let before = server.server.resident_kb()?;
        let one = peak(&server, &size, 1, plan.requests)?;
        let many = storms(&server, &size, plan)?;
        let again = storms(&server, &size, plan)?;
        let named = [
            ("before_kb", before),
            ("one_kb", one),
            ("many_kb", many),
            ("again_kb", again),
            ("bytes", size.bytes as f64),
        ];
        figures.extend(named.map(|(name, value)| (format!("{index}.{name}"), value)));
    }
    Ok(figures)
}

/// The most memory in a few storms of all clients at once: how many answers are under way at the very same time is
/// chance, and one storm alone shows too little of it.
fn storms(server: &Running, first: &Size, plan: &Plan) -> anyhow::Result<f64> {
    const STORMS: usize = 4;
    let mut most: f64 = 0.0;
    for _ in 0..STORMS {
        most = most.max(peak(server, first, plan.clients, plan.requests)?);
    }
    Ok(most)
}

/// The most memory while `clients` at once send so many requests in all.
fn peak(server: &Running, first: &Size, clients: usize, requests: usize) -> anyhow::Result<f64> {
    server.server.forget_peak()?;
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..clients).map(|_| scope.spawn(|| client(server, first, requests.div_ceil(clients)))).collect();
        for client in clients {
            match client.join() {
                Ok(outcome) => outcome?,
                Err(_) => bail!("a client panicked"),
            }
        }
        Ok(())
    })?;
    server.server.peak_kb()
}

fn client(server: &Running, first: &Size, requests: usize) -> anyhow::Result<()> {
    let mut client = server.client(first)?;
    (0..requests).try_for_each(|_| client.ask())
}

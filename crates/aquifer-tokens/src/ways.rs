//! The ways to do one task: with the source's own tools, and over each of the surfaces in front of it.

use serde_json::{Map, Value};

use crate::aql::Aql;
use crate::catalog::Catalogue;
use crate::count::Counts;
use crate::report::{self, Answer, Doing, Kind, Outcome, Step, Way};
use crate::seen::{self, Apart};
use crate::server::{Server, Unanswered};
use crate::task::{self, Task, laid_over};

/// Why something is not called, and what has it called.
const MAY_WRITE: &str = "it may write (--allow-writes)";

/// The source's own tools, and which server has which.
pub(crate) struct Direct<'a, S> {
    pub(crate) servers: Vec<&'a S>,
    tools: Vec<Value>,
    /// For each tool the server that has it.
    owners: Vec<&'a S>,
}

impl<S> Default for Direct<'_, S> {
    fn default() -> Self {
        Self { servers: Vec::new(), tools: Vec::new(), owners: Vec::new() }
    }
}

impl<'a, S: Server> Direct<'a, S> {
    pub(crate) fn add(&mut self, server: &'a S, tools: Vec<Value>) {
        self.servers.push(server);
        self.owners.extend(tools.iter().map(|_| server));
        self.tools.extend(tools);
    }

    pub(crate) fn is_there(&self) -> bool {
        !self.servers.is_empty()
    }

    pub(crate) fn tools(&self) -> &[Value] {
        &self.tools
    }

    /// The tool that does a task, and who has it.
    fn tool(&self, task: &Task) -> Option<(&'a S, &Value, &str)> {
        let named = self.tools.iter().zip(&self.owners).filter_map(|(tool, owner)| {
            let name = tool.get("name")?.as_str()?;
            Some((*owner, tool, name))
        });
        let mut named = named.filter(|(owner, _, name)| match &task.tool {
            Some(wanted) => wanted == name,
            None => owner.operation(name) == task.operation,
        });
        named.next()
    }
}

/// Everything a task may be done with.
pub(crate) struct Ways<'a, S> {
    pub(crate) direct: &'a Direct<'a, S>,
    pub(crate) served: &'a [Aql<'a, S>],
    /// The one that was introspected.
    pub(crate) first: &'a Aql<'a, S>,
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) allow_writes: bool,
}

/// A way, and what was answered in the end.
struct Done {
    way: Way,
    data: Option<Value>,
    read: Option<Counts>,
}

impl<S: Server> Ways<'_, S> {
    /// Does a task in every way.
    pub(crate) async fn of(&self, task: &Task) -> Result<report::Task, Unanswered> {
        let plain = self.over(self.first, task, None).await?;
        let shapes = self.shapes(task, plain.data.as_ref());
        let mut answers = Vec::new();
        if let Some(read) = plain.read {
            answers.push(Answer { shape: "as it comes".to_owned(), params: Map::new(), read });
            for (name, params) in &shapes {
                let over = laid_over(&task.params, params);
                let described = self.catalogue.detail(&task.operation);
                let said = self.first.call(&task.operation, &over, described).await?;
                if said.data().is_some() {
                    answers.push(Answer { shape: (*name).to_owned(), params: params.clone(), read: said.read });
                }
            }
        }
        let mut ways: Vec<Way> = self.directly(task).await?.into_iter().collect();
        let mut plain = Some(plain.way);
        for aql in self.served {
            ways.push(match plain.take_if(|_| std::ptr::eq(aql, self.first)) {
                Some(done) => done,
                None => self.over(aql, task, None).await?.way,
            });
            if let Some((_, shape)) = shapes.last() {
                ways.push(self.over(aql, task, Some(shape)).await?.way);
            }
        }
        ways.sort_by_key(|way| (way.surface, way.shaped));
        let Task { name, operation, search, .. } = task.clone();
        Ok(report::Task { name, operation, search, ways, answers })
    }

    /// The shapes the answer is asked for in. What writes is not called once more for that.
    fn shapes(&self, task: &Task, data: Option<&Value>) -> Vec<(&'static str, Map<String, Value>)> {
        match data {
            Some(data) if self.catalogue.reads(&task.operation) => {
                if task.shaped.is_empty() {
                    task::shapes(self.catalogue.parameters(&task.operation), data)
                } else {
                    vec![("shaped", task.shaped.clone())]
                }
            }
            _ => Vec::new(),
        }
    }

    /// Search, look, call.
    async fn over(
        &self,
        aql: &Aql<'_, S>,
        task: &Task,
        shape: Option<&Map<String, Value>>,
    ) -> Result<Done, Unanswered> {
        let mut steps = vec![Step { step: Doing::Connect, wrote: Counts::default(), read: aql.connect }];
        let mut found = None;
        if let Some(words) = &task.search {
            let (said, is_there) = aql.search(words, &task.operation).await?;
            steps.push(said.step(Doing::Search));
            found = Some(is_there);
        }
        let detail = aql.detail(&task.operation).await?;
        steps.push(detail.step(Doing::Detail));
        let mut way = Way {
            surface: aql.kind,
            shaped: shape.is_some(),
            steps,
            total: Counts::default(),
            found,
            outcome: Outcome::NotCalled,
            why: self.forbidden(task),
            apart: Apart::default(),
        };
        let (mut data, mut read) = (None, None);
        if way.why.is_none() {
            let params = shape.map_or_else(|| task.params.clone(), |shape| laid_over(&task.params, shape));
            let described = detail.data().and_then(|data| data.get("operation"));
            let said = aql.call(&task.operation, &params, described).await?;
            way.steps.push(said.step(Doing::Call));
            way.apart = said.seen.apart;
            (way.outcome, way.why) = match said.data() {
                Some(answered) => {
                    (data, read) = (Some(answered.clone()), Some(said.read));
                    (Outcome::Answered, None)
                }
                None => (Outcome::Refused, Some(said.refusal())),
            };
        }
        way.total = total(&way.steps);
        Ok(Done { way, data, read })
    }

    /// Why an operation is not called.
    fn forbidden(&self, task: &Task) -> Option<String> {
        let operation = &task.operation;
        if !self.catalogue.has(operation) {
            Some(format!("there is no operation '{operation}'"))
        } else if !self.catalogue.reads(operation) && !self.allow_writes {
            Some(MAY_WRITE.to_owned())
        } else {
            None
        }
    }

    /// With the source's own tool.
    async fn directly(&self, task: &Task) -> Result<Option<Way>, Unanswered> {
        if !self.direct.is_there() {
            return Ok(None);
        }
        let read = Counts::of(&seen::tools(self.direct.tools()));
        let mut way = Way {
            surface: Kind::Direct,
            shaped: false,
            steps: vec![Step { step: Doing::Connect, wrote: Counts::default(), read }],
            total: Counts::default(),
            found: None,
            outcome: Outcome::NotCalled,
            why: None,
            apart: Apart::default(),
        };
        match self.direct.tool(task) {
            None => way.why = Some("no tool of its own is known to do it (name one as 'tool')".to_owned()),
            Some((owner, tool, name)) if !self.allow_writes && !self.only_reads(owner, tool, name) => {
                way.why = Some(MAY_WRITE.to_owned());
            }
            Some((owner, _, name)) => {
                let arguments = Value::Object(task.arguments.as_ref().unwrap_or(&task.params).clone());
                let wrote = Counts::of(&seen::call(name, &arguments));
                match owner.call(name, &arguments).await {
                    Ok(result) => {
                        let seen = seen::result(&result);
                        way.steps.push(Step { step: Doing::Call, wrote, read: Counts::of(&seen.text) });
                        way.apart = seen.apart;
                        way.outcome = if seen.failed { Outcome::Refused } else { Outcome::Answered };
                        way.why = seen.failed.then(|| seen.text.chars().take(200).collect());
                    }
                    Err(Unanswered(why)) => way.why = Some(why),
                }
            }
        }
        way.total = total(&way.steps);
        Ok(Some(way))
    }

    /// Whether a tool is known to read and nothing else: its operation does; of a tool without one, its server says so.
    fn only_reads(&self, owner: &S, tool: &Value, name: &str) -> bool {
        let operation = owner.operation(name);
        if self.catalogue.has(&operation) {
            return self.catalogue.reads(&operation);
        }
        let hint = |name: &str| tool.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool);
        hint("readOnlyHint") == Some(true) && hint("destructiveHint") != Some(true)
    }
}

fn total(steps: &[Step]) -> Counts {
    steps.iter().map(|step| step.wrote + step.read).sum()
}

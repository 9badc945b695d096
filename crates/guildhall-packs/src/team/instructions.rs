//! The texts of set-up, from Liquid templates that a project can replace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_core::team::{ORCHESTRATOR, RoleName};
use guildhall_store::team::{SetUp, Task, Waiting};
use liquid::{Object, Parser, ParserBuilder, Template};
use serde::Serialize;

const OF_ORCHESTRATOR: &str = include_str!("templates/orchestrator.liquid");
const OF_WORKER: &str = include_str!("templates/worker.liquid");

/// Characters that set-up shows of a message or a task.
const EXCERPT: usize = 200;

/// Where the texts of set-up come from.
#[derive(Clone)]
pub struct Templates {
    dir: Option<Arc<Path>>,
    parser: Arc<Parser>,
}

/// A template that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// It is there and cannot be read.
    #[error("The template `{}` cannot be read", path.display())]
    Read {
        /// Its file.
        path: PathBuf,
        /// What the disk said.
        source: std::io::Error,
    },
    /// It is not Liquid, or names what is not there.
    #[error("The template `{name}` does not render: {source}")]
    Render {
        /// Its file, or `built in`.
        name: String,
        /// What is wrong in it.
        source: liquid::Error,
    },
}

/// What a template can name.
#[derive(Serialize)]
struct Values<'a> {
    session: &'a str,
    project: &'a str,
    namespace: &'a str,
    role: &'a str,
    /// The role as a title: `AI`.
    title: String,
    /// What the role does.
    does: String,
    /// All roles of the session.
    roles: Vec<&'a str>,
    /// The agent's command line, and what to know about it; empty where there is nothing.
    agent: &'a str,
    agent_note: &'static str,
    /// Empty where there is none.
    repo: &'a str,
    branch: &'a str,
    worktree: &'a str,
    tasks: Vec<TaskValue<'a>>,
    messages: Vec<MessageValue<'a>>,
    unread: i64,
}

#[derive(Serialize)]
struct TaskValue<'a> {
    id: &'a str,
    state: &'a str,
    priority: &'a str,
    summary: String,
}

#[derive(Serialize)]
struct MessageValue<'a> {
    id: &'a str,
    from: &'a str,
    text: String,
}

impl Templates {
    /// Those in `dir`, `<role>.liquid`, then `worker.liquid` for every role but the orchestrator; for what is not there, the
    /// built-in ones. A file is read when it is needed, so that a change shows in the next call.
    ///
    /// # Panics
    ///
    /// Never: the standard tags and filters make a parser.
    pub fn new(dir: Option<PathBuf>) -> Self {
        let parser = ParserBuilder::with_stdlib()
            .build()
            .expect("the standard tags and filters make a parser");
        Self {
            dir: dir.map(Arc::from),
            parser: Arc::new(parser),
        }
    }

    /// The instructions for a role that was just set up.
    ///
    /// # Errors
    ///
    /// Where the project's own template cannot be read or does not render.
    pub async fn instructions(&self, set_up: &SetUp) -> Result<String, TemplateError> {
        let values = Values::of(set_up);
        let (name, template) = self.template(&set_up.role.role).await?;
        let wrong = |source| TemplateError::Render { name, source };
        let object: Object = match liquid::to_object(&values) {
            Ok(object) => object,
            Err(error) => return Err(wrong(error)),
        };
        match template.render(&object) {
            Ok(text) => Ok(squeezed(&text)),
            Err(error) => Err(wrong(error)),
        }
    }

    /// Checks the project's own templates of these roles, without a session.
    ///
    /// # Errors
    ///
    /// As [`Templates::instructions`], for the first that cannot be parsed.
    pub async fn check(&self, roles: &[RoleName]) -> Result<(), TemplateError> {
        for role in roles {
            self.template(role).await?;
        }
        Ok(())
    }

    async fn template(&self, role: &RoleName) -> Result<(String, Template), TemplateError> {
        let (name, text) = match self.own(role).await? {
            Some(own) => own,
            None if role.leads() => ("built in".to_owned(), OF_ORCHESTRATOR.to_owned()),
            None => ("built in".to_owned(), OF_WORKER.to_owned()),
        };
        match self.parser.parse(&text) {
            Ok(template) => Ok((name, template)),
            Err(source) => Err(TemplateError::Render { name, source }),
        }
    }

    /// The project's own template for the role: its file and what is in it.
    async fn own(&self, role: &RoleName) -> Result<Option<(String, String)>, TemplateError> {
        let Some(dir) = &self.dir else {
            return Ok(None);
        };
        let general = (!role.leads()).then_some("worker");
        for name in [Some(role.as_str()), general].into_iter().flatten() {
            let path = dir.join(format!("{name}.liquid"));
            match tokio::fs::read_to_string(&path).await {
                Ok(text) => return Ok(Some((path.display().to_string(), text))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(TemplateError::Read { path, source }),
            }
        }
        Ok(None)
    }
}

impl<'a> Values<'a> {
    fn of(set_up: &'a SetUp) -> Self {
        let SetUp {
            session,
            role,
            roles,
            tasks,
            waiting,
        } = set_up;
        let agent = role.agent.as_deref().unwrap_or_default();
        Self {
            session: session.id.as_str(),
            project: session.id.project(),
            namespace: &session.namespace,
            role: role.role.as_str(),
            title: role.role.as_str().to_uppercase(),
            does: does(role.role.as_str()),
            roles: roles.iter().map(RoleName::as_str).collect(),
            agent,
            agent_note: agent_note(agent),
            repo: session.repo.as_deref().unwrap_or_default(),
            branch: role
                .branch
                .as_deref()
                .or(session.branch.as_deref())
                .unwrap_or_default(),
            worktree: role.worktree.as_deref().unwrap_or_default(),
            tasks: tasks.iter().map(TaskValue::of).collect(),
            messages: waiting.iter().map(MessageValue::of).collect(),
            unread: role.unread,
        }
    }
}

impl<'a> TaskValue<'a> {
    fn of(task: &'a Task) -> Self {
        Self {
            id: &task.id,
            state: &task.state,
            priority: &task.priority,
            summary: excerpt(&task.summary),
        }
    }
}

impl<'a> MessageValue<'a> {
    fn of(waiting: &'a Waiting) -> Self {
        Self {
            id: &waiting.id,
            from: &waiting.from,
            text: excerpt(&waiting.body),
        }
    }
}

/// What a role does, as the end of a sentence.
fn does(role: &str) -> String {
    let known = match role {
        ORCHESTRATOR => "to lead the team: you split the work, dispatch it and bring it together",
        "ai" => "code review and architecture feedback",
        "dat" => "data: models, migrations, queries and pipelines",
        "sec" => "security: authentication, authorization, secrets and dependencies",
        "ops" => "operations: infrastructure, builds, releases and monitoring",
        "plt" => "the platform: services, interfaces and integrations",
        "ui" => "the user interface: components, accessibility and how it feels",
        "doc" => "documentation: guides, references, changelogs and release notes",
        "qa" => "testing: plans, regression tests and reproducing faults",
        other => return format!("`{other}`, as this project uses the word"),
    };
    known.to_owned()
}

/// What is particular about an agent's command line.
fn agent_note(agent: &str) -> &'static str {
    match agent {
        "claude" => {
            "In Claude Code the tools stand under the server's name (mcp__<server>__devorch_inbox); run no sub-agents for what \
             a teammate's role is."
        }
        "codex" => {
            "In Codex a tool call ends after its timeout: keep wait_seconds under tool_timeout_sec of the server's entry."
        }
        "gemini" => {
            "In Gemini CLI confirm the server's tools once for the session, so that waiting is not asked about again."
        }
        "opencode" => {
            "In opencode the tools stand under the server's name (<server>_devorch_inbox)."
        }
        "goose" => {
            "In goose the tools stand under the extension's name (<extension>__devorch_inbox)."
        }
        _ => "",
    }
}

/// The beginning of a text from somebody else, on one line: it stands in a list.
fn excerpt(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(EXCERPT)
        .map(|c| {
            if c.is_control() || guildhall_core::text::steers(c) {
                ' '
            } else {
                c
            }
        })
        .collect();
    if text.chars().nth(EXCERPT).is_some() {
        line.push('…');
    }
    line
}

/// The text without the empty lines that unused parts of a template leave.
fn squeezed(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.trim().lines() {
        let line = line.trim_end();
        if !(line.is_empty() && lines.last().is_some_and(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

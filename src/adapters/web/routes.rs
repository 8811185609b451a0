//! The table of all HTTP operations beside the console's files and the platforms' webhooks. The router serves it,
//! `/api/openapi.json` describes it, and the query keys of a request are checked against it.

use serde_json::Value;

use super::operation::{Access, Content, Operation};
use super::{
    access, agents, all_events, approvals, backup, branch, chat, configuration, events, execute, files,
    grants, health, instructions, login, logs, memory, models, onboarding, openapi, speech, tasks,
    thread_changes, threads, usage,
};
use crate::blocking::PoolProbe;

/// All operations, in the order of the document.
pub(super) fn operations() -> Vec<Operation> {
    [talking(), conversations(), decisions(), knowledge(), people(), scheduled(), operation(), service()]
        .into_iter()
        .flatten()
        .collect()
}

fn talking() -> Vec<Operation> {
    vec![
        Operation::post("/api/execute", execute::execute)
            .about("Runs instructions and answers with the whole result.")
            .takes::<execute::ExecuteRequest>()
            .answers::<execute::ExecuteResponse>()
            .idempotent(),
        Operation::post("/api/chat", chat::chat)
            .about("The AI SDK's chat protocol: submits the newest message and streams the answer.")
            .takes_long::<chat::ChatRequest>()
            .gives(Content::Events),
        Operation::get("/api/chat/{id}/stream", chat::resume)
            .about("Streams the current answer from its beginning; 204 where there is none.")
            .gives(Content::Events)
            .or_empty(),
    ]
}

fn conversations() -> Vec<Operation> {
    vec![
        Operation::get("/api/threads", threads::list)
            .about("A page of the conversations, newest first.")
            .query::<threads::ListQuery>()
            .answers::<threads::ThreadList>(),
        Operation::patch("/api/threads/{id}", thread_changes::mark)
            .about("Renames, pins or archives a conversation.")
            .takes::<thread_changes::MarkRequest>()
            .answers::<thread_changes::MarkAnswer>(),
        Operation::delete("/api/threads/{id}", thread_changes::delete)
            .about("Deletes a conversation with its files.")
            .answers::<thread_changes::ThreadDeleted>(),
        Operation::get("/api/threads/{id}/model", models::show)
            .about("The models that can be chosen for a conversation, and the one that was.")
            .answers::<Value>(),
        Operation::put("/api/threads/{id}/model", models::choose)
            .about("Chooses the model of a conversation.")
            .takes::<models::ModelRequest>()
            .answers::<Value>(),
        Operation::post("/api/threads/{id}/branch", branch::branch)
            .about("Copies what was said before a message into a new conversation.")
            .takes::<branch::BranchRequest>()
            .answers::<branch::Branched>()
            .status(201),
        Operation::post("/api/threads/{id}/regenerate", thread_changes::regenerate)
            .about("Answers the last question again.")
            .answers::<threads::MessageAccepted>()
            .status(202),
        Operation::get("/api/threads/{id}/messages", threads::messages)
            .about("A page of the messages, oldest first.")
            .query::<threads::PageQuery>()
            .answers::<threads::MessageList>(),
        Operation::post("/api/threads/{id}/messages", threads::say)
            .about("Says something as the operator, in a conversation of any platform.")
            .takes_long::<threads::SayRequest>()
            .answers::<threads::SayAnswer>()
            .status(202),
        Operation::patch("/api/threads/{id}/messages/{message}", thread_changes::edit)
            .about("Replaces a message that waits, or asks the last question anew.")
            .takes::<thread_changes::EditRequest>()
            .answers::<threads::MessageAccepted>()
            .status(202),
        Operation::delete("/api/threads/{id}/messages/{message}", thread_changes::withdraw)
            .about("Takes back a message that waits for its answer.")
            .answers::<threads::MessageAccepted>(),
        Operation::get("/api/threads/{id}/messages/{message}/speech", speech::speech)
            .about("An answer as sound.")
            .gives(Content::File),
        Operation::get("/api/threads/{id}/events", events::events)
            .about("What happens in one conversation.")
            .gives(Content::Events),
        Operation::post("/api/threads/{id}/stop", threads::stop)
            .about("Stops the running turn.")
            .answers::<threads::MessageAccepted>(),
        Operation::get("/api/events", all_events::events)
            .about("What changes anywhere.")
            .query::<all_events::EventsQuery>()
            .gives(Content::Events),
        Operation::get("/api/files/{thread}/{name}", files::file)
            .about("A file of a conversation.")
            .gives(Content::File),
        Operation::post("/api/files/{thread}/{name}/link", files::link)
            .about("A link that downloads a file without a token, for a minute.")
            .answers::<files::FileLink>(),
        Operation::get("/files/{thread}/{name}", files::linked)
            .about("A file, by a signed link.")
            .access(Access::OwnProof)
            .query::<files::Signed>()
            .gives(Content::File),
    ]
}

fn decisions() -> Vec<Operation> {
    vec![
        Operation::get("/api/approvals", approvals::list)
            .about("What the agent asked, newest first.")
            .query::<approvals::Filter>()
            .answers::<approvals::ApprovalList>(),
        Operation::post("/api/approvals/{id}", approvals::decide)
            .about("Decides an approval, by its number or id.")
            .takes::<approvals::DecisionBody>()
            .answers::<crate::domain::ApprovalFile>(),
        Operation::get("/api/grants", grants::list)
            .about("What was allowed for longer than one call.")
            .answers::<grants::GrantList>(),
        Operation::delete("/api/grants/{id}", grants::revoke)
            .about("Takes a grant back.")
            .answers::<crate::domain::GrantSummary>(),
    ]
}

fn knowledge() -> Vec<Operation> {
    vec![
        Operation::get("/api/memory", memory::show)
            .about("The scopes that have memory, or the memory of one scope.")
            .query::<memory::MemoryQuery>()
            .answers::<memory::MemoryAnswer>(),
        Operation::post("/api/memory", memory::change)
            .about("Edits core memory, forgets an item, or undoes the last change.")
            .takes::<memory::ChangeRequest>()
            .answers::<memory::Changed>(),
        Operation::get("/api/memory/ledger", memory::ledger)
            .about("A page of the changes of memory, newest first.")
            .query::<memory::LedgerQuery>()
            .answers::<memory::Ledger>(),
        Operation::get("/api/memory/checkpoints", memory::checkpoints)
            .about("The checkpoints of the newest conversations.")
            .answers::<memory::CheckpointList>(),
        Operation::get("/api/memory/search", memory::search)
            .about("Searches memory.")
            .query::<memory::SearchQuery>()
            .answers::<memory::SearchAnswer>(),
    ]
}

fn people() -> Vec<Operation> {
    vec![
        Operation::get("/api/access", access::list)
            .about("Who has access, and who asks for it.")
            .answers::<crate::ports::AccessList>(),
        Operation::post("/api/access/approve", access::approve)
            .about("Admits a person by their pairing code.")
            .takes::<access::ApproveRequest>()
            .answers::<access::Admitted>(),
        Operation::post("/api/access/invite", access::invite)
            .about("Makes an invitation code for one person.")
            .takes::<access::InviteRequest>()
            .answers::<access::InvitationCode>(),
        Operation::post("/api/access/{who}", access::change_role)
            .about("Changes the role of a person.")
            .takes::<access::RoleRequest>()
            .answers::<access::Admitted>(),
        Operation::delete("/api/access/{who}", access::revoke)
            .about("Revokes the access of a person or a group, or refuses an open request.")
            .status(204),
        Operation::post("/api/login", login::login)
            .about("Exchanges the token or a one-time code for a session.")
            .access(Access::OwnProof)
            .takes::<login::Login>()
            .answers::<login::SessionGrant>(),
        Operation::post("/api/session", login::renew)
            .about("A new session for a caller that has a credential.")
            .answers::<login::SessionGrant>(),
        Operation::post("/api/login-code", login::issue_code)
            .about("A code that logs in once, within five minutes.")
            .answers::<login::LoginCode>(),
    ]
}

fn scheduled() -> Vec<Operation> {
    vec![
        Operation::get("/api/tasks", tasks::list).about("The scheduled tasks.").answers::<tasks::TaskList>(),
        Operation::post("/api/tasks/check", tasks::check)
            .about("What a task file would mean; writes nothing.")
            .takes::<tasks::TaskFileBody>()
            .answers::<crate::ports::TaskPreview>(),
        Operation::get("/api/tasks/{id}", tasks::show)
            .about("A task with its file and history.")
            .answers::<crate::ports::TaskDetails>(),
        Operation::put("/api/tasks/{id}", tasks::write)
            .about("Writes a task file, unless it changed.")
            .takes::<tasks::TaskFileBody>()
            .answers::<tasks::TaskWritten>(),
        Operation::delete("/api/tasks/{id}", tasks::remove)
            .about("Removes a task file, unless it changed.")
            .takes::<tasks::RemoveBody>()
            .answers::<tasks::TaskRemoved>(),
        Operation::post("/api/tasks/{id}/run", tasks::run)
            .about("Starts a run now.")
            .answers::<tasks::TaskStarted>()
            .idempotent(),
        Operation::post("/api/tasks/{id}/pause", tasks::pause)
            .about("Pauses a task.")
            .answers::<tasks::TaskPaused>(),
        Operation::post("/api/tasks/{id}/resume", tasks::resume)
            .about("Ends a pause.")
            .answers::<tasks::TaskPaused>(),
    ]
}

fn operation() -> Vec<Operation> {
    vec![
        Operation::get("/api/config", configuration::keys)
            .about("Every key of the configuration with its value and origin, without secrets.")
            .answers::<crate::ports::ConfigurationKeys>(),
        Operation::patch("/api/config", configuration::change)
            .about("Changes all of these keys in the files, or none.")
            .takes::<configuration::ConfigurationRequest>()
            .answers::<crate::ports::ConfigurationChanged>(),
        Operation::get("/api/instructions", instructions::show)
            .about("The text of Agent.md, and its earlier versions.")
            .answers::<crate::ports::EditableInstructions>(),
        Operation::put("/api/instructions", instructions::write)
            .about("Replaces the text of Agent.md, unless it changed.")
            .takes::<instructions::InstructionsRequest>()
            .answers::<crate::ports::EditableInstructions>(),
        Operation::get("/api/instructions/{version}", instructions::version)
            .about("The text of an earlier version of Agent.md.")
            .answers::<instructions::InstructionsText>(),
        Operation::get("/api/backup", backup::download)
            .about("Everything from which the project can be restored, without .env, as a tar archive.")
            .gives(Content::File),
        Operation::get("/api/logs", logs::log)
            .about("A page of the daemon's log, newest first.")
            .query::<logs::LogFilter>()
            .answers::<logs::LogLines>(),
        Operation::get("/api/audit", logs::audit)
            .about("A page of the audit trail, newest first.")
            .query::<logs::AuditFilter>()
            .answers::<logs::AuditPage>(),
        Operation::post("/api/checkup", health::checkup)
            .about("Runs the checks of `shipagent doctor`.")
            .answers::<health::CheckupResult>(),
    ]
}

fn service() -> Vec<Operation> {
    let pool = PoolProbe::default();
    vec![
        Operation::get("/api/onboarding", onboarding::show)
            .about("What the first set-up of a project offers; 409 where there is a ship.json.")
            .answers::<crate::ports::OnboardingOffer>(),
        Operation::post("/api/onboarding", onboarding::apply)
            .about("Writes the project's files; the daemon starts over with them.")
            .takes::<crate::ports::OnboardingAnswers>()
            .answers::<onboarding::ProjectWritten>(),
        Operation::post("/api/onboarding/model", onboarding::check_model)
            .about("Calls a model once and lists the models of its server.")
            .takes::<crate::ports::ModelChoice>()
            .answers::<crate::ports::ModelCheck>(),
        Operation::post("/api/onboarding/platform", onboarding::check_platform)
            .about("Asks a platform for the identity of the bot.")
            .takes::<crate::ports::PlatformChoice>()
            .answers::<onboarding::PlatformCheck>(),
        Operation::get("/api/usage", usage::usage)
            .about("What was spent, by day, month, model, thread, person, task or purpose.")
            .query::<usage::UsageQuery>()
            .answers::<Value>(),
        Operation::get("/api/agents", agents::list)
            .about("The agents that share their groups with this one.")
            .answers::<agents::AgentList>(),
        Operation::get("/api/info", health::info)
            .about("Name, version, model, adapters and sandbox of the daemon.")
            .answers::<health::Info>(),
        Operation::get("/api/openapi.json", openapi::serve).about("This document.").answers::<Value>(),
        Operation::get("/metrics", health::metrics)
            .about("Counters in the format of Prometheus.")
            .access(Access::Credential)
            .gives(Content::Text),
        Operation::get("/healthz", move || health::healthz(pool.clone()))
            .about("Whether the process works: `ok`, or 503.")
            .gives(Content::Text),
        Operation::get("/readyz", health::readyz)
            .about("Whether recovery is done and every adapter passed its first check: `ready`, or 503.")
            .gives(Content::Text),
    ]
}

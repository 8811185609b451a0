//! One run of a task: submits the event of a slot, waits for its end, asks or refuses where an approval is needed, and
//! delivers the result. Every step may be done again after a restart: events and deliveries have ids of their own, and
//! threads drop repeated ones.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use super::definition::{OnApproval, Placeholders, RunThread, TaskDefinition, TaskId, TaskKind};
use super::notices::{AGAIN, text_intent};
use super::planner::Trigger;
use super::state::{TaskOutcome, TaskRun};
use crate::domain::{
    Answer, Approval, Author, AuthorId, AuthorRole, ChatKind, Decision, ErrorKind, IngressEvent, IngressKind,
    Language, MessageId, Owners, Platform, Said, ScheduledRun, ThreadId, ThreadState, Timestamp,
    short_digest,
};
use crate::fail_point::fail_point;
use crate::phrases;
use crate::ports::{
    AccessStore, Budget, Clock, DirectChats, RejectReason, Rejection, RunOutcome, ThreadsHandle,
};
use crate::uimessage::RunStatus;

/// How often the end of a run is asked for that its thread does not know.
const MOST_ASKED: u32 = 3;

/// What all runs work with.
#[derive(Clone, Debug)]
pub struct RunParts {
    pub threads: ThreadsHandle,
    pub clock: Arc<dyn Clock>,
    pub access: Arc<dyn AccessStore>,
    /// The platform of the tasks' own threads.
    pub platform: Platform,
    /// The owners of the project, the first one first.
    pub owners: Owners,
    /// Finds the direct chat of a person.
    pub direct: Arc<dyn DirectChats>,
    pub budget: Arc<dyn Budget>,
    pub language: Option<Language>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    Ended {
        outcome: TaskOutcome,
        text: String,
    },
    /// The daemon stops; the run goes on at the next start.
    Interrupted,
}

/// A run that is over, with the event that started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRun {
    pub task: TaskId,
    pub message: MessageId,
    pub end: RunEnd,
    /// In millionths of a US dollar, where it is known.
    pub cost: Option<u64>,
}

/// What a run reports while it goes on; the scheduler stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunNote {
    /// An approval was refused because no person can decide.
    Refused,
    /// An owner was told of failures.
    FailureTold,
}

/// The id of the event that a slot submits.
pub fn slot_message(id: &TaskId, slot: Timestamp) -> MessageId {
    MessageId::made("task_", &format!("{id}@{}", slot.rfc3339()))
}

/// The id of the event that a person's request with this key submits.
pub fn keyed_message(id: &TaskId, key: &str) -> MessageId {
    MessageId::made("task_", &format!("{id}@key-{}", short_digest(key.as_bytes(), 16)))
}

/// How the wait for a run ended.
#[derive(Debug)]
struct Waited {
    outcome: RunOutcome,
    timed_out: bool,
    /// How often an approval was refused.
    refused: u32,
}

#[derive(Debug)]
pub struct Run {
    pub parts: RunParts,
    pub id: TaskId,
    pub definition: TaskDefinition,
    pub run: TaskRun,
    /// The results of earlier runs, for the placeholders.
    pub last_run: Option<Timestamp>,
    pub last_result: String,
    /// Failures in a row before this run.
    pub failures: u32,
    /// When an owner was last told of failures.
    pub failure_told: Option<Timestamp>,
    pub notes: tokio::sync::mpsc::UnboundedSender<(TaskId, RunNote)>,
    pub stop: CancellationToken,
}

impl Run {
    /// Runs or resumes it.
    pub async fn finish(self) -> EndedRun {
        let stop = self.stop.clone();
        let (end, cost) = tokio::select! {
            biased;
            () = stop.cancelled() => (RunEnd::Interrupted, None),
            ended = self.attempt_and_tell() => ended,
        };
        EndedRun { task: self.id, message: self.run.message, end, cost }
    }

    async fn attempt_and_tell(&self) -> (RunEnd, Option<u64>) {
        let mut cost = None;
        let end = self.attempt(&mut cost).await;
        if let RunEnd::Ended { outcome: TaskOutcome::Failed | TaskOutcome::TimedOut, text } = &end {
            self.tell_failure(text).await;
        }
        (end, cost)
    }

    async fn attempt(&self, cost: &mut Option<u64>) -> RunEnd {
        let author = match self.author().await {
            Ok(author) => author,
            Err(text) => return failed(text),
        };
        if self.definition.kind == TaskKind::Message {
            return match self.deliver(&[text_intent(self.prompt())]).await {
                Ok(()) => RunEnd::Ended { outcome: TaskOutcome::Done, text: self.definition.body.clone() },
                Err(text) => failed(text),
            };
        }
        if let Err(text) = self.submit(&author).await {
            return failed(text);
        }
        fail_point("task-accepted");
        let waited = self.wait(&author).await;
        fail_point("task-result");
        self.parts.budget.ready().await;
        *cost = waited.outcome.correlation.as_ref().and_then(|turn| self.parts.budget.spent_by(turn));
        let end = self.settle(waited).await;
        fail_point("task-delivered");
        end
    }

    /// The person whose rights the run has.
    async fn author(&self) -> Result<Author, String> {
        let id = match (&self.definition.author, self.parts.owners.current().first()) {
            (Some(author), _) => author.clone(),
            (None, Some(owner)) => owner.clone(),
            (None, None) => return operator(&self.parts.platform),
        };
        if self.parts.owners.current().contains(&id) {
            return Ok(Author { id, name: None, role: AuthorRole::Owner { admin: false } });
        }
        let gone = || phrases::tasks::author_without_access(id.as_str(), self.language());
        if self.parts.access.is_removed(&id).await.map_err(|error| error.to_string())? {
            return Err(gone());
        }
        let role = self.parts.access.role_of(&id).await.map_err(|error| error.to_string())?;
        let role = AuthorRole::Person.with(role);
        Ok(Author { id, name: None, role })
    }

    pub(super) fn language(&self) -> Language {
        self.parts.language.unwrap_or_else(|| Language::of(&self.definition.body))
    }

    /// The words that the run begins with.
    fn prompt(&self) -> String {
        let zone = &self.definition.zone;
        let at = |time: Timestamp| local(time, zone);
        let now = at(self.parts.clock.now());
        let date: String = now.chars().take(10).collect();
        let last_run = self.last_run.map(at).unwrap_or_default();
        let text = self.definition.text(&Placeholders {
            now: &now,
            date: &date,
            last_run: &last_run,
            last_result: &self.last_result,
        });
        if self.definition.kind == TaskKind::Message {
            return text;
        }
        let slot = at(self.run.slot);
        let about = match self.run.trigger {
            Trigger::Schedule => phrases::tasks::scheduled_run(self.id.as_str(), &slot, self.language()),
            Trigger::CatchUp => phrases::tasks::late_run(self.id.as_str(), &slot, self.language()),
            Trigger::Manual => phrases::tasks::manual_run(self.id.as_str(), self.language()),
        };
        format!("[{about}]\n\n{text}")
    }

    async fn submit(&self, author: &Author) -> Result<(), String> {
        let scheduled = ScheduledRun {
            id: self.id.to_string(),
            slot: self.run.slot.rfc3339(),
            trigger: self.run.trigger.name().to_owned(),
            context: (self.definition.thread == RunThread::Own).then_some(self.definition.context),
            max_steps: self.definition.max_steps,
            max_cost: self
                .definition
                .max_cost
                .map(|most| self.parts.budget.rules().currency.to_dollars(most)),
            model: self.definition.model.clone(),
            memory: self.definition.memory.clone(),
            quiet: self.definition.quiet,
            ask_in: self.asks_in().await,
        };
        let said = Said {
            text: self.prompt(),
            automatic: true,
            scheduled: Some(Box::new(scheduled)),
            ..Said::default()
        };
        let event = IngressEvent {
            thread: self.run.thread.clone(),
            author: author.clone(),
            message: self.run.message.clone(),
            platform_message: self.run.message.as_str().to_owned(),
            at: self.parts.clock.now(),
            // A run uses the memory of the project only: its result may go anywhere.
            chat: ChatKind::Program,
            kind: IngressKind::Said(said),
        };
        loop {
            match self.parts.threads.deliver(event.clone()).await.into_result() {
                Ok(_) => return Ok(()),
                Err(Rejection { reason: RejectReason::Refused, detail }) => return Err(detail),
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    /// The threads where questions of the run are asked beside its own: where its results go, and the owner's.
    async fn asks_in(&self) -> Vec<ThreadId> {
        if self.definition.on_approval == OnApproval::Deny {
            return Vec::new();
        }
        let mut threads = self.targets().await;
        threads.extend(self.parts.owner_chat().await.filter(|owner| !threads.contains(owner)));
        threads.retain(|thread| *thread != self.run.thread);
        threads
    }

    /// Waits for the end of the run. The time before it begins does not count, nor the time that people take for an
    /// approval.
    async fn wait(&self, author: &Author) -> Waited {
        let mut refused = self.run.refused;
        let mut left = self.definition.timeout;
        let (mut timed_out, mut asked) = (false, 0);
        while self.parts.threads.begun(self.run.thread.clone(), self.run.message.clone()).await.is_none() {
            tokio::time::sleep(AGAIN).await;
        }
        loop {
            let began = tokio::time::Instant::now();
            let outcome = self.parts.threads.outcome(self.run.thread.clone(), self.run.message.clone());
            let outcome = match tokio::time::timeout(left, outcome).await {
                Ok(Some(outcome)) => outcome,
                // The thread's queue is full, or the daemon stops.
                Ok(None) => {
                    tokio::time::sleep(AGAIN).await;
                    continue;
                }
                Err(_) if timed_out => {
                    return Waited { outcome: RunOutcome::default(), timed_out, refused };
                }
                Err(_) => {
                    timed_out = true;
                    left = AGAIN;
                    self.stop_run(author).await;
                    continue;
                }
            };
            left = left.saturating_sub(began.elapsed()).max(Duration::from_secs(1));
            if outcome.approvals.is_empty() {
                // A thread that cannot be read knows no end; it is asked again.
                if outcome.status.is_some_and(RunStatus::is_final) || asked >= MOST_ASKED {
                    return Waited { outcome, timed_out, refused };
                }
                asked = asked.saturating_add(1);
                tokio::time::sleep(AGAIN).await;
                continue;
            }
            if self.definition.on_approval == OnApproval::Deny {
                refused = refused.saturating_add(1);
                self.refuse(&outcome.approvals, author).await;
                if refused > 1 {
                    self.stop_run(author).await;
                }
            }
            self.until_decided().await;
        }
    }

    /// Waits until the thread no longer waits for an approval.
    async fn until_decided(&self) {
        loop {
            if let Some(mut seen) = self.parts.threads.watch(self.run.thread.clone()).await {
                let decided = seen.view.wait_for(|view| view.state != ThreadState::AwaitingApproval).await;
                if decided.is_ok() {
                    return;
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Denies the approvals of a run without people in its thread.
    async fn refuse(&self, approvals: &[Approval], author: &Author) {
        drop(self.notes.send((self.id.clone(), RunNote::Refused)));
        for approval in approvals {
            let decision = Decision {
                approval: approval.id.clone(),
                answer: Answer::Deny,
                reason: Some(phrases::tasks::nobody_can_approve(self.language()).to_owned()),
                via: "task".to_owned(),
                operator: true,
            };
            self.command(author, IngressKind::Decision(decision), &format!("deny-{}", approval.id)).await;
        }
    }

    /// Stops this run, and no other of its thread.
    async fn stop_run(&self, author: &Author) {
        self.command(author, IngressKind::StopRun(self.run.message.clone()), "stop").await;
    }

    /// Submits a command or decision of the scheduler itself.
    async fn command(&self, author: &Author, kind: IngressKind, name: &str) {
        let message = MessageId::made(self.run.message.as_str(), &format!(".{name}"));
        let event = IngressEvent {
            thread: self.run.thread.clone(),
            author: author.clone(),
            platform_message: message.as_str().to_owned(),
            message,
            at: self.parts.clock.now(),
            chat: ChatKind::Program,
            kind,
        };
        if let Err(rejection) = self.parts.threads.deliver(event).await.into_result() {
            tracing::warn!(task = %self.id, ?rejection, name, "task command not accepted");
        }
    }

    /// Delivers the result of a run that has ended.
    async fn settle(&self, Waited { outcome, timed_out, refused }: Waited) -> RunEnd {
        let text = outcome.messages.last().map(|message| message.final_text()).unwrap_or_default();
        let text = text.trim().to_owned();
        match outcome.status {
            _ if timed_out => RunEnd::Ended {
                outcome: TaskOutcome::TimedOut,
                text: phrases::tasks::timed_out(self.definition.timeout.as_secs(), self.language()),
            },
            Some(RunStatus::Done) => self.report(&outcome).await,
            Some(RunStatus::Stopped) if refused > 1 => {
                failed(phrases::tasks::needed_approval_again(self.language()).to_owned())
            }
            Some(RunStatus::Stopped) => RunEnd::Ended { outcome: TaskOutcome::Stopped, text },
            Some(RunStatus::Failed)
                if outcome.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Budget) =>
            {
                let text = outcome.error.map(|error| error.text).unwrap_or(text);
                self.tell_skipped(&text).await;
                RunEnd::Ended { outcome: TaskOutcome::Budget, text }
            }
            Some(RunStatus::Failed) => failed(outcome.error.map(|error| error.text).unwrap_or(text)),
            Some(RunStatus::Running | RunStatus::Continued) | None => RunEnd::Interrupted,
        }
    }
}

fn operator(platform: &Platform) -> Result<Author, String> {
    let id = AuthorId::new(platform, "operator").map_err(|error| error.to_string())?;
    Ok(Author { id, name: None, role: AuthorRole::Owner { admin: false } })
}

pub(super) fn failed(text: String) -> RunEnd {
    RunEnd::Ended { outcome: TaskOutcome::Failed, text }
}

/// A time on the wall clock of a zone, for people and prompts.
pub fn local(time: Timestamp, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default().to_zoned(zone.clone());
    at.strftime("%Y-%m-%d %H:%M %Q").to_string()
}

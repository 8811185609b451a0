//! Delivers the result of a run to its targets: the report, and the files that the run has sent.

use std::path::Path;

use super::definition::{Deliver, RunThread, TaskKind};
use super::notices::text_intent;
use super::run::{Run, RunEnd, failed};
use super::state::TaskOutcome;
use crate::domain::{AttachmentKind, Intent, Quiet, StoredFile, ThreadId};
use crate::phrases;
use crate::ports::RunOutcome;
use crate::uimessage::{Part, TaskReport};

/// The tool that sends a file.
const SEND_FILE: &str = "send_file";

impl Run {
    /// Delivers what a run that ended well has to report.
    pub(super) async fn report(&self, outcome: &RunOutcome) -> RunEnd {
        let messages = outcome.messages.iter().map(|message| &**message);
        let TaskReport { quiet, text } = TaskReport::of(messages, self.definition.quiet);
        let mut intents = Vec::new();
        if !quiet {
            intents.push(text_intent(text.clone()));
        }
        if self.definition.quiet != Quiet::Always {
            intents.extend(self.files(outcome));
        }
        if intents.is_empty() {
            return RunEnd::Ended { outcome: TaskOutcome::Quiet, text };
        }
        match self.deliver(&intents).await {
            Ok(()) => RunEnd::Ended { outcome: TaskOutcome::Done, text },
            Err(reason) => failed(reason),
        }
    }

    /// The files that the run has sent to its own thread.
    fn files(&self, outcome: &RunOutcome) -> Vec<Intent> {
        let parts = || outcome.messages.iter().flat_map(|message| &message.parts);
        let files = parts().filter_map(|part| {
            let Part::File(file) = part else { return None };
            let stored = StoredFile::from_url(&self.run.thread, &file.url)?;
            let name = file.filename.clone().unwrap_or_else(|| stored.name().to_owned());
            Some(Intent::Attachment {
                caption: parts().find_map(|part| caption_of(part, &name)),
                name,
                kind: AttachmentKind::of_media(&file.media_type),
                media_type: file.media_type.clone(),
                file: stored,
            })
        });
        files.collect()
    }

    /// The threads that get the result.
    pub(super) async fn targets(&self) -> Vec<ThreadId> {
        let mut targets = match &self.definition.deliver {
            Deliver::Nowhere => Vec::new(),
            Deliver::Owner => self.parts.owner_chat().await.into_iter().collect(),
            Deliver::Threads(threads) => threads.clone(),
        };
        // A run inside a conversation has answered there already.
        if self.definition.kind == TaskKind::Prompt && matches!(self.definition.thread, RunThread::In(_)) {
            targets.retain(|target| *target != self.run.thread);
        }
        targets
    }

    /// Posts messages to all targets. A target that refuses them does not stop the others.
    pub(super) async fn deliver(&self, intents: &[Intent]) -> Result<(), String> {
        let targets = self.targets().await;
        if targets.is_empty() && self.definition.deliver == Deliver::Owner {
            let reason = phrases::tasks::no_owner_chat(self.language()).to_owned();
            tracing::warn!(task = %self.id, "result not delivered: no direct chat with an owner is known");
            return Err(reason);
        }
        let mut refused = Vec::new();
        for target in targets {
            for (number, intent) in intents.iter().enumerate() {
                if let Err(reason) =
                    self.say(target.clone(), intent.clone(), &format!("report-{number}")).await
                {
                    tracing::warn!(task = %self.id, %target, reason, "result not delivered");
                    refused.push(format!("{target}: {reason}"));
                    break;
                }
            }
        }
        match refused.is_empty() {
            true => Ok(()),
            false => Err(phrases::tasks::not_delivered(&refused.join("; "), self.language())),
        }
    }
}

/// The words that a call sent with the file of this name.
fn caption_of(part: &Part, name: &str) -> Option<String> {
    let Part::Tool(tool) = part else { return None };
    let input = tool.state.input().filter(|_| tool.tool.name() == SEND_FILE)?;
    let path = input.get("path")?.as_str()?.trim();
    let caption = input.get("caption")?.as_str()?;
    let meant = Path::new(path).file_name().is_some_and(|file| file == name);
    (meant && !caption.trim().is_empty()).then(|| caption.to_owned())
}

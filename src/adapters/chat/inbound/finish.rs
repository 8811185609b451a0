//! From an accepted event to a submitted one: downloads the files, runs the enrich steps, and submits in order. What
//! cannot be fetched is described; the message is submitted all the same.

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::super::super::submission::enrich_with;
use super::super::{FetchError, is_kept};
use super::event::add_paragraph;
use super::inbox::{Finish, InboxEntry};
use super::pipeline::Pipeline;
use super::{
    Attachment, Content, Fetched, Finished, Inbound, InboundFileKind, InboundMessage, Position, QueuedEvent,
    Recall, Urgency,
};
use crate::adapters::submission::{Submitted, submit};
use crate::domain::{
    Addressed, Command, InboundFile, IngressEvent, IngressKind, Said, StoredFile, ThreadState,
};
use crate::phrases::adapters as words;
use crate::ports::{BoxFuture, EnrichInput, StoreError};
use crate::render::Phrase;

impl Finish for Pipeline {
    fn finish<'a>(
        &'a self,
        event: &'a mut QueuedEvent,
        place: &'a mut Position,
        entry: &'a InboxEntry,
    ) -> BoxFuture<'a, Finished> {
        let again = |error: StoreError| Finished::Again(error.to_string());
        Box::pin(async move {
            match &event.inbound {
                Inbound::Message(_) | Inbound::Recall(_) => {
                    let (inbound, addressed) = (event.inbound.clone(), event.addressed);
                    self.submit_event(&inbound, addressed, Some(place), Some((event, entry))).await
                }
                Inbound::Press(press) => match self.press(press).await {
                    Ok(Some(_)) => Finished::Done,
                    Ok(None) => Finished::Again("the decision was not accepted".to_owned()),
                    Err(error) => again(error),
                },
                Inbound::Platform { event, .. } => {
                    self.platform.handle(event).await.map_or_else(again, |()| Finished::Done)
                }
            }
        })
    }
}

async fn until_stopped(stopped: Option<&CancellationToken>) {
    match stopped {
        Some(stopped) => stopped.cancelled().await,
        None => std::future::pending().await,
    }
}

/// The parts of a message after the downloads.
#[derive(Debug, Default)]
struct Assembled {
    said: Said,
    /// The notices about files that could not be fetched.
    notices: Vec<String>,
}

impl Pipeline {
    /// Resolves an event and submits it, in order where it has a position.
    pub(super) async fn submit_event(
        &self,
        inbound: &Inbound,
        addressed: Addressed,
        mut place: Option<&mut Position>,
        mut stored: Option<(&mut QueuedEvent, &InboxEntry)>,
    ) -> Finished {
        let message = match inbound {
            Inbound::Message(message) => message,
            Inbound::Recall(recall) => return self.submit_recall(recall, place).await,
            Inbound::Press(_) | Inbound::Platform { .. } => return Finished::Done,
        };
        self.intake.recalls.learn_thread(message);
        let context_only = addressed.context_only;
        let number = place.as_ref().map_or(u64::MAX, |place| place.number());
        if let (Some(place), false) = (place.as_deref_mut(), context_only) {
            // What an earlier process or attempt left.
            self.intake.mark_pending(message, place);
        }
        let pending = place.as_ref().and_then(|place| place.pending.as_ref());
        let stopped = pending.map(|pending| pending.stopped.clone());
        let kind = match &message.content {
            Content::Command(invocation) if context_only => {
                let text = invocation.to_string();
                IngressKind::Said(Said { text, addressed: Addressed::CONTEXT, ..Said::default() })
            }
            Content::Command(invocation)
                if invocation.command == Command::Stop && self.stop_pending(message, number).await =>
            {
                return Finished::Done;
            }
            Content::Command(invocation) => IngressKind::Command(invocation.clone()),
            Content::Started(_) => IngressKind::Command(Command::Help.into()),
            Content::Said(_) | Content::Edited(_) => {
                let reborrowed = stored.as_mut().map(|(queued, entry)| (&mut **queued, *entry));
                match self.said(message, addressed, reborrowed, stopped.as_ref()).await {
                    Ok(Some(said)) if matches!(message.content, Content::Edited(_)) => {
                        IngressKind::Edited(said)
                    }
                    Ok(Some(said)) => IngressKind::Said(said),
                    Ok(None) => return Finished::Done,
                    Err(error) => return Finished::Again(error.to_string()),
                }
            }
        };
        let mut event = IngressEvent {
            thread: message.thread.clone(),
            author: message.author.clone(),
            message: message.message.clone(),
            platform_message: message.platform_message.clone(),
            at: message.at,
            chat: message.kind,
            kind,
        };
        if let Some(place) = &mut place {
            place.reach().await;
        }
        if let IngressKind::Said(said) = &mut event.kind
            && stopped.is_some_and(|stopped| stopped.is_cancelled())
        {
            self.keep_unanswered(said, message);
            // Another attempt, also of the next process, knows of the command.
            if let Some((queued, entry)) = &mut stored {
                (queued.addressed.context_only, queued.said) = (true, Some(said.clone()));
                if let Err(error) = entry.store(queued).await {
                    return Finished::Again(error.to_string());
                }
            }
        } else if let Some(place) = place {
            // From here on the thread decides what `/stop` ends.
            place.pending = None;
        }
        self.intake.recalls.remember(&event);
        let asks = matches!(&event.kind, IngressKind::Said(said) if !said.addressed.context_only);
        match submit(&self.threads, event, self.language(message)).await {
            Submitted::Kept => {
                if asks {
                    self.platform.accepted(message);
                }
                Finished::Done
            }
            Submitted::Tell(words) => {
                self.tell((**message).clone(), words, Urgency::Needed);
                Finished::Done
            }
            Submitted::Later(why) => Finished::Again(why),
        }
    }

    /// The content of a message: its text, its files, and the results of the steps. `None` where nothing is left.
    async fn said(
        &self,
        message: &InboundMessage,
        addressed: Addressed,
        stored: Option<(&mut QueuedEvent, &InboxEntry)>,
        stopped: Option<&CancellationToken>,
    ) -> Result<Option<Said>, StoreError> {
        let mut said = match stored.as_ref().and_then(|(queued, _)| queued.said.clone()) {
            Some(said) => said,
            None => {
                let Assembled { said, notices } = self.assemble(message, addressed).await;
                if !notices.is_empty() {
                    self.tell(message.clone(), notices.join("\n"), Urgency::Passing);
                }
                let empty = said.text.is_empty() && said.files.is_empty();
                if empty && !self.intake.profile.submits_empty {
                    return Ok(None);
                }
                said
            }
        };
        let stored = stored.filter(|_| !addressed.context_only);
        let Some((queued, entry)) = stored else { return Ok(Some(said)) };
        for step in self.intake.parts.enrich.iter() {
            if queued.enriched.iter().any(|name| name == step.name()) || !step.applies(&said) {
                continue;
            }
            let (thread, author) = (&message.thread, &message.author);
            let input = EnrichInput { thread, author, said: &said };
            let enriched = tokio::select! {
                biased;
                () = until_stopped(stopped) => Err(()),
                result = enrich_with(&**step, input) => Ok(result),
            };
            match enriched {
                Ok(result) => said = result.unwrap_or(said),
                Err(()) => {
                    self.keep_unanswered(&mut said, message);
                    (queued.addressed.context_only, queued.said) = (true, Some(said.clone()));
                    entry.store(queued).await?;
                    return Ok(Some(said));
                }
            }
            // Written once: neither a retry nor another process repeats the step.
            queued.enriched.push(step.name().to_owned());
            queued.said = Some(said.clone());
            entry.store(queued).await?;
        }
        Ok(Some(said))
    }

    /// `/stop` while a message of its author is not submitted yet: that message is not answered. Returns whether there was
    /// one, and no run that the thread has to stop as well.
    async fn stop_pending(&self, command: &InboundMessage, number: u64) -> bool {
        if !self.intake.pending.stop(command, number) {
            return false;
        }
        let seen = self.threads.watch(command.thread.clone()).await;
        let is_idle = seen.is_some_and(|seen| seen.view.borrow().state == ThreadState::Idle);
        if is_idle {
            let words = words::stopped_before_read(self.language(command)).to_owned();
            self.tell(command.clone(), words, Urgency::Needed);
        }
        is_idle
    }

    /// Keeps a message in the conversation without an answer.
    fn keep_unanswered(&self, said: &mut Said, message: &InboundMessage) {
        said.addressed.context_only = true;
        if said.text.trim().is_empty() {
            said.text = words::stopped_message(self.language(message)).to_owned();
        }
    }

    async fn assemble(&self, message: &InboundMessage, addressed: Addressed) -> Assembled {
        let mut said = match &message.content {
            Content::Said(said) | Content::Edited(said) => said.clone(),
            Content::Command(_) | Content::Started(_) => Said::default(),
        };
        said.addressed = addressed;
        let edited = matches!(message.content, Content::Edited(_));
        let fetches = !edited || self.intake.profile.fetches_edits;
        let fetched = message.attachments.iter().map(|attachment| async move {
            let file = StoredFile::new(message.thread.clone(), &attachment.prefix, &attachment.name);
            let outcome = match attachment.kind {
                InboundFileKind::File if addressed.context_only => None,
                InboundFileKind::File if !fetches => self.stored(attachment, &file).await,
                InboundFileKind::File | InboundFileKind::Text => {
                    let attempt = || self.platform.fetch(message, attachment, &file);
                    Some(self.intake.downloads.fetch(attempt).await)
                }
            };
            (attachment, file, outcome)
        });
        let (mut notices, language) = (Vec::new(), self.language(message));
        let (mut added, mut missing) = (Vec::new(), Vec::new());
        for (attachment, file, outcome) in join_all(fetched).await {
            let name = attachment.name.clone();
            let notice = match outcome {
                // A file of a context-only message is named, not downloaded.
                None => {
                    added.push(format!("[file: {name}]"));
                    continue;
                }
                Some(Ok(Fetched::File { media_type })) => {
                    said.files.push(InboundFile { media_type, url: file.url(), name: Some(name) });
                    continue;
                }
                Some(Ok(Fetched::Text(text))) => {
                    said.text = text;
                    continue;
                }
                Some(Err(FetchError::TooBig { limit })) => {
                    Phrase::FileTooBig { name: name.clone(), megabytes: limit >> 20 }
                }
                Some(Err(error)) => {
                    tracing::warn!(thread = %message.thread, %error, name, "download failed");
                    if attachment.kind == InboundFileKind::Text {
                        continue;
                    }
                    Phrase::FileLost(name.clone())
                }
            };
            let notice = notice.say(language);
            missing.push(self.platform.missing_file(&name, &notice));
            notices.push(notice);
        }
        let is_empty = said.text.is_empty() && said.files.is_empty();
        if !is_empty || self.intake.profile.submits_lost_files {
            added.extend(missing);
        }
        if !added.is_empty() {
            // Text with an addition is never read as a decision.
            said.marked_up = None;
        }
        for paragraph in added {
            add_paragraph(&mut said.text, &paragraph);
        }
        Assembled { said, notices }
    }

    /// A file that was downloaded before; `None` where it was not.
    async fn stored(
        &self,
        attachment: &Attachment,
        file: &StoredFile,
    ) -> Option<Result<Fetched, FetchError>> {
        let media_type = attachment.media_type.clone();
        let kept = is_kept(&*self.intake.parts.files, file).await.unwrap_or(false);
        kept.then_some(Ok(Fetched::File { media_type }))
    }

    async fn submit_recall(&self, recall: &Recall, place: Option<&mut Position>) -> Finished {
        if let Some(place) = place {
            place.reach().await;
        }
        let Some(mut event) = self.intake.recalls.find(recall) else { return Finished::Done };
        let IngressKind::Said(said) = &event.kind else { return Finished::Done };
        let language = self.intake.parts.language_for(&said.text);
        let text = words::message_recalled(language).to_owned();
        let addressed = Addressed { context_only: said.addressed.context_only, ..Addressed::default() };
        event.kind = IngressKind::Edited(Said { text, addressed, ..Said::default() });
        match submit(&self.threads, event, language).await {
            Submitted::Kept | Submitted::Tell(_) => Finished::Done,
            Submitted::Later(why) => Finished::Again(why),
        }
    }
}

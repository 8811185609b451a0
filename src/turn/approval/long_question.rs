//! Approval questions about calls that are too long to be shown whole: the question shows both ends, and a file with
//! the whole call is delivered first.

use crate::domain::{Approval, AttachmentKind, Delivery, Intent, StoredFile};
use crate::ports::WholeText;
use crate::render::{Phrase, fit_question};
use crate::turn::Conversation;
use crate::turn::effect::Effect;
use crate::turn::runs::tool_messages::file_part;

impl Conversation {
    /// The messages of a question, in order, each with the source of its delivery id. The file is stored before the
    /// commit, under a name that belongs to this approval alone.
    pub(in crate::turn) fn with_whole(
        &mut self,
        question: Intent,
        approval: &Approval,
        whole: Option<WholeText>,
        out: &mut Vec<Effect>,
    ) -> Vec<(String, Intent)> {
        let capabilities = &self.rules.capabilities;
        let fitted = fit_question(&question, capabilities);
        let source = approval.id.to_string();
        let Some(whole) = whole.filter(|whole| whole.cut || fitted.is_some()) else {
            return vec![(source, fitted.unwrap_or(question))];
        };
        let language = self.language();
        let mut question = fitted.unwrap_or(question);
        let name = format!("{}-{}", approval.number, whole.name);
        let first = if capabilities.files {
            let attachment = Intent::Attachment {
                file: StoredFile::new(self.thread.clone(), &format!("{source}-"), &name),
                name: name.clone(),
                media_type: "text/plain".to_owned(),
                kind: AttachmentKind::File,
                caption: Some(Phrase::WholeCall(approval.number).say(language)),
            };
            if let Intent::Attachment { file, .. } = &attachment {
                out.push(Effect::KeepFile { file: file.clone(), text: whole.text });
            }
            if let Some((run, part)) = self.run.as_mut().zip(file_part(&attachment)) {
                run.message.parts.push(part);
            }
            attachment
        } else {
            Intent::AssistantText { text: fenced(&whole.text) }
        };
        if let Intent::ApprovalRequest { details, .. } = &mut question
            && self.rules.capabilities.delivery == Delivery::Push
        {
            let file = matches!(first, Intent::Attachment { .. }).then_some(name);
            let note = Phrase::WholeAbove(file).say(language);
            *details = Some(match details.take() {
                Some(details) => format!("{details}\n\n{note}"),
                None => note,
            });
        }
        vec![(format!("{source}.whole"), first), (source, question)]
    }
}

/// A text in a code fence that is longer than any fence in the text.
fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    format!("{fence}\n{text}\n{fence}")
}

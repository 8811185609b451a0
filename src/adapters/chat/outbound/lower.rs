//! Lowers an intent to what a chat platform shows: a text, a text with buttons, a file, or an edit of an earlier
//! question. Platforms send blocks and know no intents. Pure.
//!
//! An outbox entry becomes one block, because it has one receipt; what needs several messages is split before it
//! becomes entries, by `render::lower`.

use super::super::buttons::{Button, Menu, ask_back_label, ask_back_rows, encode, label, rows};
use super::question::question;
use crate::domain::{
    ApprovalChoice, ApprovalId, ApprovalKind, AttachmentKind, Capabilities, Intent, Language, ScopeKind,
    StoredFile, Timestamp,
};
use crate::ports::{DeliveryError, OutboxEntry};
use crate::render::{fenced, fit_question};

/// What a platform shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// As CommonMark.
    Text(String),
    Buttons(ButtonsBlock),
    File(FileBlock),
    /// The outcome of a question: an edit of its message, or a new message where there is none.
    EditOf {
        question: ApprovalId,
        /// As CommonMark.
        outcome: String,
    },
}

/// A text with rows of buttons below it.
#[derive(Clone, Debug, PartialEq)]
pub struct ButtonsBlock {
    /// As CommonMark. It says how to answer in words, too.
    pub markdown: String,
    pub rows: Vec<Vec<BlockButton>>,
    /// The approval that it asks for; `None` for a question back.
    pub question: Option<QuestionSummary>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockButton {
    pub button: Button,
    pub label: String,
    /// What a press brings back.
    pub data: String,
}

/// The facts of a question that its menus and its outcome need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionSummary {
    pub approval: ApprovalId,
    pub kind: ApprovalKind,
    pub scopes: Vec<ScopeKind>,
    pub language: Language,
    /// Its first lines, as CommonMark: the request, without the reasons and the instructions.
    pub head: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FileBlock {
    pub file: StoredFile,
    /// The file name for people.
    pub name: String,
    pub media_type: String,
    pub kind: AttachmentKind,
    pub caption: Option<String>,
}

impl Block {
    /// The block as one text, for a platform without buttons, files and edits.
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) | Self::EditOf { outcome: text, .. } => text,
            Self::Buttons(block) => block.markdown,
            Self::File(FileBlock { name, caption, .. }) => {
                [Some(format!("[{name}]")), caption].into_iter().flatten().collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// The block of an outbox entry.
///
/// # Errors
/// When the intent is only shown while a run goes on.
pub fn lower_entry(
    entry: &OutboxEntry,
    capabilities: &Capabilities,
    language: Option<Language>,
    now: Timestamp,
) -> Result<Block, DeliveryError> {
    lower(&entry.intent.intent, capabilities, language, now).ok_or_else(|| DeliveryError::Permanent {
        reason: "drafts and progress are shown, not delivered".to_owned(),
    })
}

/// Whether an entry is the first one of its message, which is the one that replies to the question.
pub fn is_first_part(delivery: &str) -> bool {
    delivery.rsplit_once('#').is_none_or(|(_, index)| index == "0")
}

/// The block of an intent; `None` for one that is only shown while a run goes on. `language` overrides that of the
/// intent.
pub fn lower(
    intent: &Intent,
    capabilities: &Capabilities,
    language: Option<Language>,
    now: Timestamp,
) -> Option<Block> {
    match intent {
        Intent::AssistantText { text } | Intent::Error { text, .. } => Some(Block::Text(text.clone())),
        Intent::ApprovalRequest { approval_id, kind, language: own, scopes, .. } => {
            let short = fit_question(intent, capabilities);
            let intent = short.as_ref().unwrap_or(intent);
            let markdown = question(intent, now)?;
            if !capabilities.buttons {
                return Some(Block::Text(markdown));
            }
            let language = language.unwrap_or(*own);
            // Where no message can be edited there is no second menu.
            let scopes = if capabilities.edits { scopes.clone() } else { Vec::new() };
            let rows = approval_buttons(approval_id, *kind, Menu::First, &scopes, language);
            let (approval, kind, head) = (approval_id.clone(), *kind, head(intent, &markdown));
            let question = Some(QuestionSummary { approval, kind, scopes, language, head });
            Some(Block::Buttons(ButtonsBlock { markdown, rows, question }))
        }
        Intent::ApprovalAskBack { text, .. } if !capabilities.buttons => Some(Block::Text(text.clone())),
        Intent::ApprovalAskBack { text, language: own, choices } => {
            let rows = ask_back_buttons(choices, language.unwrap_or(*own));
            Some(Block::Buttons(ButtonsBlock { markdown: text.clone(), rows, question: None }))
        }
        Intent::ApprovalResolved { approval_id, text } => {
            Some(Block::EditOf { question: approval_id.clone(), outcome: text.clone() })
        }
        Intent::Attachment { file, name, media_type, kind, caption } => Some(Block::File(FileBlock {
            file: file.clone(),
            name: name.clone(),
            media_type: media_type.clone(),
            kind: *kind,
            caption: caption.clone(),
        })),
        // A spoken answer is an attachment by now.
        Intent::Speech { .. } | Intent::AssistantDelta { .. } | Intent::Progress { .. } | Intent::Typing => {
            None
        }
    }
}

/// The buttons of a menu of an approval, row by row. One whose data exceeds the limit is left out.
pub fn approval_buttons(
    approval: &ApprovalId,
    kind: ApprovalKind,
    menu: Menu,
    scopes: &[ScopeKind],
    language: Language,
) -> Vec<Vec<BlockButton>> {
    let button = |button: Button| {
        let (label, data) = (label(&button, kind, language), encode(&button, approval)?);
        Some(BlockButton { button, label, data })
    };
    let row = |row: Vec<Button>| row.into_iter().filter_map(button).collect();
    rows(kind, menu, scopes).into_iter().map(row).collect()
}

/// The answers to each question that a reply may be meant for, one row each.
pub fn ask_back_buttons(choices: &[ApprovalChoice], language: Language) -> Vec<Vec<BlockButton>> {
    let row = |(choice, row): (&ApprovalChoice, Vec<Button>)| {
        let button = |button: Button| {
            let (label, data) = (ask_back_label(&button, choice, language), encode(&button, &choice.id)?);
            Some(BlockButton { button, label, data })
        };
        row.into_iter().filter_map(button).collect()
    };
    ask_back_rows(choices).into_iter().map(row).collect()
}

fn head(intent: &Intent, text: &str) -> String {
    let Intent::ApprovalRequest { summary, .. } = intent else { return String::new() };
    let title = text.lines().next().unwrap_or_default();
    format!("{title}\n\n{}", fenced(summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LengthUnit, Risk};

    const NOW: Timestamp = Timestamp::from_millis(0);

    fn asked(summary: &str) -> Intent {
        Intent::ApprovalRequest {
            approval_id: "apr_0123456789abcdef".parse().unwrap(),
            number: "A1".to_owned(),
            kind: ApprovalKind::Tool,
            language: Language::En,
            summary: summary.to_owned(),
            risk: Risk::Low,
            details: Some("- why".to_owned()),
            scopes: vec![ScopeKind::Once, ScopeKind::Thread],
            suggested_replies: vec!["approve A1".to_owned()],
            expires_at: Timestamp::from_millis(60_000).rfc3339(),
        }
    }

    #[test]
    fn a_question_has_the_buttons_that_the_platform_can_keep() {
        let words = Capabilities::plain_text(4000, LengthUnit::Chars);
        let buttons = Capabilities { buttons: true, ..words };
        let menus = Capabilities { edits: true, ..buttons };
        for (capabilities, expected) in [(&words, None), (&buttons, Some(1)), (&menus, Some(2))] {
            let count = match lower(&asked("ls"), capabilities, None, NOW) {
                Some(Block::Text(text)) => {
                    assert!(text.contains("Answer `approve A1`"), "{text}");
                    None
                }
                Some(Block::Buttons(block)) => Some(block.rows.len()),
                other => panic!("{other:?}"),
            };
            assert_eq!(count, expected, "{capabilities:?}");
        }
    }

    #[test]
    fn the_first_lines_of_a_question_stay_for_its_outcome() {
        let menus = Capabilities { delivery: crate::domain::Delivery::Push, ..Capabilities::pull() };
        let Some(Block::Buttons(block)) = lower(&asked("echo '```'"), &menus, Some(Language::Zh), NOW) else {
            panic!()
        };
        let question = block.question.unwrap();
        assert_eq!(question.head, "🟢 **A1: may I do this?**\n\n````\necho '```'\n````");
        assert!(block.markdown.starts_with(&question.head));
        assert_eq!(question.language, Language::Zh);
    }

    #[test]
    fn what_is_only_shown_is_no_block() {
        assert_eq!(lower(&Intent::Typing, &Capabilities::pull(), None, NOW), None);
    }
}

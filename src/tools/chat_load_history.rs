//! `chat_load_history`: messages of this thread from before the model's context.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments;
use super::arguments::{Edge, moment};
use super::bounds::{OUTPUT_BYTES, OutputBudget};
use super::memory_search::{clipped, from};
use super::schema::schema_of;
use crate::domain::{Effects, MessageId, Timestamp, ToolSpec};
use crate::ports::{
    BoxFuture, HistoryPlace, ScopedHistory, StoreError, Tool, ToolContext, ToolFailure, ToolOutcome,
};
use crate::uimessage::{Part, Role, UiMessage};

const DEFAULT_MESSAGES: usize = 20;
const MOST_MESSAGES: usize = 100;

/// Longest text of one message, in characters.
const MESSAGE_CHARS: usize = 4_000;

/// How many messages are read at once.
const PAGE: usize = 100;

/// Reads the thread's own history.
#[derive(Clone, Copy, Debug)]
pub struct ChatLoadHistory;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// How many messages to give at most. Default: 20, at most 100.
    limit: Option<u64>,
    /// Only messages with these words, all of them. Upper and lower case and endings of words do not matter.
    keyword: Option<String>,
    /// Only messages from this time on: a day such as 2026-05-02, or a time such as 2026-05-02T08:00:00Z, in UTC.
    since: Option<String>,
    /// Only messages up to this time: a day, which is included, or a time.
    until: Option<String>,
    /// Only messages before the one with this id: the `before` of an earlier call, to go further back.
    before: Option<String>,
    /// The messages around the one with this id, such as a result of memory_search. Not together with `before`.
    around: Option<String>,
}

impl Tool for ChatLoadHistory {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "chat_load_history",
            description:
                "Gives earlier messages of this conversation, oldest first: the newest, those before or around a \
                          given one, those of a time, or those with certain words. When `hasMore` is true, call again \
                          with the `before` that was given."
                    .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::ReadOnly,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        asked(arguments::read(arguments.clone())?).map(drop)
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let asked = asked(arguments::read(arguments)?)?;
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(super::job::stopped()),
                output = load(asked, &context) => output,
            }
        })
    }
}

/// What a call asks for.
#[derive(Debug)]
struct HistoryQuestion {
    limit: usize,
    keyword: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
    place: HistoryPlace,
}

fn asked(arguments: Arguments) -> Result<HistoryQuestion, ToolFailure> {
    let limit = arguments.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(DEFAULT_MESSAGES);
    let given =
        |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let place = match (given(arguments.before), given(arguments.around)) {
        (Some(_), Some(_)) => {
            let text = "give `before` or `around`, not both".to_owned();
            return Err(ToolFailure::BadArguments(text));
        }
        (Some(before), None) => HistoryPlace::Before(id("before", &before)?),
        (None, Some(around)) => HistoryPlace::Around(id("around", &around)?),
        (None, None) => HistoryPlace::Newest,
    };
    Ok(HistoryQuestion {
        limit: limit.clamp(1, MOST_MESSAGES),
        keyword: given(arguments.keyword),
        since: moment("since", arguments.since.as_deref(), Edge::Begin)?,
        until: moment("until", arguments.until.as_deref(), Edge::End)?,
        place,
    })
}

async fn load(asked: HistoryQuestion, context: &ToolContext) -> ToolOutcome {
    let plain = asked.keyword.is_none() && asked.since.is_none() && asked.until.is_none();
    match (&asked.place, plain) {
        (HistoryPlace::Newest, true) => newest(None, asked.limit, context).await,
        (HistoryPlace::Before(id), true) => newest(Some(id.clone()), asked.limit, context).await,
        _ => indexed(asked, context).await,
    }
}

fn unreadable(error: &StoreError) -> ToolFailure {
    ToolFailure::Failed(format!("the history cannot be read: {error}"))
}

/// The newest messages, or those before one, with the tools they used.
async fn newest(mut before: Option<MessageId>, limit: usize, context: &ToolContext) -> ToolOutcome {
    let mut gathered = Gathered::new(limit);
    loop {
        let page = context.history.page(&context.thread, before.as_ref(), PAGE).await;
        let page = page.map_err(|error| unreadable(&error))?;
        let (oldest, is_last) = (page.first().map(|first| first.id.clone()), page.len() < PAGE);
        let page = context.search.without_forgotten(page).await.map_err(|error| unreadable(&error))?;
        for message in page.iter().rev() {
            if !gathered.take(message) {
                return Ok(gathered.into_output(before.as_ref()));
            }
            before = Some(message.id.clone());
        }
        if is_last {
            return Ok(gathered.into_output(None));
        }
        before = oldest;
    }
}

/// Messages by words, times and place, from the search index.
async fn indexed(asked: HistoryQuestion, context: &ToolContext) -> ToolOutcome {
    let HistoryQuestion { limit, keyword, since, until, place } = asked;
    let query = ScopedHistory { keyword, since, until, place, limit };
    let page = context.search.history(query).await.map_err(|error| unreadable(&error))?;
    let mut gathered = Gathered::new(limit);
    let mut has_more = page.has_more;
    let mut before = None;
    for found in page.messages.iter().rev() {
        let shown = json!({
            "id": found.id,
            "from": from(found),
            "time": Timestamp::from_millis(found.at).rfc3339(),
            "text": clipped(&found.text, MESSAGE_CHARS),
        });
        if !gathered.add(shown) {
            has_more = true;
            break;
        }
        before = found.id.parse().ok();
    }
    Ok(gathered.into_output(before.as_ref().filter(|_| has_more)))
}

fn id(name: &str, text: &str) -> Result<MessageId, ToolFailure> {
    text.parse()
        .map_err(|_| ToolFailure::BadArguments(format!("`{name}` {text:?} is not the id of a message")))
}

/// Messages, newest first, up to the limits.
#[derive(Debug)]
struct Gathered {
    messages: Vec<Value>,
    most: usize,
    room: OutputBudget,
}

impl Gathered {
    const fn new(most: usize) -> Self {
        Self { messages: Vec::new(), most, room: OutputBudget::new(OUTPUT_BYTES) }
    }

    /// Adds a message, unless it is a command or the answer to one; `false` where a limit is reached.
    fn take(&mut self, message: &UiMessage) -> bool {
        message.metadata.command || shown(message, &message.text()).is_none_or(|shown| self.add(shown))
    }

    fn add(&mut self, shown: Value) -> bool {
        // The whole JSON is counted: names, ids and times take space as well.
        let fits = self.messages.len() < self.most && self.room.take(&shown.to_string());
        if fits {
            self.messages.push(shown);
        }
        fits
    }

    fn into_output(mut self, before: Option<&MessageId>) -> Value {
        self.messages.reverse();
        let mut output = Map::new();
        output.insert("messages".into(), self.messages.into());
        output.insert("hasMore".into(), before.is_some().into());
        if let Some(before) = before {
            output.insert("before".into(), before.as_str().into());
        }
        Value::Object(output)
    }
}

/// A message for the model; `None` where it has no content.
fn shown(message: &UiMessage, text: &str) -> Option<Value> {
    let tools: Vec<&str> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Tool(part) => Some(part.tool.name()),
            _ => None,
        })
        .collect();
    if text.trim().is_empty() && tools.is_empty() {
        return None;
    }
    let from = match message.role {
        Role::User => message.metadata.author_name.as_deref().unwrap_or("user"),
        Role::Assistant => "you",
        Role::System => "system",
    };
    let mut shown = json!({
        "id": message.id.as_str(),
        "from": from,
        "time": message.metadata.timestamp.rfc3339(),
        "text": clipped(text, MESSAGE_CHARS),
    });
    if let Some(fields) = shown.as_object_mut().filter(|_| !tools.is_empty()) {
        fields.insert("tools".into(), tools.into());
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Project;
    use crate::uimessage::Metadata;

    fn say(project: &Project, id: &str, role: Role, text: &str) {
        let metadata = Metadata {
            platform: "web".to_owned(),
            thread_id: project.thread(),
            author_id: None,
            author_name: (role == Role::User).then(|| "小明".to_owned()),
            message_id: None,
            timestamp: Timestamp::from_millis(project.next_second()),
            correlation_id: "r1".parse().unwrap(),
            status: None,
            command: false,
            context: false,
            checkpoint: false,
            extra: Map::new(),
        };
        project.said(UiMessage { id: id.parse().unwrap(), role, metadata, parts: vec![Part::text(text)] });
    }

    async fn load(project: &Project, arguments: Value) -> Value {
        ChatLoadHistory.call(arguments, project.context()).await.unwrap()
    }

    fn ids(output: &Value) -> Vec<&str> {
        output["messages"].as_array().unwrap().iter().map(|message| message["id"].as_str().unwrap()).collect()
    }

    #[tokio::test]
    async fn the_newest_messages_come_first_and_older_ones_when_asked_for() {
        let project = Project::new();
        for number in 1..=5 {
            let role = if number % 2 == 1 { Role::User } else { Role::Assistant };
            say(&project, &format!("m{number}"), role, &format!("text {number}"));
        }
        let newest = load(&project, json!({"limit": 2})).await;
        assert_eq!((ids(&newest), &newest["hasMore"]), (vec!["m4", "m5"], &json!(true)));
        assert_eq!(
            newest["messages"][1],
            json!({"id": "m5", "from": "小明", "time": "1970-01-01T00:00:05Z", "text": "text 5"})
        );
        let older = load(&project, json!({"before": newest["before"]})).await;
        assert_eq!((ids(&older), older.get("before")), (vec!["m1", "m2", "m3"], None));
        assert_eq!(ids(&load(&project, json!(null)).await).len(), 5);
    }

    #[tokio::test]
    async fn a_keyword_is_found_however_far_back() {
        let project = Project::new();
        say(&project, "m0", Role::User, "Das Passwort der ÖBB");
        for number in 1..=500 {
            say(&project, &format!("m{number}"), Role::User, "nothing");
        }
        let found = load(&project, json!({"keyword": "öbb "})).await;
        assert_eq!((ids(&found), &found["hasMore"]), (vec!["m0"], &json!(false)));
        let around = load(&project, json!({"around": "m250", "limit": 3})).await;
        assert_eq!(ids(&around), ["m249", "m250", "m251"]);
        let some = load(&project, json!({"keyword": "nothing", "limit": 2})).await;
        assert_eq!((ids(&some), &some["before"]), (vec!["m499", "m500"], &json!("m499")));
        let more = load(&project, json!({"keyword": "nothing", "limit": 2, "before": some["before"]})).await;
        assert_eq!(ids(&more), ["m497", "m498"]);
        let early = json!({"since": "1970-01-01T00:00:02Z", "until": "1970-01-01T00:00:04Z"});
        assert_eq!(ids(&load(&project, early).await), ["m1", "m2"]);
        assert!(ChatLoadHistory.check(&json!({"before": "m1", "around": "m2"})).is_err());
        assert!(ChatLoadHistory.check(&json!({"since": "yesterday"})).is_err());
    }

    #[tokio::test]
    async fn long_messages_are_clipped_and_the_whole_is_bounded() {
        let project = Project::new();
        for number in 0..100 {
            say(&project, &format!("m{number}"), Role::User, &"中\n".repeat(9_000));
        }
        let output = load(&project, json!({"limit": 1_000})).await;
        assert!(output.to_string().len() <= OUTPUT_BYTES + 200);
        assert_eq!(output["hasMore"], true);
        let older = load(&project, json!({"before": output["before"]})).await;
        let last = ids(&older).last().map(|id| (*id).to_owned()).unwrap();
        let next = output["before"].as_str().unwrap().trim_start_matches('m').parse::<u32>().unwrap() - 1;
        assert_eq!(last, format!("m{next}"), "no message is left out between two calls");
    }
}

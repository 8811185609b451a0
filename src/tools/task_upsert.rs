//! `task_upsert` and `task_remove`: create, change and remove scheduled tasks. A person sees the diff of the task file and
//! the next times before anything is written.
//!
//! A task runs with the rights of the person who asked for it. Only an owner may have results delivered to another
//! conversation or change the task of another person, and a scheduled run creates no tasks.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::schema::schema_of;
use crate::domain::{AuthorId, Capabilities, Effects, Origin, ThreadId, ToolSpec};
use crate::ports::{
    BoxFuture, CallSite, PlannedTask, TaskChange, TaskRefusal, TaskText, TaskTimes, TextChange, Tool,
    ToolContext, ToolFailure, ToolOutcome,
};

/// Longest prompt or reminder.
const TEXT_BYTES: usize = 16 * 1024;
/// Most conversations that get a result.
const MOST_TARGETS: usize = 10;

/// Creates or changes a scheduled task.
#[derive(Clone, Copy, Debug)]
pub struct TaskUpsert;

/// Removes a scheduled task.
#[derive(Clone, Copy, Debug)]
pub struct TaskRemove;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// A short name for the task: small letters, digits and hyphens, such as `water-plants`.
    id: String,
    /// For a plain reminder: the words that are sent at that time, exactly as they are. Give either this or `prompt`.
    message: Option<String>,
    /// For work: what you are asked to do at that time, complete and without reference to this conversation, which you
    /// will not see then.
    prompt: Option<String>,
    /// Once: a date with a time of day, such as `2026-12-01 09:00`, in the time zone of the task. Give exactly one of
    /// `at`, `every` and `schedule`. Ask current_time what time it is now.
    at: Option<String>,
    /// Again and again: an interval of one minute at least, such as `30m`, `2h`, `1d` or `2w`, counted from midnight.
    every: Option<String>,
    /// By the calendar: a cron expression of five fields (minute, hour, day, month, weekday), such as `0 9 * * 1-5` for
    /// nine o'clock on weekdays.
    schedule: Option<String>,
    /// A time zone such as Asia/Shanghai. Left out: the zone of the project.
    timezone: Option<String>,
    /// Where the reminder or the result goes: `here` (the default), `none`, or other conversations such as
    /// telegram:chat:123, separated by commas.
    deliver: Option<String>,
    /// `true` changes the task that has this id already; what you leave out stays as it is.
    replace: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RemoveArguments {
    /// The id of the task; task_list shows it.
    id: String,
}

#[derive(Debug)]
struct Wanted {
    id: String,
    times: Option<TaskTimes>,
    text: Option<TaskText>,
    timezone: Option<String>,
    /// `None`: as it is, or here for a new task.
    deliver: Option<Deliver>,
    replace: bool,
}

#[derive(Debug)]
enum Deliver {
    Here,
    Nowhere,
    To(Vec<ThreadId>),
}

impl Tool for TaskUpsert {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "task_upsert",
            description: "Creates or changes a scheduled task: a reminder (\"remind me tomorrow at 9\"), or work that you \
                          do by yourself at given times and report on (\"every weekday at 9 …\"). The person approves it."
                .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::SideEffects,
        }
    }

    fn suits(&self, capabilities: &Capabilities) -> bool {
        !capabilities.unattended
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        parsed(arguments.clone()).map(drop)
    }

    fn preview(&self, arguments: &Value, site: CallSite<'_>) -> Option<Result<TextChange, ToolFailure>> {
        let wanted = match parsed(arguments.clone()) {
            Ok(wanted) => wanted,
            Err(failure) => return Some(Err(failure)),
        };
        let path = path_of(&wanted.id);
        // A preview runs on a blocking thread, which may block.
        let planned = tokio::runtime::Handle::current().block_on(plan(wanted, &site));
        Some(planned.map(|planned| TextChange {
            path,
            before: planned.before,
            after: planned.after,
            explanation: Some(planned.words),
        }))
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let wanted = parsed(arguments)?;
            let (id, site) = (wanted.id.clone(), context.site());
            let PlannedTask { before, after, preview, .. } = plan(wanted, &site).await?;
            let created = before.is_none();
            context.tasks.write(&id, before, after, context.language).await.map_err(failure)?;
            Ok(json!({
                "saved": true,
                "created": created,
                "id": id,
                "schedule": preview.schedule,
                "timezone": preview.timezone,
                "next": preview.next,
            }))
        })
    }
}

impl Tool for TaskRemove {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "task_remove",
            description: "Removes a scheduled task or reminder. The person approves it.".into(),
            parameters: schema_of::<RemoveArguments>(),
            effects: Effects::SideEffects,
        }
    }

    fn suits(&self, capabilities: &Capabilities) -> bool {
        !capabilities.unattended
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        arguments::read::<RemoveArguments>(arguments.clone()).map(drop)
    }

    fn preview(&self, arguments: &Value, site: CallSite<'_>) -> Option<Result<TextChange, ToolFailure>> {
        let RemoveArguments { id } = match arguments::read(arguments.clone()) {
            Ok(arguments) => arguments,
            Err(failure) => return Some(Err(failure)),
        };
        let found = tokio::runtime::Handle::current().block_on(removable(&id, &site));
        Some(found.map(|file| TextChange {
            path: path_of(&id),
            before: Some(file),
            after: String::new(),
            explanation: None,
        }))
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let RemoveArguments { id } = arguments::read(arguments)?;
            let file = removable(&id, &context.site()).await?;
            context.tasks.remove(&id, file).await.map_err(failure)?;
            Ok(json!({ "removed": true, "id": id }))
        })
    }
}

fn path_of(id: &str) -> String {
    format!(".ship/tasks/{id}.md")
}

fn bad<T>(words: &str) -> Result<T, ToolFailure> {
    Err(ToolFailure::BadArguments(words.to_owned()))
}

fn refused<T>(words: &str) -> Result<T, ToolFailure> {
    Err(ToolFailure::Refused(words.to_owned()))
}

/// An argument that is not empty.
fn given(argument: Option<String>) -> Option<String> {
    argument.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn parsed(arguments: Value) -> Result<Wanted, ToolFailure> {
    let Arguments { id, message, prompt, at, every, schedule, timezone, deliver, replace } =
        arguments::read(arguments)?;
    let id = id.trim().trim_end_matches(".md").to_owned();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.is_empty() || id.len() > 64 || id.starts_with('-') || !id.chars().all(fits) {
        return bad("`id` has 1 to 64 small letters, digits and hyphens, such as `water-plants`");
    }
    let replace = replace.unwrap_or(false);
    let times = match (given(at), given(every), given(schedule)) {
        (Some(at), None, None) => Some(TaskTimes::At(at)),
        (None, Some(every), None) => Some(TaskTimes::Every(every)),
        (None, None, Some(schedule)) => Some(TaskTimes::Cron(schedule)),
        (None, None, None) if replace => None,
        (None, None, None) => return bad("say when: give one of `at`, `every` and `schedule`"),
        _ => return bad("give only one of `at`, `every` and `schedule`"),
    };
    let text = match (given(message), given(prompt)) {
        (Some(message), None) => Some(TaskText::Message(message)),
        (None, Some(prompt)) => Some(TaskText::Prompt(prompt)),
        (None, None) if replace => None,
        (None, None) => return bad("say what: give `message` for a plain reminder, or `prompt` for work"),
        (Some(_), Some(_)) => return bad("give only one of `message` and `prompt`"),
    };
    if let Some(TaskText::Message(text) | TaskText::Prompt(text)) = &text
        && text.len() > TEXT_BYTES
    {
        return bad("the text of a task has at most 16 KiB");
    }
    let deliver = given(deliver).map(|targets| deliver_to(&targets)).transpose()?;
    Ok(Wanted { id, times, text, timezone: given(timezone), deliver, replace })
}

fn deliver_to(targets: &str) -> Result<Deliver, ToolFailure> {
    match targets {
        "here" | "this" | "this chat" => return Ok(Deliver::Here),
        "none" => return Ok(Deliver::Nowhere),
        _ => {}
    }
    let threads =
        targets.split(',').map(|target| target.trim().parse()).collect::<Result<Vec<ThreadId>, _>>();
    match threads {
        Ok(threads) if threads.len() <= MOST_TARGETS => Ok(Deliver::To(threads)),
        Ok(_) => bad("`deliver` names at most 10 conversations"),
        Err(_) => bad("`deliver` is `here`, `none`, or a conversation such as telegram:chat:123"),
    }
}

/// The change as it would be made now, if the person may make it.
async fn plan(wanted: Wanted, site: &CallSite<'_>) -> Result<PlannedTask, ToolFailure> {
    let author = person(site)?;
    let known = site.tasks.file(&wanted.id).await.map_err(failure)?.is_some();
    if known && !wanted.replace {
        return bad(&format!(
            "there is a task `{}` already: choose another `id`, or change it with `replace: true`",
            wanted.id
        ));
    }
    if !known && (wanted.times.is_none() || wanted.text.is_none()) {
        return bad("there is no task of this id: give its time and its `message` or `prompt`");
    }
    let deliver = match wanted.deliver {
        None if known => None,
        None | Some(Deliver::Here) => Some(vec![site.thread.clone()]),
        Some(Deliver::Nowhere) => Some(Vec::new()),
        Some(Deliver::To(threads)) => Some(threads),
    };
    let elsewhere = deliver.iter().flatten().any(|thread| thread != site.thread);
    if elsewhere && site.origin != Origin::Owner {
        return refused(
            "only an owner may have results delivered to another conversation; leave `deliver` out",
        );
    }
    let change = TaskChange {
        times: wanted.times,
        timezone: wanted.timezone,
        deliver,
        text: wanted.text,
        author: author.clone(),
        here: site.thread.clone(),
    };
    let moves = change.times.is_some();
    let planned = site.tasks.plan(&wanted.id, change, site.language).await.map_err(failure)?;
    if known {
        may_change(planned.author_before.as_ref(), author, site)?;
    }
    if planned.preview.past && moves {
        return bad(&format!("that time has passed; it is now {} (UTC)", site.now.rfc3339()));
    }
    Ok(planned)
}

/// The file of a task that the person may remove.
async fn removable(id: &str, site: &CallSite<'_>) -> Result<String, ToolFailure> {
    let author = person(site)?;
    let unknown = || ToolFailure::BadArguments(format!("there is no task `{id}`; task_list shows all"));
    let file = site.tasks.file(id).await.map_err(failure)?.ok_or_else(unknown)?;
    let details = site.tasks.show(id, site.language).await.map_err(failure)?;
    may_change(details.summary.author.as_ref(), author, site)?;
    Ok(file)
}

/// The person who asks; none in a scheduled run.
fn person<'a>(site: &CallSite<'a>) -> Result<&'a AuthorId, ToolFailure> {
    if site.unattended {
        return refused(
            "a scheduled run cannot create, change or remove tasks; say in your report what is needed",
        );
    }
    match site.requester {
        Some(author) => Ok(author),
        None => refused("nobody is known by an id here, so the task would belong to no one"),
    }
}

/// Own tasks may be changed, those of others by an owner only.
fn may_change(author: Option<&AuthorId>, by: &AuthorId, site: &CallSite<'_>) -> Result<(), ToolFailure> {
    if site.origin == Origin::Owner || author == Some(by) {
        return Ok(());
    }
    refused("this task belongs to another person: only that person and owners may change it")
}

fn failure(refusal: TaskRefusal) -> ToolFailure {
    match refusal {
        TaskRefusal::Broken(mistake) => ToolFailure::BadArguments(mistake.message),
        TaskRefusal::BadId => ToolFailure::BadArguments(refusal.to_string()),
        TaskRefusal::Changed => {
            ToolFailure::Failed("the task was changed meanwhile; look at it again".to_owned())
        }
        TaskRefusal::Unknown | TaskRefusal::Running | TaskRefusal::Stopping | TaskRefusal::Store(_) => {
            ToolFailure::Failed(refusal.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Language;
    use crate::tools::testing::Project;

    fn owner(project: &Project) -> ToolContext {
        ToolContext { origin: Origin::Owner, ..project.context() }
    }

    async fn shown(
        tool: impl Tool + 'static,
        arguments: Value,
        context: ToolContext,
    ) -> Result<TextChange, String> {
        let preview =
            move || tool.preview(&arguments, context.site()).unwrap().map_err(|why| why.to_string());
        tokio::task::spawn_blocking(preview).await.unwrap()
    }

    #[tokio::test]
    async fn a_reminder_is_shown_with_its_times_in_words_and_then_written() {
        let project = Project::new();
        let reminder =
            json!({ "id": "tea", "message": "Tea!", "at": "2026-01-02 09:00", "timezone": "Asia/Shanghai" });
        let change = shown(TaskUpsert, reminder.clone(), project.context()).await.unwrap();
        assert_eq!((change.path.as_str(), change.before), (".ship/tasks/tea.md", None));
        let words = change.explanation.unwrap();
        assert!(words.contains("2026-01-02 (Fri) 09:00") && words.contains("this chat"), "{words}");
        let chinese = ToolContext { language: Language::Zh, ..project.context() };
        let words = shown(TaskUpsert, reminder.clone(), chinese).await.unwrap().explanation.unwrap();
        assert!(words.contains("2026-01-02 (周五) 09:00") && words.contains("当前聊天"), "{words}");
        assert_eq!(project.context().tasks.file("tea").await.unwrap(), None, "a preview writes nothing");

        let done = TaskUpsert.call(reminder.clone(), project.context()).await.unwrap();
        assert_eq!((&done["created"], &done["next"]), (&json!(true), &json!(["2026-01-02 (Fri) 09:00"])));
        let file = project.context().tasks.file("tea").await.unwrap().unwrap();
        assert_eq!(
            file,
            "---\nat: \"2026-01-02 09:00\"\ntimezone: \"Asia/Shanghai\"\ndeliver: \"web:chat:t1\"\nkind: message\n\
             author: \"fake:user:7\"\n---\nTea!\n"
        );
        let again = TaskUpsert.call(reminder, project.context()).await.unwrap_err();
        assert!(again.to_string().contains("replace: true"), "{again}");
        let later = json!({ "id": "tea", "at": "2026-01-03 10:00", "replace": true });
        TaskUpsert.call(later, project.context()).await.unwrap();
        let file = project.context().tasks.file("tea").await.unwrap().unwrap();
        assert!(file.contains("2026-01-03 10:00") && file.ends_with("Tea!\n"), "{file}");
    }

    #[tokio::test]
    async fn three_times_of_a_weekday_task_are_told_in_both_languages() {
        let project = Project::new();
        let weekdays =
            json!({ "id": "standup", "prompt": "Sum up.", "schedule": "0 9 * * 1-5", "timezone": "UTC" });
        for (language, next) in [(Language::En, "Next: "), (Language::Zh, "接下来：")] {
            let context = ToolContext { language, ..project.context() };
            let words = shown(TaskUpsert, weekdays.clone(), context).await.unwrap().explanation.unwrap();
            let line = words.lines().find(|line| line.contains(next)).unwrap();
            assert_eq!(line.matches("09:00").count(), 3, "{words}");
        }
    }

    #[tokio::test]
    async fn mistakes_are_told_so_that_the_model_can_mend_them() {
        let project = Project::new();
        for (arguments, hint) in [
            (json!({ "id": "Tea", "message": "x", "at": "2026-01-02 09:00" }), "small letters"),
            (json!({ "id": "tea", "message": "x" }), "one of `at`, `every` and `schedule`"),
            (
                json!({ "id": "tea", "message": "x", "at": "2026-01-02 09:00", "every": "1h" }),
                "only one of `at`",
            ),
            (json!({ "id": "tea", "at": "2026-01-02 09:00" }), "`message`"),
            (json!({ "id": "tea", "message": "x", "prompt": "y", "every": "1h" }), "only one of `message`"),
            (json!({ "id": "tea", "message": "x", "at": "tomorrow" }), "2026-12-01 09:00"),
            (
                json!({ "id": "tea", "message": "x", "at": "2025-01-02 09:00" }),
                "has passed; it is now 2026-01-01",
            ),
            (json!({ "id": "tea", "message": "x", "every": "5" }), "30m"),
            (json!({ "id": "tea", "message": "x", "schedule": "9 o'clock" }), "five fields"),
            (json!({ "id": "tea", "message": "x", "every": "1h", "timezone": "CST" }), "Asia/Shanghai"),
            (json!({ "id": "tea", "message": "x", "every": "1h", "deliver": "nowhere" }), "`none`"),
            (json!({ "id": "tea", "message": "x", "replace": true }), "no task of this id"),
        ] {
            let failure = TaskUpsert.call(arguments.clone(), project.context()).await.unwrap_err();
            assert!(matches!(failure, ToolFailure::BadArguments(_)), "{arguments}: {failure}");
            assert!(failure.to_string().contains(hint), "{arguments}: {failure}");
        }
    }

    #[tokio::test]
    async fn a_time_zone_that_smuggles_in_keys_or_an_end_of_the_frontmatter_is_refused() {
        let project = Project::new();
        for zone in ["UTC\n---\nDo X", "UTC\nmemory: author", "UTC\nthread: telegram:chat:1", "UTC # x"] {
            let tea = json!({ "id": "tea", "prompt": "Tea", "every": "1h", "timezone": zone });
            let refused = TaskUpsert.call(tea, project.context()).await.unwrap_err();
            assert!(matches!(refused, ToolFailure::BadArguments(_)), "{zone:?}: {refused}");
            assert_eq!(project.context().tasks.file("tea").await.unwrap(), None, "{zone:?}");
        }
    }

    #[tokio::test]
    async fn only_owners_deliver_elsewhere_and_change_the_tasks_of_others_and_runs_create_none() {
        let project = Project::new();
        let elsewhere = json!({ "id": "leak", "prompt": "x", "every": "1h", "deliver": "web:chat:other" });
        let refused = TaskUpsert.call(elsewhere.clone(), project.context()).await.unwrap_err();
        assert!(matches!(refused, ToolFailure::Refused(_)), "{refused}");
        TaskUpsert.call(elsewhere, owner(&project)).await.unwrap();

        let stranger = || ToolContext { requester: "fake:user:8".parse().ok(), ..project.context() };
        let change = json!({ "id": "leak", "every": "2h", "replace": true });
        for context in [stranger(), ToolContext { unattended: true, ..owner(&project) }] {
            for outcome in [
                TaskUpsert.call(change.clone(), context.clone()).await,
                TaskRemove.call(json!({ "id": "leak" }), context).await,
            ] {
                assert!(matches!(outcome, Err(ToolFailure::Refused(_))), "{outcome:?}");
            }
        }
        let nobody = ToolContext { requester: None, ..owner(&project) };
        assert!(TaskUpsert.call(change, nobody).await.is_err());
        let removed = TaskRemove.call(json!({ "id": "leak" }), owner(&project)).await.unwrap();
        assert_eq!(removed["removed"], true);
        let gone = TaskRemove.call(json!({ "id": "leak" }), owner(&project)).await.unwrap_err();
        assert!(gone.to_string().contains("task_list"), "{gone}");
        let unattended = Capabilities { unattended: true, ..Capabilities::pull() };
        assert!(!TaskUpsert.suits(&unattended) && !TaskRemove.suits(&unattended));
    }
}

//! What is said about scheduled tasks.

use super::table::phrases;
use crate::domain::TaskStatus;

phrases! {
    format scheduled_run(task: &str, time: &str) {
        en: "Scheduled run of task {task}, due {time}. Nobody may be reading. Your final text is delivered; \
             if there is nothing to report, call task_done with report: false.",
        zh: "定时任务 {task} 的运行，预定时间 {time}。可能没有人在看。最后的回答会被送达；\
             如果没有要汇报的内容，请调用 task_done 并设 report: false。",
    }
    format late_run(task: &str, time: &str) {
        en: "Late run of task {task}, which was due {time}. Nobody may be reading. Your final text is delivered; \
             if there is nothing to report, call task_done with report: false.",
        zh: "定时任务 {task} 的补运行，原定时间 {time}。可能没有人在看。最后的回答会被送达；\
             如果没有要汇报的内容，请调用 task_done 并设 report: false。",
    }
    format manual_run(task: &str) {
        en: "Run of task {task}, started by hand. Your final text is delivered; \
             if there is nothing to report, call task_done with report: false.",
        zh: "手动启动的任务 {task}。最后的回答会被送达；如果没有要汇报的内容，请调用 task_done 并设 report: false。",
    }
    format author_without_access(author: &str) {
        en: "{author}, who created the task, no longer has access: let them in again, or change `author` in the file",
        zh: "创建该任务的 {author} 已没有访问权限：请重新授权，或修改文件中的 `author`",
    }
    format timed_out(seconds: u64) {
        en: "stopped after {seconds} seconds (`timeout`)",
        zh: "运行超过 {seconds} 秒，已停止（`timeout`）",
    }
    text needed_approval_again() {
        en: "stopped: it asked for an approval again (`onApproval: deny`)",
        zh: "已停止：再次请求批准（`onApproval: deny`）",
    }
    text run_lost() { en: "the run ended without a result", zh: "运行结束但没有结果" }
    text no_owner_chat() {
        en: "not delivered: no direct chat with an owner is known; an owner has to write to the bot once, or name a \
             conversation in `deliver`",
        zh: "未送达：还不知道所有者的私聊；请所有者先给机器人发一条消息，或在 `deliver` 中写明聊天",
    }
    format not_delivered(reasons: &str) { en: "not delivered to {reasons}", zh: "未送达：{reasons}" }
    format missed_slot(id: &str, time: &str) { en: "- {id}, due {time}", zh: "- {id}，预定 {time}" }
    format missed_heading(lines: &str) {
        en: "Tasks missed their time while nothing could run, and will not be made up for:\n{lines}",
        zh: "以下任务错过了时间（当时无法运行），不会补运行：\n{lines}",
    }
    format more_missed(more: usize) { en: "- and {more} more: /tasks", zh: "- 另有 {more} 个：/tasks" }
    text nobody_can_approve() {
        en: "nobody can approve in this unattended run; go on without it",
        zh: "这是无人值守的运行，没有人可以批准；请在没有它的情况下继续",
    }

    text weekday(number: i8) {
        1 => { en: "Mon", zh: "周一" }
        2 => { en: "Tue", zh: "周二" }
        3 => { en: "Wed", zh: "周三" }
        4 => { en: "Thu", zh: "周四" }
        5 => { en: "Fri", zh: "周五" }
        6 => { en: "Sat", zh: "周六" }
        _ => { en: "Sun", zh: "周日" }
    }
    format with_remark(time: &str, remark: &str) { en: "{time} ({remark})", zh: "{time}（{remark}）" }
    format time_is_skipped(meant: &str) {
        en: "in place of {meant}, which the clock skips that day",
        zh: "代替 {meant}：当天时钟拨快，没有这个时间",
    }
    text given_time_is_skipped() {
        en: "the clock skips the given time that day",
        zh: "当天时钟拨快，没有所写的时间",
    }
    text time_comes_twice() {
        en: "the clock shows this time twice that day; only the first one counts",
        zh: "当天时钟拨慢，这个时间出现两次，只在第一次运行",
    }
    text first_of_two() {
        en: "the first of two: the clock is put back that day",
        zh: "当天时钟拨慢，这是两次中的第一次",
    }
    text second_of_two() {
        en: "the second of two: the clock is put back that day",
        zh: "当天时钟拨慢，这是两次中的第二次",
    }
    format may_wait_for_people(targets: &str) {
        en: "The platform limits messages that nobody asked for: a result may wait until somebody writes in {targets}",
        zh: "平台限制主动消息：结果可能要等有人在 {targets} 发言后才能送达",
    }
    format daily(time: &str) { en: "every day at {time}", zh: "每天 {time}" }
    format weekly(time: &str, day: &str) { en: "every {day} at {time}", zh: "每{day} {time}" }
    format from_day_to_day(time: &str, first: &str, last: &str) {
        en: "{first} to {last} at {time}",
        zh: "每{first}至{last} {time}",
    }
    text between() { en: ", ", zh: "、" }
    format and_more(shown: &str, more: usize) { en: "{shown} and {more} more", zh: "{shown} 以及另外 {more} 次" }
    format every_days(days: i32, time: &str) {
        en: "every {days} days at {time}",
        zh: "每 {days} 天 {time}",
    }
    format every_minutes(minutes: i64) { en: "every {minutes} min", zh: "每 {minutes} 分钟" }
    format every_hours(hours: i64) { en: "every {hours} h", zh: "每 {hours} 小时" }
    format every_time(hours: i64, minutes: i64) {
        en: "every {hours} h {minutes} min",
        zh: "每 {hours} 小时 {minutes} 分钟",
    }
    text too_large() { en: "the file is larger than 64 KiB", zh: "文件超过 64 KiB" }
    text not_utf8() { en: "the file is not UTF-8: save it as UTF-8", zh: "文件不是 UTF-8 编码：请另存为 UTF-8" }
    text no_frontmatter() {
        en: "the file has to begin with settings between two lines of ---, then the prompt",
        zh: "文件开头必须是两行 --- 之间的设置，之后是提示词",
    }
    format bad_yaml(reason: &str) { en: "the settings are not valid YAML: {reason}", zh: "设置不是有效的 YAML：{reason}" }
    format unquoted_cron(value: &str) {
        en: "put the cron expression in quotes: \"{value}\"",
        zh: "请给 cron 表达式加上引号：\"{value}\"",
    }
    text no_schedule() {
        en: "one of schedule, every or at is needed",
        zh: "需要 schedule、every、at 三者之一",
    }
    text several_schedules() {
        en: "only one of schedule, every and at may be there",
        zh: "schedule、every、at 只能有一个",
    }
    format in_key(key: &str, error: &str) { en: "{key}: {error}", zh: "{key}：{error}" }
    format bad_value(key: &str, found: &str, allowed: &str) {
        en: "{key}: {found:?} is not one of {allowed}",
        zh: "{key}：{found:?} 不在可选值之中：{allowed}",
    }
    text from_without_every() { en: "from has a meaning only beside every", zh: "from 只能与 every 一起使用" }
    format unknown_model(name: &str) {
        en: "model: no model named {name:?} is configured; leave the key out, or write default",
        zh: "model：没有配置名为 {name:?} 的模型；请去掉该键，或写 default",
    }
    text bad_file_name() {
        en: "the file name is the task's id: 1 to 64 small letters, digits and hyphens, not beginning with a hyphen; rename it",
        zh: "文件名就是任务的 id：1 到 64 个小写字母、数字和连字符，不能以连字符开头；请改名",
    }
    format unreadable_state(reason: &str) {
        en: "what is kept about this task cannot be read, so it does not run: {reason}",
        zh: "无法读取该任务的状态，因此不会运行：{reason}",
    }
    text deliver_none_in_thread() {
        en: "deliver: none means nothing for a run in a conversation, where the result is said; use quiet: always",
        zh: "在聊天中运行时 deliver: none 没有意义，因为结果就说在那里；请用 quiet: always",
    }
    text not_as_meant() {
        en: "the file would not say what was asked for: edit it by hand",
        zh: "文件的含义会与要求的不同：请手动编辑",
    }
    text empty_body() { en: "there is no prompt below the settings", zh: "设置下面没有提示词" }
    format bad_cron(reason: &str) {
        en: "not a cron expression of five fields, such as \"0 9 * * 1-5\" ({reason})",
        zh: "不是五段的 cron 表达式，例如 \"0 9 * * 1-5\"（{reason}）",
    }
    text never() { en: "this never happens, such as 30 February", zh: "这个时间永远不会到来，例如 2 月 30 日" }
    text bad_interval() { en: "not an interval such as 30m, 2h or 1d", zh: "不是 30m、2h、1d 这样的间隔" }
    text interval_too_short() { en: "the shortest interval is one minute", zh: "间隔最短为一分钟" }
    text mixed_interval() {
        en: "an interval is in days and weeks or in hours and minutes; use a cron expression for months",
        zh: "间隔只能是天和周，或小时和分钟；按月请用 cron 表达式",
    }
    format bad_time(found: &str) {
        en: "{found:?} is not a date with a time, such as 2026-12-01 09:00",
        zh: "{found:?} 不是带时间的日期，例如 2026-12-01 09:00",
    }
    format date_without_time(found: &str) {
        en: "{found} has no time of day: write, for example, {found} 09:00",
        zh: "{found} 没有时间：请写成 {found} 09:00 这样",
    }
    text no_times() { en: "no time is given", zh: "没有给出时间" }
    text too_many_times() { en: "more than 100 times are given", zh: "给出的时间超过 100 个" }
    format bad_zone(found: &str) {
        en: "{found:?} is not a time zone such as Asia/Shanghai; abbreviations such as CST name several zones",
        zh: "{found:?} 不是 Asia/Shanghai 这样的时区；CST 之类的缩写可能指多个时区",
    }
    text none() { en: "There are no tasks.", zh: "没有任务。" }
    text status(status: TaskStatus) {
        TaskStatus::Waiting => { en: "waiting", zh: "等待中" }
        TaskStatus::Running => { en: "running", zh: "运行中" }
        TaskStatus::Paused => { en: "paused", zh: "已暂停" }
        TaskStatus::Disabled => { en: "disabled after failures", zh: "多次失败后停用" }
        TaskStatus::Over => { en: "over", zh: "已结束" }
        TaskStatus::Broken => { en: "broken file", zh: "文件有误" }
    }
    format next_run(time: &str) { en: "next {time}", zh: "下次 {time}" }
    format last_run(time: &str, outcome: &str) { en: "last {time}: {outcome}", zh: "上次 {time}：{outcome}" }
    text outcome(name: &str) {
        "done" => { en: "done", zh: "完成" }
        "quiet" => { en: "nothing to report", zh: "无需汇报" }
        "failed" => { en: "failed", zh: "失败" }
        "timed-out" => { en: "timed out", zh: "超时" }
        "stopped" => { en: "stopped", zh: "已停止" }
        "missed" => { en: "missed", zh: "错过" }
        "budget" => { en: "skipped, a spend cap was reached", zh: "跳过，已达到费用上限" }
        _ => { en: "skipped, the run before it was going on", zh: "跳过，上一次仍在运行" }
    }
    format started(id: &str) { en: "Task {id} was started.", zh: "任务 {id} 已启动。" }
    format paused(id: &str) { en: "Task {id} is paused.", zh: "任务 {id} 已暂停。" }
    format resumed(id: &str) { en: "Task {id} goes on.", zh: "任务 {id} 已恢复。" }
    format unknown(id: &str) { en: "There is no task {id}. /tasks lists them.", zh: "没有任务 {id}。/tasks 可列出全部任务。" }
    format still_running(id: &str) { en: "A run of task {id} is going on.", zh: "任务 {id} 正在运行。" }
    format broken(id: &str, reason: &str) { en: "The file of task {id} has a mistake: {reason}", zh: "任务 {id} 的文件有误：{reason}" }
    text owners_only() { en: "Only an owner can do that.", zh: "只有所有者可以这样做。" }
    text usage() {
        en: "/tasks lists the tasks; /tasks run ID, /tasks pause ID, /tasks resume ID",
        zh: "/tasks 列出任务；/tasks run ID、/tasks pause ID、/tasks resume ID",
    }
    text unavailable() { en: "The tasks cannot be read right now.", zh: "现在无法读取任务。" }
    text failing_heading(disabled: bool) {
        true => { en: "failed too often and is disabled", zh: "失败次数过多，已停用" }
        false => { en: "failed", zh: "失败" }
    }
    format failing(id: &str, heading: &str, count: u32, reason: &str) {
        en: "Task {id} {heading} ({count} in a row): {reason}\nGo on with `/tasks resume {id}`; `shipagent tasks history {id}` shows more.",
        zh: "任务 {id} {heading}（连续 {count} 次）：{reason}\n用 `/tasks resume {id}` 恢复；`shipagent tasks history {id}` 查看详情。",
    }

    format unknown_on_machine(id: &str) {
        en: "there is no task {id:?}: `shipagent tasks list` lists them",
        zh: "没有任务 {id:?}：`shipagent tasks list` 可列出全部任务",
    }
    text no_daemon_runs() {
        en: "no daemon runs: start it with `shipagent run`",
        zh: "守护进程没有运行：请用 `shipagent run` 启动",
    }
    columns task_columns(7) {
        en: ["TASK", "STATUS", "NEXT", "LAST", "COST, 30 DAYS", "SCHEDULE", "PROMPT"],
        zh: ["任务", "状态", "下次", "上次", "30 天费用", "时间表", "提示词"],
    }
    columns history_columns(6) {
        en: ["DUE", "TRIGGER", "OUTCOME", "ENDED", "COST", "RESULT"],
        zh: ["预定", "触发", "结果", "结束", "费用", "内容"],
    }
    format cost(last: &str, month: &str) { en: "cost {last}, 30 days {month}", zh: "费用 {last}，30 天 {month}" }
    format planned_for(schedule: &str, zone: &str) { en: "When: {schedule} ({zone})", zh: "时间：{schedule}（{zone}）" }
    format next_times(times: &str) { en: "Next: {times}", zh: "接下来：{times}" }
    text this_chat() { en: "this chat", zh: "当前聊天" }
    text owners_chat() { en: "the owner's direct chat", zh: "所有者的私聊" }
    format result_goes_to(targets: &str) { en: "The result goes to: {targets}", zh: "结果发送到：{targets}" }
    format sent_as_it_is(targets: &str) { en: "The text is sent as it is to: {targets}", zh: "原文发送到：{targets}" }
    text result_is_not_sent() { en: "The result is not sent.", zh: "结果不发送。" }
    format runs_as(author: &str) { en: "Runs with the rights of {author}", zh: "以 {author} 的权限运行" }
    text all_past() { en: "all its times have passed", zh: "所有时间都已过去" }
    format unknown_keys(keys: &str) { en: "keys without effect: {keys}", zh: "不起作用的键：{keys}" }
    text no_runs() { en: "There were no runs yet.", zh: "还没有运行过。" }
    text nothing_over() { en: "No task is over: nothing was moved.", zh: "没有已结束的任务，未移动任何文件。" }
    format set_aside(ids: &str, count: usize) {
        en: "{count} task(s) that are over moved to .ship/tasks/done: {ids}",
        zh: "已把 {count} 个结束的任务移到 .ship/tasks/done：{ids}",
    }
}

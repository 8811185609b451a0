//! Messages about approvals: the question, its buttons, the reading of replies, the outcome.

use super::budget;
use super::table::phrases;
use crate::domain::{Answer, ApprovalKind, ApprovalNumber, ApprovalState, Language};

phrases! {
    format title(kind: ApprovalKind, sign: &str, number: &str) {
        (ApprovalKind::Tool, ..) => {
            en: "{sign} **{number}: may I do this?**",
            zh: "{sign} **{number}：可以执行吗？**",
        }
        (ApprovalKind::UnknownOutcome, ..) => {
            en: "{sign} **{number}: I was cut off while doing this and do not know how far it got. What now?**",
            zh: "{sign} **{number}：执行中途被中断，结果未知。怎么办？**",
        }
        (ApprovalKind::Budget, ..) => {
            en: "{sign} **{number}: a spend cap is reached. May I go on?**",
            zh: "{sign} **{number}：已达到花费上限。可以继续吗？**",
        }
    }
    format how_to_answer(replies: &str, expires: &str) {
        en: "Answer {replies}.{expires}",
        zh: "请回复 {replies}。{expires}",
    }
    format expires_in_minutes(minutes: u64) { en: " Expires in {minutes} min.", zh: "{minutes} 分钟后失效。" }
    format expires_in_hours(hours: u64) { en: " Expires in {hours} h.", zh: "{hours} 小时后失效。" }

    text button_approve() { en: "✅ Approve", zh: "✅ 同意" }
    text button_deny() { en: "❌ Deny", zh: "❌ 拒绝" }
    text button_longer() { en: "Approve for longer …", zh: "更长期的同意 …" }
    text button_back() { en: "‹ Back", zh: "‹ 返回" }
    text button_thread() { en: "In this chat", zh: "本会话内" }
    text button_shape() { en: "Like this, in all chats", zh: "同类命令，所有会话" }
    text button_project() { en: "Always in this project", zh: "本项目始终" }
    format button_minutes(count: u32) { en: "For {count} min", zh: "{count} 分钟内" }
    text button_rerun() { en: "🔁 Re-run", zh: "🔁 重跑" }
    text button_skip() { en: "⏭ Skip", zh: "⏭ 跳过" }
    text button_done() { en: "✔ It was done", zh: "✔ 已完成" }

    /// The replies that decide, as the grammar reads them.
    text reply_approve() { en: "approve", zh: "同意" }
    text reply_deny() { en: "deny", zh: "拒绝" }
    text reply_rerun() { en: "rerun", zh: "重跑" }
    text reply_skip() { en: "skip", zh: "跳过" }
    text reply_done() { en: "done", zh: "已完成" }

    format folder(folder: &str) { en: "In the folder {folder}", zh: "在文件夹 {folder} 中" }
    format would_fail(why: &str) { en: "As things are it would fail: {why}", zh: "按现在的情况会失败：{why}" }
    text no_visible_change() { en: "No line that can be shown would change.", zh: "没有可以显示的改动。" }
    format changed_lines(added: usize, removed: usize, diff: &str) {
        en: "+{added} −{removed} lines\n\n{diff}",
        zh: "+{added} −{removed} 行\n\n{diff}",
    }
    format whole_call(number: ApprovalNumber) {
        en: "{number}: the whole of what the question below asks about.",
        zh: "{number}：下面所询问内容的全文。",
    }
    format whole_in_file(file: &str) {
        en: "The whole of it is in the file above: `{file}`.",
        zh: "全文见上面的文件：`{file}`。",
    }
    text whole_in_messages() { en: "The whole of it is in the messages above.", zh: "全文见上面的消息。" }

    text only_once() { en: "This can only be allowed once.", zh: "只能允许这一次。" }
    format covers_tool(tool: &str) {
        en: "A longer yes would cover every call of {tool} whose risk is not high.",
        zh: "若同意更久，将涵盖 {tool} 的所有非高风险调用。",
    }
    format covers_commands(commands: &str, unchanged: &str) {
        en: "A longer yes would cover {commands}{unchanged}.",
        zh: "若同意更久，将涵盖{commands}{unchanged}。",
    }
    text between_commands() { en: "; ", zh: "；" }
    format covers_exactly(command: &str) { en: "only {command} with these very words", zh: "一字不差的 {command}" }
    format covers_shape(command: &str, varies: &str) { en: "{command} {varies}", zh: " {command}（{varies}）" }
    format covers_plain_arguments(command: &str) {
        en: "{command} with other plain arguments",
        zh: " {command}（可换成其他普通参数）",
    }
    format covers_in_project(commands: &str) {
        en: "{commands}, in the project folder",
        zh: "{commands}，限项目文件夹",
    }
    format covers_in_folder(commands: &str, folder: &str) {
        en: "{commands}, in the folder {folder}",
        zh: "{commands}，限文件夹 {folder}",
    }
    text between_files() { en: ", ", zh: "、" }
    format until_file_changes(file: &str) { en: ", until {file} changes", zh: "，且 {file} 未改动" }
    format until_files_change(files: &str) { en: ", until one of {files} changes", zh: "，且 {files} 未改动" }
    format until_many_change(files: &str, more: usize, count: usize) {
        en: ", until one of {files} and {more} more files changes",
        zh: "，且 {files} 等 {count} 个文件未改动",
    }
    text other_paths() { en: "with other paths of the project", zh: "可换成项目内的其他路径" }
    text other_tests() { en: "with other test names", zh: "可换成其他测试名" }
    text other_test_files() { en: "with other test files and names", zh: "可换成其他测试文件或测试名" }
    text other_options() { en: "with other harmless options", zh: "可换用其他无害的选项" }
    text other_message() { en: "with another message", zh: "可换成其他提交说明" }
    text other_packages() { en: "with other packages of the project", zh: "可换成项目内的其他包" }
    text other_tests_and_packages() {
        en: "with other test names and packages of the project",
        zh: "可换成其他测试名或项目内的包",
    }

    /// What a reply that names the program would cover.
    format covers_by_program(reply: &str) {
        en: " {reply} would cover it with other plain arguments for that time, in this chat.",
        zh: "回复 {reply} 则在这段时间内、本会话中也涵盖其他普通参数。",
    }
    format reply_program(program: &str) {
        en: "allow {program} for 10 minutes",
        zh: "在 10 分钟内都同意 {program}",
    }

    /// The scope of an approval, after the word for it.
    text reach_thread() { en: " for this chat", zh: "（本会话）" }
    format reach_minutes(minutes: u32) { en: " for {minutes} minutes", zh: "（{minutes} 分钟内）" }
    text reach_shape() { en: " for commands like this", zh: "（同类命令）" }
    text reach_project() { en: " for this project", zh: "（本项目）" }
    format reach_program(minutes: u32) {
        en: " for {minutes} minutes, also with other plain arguments",
        zh: "（{minutes} 分钟内，也可换成其他普通参数）",
    }
    format resolved_once(number: ApprovalNumber, by: &str) {
        en: "{number} was approved once{by}: it cannot be allowed for longer.",
        zh: "{by}已同意 {number}，仅此一次：它不能被长期允许。",
    }
    format resolved(cut_off: bool, state: &ApprovalState, number: ApprovalNumber, by: &str, reach: &str) {
        (_, ApprovalState::Pending, ..) => { en: "{number} waits for a decision.", zh: "{number} 等待决定。" }
        (true, ApprovalState::Approved { .. }, ..) => {
            en: "{number} was approved to run again{by}.",
            zh: "{by}已同意重跑 {number}。",
        }
        (true, ApprovalState::Spent { .. }, ..) => {
            en: "{number} was noted as done{by}.",
            zh: "{by}已确认 {number} 做过了。",
        }
        (true, ApprovalState::Denied { .. }, ..) => { en: "{number} was skipped{by}.", zh: "{by}已跳过 {number}。" }
        (true, ApprovalState::Expired { .. }, ..) => {
            en: "{number} expired without a decision and was not run again.",
            zh: "{number} 过期未决定，没有重跑。",
        }
        (false, ApprovalState::Approved { .. } | ApprovalState::Spent { .. }, ..) => {
            en: "{number} was approved{by}{reach}.",
            zh: "{by}已同意 {number}{reach}。",
        }
        (false, ApprovalState::Denied { .. }, ..) => { en: "{number} was denied{by}.", zh: "{by}已拒绝 {number}。" }
        (false, ApprovalState::Expired { .. }, ..) => {
            en: "{number} expired without a decision and was not run.",
            zh: "{number} 过期未决定，没有执行。",
        }
        // The reason is in English.
        (_, ApprovalState::Cancelled { reason, .. }, ..) => {
            en: "{number} was withdrawn: {reason}.",
            zh: "{number} 已撤回。",
        }
    }
    /// The person who decided, for `resolved`.
    format by(name: &str) { en: " by {name}", zh: "{name} " }
    format counted(answer: &Answer, number: ApprovalNumber, reach: &str) {
        (Answer::Approve(_), ..) => { en: "{number}: approved{reach}.", zh: "{number}：已同意{reach}。" }
        (Answer::Deny, ..) => { en: "{number}: denied.", zh: "{number}：已拒绝。" }
        (Answer::Done, ..) => { en: "{number}: noted as done.", zh: "{number}：已记为完成。" }
    }
    text not_open() {
        en: "There is no such open request any more; it was decided or withdrawn before.",
        zh: "没有这个待决定的请求了：它已经被决定或撤回。",
    }
    format not_theirs(number: ApprovalNumber) {
        en: "You may not decide {number}: ask whoever started this, or an owner.",
        zh: "你不能决定 {number}：请让发起人或所有者来决定。",
    }
    format answer_in_words(number: ApprovalNumber) {
        en: "These buttons are from before this group changed and cannot be changed any more. Approve or Deny here, or \
             write `approve {number}` or `deny {number}`.",
        zh: "这些按钮是群升级之前的，已经无法更改。请直接点同意或拒绝，或回复“同意 {number}”或“拒绝 {number}”。",
    }
    format too_late(number: ApprovalNumber) {
        en: "{number} has expired and was not run. Ask again if you still want it.",
        zh: "{number} 已过期，没有执行。如仍需要，请重新提出。",
    }
    format whether_meant(choices: &str) {
        en: "I am not sure that you mean this. If you do, answer with its number:\n{choices}",
        zh: "不能确定你指的是下面的请求。如果是，请带上编号回复：\n{choices}",
    }
    format choice(number: ApprovalNumber, summary: &str, replies: &str) {
        en: "- {number}: {summary} ({replies})",
        zh: "- {number}：{summary}（{replies}）",
    }
    format reminder(numbers: &str) {
        en: "I am waiting for a decision on {numbers}: answer `approve` or `deny` (with the number if there are several), \
             or /cancel. Your message comes next.",
        zh: "我在等待对 {numbers} 的决定：请回复“同意”或“拒绝”（有多个时带上编号），或发送 /cancel 撤回。你的消息随后处理。",
    }
    format not_theirs_to_withdraw(numbers: &str) {
        en: "You may not withdraw {numbers}: whoever started it may, and whoever may decide it.",
        zh: "你不能撤回 {numbers}：只有发起人和有权决定的人可以撤回。",
    }
    text nothing_withdrawn() { en: "There was nothing waiting for a decision.", zh: "没有等待决定的请求。" }
    format withdrawn(count: usize) { en: "Withdrawn: {count}.", zh: "已撤回 {count} 个请求。" }
    text nothing_pending() { en: "Nothing is waiting for a decision.", zh: "没有等待决定的请求。" }
    format pending(lines: &str) { en: "{lines}", zh: "等待决定：\n{lines}" }
    format pending_line(number: ApprovalNumber, summary: &str) { en: "- {number}: {summary}", zh: "- {number}：{summary}" }
    text between_numbers() { en: ", ", zh: "、" }

    text last_or() { en: " or ", zh: " 还是 " }
    text last_and() { en: " and ", zh: " 和 " }
    format which_one(any: &str) { en: "Which one: {any}?", zh: "是哪一个：{any}？" }
    format mean_approve(all: &str) { en: "Do you mean: approve {all}?", zh: "你的意思是：同意 {all} 吗？" }
    format mean_deny(all: &str) { en: "Do you mean: deny {all}?", zh: "你的意思是：拒绝 {all} 吗？" }
    format approve_or_deny(all: &str) { en: "Approve or deny {all}?", zh: "同意还是拒绝 {all}？" }
    format none_waits(said: &str) { en: "Nothing waits under {said}.", zh: "没有等待中的 {said}。" }
    format none_waits_but(said: &str, any: &str) {
        en: "Nothing waits under {said}. Which one: {any}?",
        zh: "没有等待中的 {said}。是哪一个：{any}？",
    }
    format how_long(all: &str) {
        en: "For how long may {all} be allowed? One minute to 24 hours, e.g. “approve for 10 minutes”.",
        zh: "{all} 允许多久？1 分钟到 24 小时，例如“10 分钟内都同意”。",
    }
    format how_far(all: &str) {
        en: "How far should it reach for {all}? Say it with the decision: `just once`, `for this thread`, \
             `for 10 minutes`, `always allow commands like this` or `always allow in this project`.",
        zh: "{all} 的允许范围是什么？请和决定一起说：“同意一次”、“本会话都同意”、“10 分钟内都同意”、\
             “以后同类命令都同意”或“本项目里都同意”。",
    }
    format which_outcome(all: &str) {
        en: "{all} was cut off and may have run: run it again, skip it, or was it done?",
        zh: "{all} 执行中断，可能已经执行过：重跑、跳过，还是已经做完了？",
    }
    format heard(said: &str, all: &str) {
        en: "I heard “{said}”, but a spoken message decides nothing. What about {all}?",
        zh: "我听到的是“{said}”，但语音不能作决定。{all} 怎么办？",
    }
    format hint_decide(number: ApprovalNumber) {
        en: "Answer `approve {number}` or `deny {number}`",
        zh: "请回复“同意 {number}”或“拒绝 {number}”",
    }
    format hint_outcome(number: ApprovalNumber) {
        en: "Answer `rerun {number}`, `skip {number}` or `done {number}`",
        zh: "请回复“重跑 {number}”、“跳过 {number}”或“已完成 {number}”",
    }
    text or_press_button() { en: ", or press a button below.", zh: "，或点击下面的按钮。" }
    text full_stop() { en: ".", zh: "。" }
}

/// The words that decide a request, the one that lets the call run first.
pub(crate) fn replies(kind: ApprovalKind, language: Language) -> Vec<&'static str> {
    match kind {
        ApprovalKind::Tool => vec![reply_approve(language), reply_deny(language)],
        ApprovalKind::UnknownOutcome => {
            vec![reply_rerun(language), reply_skip(language), reply_done(language)]
        }
        ApprovalKind::Budget => vec![
            budget::reply_plus_one(language),
            budget::reply_plus_five(language),
            budget::reply_midnight(language),
            budget::reply_stop(language),
        ],
    }
}

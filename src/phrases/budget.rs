//! Messages about spend caps: what is used up, the question to owners, the `/budget` command, notices.

use super::table::phrases;
use crate::domain::CapScope;

phrases! {
    /// What a cap limits, at the beginning of a sentence.
    text cap(scope: CapScope) {
        CapScope::Turn => { en: "The budget of this turn", zh: "本轮预算" }
        CapScope::ThreadDay => { en: "Today's budget of this conversation", zh: "本会话今日预算" }
        CapScope::UserDay => { en: "Today's budget of this person", zh: "该用户今日预算" }
        CapScope::TaskDay => { en: "Today's budget of this task", zh: "该任务今日预算" }
        CapScope::HelpersDay => { en: "Today's budget for the agent's own chores", zh: "自身杂务的今日预算" }
        CapScope::Day => { en: "Today's budget", zh: "今日预算" }
        CapScope::Month => { en: "This month's budget", zh: "本月预算" }
    }
    format tokens(count: &str) { en: "{count} tokens", zh: "{count} token" }
    format money(amount: &str, currency: &str) { en: "{amount} {currency}", zh: "{amount} {currency}" }
    format used_up(cap: &str, used: &str, limit: &str, needed: &str) {
        en: "{cap} is used up: {used} of {limit}. The next step needs up to {needed}.",
        zh: "{cap}已用完：已用 {used}，上限 {limit}。下一步最多需要 {needed}。",
    }
    text stopped() {
        en: "An owner has stopped all model calls. An owner starts them again with /budget resume.",
        zh: "所有者已停止所有模型调用。所有者发送 /budget resume 可恢复。",
    }
    format unknown_price(model: &str) {
        en: "The price of {model} is unknown, and such models are not called. The operator can set it in budget.prices.",
        zh: "{model} 的价格未知，不会调用这样的模型。运维人员可在 budget.prices 中设置价格。",
    }
    format ended(why: &str) { en: "{why} I stop here.", zh: "{why}我先停在这里。" }
    format asked(number: &str) {
        en: "The budget is used up. An owner has been asked{number}; I go on as soon as they allow it.",
        zh: "预算已用完，已询问所有者{number}；获准后我会继续。",
    }
    format asked_number(number: &str) { en: " ({number})", zh: "（{number}）" }
    format details(thread: &str, author: &str) {
        en: "- asked in {thread}, for {author}\n- +1 and +5 raise this cap until it begins anew; “until midnight” lifts it for the rest of the day\n- only owners decide",
        zh: "- 来自 {thread}，发起人 {author}\n- +1 和 +5 在本周期内提高上限；“到午夜”在今天余下时间内取消上限\n- 只有所有者可以决定",
    }

    text button_plus_one() { en: "+1", zh: "+1" }
    text button_plus_five() { en: "+5", zh: "+5" }
    text button_midnight() { en: "Until midnight", zh: "到午夜" }
    text button_stop() { en: "⏹ Stop", zh: "⏹ 停止" }
    text reply_plus_one() { en: "+1", zh: "+1" }
    text reply_plus_five() { en: "+5", zh: "+5" }
    text reply_midnight() { en: "until midnight", zh: "到午夜" }
    text reply_stop() { en: "stop", zh: "停止" }

    text reach_plus_one() { en: " with 1 more", zh: "（增加 1）" }
    text reach_plus_five() { en: " with 5 more", zh: "（增加 5）" }
    text reach_midnight() { en: " until midnight", zh: "（到午夜）" }

    text help() {
        en: "`/budget` shows the caps; `/budget stop` stops all model calls and `/budget resume` allows them again (owners).",
        zh: "`/budget` 查看上限；`/budget stop` 停止所有模型调用，`/budget resume` 恢复（仅所有者）。",
    }
    text owners_only() { en: "Only owners may do that.", zh: "只有所有者可以这样做。" }
    text now_stopped() {
        en: "All model calls are stopped. `/budget resume` allows them again.",
        zh: "已停止所有模型调用。发送 `/budget resume` 恢复。",
    }
    text now_resumed() { en: "Model calls are allowed again.", zh: "已恢复模型调用。" }
    text not_written() { en: "That could not be written to the disk.", zh: "无法写入磁盘。" }
    text project_caps() {
        en: "The project has caps as well; owners see them.",
        zh: "项目另有上限，仅所有者可查看。",
    }
    text no_caps() { en: "No cap limits this conversation.", zh: "本会话没有任何上限。" }
    format line(cap: &str, used: &str, limit: &str) { en: "- {cap}: {used} of {limit}", zh: "- {cap}：已用 {used}，上限 {limit}" }
    format line_lifted(cap: &str, used: &str) { en: "- {cap}: {used}, no limit for now", zh: "- {cap}：已用 {used}，暂无上限" }

    format warning(cap: &str, percent: u64, used: &str, limit: &str) {
        en: "{cap} is used to {percent} %: {used} of {limit}.",
        zh: "{cap}已用 {percent}%：已用 {used}，上限 {limit}。",
    }
    format notable_day(used: &str) {
        en: "Model calls have cost {used} today. There is no cap per day: `budget.day` in ship.json sets one.",
        zh: "今天的模型调用已花费 {used}。没有每日上限，可在 ship.json 的 `budget.day` 中设置。",
    }
    format account_empty(provider: &str) {
        en: "The account at {provider} is empty: the provider refuses model calls until it is topped up.",
        zh: "{provider} 的账户余额不足：充值之前，该服务商会拒绝模型调用。",
    }
    format stood_in(model: &str) {
        en: "A budget has no room for the usual model: {model} answers instead. You hear of this once a day.",
        zh: "预算不足以调用常用模型，改由 {model} 回答。此类通知每天一次。",
    }
    format notable_unpriced(tokens: &str) {
        en: "Models whose price is unknown have used {tokens} tokens today, and no cap of money counts them. `budget.prices` in ship.json sets their price, `budget.tokens.day` a cap.",
        zh: "价格未知的模型今天已使用 {tokens} token，金额上限不计入这些用量。可在 ship.json 的 `budget.prices` 中设置价格，或用 `budget.tokens.day` 设置上限。",
    }
    format task_skipped(task: &str, why: &str) {
        en: "The task {task} was skipped. {why} You hear of this once a day.",
        zh: "任务 {task} 已跳过。{why}此类通知每天一次。",
    }

    format grant_summary(cap: &str, more: &str) { en: "{cap}: {more}", zh: "{cap}：{more}" }
    format grant_more(amount: &str) { en: "{amount} more", zh: "增加 {amount}" }
    text grant_unlimited() { en: "no limit", zh: "不设上限" }
}

//! What is said about models and what their calls cost.

use super::table::phrases;

phrases! {
    format model_here(name: &str, model: &str) {
        en: "This conversation is answered by **{name}** ({model}).",
        zh: "当前对话由 **{name}**（{model}）回答。",
    }
    format models(list: &str) {
        en: "Models: {list}. `/model NAME` chooses one for this conversation.",
        zh: "可选模型：{list}。用 `/model 名称` 为当前对话选择。",
    }
    format model_chosen(name: &str, model: &str) {
        en: "From now on **{name}** ({model}) answers this conversation. `/model default` undoes this.",
        zh: "从现在起由 **{name}**（{model}）回答当前对话。用 `/model default` 可以恢复。",
    }
    format model_default(model: &str) {
        en: "The default model ({model}) answers this conversation.",
        zh: "当前对话由默认模型（{model}）回答。",
    }
    format model_unknown(name: &str, known: &str) {
        en: "There is no model named {name}. Known: {known}.",
        zh: "没有名为 {name} 的模型。可选：{known}。",
    }
    text model_none() {
        en: "no others are configured (`llm.models` in ship.json)",
        zh: "没有配置其他模型（ship.json 的 `llm.models`）",
    }
    text model_not_theirs() {
        en: "Only an owner may choose the model here.",
        zh: "这里只有所有者可以选择模型。",
    }
    text model_unavailable() {
        en: "The choice could not be stored; nothing has changed.",
        zh: "无法保存选择，没有任何更改。",
    }

    format cost(amount: &str, currency: &str) { en: "{amount} {currency}", zh: "{amount} {currency}" }
    format about(amount: &str, currency: &str) { en: "about {amount} {currency}", zh: "约 {amount} {currency}" }
    format at_least(amount: &str, currency: &str) {
        en: "at least {amount} {currency} (some prices unknown)",
        zh: "至少 {amount} {currency}（部分价格未知）",
    }
    text price_unknown() { en: "price unknown", zh: "价格未知" }
    format calls(count: u64) { en: "{count} calls", zh: "{count} 次调用" }
    text one_call() { en: "1 call", zh: "1 次调用" }
    format tokens(input: &str, output: &str) { en: "{input} tokens in, {output} out", zh: "输入 {input}、输出 {output} 词元" }
    format cached(percent: u64) { en: "{percent}% from the cache", zh: "{percent}% 来自缓存" }
    format today(spent: &str) { en: "**Today:** {spent}", zh: "**今天：**{spent}" }
    format month(spent: &str) { en: "**This month:** {spent}", zh: "**本月：**{spent}" }
    format thread(today: &str, month: &str) {
        en: "**This conversation:** {today} today, {month} this month",
        zh: "**当前对话：**今天 {today}，本月 {month}",
    }
    format person(spent: &str) { en: "**You, today:** {spent}", zh: "**你今天：**{spent}" }
    text by_model() { en: "**By model, this month:**", zh: "**本月各模型：**" }
    format more_models(count: usize) { en: "and {count} more", zh: "以及另外 {count} 个" }
    format line(today: &str, thread: &str) {
        en: "Spent today: {today} · this conversation: {thread}",
        zh: "今天花费：{today} · 当前对话：{thread}",
    }
    format of_cap(spent: &str, limit: &str) { en: "{spent} of {limit}", zh: "{spent}，上限 {limit}" }
    format line_of_thread(thread: &str) {
        en: "Spent on this conversation today: {thread}",
        zh: "当前对话今天花费：{thread}",
    }
    format footer_tokens(input: &str, output: &str) { en: "{input} tokens in, {output} out", zh: "输入 {input}、输出 {output} 词元" }
    format footer_about_tokens(input: &str, output: &str) {
        en: "about {input} tokens in, {output} out",
        zh: "约输入 {input}、输出 {output} 词元",
    }

    format bad_dimension(found: &str) {
        en: "cannot group by {found:?}: use day, month, model, thread, person, task or purpose",
        zh: "不能按 {found:?} 分组：请用 day、month、model、thread、person、task 或 purpose",
    }
    format bad_time(found: &str) {
        en: "{found:?} is no time: write 30m, 2h, 7d, a date such as 2026-11-18, or a time such as 2026-11-18T09:00:00Z",
        zh: "{found:?} 不是时间：请写 30m、2h、7d，日期如 2026-11-18，或时刻如 2026-11-18T09:00:00Z",
    }
    format range(since: &str, until: &str) { en: "From {since} to {until}", zh: "从 {since} 到 {until}" }
    text now() { en: "now", zh: "现在" }
    text total() { en: "total", zh: "合计" }
    text no_key() { en: "(none)", zh: "（无）" }
    text empty() { en: "Nothing was used in this time.", zh: "这段时间没有用量。" }
    format open_calls(count: u64) {
        en: "Calls without a known end, counted in full: {count}",
        zh: "结果未知、按上限计入的调用：{count}",
    }
    format suspect_calls(count: u64) {
        en: "Calls whose counts do not fit the prompt or the answer: {count}",
        zh: "计数与提示或回答不符的调用：{count}",
    }
    format unreadable(count: u64) {
        en: "lines of the usage ledger that cannot be read: {count}",
        zh: "用量记录中无法读取的行：{count}",
    }
    columns usage_columns(7) {
        en: ["GROUP", "CALLS", "TOKENS IN", "CACHED", "OUT", "FAILED", "COST"],
        zh: ["分组", "调用", "输入词元", "缓存", "输出", "失败", "费用"],
    }
}

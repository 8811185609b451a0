//! Texts of the console's pages beside the conversation. Written into `adapters/web/page/phrases.js` together with those
//! of `page.rs`.

use super::table::phrases;

phrases! {
    text cancel() { en: "Cancel", zh: "取消" }
    text close() { en: "Close", zh: "关闭" }
    text agent() { en: "Agent", zh: "助手" }

    text thread_search() { en: "Search conversations", zh: "搜索会话" }
    text thread_filter() { en: "Filter", zh: "筛选" }
    text filter_state() { en: "By state", zh: "按状态" }
    text filter_platform() { en: "By platform", zh: "按平台" }
    text filter_since() { en: "By time", zh: "按时间" }
    text filter_person() { en: "Person", zh: "人员" }
    text filter_all() { en: "All", zh: "全部" }
    text filter_any_platform() { en: "Any platform", zh: "所有平台" }
    text filter_any_time() { en: "Any time", zh: "任何时间" }
    named filter_since_names(key: &str) {
        "today" => { en: "Today", zh: "今天" }
        "week" => { en: "Last 7 days", zh: "最近 7 天" }
        "month" => { en: "Last 30 days", zh: "最近 30 天" }
        "year" => { en: "Last year", zh: "最近一年" }
    }
    named filter_states(key: &str) {
        "running" => { en: "Working", zh: "处理中" }
        "awaiting-approval" => { en: "Waiting for approval", zh: "等待批准" }
        "archived" => { en: "Archive", zh: "已归档" }
    }
    named thread_groups(key: &str) {
        "pinned" => { en: "Pinned", zh: "置顶" }
        "today" => { en: "Today", zh: "今天" }
        "yesterday" => { en: "Yesterday", zh: "昨天" }
        "week" => { en: "Last 7 days", zh: "最近 7 天" }
        "month" => { en: "Last 30 days", zh: "最近 30 天" }
        "earlier" => { en: "Earlier", zh: "更早" }
    }
    format thread_menu(title: &str) { en: "More for: {title}", zh: "更多操作：{title}" }
    text thread_rename() { en: "Rename", zh: "重命名" }
    text thread_title() { en: "Title", zh: "标题" }
    text thread_title_hint() { en: "Empty: the first message is the title.", zh: "留空则以第一条消息为标题。" }
    text thread_pin() { en: "Pin", zh: "置顶" }
    text thread_unpin() { en: "Unpin", zh: "取消置顶" }
    text thread_archive() { en: "Archive", zh: "归档" }
    text thread_unarchive() { en: "Take out of the archive", zh: "取消归档" }
    text thread_archived() { en: "The conversation is in the archive.", zh: "会话已归档。" }
    text thread_unarchived() { en: "The conversation is in the list again.", zh: "会话已回到列表。" }
    text thread_markdown() { en: "Save as Markdown", zh: "导出为 Markdown" }
    text thread_json() { en: "Save as JSON", zh: "导出为 JSON" }
    text thread_delete() { en: "Delete", zh: "删除" }
    format thread_delete_ask(title: &str, count: &str) {
        en: "Delete “{title}” with its {count} messages and all its files?",
        zh: "确定删除“{title}”，包括 {count} 条消息和所有文件？",
    }
    text thread_delete_sure() { en: "This cannot be undone. Delete it for good?", zh: "此操作无法撤销，确定永久删除？" }
    text thread_delete_for_good() { en: "Delete for good", zh: "永久删除" }
    text thread_deleted() { en: "The conversation is deleted.", zh: "会话已删除。" }

    text attach() { en: "Attach files", zh: "添加附件" }
    text record() { en: "Record a message", zh: "录制语音消息" }
    text record_send() { en: "Send the recording", zh: "发送录音" }
    text microphone_missing() { en: "There is no microphone.", zh: "没有找到麦克风。" }
    text microphone_refused() {
        en: "The browser does not let this page use the microphone.",
        zh: "浏览器不允许此页面使用麦克风。",
    }
    format play(name: &str) { en: "Play {name}", zh: "播放 {name}" }
    text listen() { en: "Listen to the answer", zh: "朗读回答" }
    text attachments() { en: "Attached files", zh: "附件" }
    format attach_remove(name: &str) { en: "Remove {name}", zh: "移除 {name}" }
    format attach_too_many(count: &str) { en: "A message takes at most {count} files.", zh: "一条消息最多附带 {count} 个文件。" }
    format attach_too_large(name: &str) {
        en: "{name} is too large: the files of a message may have about 6 MB together.",
        zh: "{name} 太大：一条消息的文件合计约 6 MB。",
    }
    format attach_unreadable(name: &str) { en: "{name} cannot be read.", zh: "无法读取 {name}。" }
    text regenerate() { en: "Answer again", zh: "重新回答" }
    text edit_message() { en: "Edit and send again", zh: "编辑并重新发送" }
    text edit_last_hint() { en: "The last answer is replaced.", zh: "将替换最后一次回答。" }
    text edit_branch_hint() { en: "Begins a new conversation with what was said before.", zh: "将以之前的对话开始一个新会话。" }
    text edit_queued_hint() { en: "It waits and is answered as you write it here.", zh: "此消息仍在排队，将按修改后的内容回答。" }
    text edit_answering_hint() { en: "The answer that is being written is stopped and replaced.", zh: "将停止正在生成的回答并重新回答。" }
    text withdraw() { en: "Withdraw", zh: "撤回" }
    text diagram() { en: "Diagram", zh: "图表" }
    text diagram_source() { en: "Source of the diagram", zh: "图表源码" }
    text withdrawn() { en: "Withdrawn", zh: "已撤回" }
    text withdraw_label() { en: "Withdraw the message before it is answered", zh: "在回答之前撤回此消息" }
    text unsent_discard() { en: "Discard", zh: "丢弃" }
    text unsent_before() { en: "the page was left before the daemon had it", zh: "守护进程收到之前页面已关闭" }
    text attach_reading() { en: "Reading the files…", zh: "正在读取文件…" }
    text as_operator() { en: "Operator", zh: "操作者" }
    format elapsed_seconds(count: &str) { en: "{count} s", zh: "{count} 秒" }
    format elapsed_minutes(count: &str, rest: &str) { en: "{count} min {rest} s", zh: "{count} 分 {rest} 秒" }
    text code_wrap() { en: "Wrap long lines", zh: "自动换行" }
    format code_more(count: &str) { en: "Show all {count} lines", zh: "显示全部 {count} 行" }
    text code_less() { en: "Show less", zh: "收起" }
    format footnote(id: &str) { en: "Footnote {id}", zh: "脚注 {id}" }
    format zoom(name: &str) { en: "Enlarge {name}", zh: "放大 {name}" }

    text deny_why() { en: "Deny with a reason…", zh: "拒绝并说明…" }
    text deny_reason() { en: "Why not, or what to do instead", zh: "为什么不行，或者应该怎么做" }
    text deny_send() { en: "Deny", zh: "拒绝" }
    text approve_all() { en: "Approve all", zh: "全部同意" }
    format approve_all_ask(count: &str, numbers: &str) {
        en: "Approve these {count}, each once: {numbers}?",
        zh: "同意这 {count} 项（每项仅此一次）：{numbers}？",
    }

    text palette() { en: "Command palette", zh: "命令面板" }
    text palette_label() { en: "What to do, or which conversation", zh: "要做什么，或打开哪个会话" }
    text shortcuts() { en: "Keyboard shortcuts", zh: "键盘快捷键" }
    named shortcut_words(key: &str) {
        "palette" => { en: "command palette", zh: "命令面板" }
        "newChat" => { en: "new chat", zh: "新会话" }
        "search" => { en: "search conversations", zh: "搜索会话" }
        "approve" => { en: "approve the first question here", zh: "同意此处第一项询问" }
        "deny" => { en: "deny the first question here", zh: "拒绝此处第一项询问" }
        "send" => { en: "send", zh: "发送" }
        "line" => { en: "new line", zh: "换行" }
        "stop" => { en: "stop, but never withdraw a question", zh: "停止，但不会撤回询问" }
        "command" => { en: "commands, at the start of a message", zh: "消息开头输入命令" }
        "shortcuts" => { en: "this list", zh: "此列表" }
    }
    text slash_label() { en: "Commands", zh: "命令" }
    named commands(key: &str) {
        "help" => { en: "what the agent can do here", zh: "助手在这里能做什么" }
        "status" => { en: "what this conversation is doing", zh: "此会话的状态" }
        "stop" => { en: "stop the current work", zh: "停止当前处理" }
        "new" => { en: "begin a new conversation here", zh: "在这里开始新的对话" }
        "compact" => { en: "summarise the conversation so far", zh: "整理到目前为止的对话" }
        "cancel" => { en: "withdraw what waits for approval", zh: "撤回等待批准的事项" }
        "approvals" => { en: "what waits for approval", zh: "等待批准的事项" }
        "approve" => { en: "approve a question", zh: "同意一项询问" }
        "deny" => { en: "deny a question", zh: "拒绝一项询问" }
        "grants" => { en: "what is allowed for longer", zh: "长期授权" }
        "model" => { en: "the model that answers", zh: "当前模型" }
        "memory" => { en: "what the agent remembers", zh: "助手的记忆" }
        "forget" => { en: "forget what is known about you", zh: "忘记关于你的一切" }
        "tasks" => { en: "scheduled tasks", zh: "定时任务" }
        "transcript" => { en: "what was understood of the last spoken message", zh: "上一条语音消息的识别结果" }
        "id" => { en: "the ids of this conversation and of you", zh: "此会话与你的编号" }
    }
    text notify_on() { en: "Turn notifications on", zh: "开启通知" }
    text notify_off() { en: "Turn notifications off", zh: "关闭通知" }
    text notify_is_on() { en: "Notifications are on.", zh: "通知已开启。" }
    text notify_is_off() { en: "Notifications are off.", zh: "通知已关闭。" }
    format notify_approval(count: &str) { en: "{count} waiting for approval", zh: "{count} 项等待批准" }
    text notify_done() { en: "The answer is there.", zh: "已有回答。" }

    text pages_label() { en: "Pages", zh: "页面" }
    text page_close() { en: "Back to the conversation", zh: "返回会话" }
    named pages(key: &str) {
        "setup" => { en: "Set up", zh: "初始设置" }
        "tasks" => { en: "Tasks", zh: "定时任务" }
        "memory" => { en: "Memory", zh: "记忆" }
        "usage" => { en: "Usage", zh: "用量" }
        "settings" => { en: "Settings", zh: "设置" }
        "instructions" => { en: "Agent.md", zh: "Agent.md" }
        "health" => { en: "Health", zh: "健康" }
        "logs" => { en: "Logs and audit", zh: "日志与审计" }
    }
    text save() { en: "Save", zh: "保存" }
    text discard() { en: "Discard changes", zh: "放弃更改" }
    text search() { en: "Search", zh: "搜索" }
    text searching() { en: "Searching…", zh: "正在搜索…" }
    format found(count: &str) { en: "{count} found", zh: "找到 {count} 条" }
    text found_nothing() { en: "Nothing found.", zh: "没有找到。" }
    text show_more() { en: "Show more", zh: "显示更多" }

    text tasks_about() {
        en: "What the agent does at set times. Each task is a file in .ship/tasks.",
        zh: "助手按时间执行的任务，每个任务是 .ship/tasks 中的一个文件。",
    }
    text tasks_empty() {
        en: "There are no tasks yet. Ask the agent to do something at a set time, or make one here.",
        zh: "还没有任务。可以让助手在某个时间做某件事，也可以在这里新建。",
    }
    text tasks_back() { en: "All tasks", zh: "所有任务" }
    text task_new() { en: "New task", zh: "新建任务" }
    text task_name() { en: "Name", zh: "名称" }
    text task_name_hint() { en: "small letters, digits and hyphens", zh: "小写字母、数字和连字符" }
    text task_file() { en: "File", zh: "文件" }
    text task_history() { en: "History", zh: "历史" }
    text task_history_empty() { en: "It has not run yet.", zh: "还没有运行过。" }
    text task_thread() { en: "conversation", zh: "会话" }
    format task_next(when: &str, at: &str) { en: "next {when}, {at}", zh: "下次：{when}，{at}" }
    format task_running(age: &str) { en: "running, started {age}", zh: "运行中，{age}启动" }
    format task_deliver(place: &str) { en: "results go to {place}", zh: "结果发送到 {place}" }
    text task_deliver_owner() { en: "the first owner", zh: "第一位所有者" }
    text task_deliver_none() { en: "results are kept here", zh: "结果仅保留在这里" }
    text task_next_times() { en: "Next times", zh: "接下来的时间" }
    format task_line(line: &str) { en: "Line {line}", zh: "第 {line} 行" }
    format task_mistake_at(line: &str, what: &str) { en: "Line {line}: {what}", zh: "第 {line} 行：{what}" }
    text task_past() { en: "All its times have passed.", zh: "所有时间都已过去。" }
    format task_failures(count: &str) { en: "{count} failures in a row", zh: "连续失败 {count} 次" }
    format task_unknown_keys(keys: &str) { en: "Keys without effect: {keys}", zh: "不起作用的键：{keys}" }
    named task_status(key: &str) {
        "waiting" => { en: "scheduled", zh: "等待中" }
        "running" => { en: "running", zh: "运行中" }
        "paused" => { en: "paused", zh: "已暂停" }
        "disabled" => { en: "disabled: failed too often", zh: "已停用：失败次数过多" }
        "over" => { en: "over", zh: "已结束" }
        "broken" => { en: "file has a mistake", zh: "文件有误" }
    }
    named task_outcomes(key: &str) {
        "done" => { en: "done", zh: "完成" }
        "quiet" => { en: "done, nothing to tell", zh: "完成，无需通知" }
        "failed" => { en: "failed", zh: "失败" }
        "timed-out" => { en: "timed out", zh: "超时" }
        "stopped" => { en: "stopped", zh: "已停止" }
        "missed" => { en: "missed", zh: "已错过" }
        "overlap" => { en: "left out: still running", zh: "跳过：上次仍在运行" }
        "budget" => { en: "left out: a spend cap is reached", zh: "跳过：已达到花费上限" }
    }
    named task_triggers(key: &str) {
        "catch-up" => { en: "made up for", zh: "补运行" }
        "manual" => { en: "started by hand", zh: "手动启动" }
    }
    text task_run() { en: "Run now", zh: "立即运行" }
    format task_run_label(id: &str) { en: "Run {id} now", zh: "立即运行 {id}" }
    format task_started(id: &str) { en: "{id} was started.", zh: "已启动 {id}。" }
    text task_pause() { en: "Pause", zh: "暂停" }
    format task_pause_label(id: &str) { en: "Pause {id}", zh: "暂停 {id}" }
    format task_paused(id: &str) { en: "{id} is paused.", zh: "{id} 已暂停。" }
    text task_resume() { en: "Resume", zh: "恢复" }
    format task_resume_label(id: &str) { en: "Resume {id}", zh: "恢复 {id}" }
    format task_resumed(id: &str) { en: "{id} runs again at its times.", zh: "{id} 已恢复按时运行。" }
    format task_saved(id: &str) { en: "{id} is saved.", zh: "{id} 已保存。" }
    format task_remove_label(id: &str) { en: "Remove {id}", zh: "移除 {id}" }
    format task_remove_ask(id: &str) { en: "Remove {id}? Its file is deleted.", zh: "确定移除 {id}？文件将被删除。" }
    format task_removed(id: &str) { en: "{id} is removed.", zh: "{id} 已移除。" }

    text model_label() { en: "Model of this conversation", zh: "当前会话的模型" }
    format model_default(model: &str) { en: "default ({model})", zh: "默认（{model}）" }
    format model_chosen(name: &str) { en: "From now on {name} answers here.", zh: "从现在起由 {name} 回答。" }

    text usage_intro() {
        en: "What calls of models used and cost, for people and for the agent’s own chores.",
        zh: "模型调用的用量和费用，包括助手自身的后台工作。",
    }
    text usage_range() { en: "Time", zh: "时间" }
    named usage_ranges(key: &str) {
        "week" => { en: "7 days", zh: "7 天" }
        "month" => { en: "30 days", zh: "30 天" }
        "year" => { en: "12 months", zh: "12 个月" }
    }
    text usage_measure() { en: "What the bars show", zh: "图表内容" }
    named usage_measures(key: &str) {
        "cost" => { en: "Cost", zh: "费用" }
        "tokens" => { en: "Tokens", zh: "词元" }
    }
    named usage_by(key: &str) {
        "day" => { en: "By day", zh: "按天" }
        "month" => { en: "By month", zh: "按月" }
        "model" => { en: "By model", zh: "按模型" }
        "thread" => { en: "By conversation", zh: "按会话" }
        "person" => { en: "By person", zh: "按用户" }
        "task" => { en: "By task", zh: "按任务" }
        "purpose" => { en: "By purpose", zh: "按用途" }
    }
    named usage_no_key(key: &str) {
        "thread" => { en: "no conversation", zh: "不属于会话" }
        "person" => { en: "nobody’s message", zh: "不属于用户" }
        "task" => { en: "no task", zh: "不属于任务" }
    }
    named usage_purposes(key: &str) {
        "turn" => { en: "answers", zh: "回答" }
        "task" => { en: "scheduled tasks", zh: "定时任务" }
        "distil" => { en: "finding what to remember", zh: "提取记忆" }
        "summary" => { en: "summaries", zh: "对话整理" }
        "gate" => { en: "whether to speak up in a group", zh: "判断群里是否发言" }
        "title" => { en: "titles of conversations", zh: "会话标题" }
        "reply" => { en: "reading replies to questions", zh: "理解对请求的回复" }
        "embedding" => { en: "vectors for the search", zh: "检索向量" }
        "stt" => { en: "speech to text", zh: "语音识别" }
        "tts" => { en: "text to speech", zh: "语音合成" }
        "other" => { en: "other", zh: "其他" }
    }
    format usage_cost(amount: &str, currency: &str) { en: "{amount} {currency}", zh: "{amount} {currency}" }
    format usage_about(amount: &str, currency: &str) { en: "about {amount} {currency}", zh: "约 {amount} {currency}" }
    format usage_at_least(amount: &str, currency: &str) {
        en: "at least {amount} {currency} (some prices unknown)",
        zh: "至少 {amount} {currency}（部分价格未知）",
    }
    text usage_unpriced() { en: "price unknown", zh: "价格未知" }
    format usage_tokens(count: &str) { en: "{count} tokens", zh: "{count} 词元" }
    text usage_total() { en: "Cost", zh: "费用" }
    format usage_calls(count: &str) { en: "{count} calls", zh: "{count} 次调用" }
    text usage_calls_head() { en: "Calls", zh: "调用" }
    text usage_in() { en: "Tokens in", zh: "输入词元" }
    text usage_out() { en: "Tokens out", zh: "输出词元" }
    text usage_cached() { en: "From the cache", zh: "缓存命中" }
    text usage_cached_hint() { en: "of the tokens in", zh: "占输入词元" }
    text usage_uncertain() { en: "Uncertain", zh: "不确定" }
    text usage_uncertain_hint() { en: "of the cost", zh: "占费用" }
    format usage_open(count: &str) { en: "{count} calls without a known end", zh: "{count} 次调用结果未知" }
    text usage_none() { en: "Nothing was used in this time.", zh: "这段时间没有用量。" }
    text usage_as_table() { en: "As a table", zh: "以表格显示" }
    text usage_other() { en: "other", zh: "其他" }
    format usage_more(count: &str) { en: "and {count} more", zh: "以及另外 {count} 项" }

    text memory_about() {
        en: "What the agent remembers, for whom, and where it has it from.",
        zh: "助手记住了什么、属于谁，以及从何而来。",
    }
    text memory_search_label() { en: "Search memory and all conversations", zh: "搜索记忆和所有会话" }
    text memory_scope() { en: "Whose memory", zh: "谁的记忆" }
    named memory_scopes(key: &str) {
        "project" => { en: "Everybody", zh: "所有人" }
        "main" => { en: "Operator", zh: "操作者" }
    }
    format memory_group(id: &str, place: &str) { en: "Group {id} ({place})", zh: "群组 {id}（{place}）" }
    text memory_core() { en: "Always with the agent", zh: "始终携带" }
    text memory_core_empty() { en: "Nothing is remembered here.", zh: "这里没有记忆。" }
    format memory_tokens(used: &str, most: &str) { en: "{used} of {most} tokens", zh: "{used} / {most} 个词元" }
    text memory_notes() { en: "Notes", zh: "笔记" }
    text memory_notes_empty() { en: "There are no notes.", zh: "没有笔记。" }
    text memory_by_hand() { en: "written by hand", zh: "手工编辑" }
    text memory_unreviewed() { en: "no person has confirmed it", zh: "尚无人确认" }
    text forget() { en: "Forget", zh: "忘记" }
    format forget_label(text: &str) { en: "Forget: {text}", zh: "忘记：{text}" }
    text forget_ask() {
        en: "Forget this? Its text is also removed from the list of changes.",
        zh: "确定忘记？它的文字也会从变更记录中删除。",
    }
    text forgotten() { en: "It is forgotten.", zh: "已忘记。" }
    text memory_edit() { en: "Edit as text", zh: "作为文本编辑" }
    text memory_edit_label() { en: "Core memory as text", zh: "核心记忆文本" }
    text memory_saved() { en: "Memory is saved.", zh: "记忆已保存。" }
    text memory_ledger() { en: "Changes", zh: "变更记录" }
    text memory_ledger_empty() { en: "Nothing was changed yet.", zh: "还没有变更。" }
    text memory_undo() { en: "Undo the last change", zh: "撤销上一次变更" }
    text memory_undo_ask() { en: "Undo the newest change of this memory?", zh: "确定撤销这份记忆的最新变更？" }
    text memory_undone() { en: "The last change was undone.", zh: "已撤销上一次变更。" }
    format memory_undid(seq: &str) { en: "undone (line {seq})", zh: "撤销（第 {seq} 行）" }
    text memory_before() { en: "before:", zh: "之前：" }
    text memory_after() { en: "after:", zh: "之后：" }
    text memory_text_gone() { en: "The text was forgotten.", zh: "文字已忘记。" }
    format memory_damaged(count: &str) {
        en: "{count} lines of the ledger cannot be read, because a write was cut off.",
        zh: "变更记录有 {count} 行无法读取，写入时被中断。",
    }
    named memory_ops(key: &str) {
        "add" => { en: "added", zh: "新增" }
        "replace" => { en: "replaced", zh: "替换" }
        "forget" => { en: "forgotten", zh: "忘记" }
        "edit" => { en: "edited", zh: "编辑" }
    }
    named memory_tiers(key: &str) {
        "core" => { en: "core memory", zh: "核心记忆" }
        "notes" => { en: "notes", zh: "笔记" }
        "history" => { en: "conversation", zh: "会话" }
    }
    text checkpoints() { en: "Checkpoints", zh: "检查点" }
    text checkpoints_about() {
        en: "Where the newest conversations outgrew the model’s window, their earlier part was summarised. Nothing was deleted.",
        zh: "最近的会话超出模型窗口时，较早的部分被整理成摘要；原文没有删除。",
    }
    text checkpoints_empty() { en: "No conversation has been summarised yet.", zh: "还没有会话被整理。" }
    named checkpoint_reasons(key: &str) {
        "threshold" => { en: "the window was nearly full", zh: "窗口将满" }
        "overflow" => { en: "the prompt was too long", zh: "提示过长" }
        "manual" => { en: "somebody asked for it", zh: "有人要求" }
        "idle" => { en: "while nothing else was to be done", zh: "空闲时" }
    }

    text settings_about() {
        en: "What applies, and where it comes from. A change is written to ship.json with its comments kept; a secret goes to .env.",
        zh: "当前生效的设置及其来源。修改会写入 ship.json 并保留注释，密钥写入 .env。",
    }
    text settings_no_file() { en: "There is no ship.json yet; the first change creates it.", zh: "还没有 ship.json，第一次修改时会创建。" }
    text settings_search() { en: "Find a setting", zh: "查找设置" }
    text settings_set_only() { en: "Only those that are set", zh: "只看已设置的" }
    text settings_none() { en: "No setting matches.", zh: "没有匹配的设置。" }
    text settings_saved() { en: "Saved. It counts from the next message on.", zh: "已保存，从下一条消息起生效。" }
    format settings_saved_restart(keys: &str) { en: "Saved. A restart is needed for: {keys}", zh: "已保存。以下设置重启后生效：{keys}" }
    format settings_variable(names: &str) { en: "Written to .env: {names}", zh: "已写入 .env：{names}" }
    format settings_overridden(names: &str) {
        en: "The environment of the daemon sets {names} to something else, which counts.",
        zh: "守护进程的环境变量 {names} 另有取值，以它为准。",
    }
    format settings_restart(keys: &str) { en: "A restart is needed for changes of: {keys}", zh: "以下修改需要重启才能生效：{keys}" }
    text settings_restart_how() { en: "shipagent service restart, or stop and start it", zh: "运行 shipagent service restart，或手动重启" }
    text settings_invalid() { en: "The files are not used: the settings before them still count.", zh: "文件有误，没有采用，仍使用之前的设置。" }
    text settings_at_start() { en: "counts after a restart", zh: "重启后生效" }
    text settings_elsewhere() { en: "changed on the machine only", zh: "只能在本机修改" }
    text settings_secret_set() { en: "set, not shown", zh: "已设置，不显示" }
    text settings_secret_unset() { en: "not set", zh: "未设置" }
    text settings_unset() { en: "Use the default", zh: "恢复默认" }
    format settings_unset_label(key: &str) { en: "Use the default for {key}", zh: "{key} 恢复默认" }
    format settings_save_label(key: &str) { en: "Save {key}", zh: "保存 {key}" }
    text settings_json() { en: "This is not JSON.", zh: "不是有效的 JSON。" }
    format settings_default(value: &str) { en: "default: {value}", zh: "默认：{value}" }
    text settings_from_default() { en: "default", zh: "默认值" }
    named settings_variable_from(key: &str) {
        "environment" => { en: "environment", zh: "环境变量" }
        ".env" => { en: ".env", zh: ".env" }
        "unset" => { en: "not set", zh: "未设置" }
    }
    named yes_no(key: &str) {
        "true" => { en: "yes", zh: "是" }
        "false" => { en: "no", zh: "否" }
    }
    named settings_sections(key: &str) {
        "general" => { en: "General", zh: "常规" }
        "llm" => { en: "Model", zh: "模型" }
        "adapters" => { en: "Platforms", zh: "平台" }
        "permissions" => { en: "Permissions", zh: "权限" }
        "approvals" => { en: "Approvals", zh: "审批" }
        "queue" => { en: "Messages close together", zh: "连续消息" }
        "limits" => { en: "Limits", zh: "限额" }
        "memory" => { en: "Memory", zh: "记忆" }
        "groups" => { en: "Groups", zh: "群组" }
        "voice" => { en: "Voice", zh: "语音" }
    }

    text instructions_about() {
        en: "What the agent is told in every conversation. A change counts from the next answer on.",
        zh: "每次会话都会交给智能体的说明。修改从下一次回答起生效。",
    }
    text instructions_text() { en: "Text of Agent.md", zh: "Agent.md 文本" }
    text instructions_write() { en: "Edit", zh: "编辑" }
    text instructions_preview() { en: "Preview", zh: "预览" }
    text instructions_saved() { en: "Saved.", zh: "已保存。" }
    text instructions_history() { en: "Earlier texts", zh: "历史版本" }
    text instructions_history_empty() { en: "No text was replaced here yet.", zh: "还没有在这里替换过文本。" }
    format instructions_replaced(who: &str) { en: "replaced by {who}", zh: "被 {who} 替换" }
    format instructions_characters(count: &str) { en: "{count} characters", zh: "{count} 个字符" }
    text instructions_restore() { en: "Put into the editor", zh: "放入编辑框" }
    format instructions_restore_label(when: &str) { en: "Put the text of {when} into the editor", zh: "把 {when} 的文本放入编辑框" }
    text instructions_restored() { en: "The earlier text is in the editor. Save it to use it.", zh: "旧文本已放入编辑框，保存后生效。" }

    text health_about() { en: "The daemon and the platforms it is connected to.", zh: "守护进程及其连接的平台。" }
    text health_adapters() { en: "Platforms", zh: "平台" }
    text health_model() { en: "Model", zh: "模型" }
    text health_checks() { en: "Checks", zh: "检查" }
    text health_checks_about() {
        en: "The checks of shipagent doctor. They ask the model for one token, and each platform who the bot is.",
        zh: "与 shipagent doctor 相同的检查：向模型请求一个 token，并向各平台确认机器人身份。",
    }
    text health_run() { en: "Run the checks", zh: "运行检查" }
    text health_running() { en: "Checking…", zh: "正在检查…" }
    format health_result(errors: &str, warnings: &str) { en: "{errors} errors, {warnings} warnings", zh: "{errors} 个错误，{warnings} 个警告" }
    named health_status(key: &str) {
        "ok" => { en: "fine", zh: "正常" }
        "warning" => { en: "warning", zh: "警告" }
        "error" => { en: "error", zh: "错误" }
    }

    text backup() { en: "Backup", zh: "备份" }
    text backup_about() {
        en: "Conversations, files, memory, tasks, approvals, ship.json and Agent.md as one tar file, without .env. Unpack it into an empty folder, add .env, and run shipagent there.",
        zh: "会话、文件、记忆、任务、审批、ship.json 和 Agent.md 打包为一个 tar 文件，不含 .env。解压到空目录、补上 .env 后即可在其中运行 shipagent。",
    }
    text backup_download() { en: "Download a backup", zh: "下载备份" }

    text logs_about() { en: "What the daemon wrote, and who was allowed what. Secrets are removed.", zh: "守护进程的记录，以及谁被允许做什么。密钥已隐去。" }
    text logs_daemon() { en: "Daemon", zh: "守护进程" }
    text logs_audit() { en: "Audit", zh: "审计" }
    text logs_level() { en: "Level", zh: "级别" }
    text logs_any_level() { en: "all levels", zh: "全部级别" }
    format logs_from_level(level: &str) { en: "{level} and graver", zh: "{level} 及以上" }
    text logs_text() { en: "Text", zh: "文字" }
    text logs_thread() { en: "Conversation", zh: "会话" }
    text logs_since() { en: "Since", zh: "起始时间" }
    text logs_person() { en: "Person", zh: "人员" }
    text logs_tool() { en: "Tool", zh: "工具" }
    text logs_event() { en: "Event", zh: "事件" }
    text logs_outcome() { en: "Decision", zh: "结果" }
    text logs_any() { en: "all", zh: "全部" }
    text logs_show() { en: "Show", zh: "显示" }
    text logs_older() { en: "Older", zh: "更早" }
    text logs_none() { en: "Nothing matches.", zh: "没有匹配的记录。" }
    text logs_details() { en: "Details", zh: "详情" }
}

//! Texts of the console. A test writes these entries into `adapters/web/page/phrases.js`, the names in
//! camel case, an entry with names as an object.

use super::table::phrases;

phrases! {
    text skip() { en: "Skip to the message box", zh: "跳到输入框" }
    text sidebar() { en: "Conversations and status", zh: "会话与状态" }
    text threads() { en: "Conversations", zh: "会话列表" }
    text conversation() { en: "Conversation", zh: "当前会话" }
    text messages() { en: "Messages", zh: "消息" }
    text new_chat() { en: "New chat", zh: "新会话" }
    text open_menu() { en: "Open the conversation list", zh: "打开会话列表" }
    text close_menu() { en: "Close the conversation list", zh: "关闭会话列表" }
    text no_threads() { en: "Conversations will appear here.", zh: "会话会显示在这里。" }
    text untitled() { en: "Untitled", zh: "未命名" }
    text adapters() { en: "Channels", zh: "渠道" }
    named adapter_state(key: &str) {
        "starting" => { en: "starting", zh: "启动中" }
        "up" => { en: "connected", zh: "已连接" }
        "degraded" => { en: "silent", zh: "无响应" }
        "restarting" => { en: "restarting", zh: "重启中" }
        "failed" => { en: "failed", zh: "失败" }
    }
    format version(version: &str) { en: "version {version}", zh: "版本 {version}" }
    text connecting() { en: "Connecting…", zh: "正在连接…" }
    text connected() { en: "Connected", zh: "已连接" }
    text reconnecting() { en: "Reconnecting…", zh: "正在重连…" }
    text offline() { en: "Daemon not reachable", zh: "无法连接守护进程" }
    text to_light() { en: "Use the light theme", zh: "切换到浅色主题" }
    text to_dark() { en: "Use the dark theme", zh: "切换到深色主题" }
    text to_other() { en: "切换到中文", zh: "Switch to English" }
    text other_short() { en: "中", zh: "EN" }
    text load_earlier() { en: "Load earlier messages", zh: "加载更早的消息" }
    text loading_earlier() { en: "Loading…", zh: "正在加载…" }
    text earlier_failed() { en: "Could not load. Try again", zh: "加载失败，再试一次" }
    text jump() { en: "Jump to latest", zh: "回到最新" }
    text today() { en: "Today", zh: "今天" }
    text yesterday() { en: "Yesterday", zh: "昨天" }
    text composer_form() { en: "Write a message", zh: "写消息" }
    text composer_label() { en: "Message", zh: "消息" }
    text composer_placeholder() { en: "Message, or / for a command", zh: "输入消息，或以 / 开头输入命令" }
    text composer_hint() {
        en: "Enter sends · Shift+Enter for a new line · Esc stops",
        zh: "Enter 发送 · Shift+Enter 换行 · Esc 停止",
    }
    text send() { en: "Send", zh: "发送" }
    text stop() { en: "Stop", zh: "停止" }
    text stopping() { en: "Stopping…", zh: "正在停止…" }
    format readonly(channel: &str) {
        en: "This conversation lives in {channel}. What you write here is marked as the operator’s.",
        zh: "此会话来自 {channel}，在这里写的内容会标明来自操作者。",
    }
    text you() { en: "You", zh: "你" }
    text working() { en: "Working…", zh: "正在处理…" }
    text awaiting() { en: "Waiting for approval", zh: "等待批准" }
    format queued(count: &str) { en: "{count} queued", zh: "{count} 条排队中" }
    text dismiss() { en: "Dismiss", zh: "关闭" }
    text sending() { en: "Sending…", zh: "正在发送…" }
    text not_sent() { en: "Not sent.", zh: "未发送。" }
    text not_sent_network() { en: "Not sent: the daemon could not be reached.", zh: "未发送：无法连接守护进程。" }
    format not_sent_why(why: &str) { en: "Not sent: {why}", zh: "未发送：{why}" }
    named problems(key: &str) {
        "bad-request" => { en: "The request is not valid", zh: "请求无效" }
        "bad-json" => { en: "The body is not valid JSON", zh: "请求内容不是有效的 JSON" }
        "bad-query" => { en: "The query is not valid", zh: "查询参数无效" }
        "unknown-query-key" => { en: "The query has an unknown key", zh: "查询参数中有未知的键" }
        "unauthorized" => { en: "Sign in first", zh: "请先登录" }
        "forbidden" => { en: "Not allowed", zh: "不允许此操作" }
        "not-found" => { en: "It does not exist (any more)", zh: "不存在，或已被删除" }
        "method-not-allowed" => { en: "This cannot be done here", zh: "不支持此操作" }
        "timeout" => { en: "The request took too long", zh: "请求超时" }
        "conflict" => { en: "It cannot be done now", zh: "现在无法执行" }
        "body-too-large" => { en: "It is too large", zh: "内容过大" }
        "unsupported-media-type" => { en: "The type is not supported", zh: "不支持此类型" }
        "too-many-requests" => { en: "Too many requests: wait a moment", zh: "请求过多，请稍候再试" }
        "unavailable" => { en: "The daemon is stopping or busy: try again in a moment", zh: "守护进程正在停止或繁忙，请稍后再试" }
        "storage-full" => { en: "It could not be stored: the disk may be full", zh: "无法保存，磁盘可能已满" }
        "internal" => { en: "The daemon failed; its log says why", zh: "守护进程出错，原因见日志" }
        "refused" => { en: "It was refused", zh: "请求被拒绝" }
        "backup-running" => { en: "A backup is being made already", zh: "正在备份，请稍候" }
        "configured" => { en: "The project is configured already", zh: "项目已配置完成" }
        "invalid-configuration" => { en: "The configuration is not valid", zh: "配置无效" }
        "invalid_answer" => { en: "This answer cannot be used", zh: "此回答无效" }
        "invalid_task" => { en: "The task is not valid", zh: "任务无效" }
        "not-editable" => { en: "This setting is not changed here", zh: "此项不能在这里修改" }
        "task_changed" => { en: "The task was changed meanwhile", zh: "任务已在别处被修改" }
        "task_running" => { en: "The task is running", zh: "任务正在运行" }
        "thread-at-work" => { en: "The conversation is at work: stop it first", zh: "会话正在运行，请先停止" }
        "unknown-model" => { en: "There is no such model", zh: "没有这个模型" }
        "unknown-scope" => { en: "There is no such scope", zh: "没有这个范围" }
    }
    text retry() { en: "Try again", zh: "重试" }
    text stopped() { en: "Stopped", zh: "已停止" }
    text failed() { en: "Failed", zh: "失败" }
    text interrupted() { en: "Interrupted", zh: "已中断" }
    text new_conversation() { en: "New conversation", zh: "新的对话" }
    format checkpoint(count: &str) {
        en: "Earlier conversation summarised, {count} messages",
        zh: "之前的对话已整理，共 {count} 条消息",
    }
    text checkpoint_open() { en: "Open:", zh: "未答复：" }
    text copy() { en: "Copy", zh: "复制" }
    text copied() { en: "Copied", zh: "已复制" }
    text thinking() { en: "Thinking…", zh: "思考中…" }
    text thought() { en: "Thinking", zh: "思考过程" }
    text error_title() { en: "Something went wrong", zh: "出错了" }
    text error_retryable() {
        en: "This may pass; sending the message again can help.",
        zh: "可能是暂时的问题，重新发送一次也许就好。",
    }
    text file() { en: "File", zh: "文件" }
    text image() { en: "Image", zh: "图片" }
    text task_done() { en: "done", zh: "已完成" }
    text task_open() { en: "open", zh: "未完成" }
    text tool_input() { en: "Input", zh: "输入" }
    text tool_output() { en: "Output", zh: "输出" }
    text tool_error() { en: "Error", zh: "错误" }
    text tool_no_output() { en: "No output.", zh: "没有输出。" }
    format tool_more(size: &str) { en: "Show all ({size})", zh: "显示全部（{size}）" }
    named state(key: &str) {
        "input-streaming" => { en: "preparing", zh: "准备中" }
        "input-available" => { en: "running", zh: "运行中" }
        "approval-requested" => { en: "waiting for approval", zh: "等待批准" }
        "approved" => { en: "approved", zh: "已批准" }
        "approval-responded" => { en: "answered", zh: "已答复" }
        "output-available" => { en: "done", zh: "完成" }
        "output-error" => { en: "failed", zh: "失败" }
        "output-denied" => { en: "denied", zh: "已拒绝" }
        "halted" => { en: "not finished", zh: "未完成" }
    }
    format hello(name: &str) { en: "I’m {name}.", zh: "我是 {name}。" }
    text hello_sub() {
        en: "I work in this project’s directory: I can read it, search it and act on what you ask.",
        zh: "我在这个项目目录里工作：可以阅读、搜索，并按你的要求动手。",
    }
    named suggestion_label(key: &str) {
        "who" => { en: "What are you?", zh: "你是谁？" }
        "agentFile" => { en: "Read the agent file", zh: "读一读 Agent.md" }
        "list" => { en: "List the project", zh: "看看项目里有什么" }
        "search" => { en: "Search for “hello”", zh: "搜索 “hello”" }
    }
    named suggestion_text(key: &str) {
        "who" => { en: "What are you?", zh: "你是谁？" }
        "agentFile" => { en: "read: Agent.md", zh: "读：Agent.md" }
        "list" => { en: "list: .", zh: "列出：." }
        "search" => { en: "search: hello", zh: "搜索：hello" }
    }
    text suggestions_label() { en: "Things to try", zh: "可以试试" }
    text login_title() { en: "Open the console", zh: "打开控制台" }
    text login_where() {
        en: "This console asks for a token. The daemon prints the console URL with the token when it starts.",
        zh: "控制台需要令牌。守护进程启动时会打印带令牌的控制台地址。",
    }
    text login_file() { en: "The token is also in the file", zh: "令牌也保存在文件" }
    text login_label() { en: "Token", zh: "令牌" }
    text login_submit() { en: "Continue", zh: "继续" }
    text login_wrong() { en: "This token was not accepted.", zh: "令牌不正确。" }
    text login_failed() { en: "The daemon could not be reached.", zh: "无法连接守护进程。" }
    format login_limited(seconds: &str) {
        en: "Too many wrong tokens. Try again in {seconds} seconds.",
        zh: "令牌错误次数过多，请在 {seconds} 秒后再试。",
    }
    text sign_out() { en: "Sign out", zh: "退出登录" }
    text approval_waiting() { en: "This step waits for approval before it runs.", zh: "此步骤需要批准后才会执行。" }
    text unknown_outcome() {
        en: "The daemon stopped while this ran. Whether it was done is not known.",
        zh: "执行过程中守护进程停止了，不知道是否已经完成。",
    }
    format approval_reason(reason: &str) { en: "Reason: {reason}", zh: "理由：{reason}" }
    named answers(key: &str) {
        "approve" => { en: "Approve", zh: "同意" }
        "deny" => { en: "Deny", zh: "拒绝" }
        "rerun" => { en: "Run again", zh: "重新执行" }
        "skip" => { en: "Skip", zh: "跳过" }
        "done" => { en: "It was done", zh: "已完成" }
    }
    text answers_label() { en: "Decide", zh: "作出决定" }
    text scope_label() { en: "How far the approval reaches", zh: "同意的范围" }
    named scopes(key: &str) {
        "once" => { en: "once", zh: "仅此一次" }
        "thread" => { en: "in this thread", zh: "在此会话中" }
        "minutes10" => { en: "for 10 minutes", zh: "10 分钟内" }
        "minutes60" => { en: "for 1 hour", zh: "1 小时内" }
        "shape" => { en: "commands like it, in all threads", zh: "同类命令，所有会话" }
        "project" => { en: "always in this project", zh: "在本项目中始终" }
        "plus-one" => { en: "+1", zh: "+1" }
        "plus-five" => { en: "+5", zh: "+5" }
        "midnight" => { en: "Until midnight", zh: "到午夜" }
    }
    text budget_waiting() { en: "A spend cap is reached. Owners decide whether this turn goes on.", zh: "已达到花费上限，由所有者决定是否继续。" }
    text budget_stop() { en: "Stop", zh: "停止" }
    format scope_minutes(count: &str) { en: "for {count} minutes", zh: "{count} 分钟内" }
    format already_decided(number: &str, what: &str) {
        en: "{number} is decided already: {what}",
        zh: "{number} 已有决定：{what}",
    }
    format was_approved(who: &str) { en: "approved by {who}", zh: "{who}已同意" }
    format was_denied(who: &str) { en: "denied by {who}", zh: "{who}已拒绝" }
    text was_expired() { en: "expired: nobody answered in time", zh: "已过期：没有人及时答复" }
    text was_cancelled() { en: "withdrawn", zh: "已撤回" }
    named via(key: &str) {
        "http" => { en: "over HTTP", zh: "通过 HTTP" }
        "console" => { en: "in the console", zh: "在控制台" }
        "button" => { en: "by a button", zh: "通过按钮" }
        "text" => { en: "in words", zh: "通过文字" }
        "cli" => { en: "on the command line", zh: "通过命令行" }
    }
    named risks(key: &str) {
        "low" => { en: "low risk", zh: "低风险" }
        "medium" => { en: "medium risk", zh: "中风险" }
        "high" => { en: "high risk", zh: "高风险" }
    }
    text inbox() { en: "Approvals", zh: "审批" }
    format inbox_label(count: &str) { en: "Approvals: {count} waiting", zh: "审批：{count} 项待处理" }
    text inbox_close() { en: "Close the approvals", zh: "关闭审批" }
    text inbox_pending() { en: "Waiting", zh: "待处理" }
    text inbox_history() { en: "History", zh: "历史" }
    text inbox_empty() { en: "Nothing waits for a decision.", zh: "没有等待决定的事项。" }
    text history_empty() { en: "Nothing has been decided yet.", zh: "还没有作出过决定。" }
    format asked_by(who: &str, age: &str) { en: "asked by {who}, {age}", zh: "{who}请求，{age}" }
    format expires(when: &str) { en: "expires {when}", zh: "{when}过期" }
    named sandbox(key: &str) {
        "full" => { en: "Sandbox on", zh: "沙箱已启用" }
        "partial" => { en: "Sandbox on, with gaps", zh: "沙箱已启用，但有缺口" }
        "unavailable" => { en: "No sandbox on this machine", zh: "本机没有沙箱" }
        "required" => { en: "No sandbox: commands are refused", zh: "没有沙箱：拒绝执行命令" }
        "off" => { en: "Sandbox off", zh: "沙箱已关闭" }
    }
    text grants() { en: "Grants", zh: "长期授权" }
    text grants_about() {
        en: "What was allowed for longer than once. The agent does this without asking, until it is revoked.",
        zh: "这些操作不止允许一次：撤销之前，助手执行时不再询问。",
    }
    text grants_empty() {
        en: "Nothing is allowed for longer than once: the agent asks every time.",
        zh: "没有长期授权：助手每次都会先问。",
    }
    format grant_tool(tool: &str) { en: "every call of {tool}", zh: "{tool} 的所有调用" }
    named reaches(key: &str) {
        "thread" => { en: "in one thread", zh: "在一个会话中" }
        "minutes" => { en: "in one thread, for a time", zh: "在一个会话中，限时" }
        "shape" => { en: "commands of this shape, everywhere in this project", zh: "同类命令，在整个项目中" }
        "project" => { en: "always in this project", zh: "在本项目中始终" }
        "cap" => { en: "a raised spend cap", zh: "已提高的花费上限" }
    }
    format grant_ends(when: &str, at: &str) { en: "ends {when} ({at})", zh: "{when}到期（{at}）" }
    format granted_by(who: &str) { en: "allowed by {who}", zh: "由 {who}授权" }
    text granted() { en: "allowed", zh: "已授权" }
    format grant_used(count: &str) { en: "used {count}×", zh: "已使用 {count} 次" }
    text revoke() { en: "Revoke", zh: "撤销" }
    format revoke_label(number: &str) { en: "Revoke {number}", zh: "撤销 {number}" }
    format revoked(number: &str) {
        en: "{number} is revoked: the agent will ask again.",
        zh: "{number} 已撤销：助手会再次询问。",
    }
    format revoked_before(number: &str) {
        en: "{number} no longer held: it had ended or was revoked already.",
        zh: "{number} 已经失效：已到期，或已被撤销。",
    }
    text access() { en: "Access", zh: "访问权限" }
    format access_label(count: &str) { en: "Access: {count} asking to be let in", zh: "访问权限：{count} 人请求加入" }
    text access_close() { en: "Close the access panel", zh: "关闭访问权限" }
    text let_in_title() { en: "Let somebody in", zh: "允许某人加入" }
    text let_in_about() {
        en: "Whoever writes to the agent for the first time gets a code. Have them tell you theirs, and type it here: that is how you know it is them.",
        zh: "第一次给助手发消息的人会收到一个配对码。请对方把配对码告诉你，再填在这里，这样才能确认就是本人。",
    }
    text code_label() { en: "Their code", zh: "对方的配对码" }
    text role_label() { en: "Role", zh: "角色" }
    text let_in() { en: "Let in", zh: "允许加入" }
    format let_in_done(who: &str, role: &str) {
        en: "{who} may talk to the agent now, as {role}.",
        zh: "{who} 现在可以与助手对话，角色：{role}。",
    }
    text invite() { en: "Invite", zh: "邀请" }
    format invite_done(code: &str, role: &str, when: &str) {
        en: "Code {code}, as {role}; it runs out {when}. Whoever sends “/start {code}” to the bot first is let in.",
        zh: "邀请码 {code}，角色：{role}，{when}失效。最先向机器人发送“/start {code}”的人即可加入。",
    }
    text somebody() { en: "Whoever has this code", zh: "持有此配对码的人" }
    text code_wrong() {
        en: "Nobody waits with this code: it is wrong, was used already, or has run out.",
        zh: "没有人持有这个配对码：它不正确、已经用过，或已过期。",
    }
    format code_locked(when: &str) {
        en: "Too many wrong codes. The next one is looked at {when}.",
        zh: "错误的配对码太多，{when}才能再试。",
    }
    named roles(key: &str) {
        "guest" => { en: "guest", zh: "访客" }
        "member" => { en: "member", zh: "成员" }
        "owner" => { en: "owner", zh: "所有者" }
    }
    named role_hints(key: &str) {
        "guest" => {
            en: "May talk to the agent. Whatever needs an approval needs somebody else’s yes.",
            zh: "可以与助手对话；凡是需要批准的操作，都要由别人同意。",
        }
        "member" => {
            en: "May talk to the agent, and approve what they asked for themselves.",
            zh: "可以与助手对话，也可以批准自己提出的操作。",
        }
        "owner" => {
            en: "As the owners in ship.json: may approve whatever anybody asks for.",
            zh: "与 ship.json 中的所有者相同：可以批准任何人提出的操作。",
        }
    }
    text asking() { en: "Asking to be let in", zh: "请求加入" }
    text asking_empty() { en: "Nobody asks to be let in.", zh: "没有人请求加入。" }
    format asked_ago(age: &str) { en: "asked {age}", zh: "{age}请求" }
    format code_ends(when: &str) { en: "their code runs out {when}", zh: "配对码{when}失效" }
    text members() { en: "Let in", zh: "已加入" }
    text members_empty() {
        en: "Nobody was let in beyond those whom ship.json names.",
        zh: "除了 ship.json 中写明的人，还没有允许其他人加入。",
    }
    format let_in_by(who: &str) { en: "let in by {who}", zh: "由 {who}允许加入" }
    format role_of(who: &str) { en: "Role of {who}", zh: "{who} 的角色" }
    text role_save() { en: "Change", zh: "更改" }
    format role_save_label(who: &str) { en: "Change the role of {who}", zh: "更改 {who} 的角色" }
    format role_saved(who: &str, role: &str) {
        en: "The role of {who} is {role} now.",
        zh: "{who} 的角色已改为{role}。",
    }
    text refuse() { en: "Refuse", zh: "拒绝" }
    format refuse_label(who: &str) { en: "Refuse the request of {who}", zh: "拒绝 {who} 的请求" }
    format refused_done(who: &str) { en: "The request of {who} was refused.", zh: "已拒绝 {who} 的请求。" }
    text remove() { en: "Remove", zh: "移除" }
    format remove_label(who: &str) { en: "Remove {who}", zh: "移除 {who}" }
    format remove_ask(who: &str) {
        en: "Remove {who}? The agent will no longer answer them.",
        zh: "确定移除 {who}？助手将不再回应对方。",
    }
    text keep() { en: "Keep", zh: "保留" }
    format removed(who: &str) { en: "{who} can no longer talk to the agent.", zh: "{who} 不能再与助手对话。" }
    text groups() { en: "Open groups", zh: "开放的群组" }
    text groups_empty() {
        en: "No group is open: an owner opens one by speaking to the agent there.",
        zh: "没有开放的群组：所有者在群里对助手说话，即可开放该群。",
    }
    format opened_by(who: &str) { en: "opened by {who}", zh: "由 {who}开放" }
    text group_close() { en: "Close", zh: "关闭" }
    format group_close_label(who: &str) { en: "Close the group {who}", zh: "关闭群组 {who}" }
    format group_closed(who: &str) { en: "The group {who} is closed.", zh: "群组 {who} 已关闭。" }
    text more_threads() { en: "Show earlier conversations", zh: "显示更早的会话" }
    text connection_lost() {
        en: "The connection to the daemon is lost. Trying again…",
        zh: "与守护进程的连接已断开，正在重试…",
    }
    text retry_now() { en: "Try now", zh: "立即重试" }
    text stop_withdraws() { en: "Stop, and take the question back", zh: "停止并撤回询问" }
    text instructions_read() { en: "Agent.md changed and was read again.", zh: "Agent.md 已更改并重新读取。" }
    text outcome_approved() { en: "Approved", zh: "已同意" }
    text outcome_denied() { en: "Denied", zh: "已拒绝" }
    named channel(key: &str) {
        "web" => { en: "Web", zh: "网页" }
        "telegram" => { en: "Telegram", zh: "Telegram" }
        "api" => { en: "the API", zh: "API" }
        "cli" => { en: "the command line", zh: "命令行" }
        "feishu" => { en: "Feishu", zh: "飞书" }
        "lark" => { en: "Lark", zh: "Lark" }
        "qq" => { en: "QQ", zh: "QQ" }
        "slack" => { en: "Slack", zh: "Slack" }
        "discord" => { en: "Discord", zh: "Discord" }
        "task" => { en: "scheduled tasks", zh: "定时任务" }
    }
    format person(name: &str, place: &str) { en: "{name} ({place})", zh: "{name}（{place}）" }
    text age_now() { en: "now", zh: "刚刚" }
    format age_minutes(count: &str) { en: "{count}m", zh: "{count}分钟" }
    format age_hours(count: &str) { en: "{count}h", zh: "{count}小时" }
    format age_days(count: &str) { en: "{count}d", zh: "{count}天" }
}

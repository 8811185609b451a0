//! Output of the commands threads, approvals, grants, access, audit and memory.

use std::fmt::Display;

use super::table::phrases;
use crate::domain::{ApprovalNumber, ApprovalState, GrantNumber, Risk, Role, ThreadState};
use crate::uimessage::Role as Speaker;

phrases! {
    format no_project(directory: impl Display) {
        en: "{directory} is not a directory: name the project with -C DIR",
        zh: "{directory} 不是目录：请用 -C DIR 指定项目",
    }
    text never_ran() {
        en: "the agent has never run here: start it with `shipagent run` first",
        zh: "助手还没有在这里运行过：请先执行 `shipagent run`",
    }
    text risk(risk: Risk) {
        Risk::Low => { en: "low", zh: "低" }
        Risk::Medium => { en: "medium", zh: "中" }
        Risk::High => { en: "high", zh: "高" }
    }

    columns thread_columns(5) {
        en: ["THREAD", "STATE", "MESSAGES", "UPDATED", "TITLE"],
        zh: ["会话", "状态", "消息数", "更新时间", "标题"],
    }
    text thread_state(state: ThreadState) {
        ThreadState::Idle => { en: "idle", zh: "空闲" }
        ThreadState::Running => { en: "running", zh: "进行中" }
        ThreadState::AwaitingApproval => { en: "awaiting approval", zh: "等待批准" }
    }
    text no_threads() {
        en: "no conversations yet: `shipagent chat` begins one",
        zh: "还没有会话：用 `shipagent chat` 开始一个",
    }
    format unknown_thread(thread: &str) {
        en: "there is no thread {thread:?} here: `shipagent threads list` shows those there are",
        zh: "这里没有会话 {thread:?}：`shipagent threads list` 会列出已有的会话",
    }
    format export_exists(path: impl Display) {
        en: "{path} exists and is not overwritten: choose another name, or remove it first",
        zh: "{path} 已存在，不会被覆盖：请换个名字，或先删除它",
    }
    /// The author where no name is known.
    format checkpoint(messages: u64) {
        en: "earlier conversation summarised, {messages} messages",
        zh: "之前的对话已整理，共 {messages} 条消息",
    }
    text speaker(role: Speaker) {
        Speaker::System => { en: "system", zh: "系统" }
        Speaker::User => { en: "user", zh: "用户" }
        Speaker::Assistant => { en: "agent", zh: "助手" }
    }
    text daemon() { en: "daemon", zh: "守护进程" }
    text answer_stopped() { en: "stopped", zh: "已停止" }
    text answer_failed() { en: "failed", zh: "失败" }
    text answer_unfinished() { en: "unfinished", zh: "未完成" }
    format call_asked(number: &str, risk: &str) {
        en: "{number} asked for approval · risk: {risk}",
        zh: "{number} 请求批准 · 风险：{risk}",
    }
    format call_waits(number: &str) { en: "… {number} waits for a decision", zh: "… {number} 等待决定" }
    format call_approved(number: &str, by: &str) { en: "✓ {number} approved{by}", zh: "✓ {number} 已同意{by}" }
    format call_denied(number: &str, by: &str) { en: "✗ {number} denied{by}", zh: "✗ {number} 已拒绝{by}" }
    format call_expired(number: &str) { en: "✗ {number} expired", zh: "✗ {number} 已过期" }
    format call_withdrawn(number: &str, why: &str) {
        en: "✗ {number} withdrawn · {why}",
        zh: "✗ {number} 已撤回 · {why}",
    }

    columns approval_columns(6) {
        en: ["NO.", "STATE", "RISK", "ASKED", "THREAD", "WHAT"],
        zh: ["编号", "状态", "风险", "提出时间", "会话", "内容"],
    }
    text approval_state(state: &ApprovalState) {
        ApprovalState::Pending => { en: "pending", zh: "待决定" }
        ApprovalState::Approved { .. } => { en: "approved", zh: "已同意" }
        ApprovalState::Spent { .. } => { en: "spent", zh: "已执行" }
        ApprovalState::Denied { .. } => { en: "denied", zh: "已拒绝" }
        ApprovalState::Expired { .. } => { en: "expired", zh: "已过期" }
        ApprovalState::Cancelled { .. } => { en: "cancelled", zh: "已撤回" }
    }
    text field_tool() { en: "tool", zh: "工具" }
    text field_risk() { en: "risk", zh: "风险" }
    text field_thread() { en: "thread", zh: "会话" }
    text field_requested_by() { en: "requested by", zh: "发起人" }
    text field_asked() { en: "asked", zh: "提出时间" }
    text field_expires() { en: "expires", zh: "过期时间" }
    text field_fingerprint() { en: "fingerprint", zh: "指纹" }
    text field_id() { en: "id", zh: "标识" }
    text field_decided() { en: "decided", zh: "决定" }
    text field_reason() { en: "reason", zh: "理由" }
    text nothing_pending() { en: "nothing waits for a decision", zh: "没有等待决定的请求" }
    text nothing_asked() { en: "nothing was ever asked here", zh: "这里还没有提出过请求" }
    format unknown_approval(name: &str) {
        en: "there is no approval {name:?} here: `shipagent approvals list --state all` shows those there are",
        zh: "这里没有请求 {name:?}：`shipagent approvals list --state all` 会列出所有请求",
    }
    text no_daemon_decides() {
        en: "no daemon runs here, and it alone acts on answers: start `shipagent run`, then decide again (the question \
             is kept)",
        zh: "这里没有守护进程在运行，只有它能执行决定：请先运行 `shipagent run`，再来决定（请求不会丢失）",
    }
    text no_daemon_revokes() {
        en: "no daemon runs here, and it alone knows the spend caps: start `shipagent run`, then revoke again",
        zh: "这里没有守护进程在运行，只有它管理花费上限：请先运行 `shipagent run`，再来撤销",
    }
    format decision_refused(why: &str) {
        en: "the daemon did not take the decision: {why}",
        zh: "守护进程没有接受这个决定：{why}",
    }
    format decision_unclear(why: &str) {
        en: "the daemon did not answer ({why}): `shipagent approvals show` tells whether the decision counts",
        zh: "守护进程没有答复（{why}）：用 `shipagent approvals show` 查看决定是否生效",
    }
    format already_settled(number: ApprovalNumber, state: &str) {
        en: "{number} is {state} already",
        zh: "{number} {state}，不需要再决定",
    }
    format decided(number: ApprovalNumber, decision: &str, summary: &str) {
        en: "{number} {decision}: {summary}",
        zh: "{number} {decision}：{summary}",
    }
    text decided_approved() { en: "approved", zh: "已同意" }
    text decided_once() {
        en: "This once: the call cannot be allowed for longer.",
        zh: "仅此一次：该调用不能被长期允许。",
    }
    text decided_denied() { en: "denied", zh: "已拒绝" }
    text decided_done() { en: "noted as done", zh: "已记为完成" }

    columns grant_columns(7) {
        en: ["NO.", "TOOL", "CALLS", "WHERE", "UNTIL", "BY", "GRANTED"],
        zh: ["编号", "工具", "调用", "范围", "有效至", "授权人", "授权时间"],
    }
    text every_call() { en: "every call", zh: "所有调用" }
    text whole_project() { en: "project", zh: "整个项目" }
    text no_grants() { en: "nothing is allowed beyond single calls", zh: "没有长期授权：每次都会先问" }
    format grant_revoked(number: GrantNumber) {
        en: "{number} no longer holds: the agent will ask again",
        zh: "{number} 已撤销：助手会再次询问",
    }
    format unknown_grant(name: &str) {
        en: "there is no grant {name:?} here: `shipagent grants list` shows those there are",
        zh: "这里没有授权 {name:?}：`shipagent grants list` 会列出现有授权",
    }

    columns access_columns(5) {
        en: ["WHO", "NAME", "WHAT", "SINCE", "BY"],
        zh: ["对象", "名字", "身份", "时间", "由谁"],
    }
    text access_role(role: Role) {
        Role::Owner => { en: "owner", zh: "所有者" }
        Role::Member => { en: "member", zh: "成员" }
        Role::Guest => { en: "guest", zh: "访客" }
    }
    text access_group() { en: "group", zh: "群组" }
    text access_asks() { en: "asks", zh: "待批准" }
    text access_removed() { en: "removed", zh: "已移除" }
    format access_code(code: &str, until: &str) {
        en: "code {code} until {until}",
        zh: "配对码 {code}，有效至 {until}",
    }
    text access_empty() {
        en: "nobody was let in beyond what ship.json says, and nobody asks",
        zh: "除 ship.json 之外没有放行任何人，也没有人在申请",
    }
    text access_how_to_approve() {
        en: "`shipagent access approve CODE` lets somebody in, once they told you their code",
        zh: "对方把配对码告诉你之后，用 `shipagent access approve CODE` 放行",
    }
    format access_let_in(who: &str) { en: "{who} may talk to the agent now", zh: "{who} 现在可以与助手对话了" }
    format access_let_in_as(who: &str, role: &str) {
        en: "{who} may talk to the agent now, as {role}",
        zh: "{who} 现在可以与助手对话了，身份：{role}",
    }
    format access_changed(who: impl Display, role: &str) { en: "{who} is {role} now", zh: "{who} 现在的身份：{role}" }
    text access_no_such_code() {
        en: "nobody waits with this code: it is wrong, was used, or is older than an hour (`shipagent access list` shows \
             who asks)",
        zh: "没有人持有这个配对码：它不正确、已经用过，或已超过一小时（`shipagent access list` 会列出申请者）",
    }
    format access_locked(minutes: u64) {
        en: "too many wrong codes: none is looked at for another {minutes} min",
        zh: "错误的配对码太多：{minutes} 分钟内不再接受",
    }
    format access_revoked_person(who: impl Display) {
        en: "{who} has no access any more, unless ship.json gives it; groups do not let them back in, only you do",
        zh: "已收回 {who} 的访问权（ship.json 中的名单除外）；在群里也不再理会，直到你重新放行",
    }
    format access_revoked_chat(who: impl Display) {
        en: "{who} has no access any more, unless ship.json gives it",
        zh: "已收回 {who} 的访问权（ship.json 中的名单除外）",
    }
    format access_unknown(who: impl Display) {
        en: "{who} was not let in here: `shipagent access list` shows who was; ship.json may name others",
        zh: "{who} 不在名单里：`shipagent access list` 会列出已放行的人；ship.json 里可能另有名单",
    }
    format access_bad_guest(who: &str) {
        en: "{who:?} is neither a person (telegram:user:123) nor a group (telegram:chat:-100123)",
        zh: "{who:?} 既不是用户（telegram:user:123），也不是群组（telegram:chat:-100123）",
    }
    format access_bad_person(who: &str) {
        en: "{who:?} is no person: write telegram:user:123",
        zh: "{who:?} 不是用户：请写成 telegram:user:123",
    }
    format access_invited(message: &str, bot: &str, role: &str, link: &str) {
        en: "whoever sends `{message}` to {bot} first, within an hour, is let in as {role}; as a link: {link}",
        zh: "一小时内最先向 {bot}发送 `{message}` 的人会被放行，身份：{role}；链接形式：{link}",
    }

    text audit_verdict() { en: "verdict", zh: "裁定" }
    text audit_decision() { en: "decision", zh: "决定" }
    text audit_execution() { en: "execution", zh: "执行" }
    text audit_grant_added() { en: "grant-added", zh: "新增授权" }
    text audit_grant_used() { en: "grant-used", zh: "使用授权" }
    text audit_grant_revoked() { en: "grant-revoked", zh: "撤销授权" }
    text audit_grant_expired() { en: "grant-expired", zh: "授权到期" }
    text audit_access_approved() { en: "access-approved", zh: "配对" }
    text audit_access_revoked() { en: "access-revoked", zh: "收回访问权" }
    text audit_access_opened() { en: "access-opened", zh: "开放群组" }
    text audit_thread_stopped() { en: "thread-stopped", zh: "停止会话" }
    text audit_lines_lost() { en: "lines-lost", zh: "记录缺失" }
    text audit_allow() { en: "allow", zh: "放行" }
    text audit_ask() { en: "ask", zh: "询问" }
    text audit_deny() { en: "deny", zh: "禁止" }
    text audit_approved() { en: "approved", zh: "同意" }
    text audit_denied() { en: "denied", zh: "拒绝" }
    text audit_done() { en: "done", zh: "已完成" }
    text audit_expired() { en: "expired", zh: "过期" }
    text audit_cancelled() { en: "cancelled", zh: "撤回" }
    text audit_refused() { en: "refused", zh: "不予接受" }
    text audit_ok() { en: "ok", zh: "成功" }
    text audit_error() { en: "error", zh: "失败" }
    text audit_aborted() { en: "aborted", zh: "中止" }
    format audit_exit_code(code: i64) { en: "exit {code}", zh: "退出码 {code}" }
    format audit_by(who: &str) { en: "by {who}", zh: "由 {who}" }
    format audit_by_via(who: &str, via: &str) { en: "by {who} via {via}", zh: "由 {who}（{via}）" }
    text audit_empty() { en: "there is nothing of the kind in the audit trail", zh: "审计记录中没有符合条件的内容" }
    format audit_unreadable(count: usize) {
        en: "{count} lines of .ship/logs/audit-*.jsonl could not be read and are left out",
        zh: ".ship/logs/audit-*.jsonl 中有 {count} 行无法读取，已略过",
    }
    format audit_bad_since(text: &str) {
        en: "--since {text:?} is not a time: use 30m, 2h, 7d, or a date such as 2026-11-16",
        zh: "--since {text:?} 不是时间：请用 30m、2h、7d 或日期，如 2026-11-16",
    }

    format memory_empty(path: impl Display) {
        en: "nothing is remembered; it would be in {path}",
        zh: "还没有任何记忆；记忆会放在 {path}",
    }
    format memory_bad_scope(given: &str) {
        en: "{given:?} is not a scope: give project, main, peer:NAME, a person such as telegram:user:123456, or a group such as group:telegram:chat:-100123",
        zh: "{given:?} 不是有效的范围：请给出 project、main、peer:名字、用户（如 telegram:user:123456）或群（如 group:telegram:chat:-100123）",
    }
    format memory_nothing_found(scope: impl Display) { en: "nothing found in {scope}", zh: "在 {scope} 中没有找到" }
    format memory_imported(added: usize, scope: impl Display, files: usize, known: usize, bad: usize) {
        en: "{added} notes added to {scope} from {files} files; {known} were there already, {bad} lines could not be read",
        zh: "从 {files} 个文件向 {scope} 添加了 {added} 条笔记；{known} 条已存在，{bad} 行无法读取",
    }
    format memory_not_imported(forgotten: usize) {
        en: "{forgotten} notes were left out: they were forgotten here",
        zh: "有 {forgotten} 条笔记已在这里被忘记，没有导入",
    }
    format memory_cannot_read(path: impl Display, error: impl Display) {
        en: "cannot read {path}: {error}",
        zh: "无法读取 {path}：{error}",
    }
    format memory_index(texts: u64, files: u64, bytes: u64) {
        en: "{texts} messages and notes of {files} files are indexed ({bytes} bytes)",
        zh: "已索引 {files} 个文件中的 {texts} 条消息和笔记（{bytes} 字节）",
    }
    format memory_edited(path: impl Display) { en: "written: {path}", zh: "已写入：{path}" }
    text memory_unchanged() { en: "nothing was changed", zh: "没有改动" }
    text memory_no_editor() {
        en: "set EDITOR, or give a file with the new content (- reads standard input)",
        zh: "请设置 EDITOR，或给出新内容所在的文件（- 表示标准输入）",
    }
    format memory_forgotten(id: &str) { en: "forgotten: {id}", zh: "已忘记：{id}" }
    format memory_all_forgotten(count: usize, scope: impl Display) {
        en: "{count} items of {scope} forgotten",
        zh: "已忘记 {scope} 的 {count} 条内容",
    }
    format memory_undone(seq: u64, what: &str) { en: "change {seq} taken back. {what}", zh: "已撤销第 {seq} 次修改。{what}" }
    format memory_not_changed(why: &str) { en: "not changed: {why}", zh: "没有改动：{why}" }
    format memory_exported(path: impl Display, messages: usize) {
        en: "exported to {path}, with {messages} messages",
        zh: "已导出到 {path}，包含 {messages} 条消息",
    }
    format memory_folder_exists(path: impl Display) {
        en: "{path} exists already: give a folder that does not",
        zh: "{path} 已存在：请给出一个新文件夹",
    }
    format memory_bad_person(given: &str) {
        en: "{given:?} is not a person's id: give one such as telegram:user:123456",
        zh: "{given:?} 不是用户 id：请给出类似 telegram:user:123456 的 id",
    }

    format ended_by_signal(signal: &str) { en: "ended by {signal}", zh: "被 {signal} 终止" }

    format store_invalid(path: &str, cause: &str) {
        en: "{path} is not valid and is ignored: repair or delete it{cause}",
        zh: "{path} 无法理解，其中的内容都不生效：请修复或删除它{cause}",
    }
    format store_unreachable(path: &str, cause: &str) {
        en: "cannot access {path}{cause}",
        zh: "无法访问 {path}{cause}",
    }
    text store_closed() { en: "the store is closed", zh: "存储已关闭" }
    format store_full(path: &str, cause: &str) {
        en: "no space left to write {path}{cause}",
        zh: "磁盘已满，无法写入 {path}{cause}",
    }
}

//! Reasons why a call asks or is refused, and messages about grants.

use std::fmt::Display;

use super::table::phrases;
use crate::domain::{ApprovalNumber, GrantNumber};

phrases! {
    format reason_denied_by_rule(rule: &str) { en: "the project forbids `{rule}`", zh: "项目禁止执行 `{rule}`" }
    text reason_denied_by_mode() {
        en: "the project refuses whatever its rules do not allow",
        zh: "项目拒绝规则之外的一切操作",
    }
    format reason_asked_by_mode(tool: &str) {
        en: "the project wants to be asked about {tool}",
        zh: "项目要求 {tool} 先征得同意",
    }
    format reason_unknown_tool(tool: &str) { en: "{tool} is not one of the built-in tools", zh: "{tool} 不是内置工具" }
    format reason_changes(tool: &str) { en: "{tool} changes something", zh: "{tool} 会做出修改" }
    text reason_perhaps_denied() {
        en: "it may hide a command the project forbids",
        zh: "其中可能藏有项目禁止的命令",
    }
    text reason_unparsed() { en: "the command could not be read with certainty", zh: "无法确切读懂这条命令" }
    text reason_too_long() { en: "the command is too long to be read with certainty", zh: "命令太长，无法确切读懂" }
    format reason_strange_character(code: u32) {
        en: "it has an invisible or misleading character (U+{code:04X})",
        zh: "含有不可见或易混淆的字符（U+{code:04X}）",
    }
    text reason_hidden_spelling() { en: "its spelling hides what runs", zh: "写法掩盖了真正执行的内容" }
    text reason_compound() { en: "it is made of several commands", zh: "由多条命令组成" }
    text reason_substitution() { en: "it runs a command inside another", zh: "命令中嵌有另一条命令" }
    text reason_here_document() { en: "it carries an inline text", zh: "命令自带一段文本" }
    text reason_control_flow() { en: "it has loops, conditions or functions", zh: "含有循环、条件或函数" }
    text reason_background() { en: "it goes on in the background", zh: "会在后台继续运行" }
    text reason_assignment() { en: "it sets a variable", zh: "会设置变量" }
    format reason_not_literal(text: &str) {
        en: "`{text}` is only known when it runs",
        zh: "`{text}` 要到执行时才知道是什么",
    }
    format reason_writes_file(path: &str) { en: "it writes {path}", zh: "会写入 {path}" }
    format reason_outside(path: &str) { en: "{path} is outside the project", zh: "{path} 在项目之外" }
    format reason_secret(path: &str) { en: "{path} may hold secrets", zh: "{path} 可能含有机密" }
    format reason_sensitive(path: &str) { en: "programs are started through {path}", zh: "{path} 可用来启动程序" }
    format reason_too_large_to_check(path: &str) {
        en: "{path} holds too many files to check them for secrets",
        zh: "{path} 中的文件太多，无法逐一确认是否含有机密",
    }
    format reason_unknown_command(name: &str) { en: "{name} is not on the read-only list", zh: "{name} 不在只读命令之列" }
    format reason_argument(command: &str, argument: &str) {
        en: "{command} with `{argument}` is not on the read-only list",
        zh: "带 `{argument}` 的 {command} 不在只读命令之列",
    }
    format reason_wrapper(name: &str) { en: "{name} starts another command", zh: "{name} 会启动另一条命令" }
    format reason_network(name: &str) { en: "{name} reaches the network", zh: "{name} 会访问网络" }
    format reason_destroys(name: &str) { en: "{name} deletes or overwrites", zh: "{name} 会删除或覆盖内容" }
    format reason_inline(name: &str) { en: "{name} runs a program that is not checked", zh: "{name} 会运行未经检查的程序" }
    text reason_elsewhere() { en: "it speaks in another conversation", zh: "会在另一个对话里发言" }
    text reason_asked_by_program() { en: "another program asked for it, not a person", zh: "这是另一个程序要求的，不是人要求的" }
    format reason_unchecked(path: &str) { en: "{path} could not be checked", zh: "无法检查 {path}" }
    /// Stands for the path in `reason_unchecked` where the call was not looked at in time.
    text the_call() { en: "what the call would do", zh: "这个操作" }

    text no_grants() { en: "Nothing is allowed for longer than once.", zh: "没有长期授权。" }
    text no_grants_here() {
        en: "Nothing is allowed here beyond single calls.",
        zh: "这里没有长期授权：每次都会先问。",
    }
    format grants(lines: &str, example: GrantNumber) {
        en: "{lines}\n\n`/grants revoke {example}` takes one back.",
        zh: "{lines}\n\n发送 `/grants 撤销 {example}` 可以撤销。",
    }
    format grant_line(number: GrantNumber, calls: &str, reach: &str, by: &str) {
        en: "- {number}: {calls} {reach}{by}",
        zh: "- {number}：{calls} {reach}{by}",
    }
    text reach_thread() { en: "in this conversation", zh: "在本会话中" }
    format reach_cap(end: &str) { en: "until {end}", zh: "至 {end}" }
    format reach_until(end: &str) { en: "in this conversation until {end}", zh: "在本会话中，至 {end}" }
    text reach_shape() {
        en: "everywhere in the project, for commands of this shape",
        zh: "整个项目中同样形式的命令",
    }
    text reach_project() { en: "everywhere in the project", zh: "在整个项目中" }
    format granted_by(who: impl Display) { en: ", by {who}", zh: "，由 {who} 授权" }
    format grant_revoked(number: GrantNumber) {
        en: "{number} no longer holds: I will ask again.",
        zh: "{number} 已撤销：以后会再次询问。",
    }
    format grant_unknown(number: GrantNumber) {
        en: "There is no grant {number}; /grants lists those there are.",
        zh: "没有授权 {number}：发送 /grants 查看现有授权。",
    }
    format grant_not_theirs(number: GrantNumber) {
        en: "You may not take {number} back: ask whoever could have approved it, or an owner.",
        zh: "你不能撤销 {number}：请让当时可以批准它的人或所有者来撤销。",
    }
    text grants_how_to() {
        en: "Send /grants for a list, or `/grants revoke G1` to take one back.",
        zh: "发送 /grants 查看授权，或发送 `/grants 撤销 G1` 撤销其中一个。",
    }
    text grants_unreadable() {
        en: "The grants cannot be read, so none of them counts. The operator should mend or remove `.ship/grants.json`.",
        zh: "授权文件无法读取，因此所有授权都不生效。请运维者修复或删除 `.ship/grants.json`。",
    }
    format grant_not_kept(number: ApprovalNumber) {
        en: "{number} runs this once, but the longer permission could not be kept: the operator should look at \
             `.ship/grants.json`.",
        zh: "{number} 这一次会执行，但长期授权没能保存：请运维者检查 `.ship/grants.json`。",
    }
}

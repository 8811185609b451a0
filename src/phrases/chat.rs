//! Messages of `shipagent chat`.

use std::net::SocketAddr;

use super::table::phrases;
use crate::domain::Risk;

phrases! {
    text hint() {
        en: "/help lists commands · Ctrl-C stops an answer · Ctrl-D leaves",
        zh: "/help 查看命令 · Ctrl-C 停止回答 · Ctrl-D 离开",
    }
    format in_daemon(address: SocketAddr) { en: "daemon at {address}", zh: "守护进程 {address}" }
    text in_process() {
        en: "no daemon runs: the agent lives in this chat",
        zh: "没有守护进程：助手就在本次对话中运行",
    }
    text how_to_leave() { en: "Ctrl-D or /quit leaves", zh: "按 Ctrl-D 或输入 /quit 离开" }
    text stopping() { en: "stopping (Ctrl-C again leaves)", zh: "正在停止（再按一次 Ctrl-C 离开）" }
    text still_running() { en: "an earlier question is still being answered", zh: "之前的问题仍在回答中" }
    format decide_first(names: &str, replies: &str) {
        en: "{names} needs a decision: {replies}, or /cancel. Ctrl-C again leaves and keeps it open",
        zh: "{names} 需要决定：{replies}，或 /cancel。再按一次 Ctrl-C 离开，请求会保留",
    }
    format stays_open(name: &str, chat: &str, approvals: &str) {
        en: "{name} stays open. Answer later with `{chat}`, or with `{approvals}`",
        zh: "{name} 仍在等待。之后可用 `{chat}` 回答，或用 `{approvals}`",
    }
    format stays_open_without_daemon(name: &str, chat: &str, approvals: &str) {
        en: "{name} stays open. Answer later with `{chat}`, or with `{approvals}` while `shipagent run` is running",
        zh: "{name} 仍在等待。之后可用 `{chat}` 回答，或用 `{approvals}`（需要 `shipagent run` 正在运行）",
    }
    format queued(names: &str) {
        en: "{names} of an earlier message waits first: your message is kept, and is answered after it",
        zh: "之前消息的 {names} 在先等待决定：你的消息已保存，决定后就会回答",
    }
    format approved(name: &str) { en: "{name} was approved", zh: "{name} 已同意" }
    format not_run(name: &str) { en: "{name} was not run", zh: "{name} 没有执行" }
    format not_run_because(name: &str, reason: &str) {
        en: "{name} was not run: {reason}",
        zh: "{name} 没有执行：{reason}",
    }
    text gone_in_turn() {
        en: "the daemon has ended: your message is kept, and is answered when it runs again",
        zh: "守护进程已结束：你的消息已保存，它再次运行时会回答",
    }
    text gone() { en: "the daemon has ended", zh: "守护进程已结束" }
    format left(chat: &str) {
        en: "left before the answer was whole: `{chat}` shows the rest",
        zh: "回答尚未结束就离开了：用 `{chat}` 可以看到其余部分",
    }
    text nothing_to_say() {
        en: "there is nothing to say: give a message, or write one to the standard input",
        zh: "没有要说的话：请给出消息，或写到标准输入",
    }
    text reading_input() {
        en: "reading the standard input until it ends (Ctrl-D ends it; `< /dev/null` gives none)",
        zh: "正在读取标准输入直到结束（按 Ctrl-D 结束；用 `< /dev/null` 则不读取）",
    }
    text no_text() { en: "the standard input is not text in UTF-8", zh: "标准输入不是 UTF-8 文本" }
    format too_long(limit: usize) {
        en: "the message and the standard input are too long: together they may have {limit} bytes",
        zh: "消息和标准输入太长：合计最多 {limit} 字节",
    }
    text json_needs_message() {
        en: "--json is for one message: give it, or write it to the standard input",
        zh: "--json 只用于单条消息：请给出消息，或写到标准输入",
    }
    format bad_name(why: &str) {
        en: "--thread cannot be used as a name: {why}",
        zh: "--thread 不能用作名字：{why}",
    }
    format other_platform(thread: &str) {
        en: "{thread} belongs to another platform: it can be read with `shipagent threads show`, and written only there",
        zh: "{thread} 属于其他平台：可以用 `shipagent threads show` 查看，只能在那里回复",
    }
    text taken() {
        en: "this project is in use by another process that cannot be talked to, such as another `shipagent chat`: end \
             it first, or run `shipagent run` and let both talk to the daemon",
        zh: "项目正被另一个无法对话的进程占用（例如另一个 `shipagent chat`）：请先结束它，\
             或运行 `shipagent run`，让两边都与守护进程对话",
    }
    format taken_by(pid: u32) {
        en: "this project is in use by another process ({pid}) that cannot be talked to, such as another `shipagent \
             chat`: end it first, or run `shipagent run` and let both talk to the daemon",
        zh: "项目正被另一个无法对话的进程（{pid}）占用（例如另一个 `shipagent chat`）：请先结束它，\
             或运行 `shipagent run`，让两边都与守护进程对话",
    }
    format daemon_refused(why: &str) {
        en: "the daemon did not let this chat in: {why}",
        zh: "守护进程没有接受这次对话：{why}",
    }

    text risk(risk: Risk) {
        Risk::Low => { en: "risk: low", zh: "风险：低" }
        Risk::Medium => { en: "risk: medium", zh: "风险：中" }
        Risk::High => { en: "risk: high", zh: "风险：高" }
    }
    format expires(at: &str) { en: "expires {at}", zh: "{at} 过期" }
    text cut_off() {
        en: "a restart cut this call off: whether it took effect is not known",
        zh: "这次调用被重启打断：是否已生效并不清楚",
    }
    text project_folder() { en: "folder: . (the project)", zh: "文件夹：.（项目）" }
    format folder(folder: &str) { en: "folder: {folder}", zh: "文件夹：{folder}" }
    text command() { en: "command:", zh: "命令：" }
    text whole_input() { en: "all that the tool is given:", zh: "工具收到的全部内容：" }
    format how_to_answer(replies: &str) {
        en: "answer: {replies} · /cancel withdraws it",
        zh: "回答：{replies} · /cancel 撤回",
    }
}

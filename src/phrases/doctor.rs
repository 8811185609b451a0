//! Findings and advice of `doctor`, and messages about the sandbox.

use std::fmt::Display;
use std::net::SocketAddr;

use super::table::phrases;
use crate::domain::{AutoMemory, ErrorKind};

phrases! {
    text all_is_well() { en: "all is well", zh: "一切正常" }
    format summary(errors: usize, warnings: usize) {
        en: "to mend: {errors}, to know: {warnings}",
        zh: "需要修复：{errors}，需要留意：{warnings}",
    }
    /// The names of the checks; platforms keep their own.
    named check(name: &str) {
        "agent" => { en: "agent", zh: "智能体" }
        "config" => { en: "config", zh: "配置" }
        "adapter" => { en: "adapter", zh: "接入" }
        "model" => { en: "model", zh: "模型" }
        "state" => { en: "state", zh: "状态" }
        "permissions" => { en: "permissions", zh: "权限" }
        "git" => { en: "git", zh: "git" }
        "disk" => { en: "disk", zh: "磁盘" }
        "port" => { en: "port", zh: "端口" }
        "network" => { en: "network", zh: "网络" }
        "lock" => { en: "lock", zh: "锁" }
        "sandbox" => { en: "sandbox", zh: "沙箱" }
        "sockets" => { en: "sockets", zh: "套接字" }
        "memory" => { en: "memory", zh: "内存" }
        "scopes" => { en: "scopes", zh: "记忆范围" }
        "groups" => { en: "groups", zh: "群组" }
        "voice" => { en: "voice", zh: "语音" }
        "listening" => { en: "listening", zh: "语音识别" }
        "speaking" => { en: "speaking", zh: "语音合成" }
        "learning" => { en: "learning", zh: "学习" }
        "clock" => { en: "clock", zh: "时钟" }
        "token" => { en: "token", zh: "令牌" }
    }
    text learning(auto: AutoMemory) {
        AutoMemory::Off => { en: "nothing is learned from conversations", zh: "不从对话中学习" }
        AutoMemory::Propose => {
            en: "notes are taken from conversations; core memory changes only when a person agrees",
            zh: "从对话中记笔记；核心记忆只在有人同意后才会改变",
        }
        AutoMemory::Write => {
            en: "notes are taken from conversations; in the owners' own direct chats core memory is written without asking",
            zh: "从对话中记笔记；在所有者本人的私聊中，不经询问直接写入核心记忆",
        }
    }
    format memory_scopes(dm_scope: &str, linked: usize, history: &str) {
        en: "direct chats use memory {dm_scope} ({linked} identities linked); history is searched per {history}",
        zh: "私聊记忆：{dm_scope}（已关联 {linked} 个身份）；历史搜索范围：{history}",
    }
    format distil_every(turns: u32) { en: "distilled every {turns} turns", zh: "每 {turns} 轮提炼一次" }
    text distil_never() { en: "never distilled", zh: "从不提炼" }
    text distil_by_ship_json() { en: "ship.json: memory.distilEvery", zh: "由 ship.json 的 memory.distilEvery 指定" }
    format distil_by_agent_md(line: &str) { en: "Agent.md: “{line}”", zh: "Agent.md：“{line}”" }
    text distil_by_default() { en: "the default", zh: "默认值" }
    text between_names() { en: ", ", zh: "、" }

    format agent_md(characters: usize) { en: "Agent.md has {characters} characters", zh: "Agent.md 有 {characters} 个字符" }
    format adapter_off(name: &str) { en: "{name} is turned off", zh: "{name} 已关闭" }
    format adapter_without_key(name: &str, keys: &str) {
        en: "{name} will not run: {keys} is empty",
        zh: "{name} 不会运行：{keys} 为空",
    }
    format adapter_without_key_fix(name: &str) {
        en: "fill it in, or set adapters.{name}.enabled to false",
        zh: "请填写，或把 adapters.{name}.enabled 设为 false",
    }
    text offline() { en: "the built-in offline model answers", zh: "由内置的离线模型回答" }
    text offline_key_unused() {
        en: "OPENAI_API_KEY is set, but ship.json does not use it: set llm.apiKey to ${OPENAI_API_KEY}",
        zh: "已设置 OPENAI_API_KEY，但 ship.json 没有使用：请把 llm.apiKey 设为 ${OPENAI_API_KEY}",
    }
    format model_answers(name: &str, millis: impl Display) {
        en: "{name} answers, in {millis} ms",
        zh: "{name} 可用，用时 {millis} 毫秒",
    }
    format model_fails(name: &str, detail: &str) { en: "{name} does not answer: {detail}", zh: "{name} 不可用：{detail}" }
    text model_fails_fix(kind: ErrorKind) {
        ErrorKind::Auth => { en: "check llm.apiKey and the variable behind it", zh: "请检查 llm.apiKey 及其变量" }
        ErrorKind::Quota => { en: "top up the account, or use another key", zh: "请充值，或换一个密钥" }
        ErrorKind::Rate => { en: "wait a little, or use another key", zh: "请稍候，或换一个密钥" }
        ErrorKind::Network | ErrorKind::Timeout => {
            en: "check llm.baseUrl, the network and the proxy",
            zh: "请检查 llm.baseUrl、网络和代理",
        }
        ErrorKind::BadRequest | ErrorKind::ContextLength => {
            en: "check llm.model: does this server have it?",
            zh: "请检查 llm.model：服务器上有这个模型吗？",
        }
        ErrorKind::BadResponse => {
            en: "check llm.baseUrl: it should end where /chat/completions begins",
            zh: "请检查 llm.baseUrl：应写到 /chat/completions 之前",
        }
        ErrorKind::Server
        | ErrorKind::TooManySteps
        | ErrorKind::Loop
        | ErrorKind::Budget
        | ErrorKind::Storage
        | ErrorKind::Internal => {
            en: "try again later",
            zh: "请稍后再试",
        }
    }
    format model_silent(name: &str, seconds: u64) {
        en: "{name} said nothing in {seconds} seconds",
        zh: "{name} 在 {seconds} 秒内没有回答",
    }
    format model_unusable(name: &str, why: &str) { en: "{name} cannot be asked: {why}", zh: "{name} 无法调用：{why}" }
    text model_unusable_fix() { en: "check the llm section of ship.json", zh: "请检查 ship.json 的 llm 部分" }
    format model_ended(name: &str, on: impl Display) { en: "{name} was shut down on {on}", zh: "{name} 已于 {on} 停止服务" }
    format model_ends(name: &str, on: impl Display, days: impl Display) {
        en: "{name} is shut down on {on}, in {days} days",
        zh: "{name} 将于 {on} 停止服务，还有 {days} 天",
    }
    format model_not_listed(name: &str) {
        en: "the server does not list a model named {name}",
        zh: "服务器的模型列表里没有 {name}",
    }
    format prices_old(days: impl Display) {
        en: "the built-in prices of models were checked {days} days ago",
        zh: "内置的模型价格是 {days} 天前核对的",
    }
    text prices_old_fix() {
        en: "update shipagent, or set `budget.prices` in ship.json",
        zh: "请更新 shipagent，或在 ship.json 中设置 `budget.prices`",
    }
    text another_model() { en: "set llm.model to another model", zh: "请把 llm.model 换成别的模型" }
    format another_model_such_as(names: &str) {
        en: "set llm.model to another model, such as {names}",
        zh: "请把 llm.model 换成别的模型，例如 {names}",
    }

    /// What the synthesiser says, and the recogniser hears.
    text spoken_probe() { en: "One two three four five.", zh: "一二三四五。" }
    format recogniser_answers(name: &str, millis: impl Display) {
        en: "{name} answers, in {millis} ms",
        zh: "{name} 可用，用时 {millis} 毫秒",
    }
    format recogniser_hears(name: &str, heard: &str, millis: impl Display) {
        en: "{name} heard “{heard}”, in {millis} ms",
        zh: "{name} 识别出“{heard}”，用时 {millis} 毫秒",
    }
    format recogniser_fails(name: &str, why: &str) { en: "{name} transcribes nothing: {why}", zh: "{name} 无法识别：{why}" }
    text recogniser_fix() {
        en: "check voice.stt: baseUrl, apiKey and model, or the program of its command",
        zh: "请检查 voice.stt 的 baseUrl、apiKey 和 model，或 command 中的程序",
    }
    format synthesiser_speaks(name: &str, millis: impl Display) {
        en: "{name} speaks, in {millis} ms",
        zh: "{name} 可用，用时 {millis} 毫秒",
    }
    format synthesiser_fails(name: &str, why: &str) { en: "{name} does not speak: {why}", zh: "{name} 无法合成：{why}" }
    text synthesiser_fix() {
        en: "check voice.tts: baseUrl, apiKey, model and voice, or the program of its command",
        zh: "请检查 voice.tts 的 baseUrl、apiKey、model 和 voice，或 command 中的程序",
    }
    format speech_silent(seconds: u64) { en: "no answer within {seconds} seconds", zh: "{seconds} 秒内没有回答" }
    text no_sound() { en: "what it sent is no sound", zh: "返回的内容不是音频" }
    format speech_unusable(why: &str) { en: "voice cannot be used: {why}", zh: "语音不可用：{why}" }
    format groups_shared(path: impl Display, names: &str) {
        en: "agents share what is said in groups in {path}; others here: {names}",
        zh: "各智能体通过 {path} 共享群内消息；其他智能体：{names}",
    }
    text groups_alone() { en: "nobody yet", zh: "暂无" }
    format groups_away(name: &str) { en: "{name} (away)", zh: "{name}（离线）" }
    format groups_unusable(why: impl Display) {
        en: "groups.sharedDir is not used: {why}",
        zh: "未使用 groups.sharedDir：{why}",
    }
    text groups_unusable_fix() {
        en: "use a local directory outside of the project that only this user can write to",
        zh: "请使用项目之外、仅当前用户可写的本地目录",
    }
    text groups_inside() { en: "it is inside the project, where tools could change it", zh: "它位于项目内，工具可能会改动它" }
    format groups_same_name(name: &str) {
        en: "another agent has the name {name} too, so people cannot tell them apart",
        zh: "另一个智能体也叫 {name}，人们无法区分",
    }
    format groups_heard_bot(platform: impl Display, when: &str) {
        en: "{platform} sends messages of other bots, the last one at {when}",
        zh: "{platform} 会推送其他机器人的消息，最近一条在 {when}",
    }
    format groups_heard_no_bot(platform: impl Display) {
        en: "{platform} has not sent a message of another bot yet: what agents of this machine say comes by groups.sharedDir",
        zh: "{platform} 尚未推送过其他机器人的消息：本机各智能体的发言经由 groups.sharedDir 获知",
    }
    format groups_hears_little(platform: impl Display) {
        en: "{platform} sends the agent only what mentions it, replies to it or is a command for it: the rest comes from agents that hear it",
        zh: "{platform} 只推送提及、回复或命令本智能体的消息：其余消息由能收到的智能体转告",
    }
    format groups_lacks(platform: impl Display, permission: &str) {
        en: "{platform} does not tell what was said while the agent was away: {permission} is missing",
        zh: "{platform} 不提供离线期间的消息：缺少 {permission}",
    }
    text groups_lacks_fix() {
        en: "add it to the app and publish a version; messages sent meanwhile are lost to the agent",
        zh: "请为应用添加该权限并发布版本；此前的消息无法补取",
    }
    format groups_same_account(agent: &str, platform: impl Display, account: &str) {
        en: "the agent {agent} uses the same account {account} on {platform}: each gets only a part of the messages",
        zh: "智能体 {agent} 在 {platform} 使用同一账号 {account}：双方都只能收到部分消息",
    }
    text groups_same_account_fix() { en: "give each agent an account of its own", zh: "请为每个智能体使用各自的账号" }
    text groups_same_name_fix() { en: "change `name` in one of the ship.json files", zh: "请修改其中一个 ship.json 的 name" }
    format writable(path: impl Display) { en: "{path} can be written", zh: "{path} 可写" }
    format not_writable(path: impl Display, why: &str) { en: "{path} cannot be written: {why}", zh: "{path} 不可写：{why}" }
    text not_writable_fix() {
        en: "change its owner or permissions, or make room on the disk",
        zh: "请修改所有者或权限，或清理磁盘",
    }
    text private() { en: ".ship is private", zh: ".ship 仅本用户可读" }
    format open_to_others(path: impl Display, mode: u32) {
        en: "{path} has mode {mode:03o}: others on this machine can look into it",
        zh: "{path} 的权限为 {mode:03o}：本机其他用户可以查看",
    }
    format tracked(names: &str) { en: "git tracks {names}", zh: "git 跟踪了 {names}" }
    format tracked_fix(names: &str) {
        en: "git rm -r --cached {names}, and change the secrets that were committed",
        zh: "请运行 git rm -r --cached {names}，并更换已提交过的密钥",
    }
    format disk_free(mebibytes: u64) { en: "{mebibytes} MiB are free", zh: "剩余空间 {mebibytes} MiB" }
    text disk_free_fix() { en: "make room on the disk", zh: "请清理磁盘" }
    format port_free(listen: SocketAddr) { en: "{listen} is free", zh: "{listen} 空闲" }
    format port_ours(listen: SocketAddr) {
        en: "{listen} is held by the daemon that runs here",
        zh: "{listen} 由本项目正在运行的守护进程使用",
    }
    format port_taken(listen: SocketAddr) { en: "{listen} is used by another program", zh: "{listen} 被其他程序占用" }
    text port_taken_fix() {
        en: "stop that program, or set adapters.web.listen to another port",
        zh: "请停止那个程序，或把 adapters.web.listen 改为其他端口",
    }
    text next_port() {
        en: "`shipagent run` takes the next free port and prints it",
        zh: "`shipagent run` 会使用下一个空闲端口并打印出来",
    }
    format port_refused(listen: SocketAddr, why: &str) { en: "{listen} cannot be had: {why}", zh: "{listen} 无法使用：{why}" }
    text port_refused_fix() {
        en: "set adapters.web.listen to an address of this machine and a port above 1023",
        zh: "请把 adapters.web.listen 设为本机地址和大于 1023 的端口",
    }
    format open_listen(listen: SocketAddr) {
        en: "{listen} can be reached from other machines, without encryption",
        zh: "{listen} 可被其他机器访问，且未加密",
    }
    text open_listen_fix() {
        en: "listen at 127.0.0.1 and put a proxy with TLS before it",
        zh: "请监听 127.0.0.1，并在前面放置带 TLS 的代理",
    }
    text lock_free() { en: "no daemon runs here", zh: "本项目没有守护进程在运行" }
    text lock_held() { en: "a daemon runs here", zh: "守护进程正在运行" }
    format lock_held_by(pid: u32) { en: "a daemon runs here, as process {pid}", zh: "守护进程正在运行，进程号 {pid}" }
    format lock_unclear(why: &str) { en: "the lock cannot be read: {why}", zh: "无法读取锁：{why}" }
    text lock_unclear_fix() { en: "check the permissions of .ship/run", zh: "请检查 .ship/run 的权限" }
    format clock(now: impl Display, zone: &str) { en: "it is {now}, time zone {zone}", zh: "现在是 {now}，时区 {zone}" }
    format clock_without_zone(now: impl Display) { en: "it is {now}, time zone unknown", zh: "现在是 {now}，时区未知" }
    format clock_wrong(now: impl Display) { en: "the clock says {now}, which cannot be", zh: "时钟显示 {now}，不可能正确" }
    text clock_wrong_fix() { en: "set the clock, best by NTP", zh: "请校准时钟，最好用 NTP" }
    text token_made() {
        en: "the console's token is made by the daemon and kept in .ship/run",
        zh: "控制台令牌由守护进程生成，保存在 .ship/run",
    }
    text token_strong() { en: "the console's token is long enough", zh: "控制台令牌足够长" }
    format token_weak(characters: usize) {
        en: "the console's token has only {characters} characters",
        zh: "控制台令牌只有 {characters} 个字符",
    }
    text token_weak_fix() {
        en: "use 16 or more random characters: openssl rand -hex 16",
        zh: "请用 16 个以上的随机字符：openssl rand -hex 16",
    }

    format sandbox_full(by: &str) { en: "on ({by})", zh: "已启用（{by}）" }
    format sandbox_partial(by: &str, reasons: &str) {
        en: "on, with gaps ({by}): {reasons}",
        zh: "已启用但有缺口（{by}）：{reasons}",
    }
    format sandbox_required(reasons: &str) {
        en: "required but not to be had, so exec_shell refuses: {reasons}",
        zh: "必须有却没有，exec_shell 会拒绝执行：{reasons}",
    }
    format sandbox_unavailable(reasons: &str) {
        en: "none on this machine: commands run unconfined: {reasons}",
        zh: "本机没有沙箱，命令不受限制：{reasons}",
    }
    text sandbox_off() { en: "off: commands run unconfined", zh: "已关闭，命令不受限制" }
    text by_namespaces() { en: "namespaces", zh: "命名空间" }
    text by_rules() { en: "rules alone, secrets left out of them", zh: "仅靠规则，机密文件排除在外" }
    /// Known reasons of the sandbox probe; a reason may be followed by a cause.
    named sandbox_reason(reason: &str) {
        "Landlock is not enabled in this kernel" => {
            en: "Landlock is not enabled in this kernel",
            zh: "此内核未启用 Landlock",
        }
        "this kernel has no Landlock" => { en: "this kernel has no Landlock", zh: "此内核没有 Landlock" }
        "Landlock did not take the rules" => {
            en: "Landlock did not take the rules",
            zh: "Landlock 没有接受规则",
        }
        "files cannot be moved between folders" => {
            en: "files cannot be moved between folders",
            zh: "文件不能在文件夹之间移动",
        }
        "files can be emptied that cannot be written" => {
            en: "files can be emptied that cannot be written",
            zh: "不可写的文件仍可被清空",
        }
        "signals can be sent to other processes of the same user" => {
            en: "signals can be sent to other processes of the same user",
            zh: "可以向同一用户的其他进程发送信号",
        }
        "approved commands can reach abstract sockets of other programs, such as that of an X server" => {
            en: "approved commands can reach abstract sockets of other programs, such as that of an X server",
            zh: "获批的命令可以连接其他程序的抽象套接字，例如 X 服务器的套接字",
        }
        "the helper cannot be used" => { en: "the helper cannot be used", zh: "无法使用辅助进程" }
        "the helper never entered" => { en: "the helper never entered", zh: "辅助进程没有进入沙箱" }
        "the helper said nothing" => { en: "the helper said nothing", zh: "辅助进程没有回应" }
        "no folder to try it in" => { en: "no folder to try it in", zh: "没有可用于测试的文件夹" }
        "no file to try it with" => { en: "no file to try it with", zh: "没有可用于测试的文件" }
    }
    text between_reasons() { en: "; ", zh: "；" }
    text sandbox_partial_fix() {
        en: "let unprivileged users make namespaces, or run a newer kernel",
        zh: "请允许普通用户创建命名空间，或使用更新的内核",
    }
    text sandbox_unavailable_fix() {
        en: "use Linux 5.13 or newer with landlock in the kernel's lsm= list",
        zh: "请使用 Linux 5.13 或更新版本，并在内核参数 lsm= 中加入 landlock",
    }
    text sandbox_off_fix() {
        en: "set permissions.exec_shell.sandbox to \"auto\" or \"require\"",
        zh: "请把 permissions.exec_shell.sandbox 设为 \"auto\" 或 \"require\"",
    }
    format sockets(names: &str) {
        en: "approved commands can have the programs behind these sockets act for them: {names}",
        zh: "获批的命令可以通过这些套接字让其他程序代为执行：{names}",
    }
    format every_socket(names: &str) {
        en: "approved commands can reach every local socket, not only {names}: there are no namespaces",
        zh: "没有命名空间，获批的命令可以连接所有本地套接字，不限于 {names}",
    }
    text sockets_fix() {
        en: "take out of permissions.exec_shell.sockets what commands do not need",
        zh: "请从 permissions.exec_shell.sockets 中删去命令不需要的套接字",
    }
    format memory_groups(command: u64, together: u64) {
        en: "a command may use {command} MB, all together {together} MB; kept by control groups",
        zh: "单个命令最多使用 {command} MB 内存，合计 {together} MB；由控制组限制",
    }
    format memory_sampling(command: u64, together: u64) {
        en: "a command may use {command} MB, all together {together} MB; looked at a few times a second, since the control \
             group is not delegated",
        zh: "单个命令最多使用 {command} MB 内存，合计 {together} MB；控制组未委派，改为每秒检查数次",
    }
}

//! What `doctor` says, and what it advises, in both languages.

use super::fact::Fact;
use crate::commands::sandbox_words;
use crate::config::Idle;
use crate::domain::{ErrorKind, Language};

/// A fact in words, with advice where there is something to do.
pub(super) fn say(fact: &Fact, language: Language) -> (String, Option<String>) {
    // These already speak both languages.
    match fact {
        Fact::NoAgentMd(error) => return (error.words(language), None),
        Fact::ConfigProblem(problem) | Fact::ConfigWarning(problem) => {
            return (problem.line(language), None);
        }
        Fact::Chat { probe, .. } => return (probe.message.clone(), probe.advice.clone()),
        _ => {}
    }
    let (message, advice) = match language {
        Language::En => (english(fact), english_advice(fact)),
        Language::Zh => (chinese(fact), chinese_advice(fact)),
    };
    (message, advice)
}

fn english(fact: &Fact) -> String {
    match fact {
        Fact::NoAgentMd(error) => error.to_string(),
        Fact::ConfigProblem(problem) | Fact::ConfigWarning(problem) => problem.to_string(),
        Fact::AgentMd { characters } => format!("Agent.md has {characters} characters"),
        Fact::Config { has_file: true } => "ship.json is valid".into(),
        Fact::Config { has_file: false } => "there is no ship.json: the defaults apply".into(),
        Fact::IdleAdapter(idle) => match &idle.why {
            Idle::Disabled => format!("{} is turned off", idle.name),
            Idle::NoCredentials(keys) => format!("{} will not run: {} is empty", idle.name, keys.join(", ")),
        },
        Fact::Offline { .. } => "the built-in offline model answers".into(),
        Fact::ModelAnswers { name, millis } => format!("{name} answers, in {millis} ms"),
        Fact::ModelFails { name, detail, .. } => format!("{name} does not answer: {detail}"),
        Fact::ModelSilent { name, seconds } => format!("{name} said nothing in {seconds} seconds"),
        Fact::ModelUnusable { name, why } => format!("{name} cannot be asked: {why}"),
        Fact::ModelEnds { name, on, days, .. } if *days < 0 => format!("{name} was shut down on {on}"),
        Fact::ModelEnds { name, on, days, .. } => format!("{name} is shut down on {on}, in {days} days"),
        Fact::ModelNotListed { name, .. } => format!("the server does not list a model named {name}"),
        Fact::Chat { probe, .. } => probe.message.clone(),
        Fact::Writable(path) => format!("{} can be written", path.display()),
        Fact::NotWritable { path, why } => format!("{} cannot be written: {why}", path.display()),
        Fact::Private => ".ship is private".into(),
        Fact::OpenToOthers { path, mode } => {
            format!("{} has mode {mode:03o}: others on this machine can look into it", path.display())
        }
        Fact::Tracked(names) => format!("git tracks {}", names.join(", ")),
        Fact::DiskFree { mebibytes } => format!("{mebibytes} MiB are free"),
        Fact::PortFree(listen) => format!("{listen} is free"),
        Fact::PortOurs(listen) => format!("{listen} is held by the daemon that runs here"),
        Fact::PortTaken { listen, .. } => format!("{listen} is used by another program"),
        Fact::PortRefused { listen, why } => format!("{listen} cannot be had: {why}"),
        Fact::OpenListen(listen) => {
            format!("{listen} can be reached from other machines, without encryption")
        }
        Fact::LockFree => "no daemon runs here".into(),
        Fact::LockHeld { pid: Some(pid) } => format!("a daemon runs here, as process {pid}"),
        Fact::LockHeld { pid: None } => "a daemon runs here".into(),
        Fact::LockUnclear(why) => format!("the lock cannot be read: {why}"),
        Fact::Sandbox(report) => sandbox_words::status(report, Language::En),
        Fact::Sockets { listed, sandbox } => {
            sandbox_words::sockets(listed, sandbox, Language::En).unwrap_or_default()
        }
        Fact::CommandMemory { limits, control } => sandbox_words::memory(*limits, *control, Language::En),
        Fact::Clock { now, zone } => match zone {
            Some(zone) => format!("it is {now}, time zone {zone}"),
            None => format!("it is {now}, time zone unknown"),
        },
        Fact::ClockWrong { now } => format!("the clock says {now}, which cannot be"),
        Fact::TokenMade => "the console's token is made by the daemon and kept in .ship/run".into(),
        Fact::TokenStrong => "the console's token is long enough".into(),
        Fact::TokenWeak { characters, .. } => format!("the console's token has only {characters} characters"),
    }
}

fn english_advice(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::IdleAdapter(idle) if idle.why != Idle::Disabled => {
            format!("fill it in, or set adapters.{}.enabled to false", idle.name)
        }
        Fact::Offline { key_unused: true } => {
            "OPENAI_API_KEY is set, but ship.json does not use it: set llm.apiKey to ${OPENAI_API_KEY}".into()
        }
        Fact::ModelFails { kind, .. } => model_advice(*kind).into(),
        Fact::ModelSilent { .. } => "check llm.baseUrl, the network and the proxy".into(),
        Fact::ModelUnusable { .. } => "check the llm section of ship.json".into(),
        Fact::ModelEnds { alternatives, .. } | Fact::ModelNotListed { alternatives, .. } => {
            match alternatives.as_slice() {
                [] => "set llm.model to another model".into(),
                names => format!("set llm.model to another model, such as {}", names.join(", ")),
            }
        }
        Fact::NotWritable { .. } => "change its owner or permissions, or make room on the disk".into(),
        Fact::OpenToOthers { path, .. } => format!("chmod 700 {}", path.display()),
        Fact::Tracked(names) => {
            format!("git rm -r --cached {}, and change the secrets that were committed", names.join(" "))
        }
        Fact::DiskFree { .. } if fact.verdict() != super::fact::Verdict::Ok => "make room on the disk".into(),
        Fact::PortTaken { chosen: true, .. } => {
            "stop that program, or set adapters.web.listen to another port".into()
        }
        Fact::PortTaken { .. } => "`shipagent run` takes the next free port and prints it".into(),
        Fact::PortRefused { .. } => {
            "set adapters.web.listen to an address of this machine and a port above 1023".into()
        }
        Fact::OpenListen(_) => "listen at 127.0.0.1 and put a proxy with TLS before it".into(),
        Fact::LockUnclear(_) => "check the permissions of .ship/run".into(),
        Fact::Sandbox(report) => return sandbox_words::advice(report, Language::En),
        Fact::Sockets { .. } => "take out of permissions.exec_shell.sockets what commands do not need".into(),
        Fact::ClockWrong { .. } => "set the clock, best by NTP".into(),
        Fact::TokenWeak { .. } => "use 16 or more random characters: openssl rand -hex 16".into(),
        _ => return None,
    })
}

fn model_advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Auth => "check llm.apiKey and the variable behind it",
        ErrorKind::Quota => "top up the account, or use another key",
        ErrorKind::Rate => "wait a little, or use another key",
        ErrorKind::Network | ErrorKind::Timeout => "check llm.baseUrl, the network and the proxy",
        ErrorKind::BadRequest | ErrorKind::ContextLength => "check llm.model: does this server have it?",
        ErrorKind::BadResponse => "check llm.baseUrl: it should end where /chat/completions begins",
        ErrorKind::Server
        | ErrorKind::TooManySteps
        | ErrorKind::Loop
        | ErrorKind::Storage
        | ErrorKind::Internal => "try again later",
    }
}

fn chinese(fact: &Fact) -> String {
    match fact {
        Fact::NoAgentMd(error) => error.words(Language::Zh),
        Fact::ConfigProblem(problem) | Fact::ConfigWarning(problem) => problem.line(Language::Zh),
        Fact::AgentMd { characters } => format!("Agent.md 有 {characters} 个字符"),
        Fact::Config { has_file: true } => "ship.json 有效".into(),
        Fact::Config { has_file: false } => "没有 ship.json：使用默认值".into(),
        Fact::IdleAdapter(idle) => match &idle.why {
            Idle::Disabled => format!("{} 已关闭", idle.name),
            Idle::NoCredentials(keys) => format!("{} 不会运行：{} 为空", idle.name, keys.join("、")),
        },
        Fact::Offline { .. } => "由内置的离线模型回答".into(),
        Fact::ModelAnswers { name, millis } => format!("{name} 可用，用时 {millis} 毫秒"),
        Fact::ModelFails { name, detail, .. } => format!("{name} 不可用：{detail}"),
        Fact::ModelSilent { name, seconds } => format!("{name} 在 {seconds} 秒内没有回答"),
        Fact::ModelUnusable { name, why } => format!("{name} 无法调用：{why}"),
        Fact::ModelEnds { name, on, days, .. } if *days < 0 => format!("{name} 已于 {on} 停止服务"),
        Fact::ModelEnds { name, on, days, .. } => format!("{name} 将于 {on} 停止服务，还有 {days} 天"),
        Fact::ModelNotListed { name, .. } => format!("服务器的模型列表里没有 {name}"),
        Fact::Chat { probe, .. } => probe.message.clone(),
        Fact::Writable(path) => format!("{} 可写", path.display()),
        Fact::NotWritable { path, why } => format!("{} 不可写：{why}", path.display()),
        Fact::Private => ".ship 仅本用户可读".into(),
        Fact::OpenToOthers { path, mode } => {
            format!("{} 的权限为 {mode:03o}：本机其他用户可以查看", path.display())
        }
        Fact::Tracked(names) => format!("git 跟踪了 {}", names.join("、")),
        Fact::DiskFree { mebibytes } => format!("剩余空间 {mebibytes} MiB"),
        Fact::PortFree(listen) => format!("{listen} 空闲"),
        Fact::PortOurs(listen) => format!("{listen} 由本项目正在运行的守护进程使用"),
        Fact::PortTaken { listen, .. } => format!("{listen} 被其他程序占用"),
        Fact::PortRefused { listen, why } => format!("{listen} 无法使用：{why}"),
        Fact::OpenListen(listen) => format!("{listen} 可被其他机器访问，且未加密"),
        Fact::LockFree => "本项目没有守护进程在运行".into(),
        Fact::LockHeld { pid: Some(pid) } => format!("守护进程正在运行，进程号 {pid}"),
        Fact::LockHeld { pid: None } => "守护进程正在运行".into(),
        Fact::LockUnclear(why) => format!("无法读取锁：{why}"),
        Fact::Sandbox(report) => sandbox_words::status(report, Language::Zh),
        Fact::Sockets { listed, sandbox } => {
            sandbox_words::sockets(listed, sandbox, Language::Zh).unwrap_or_default()
        }
        Fact::CommandMemory { limits, control } => sandbox_words::memory(*limits, *control, Language::Zh),
        Fact::Clock { now, zone } => match zone {
            Some(zone) => format!("现在是 {now}，时区 {zone}"),
            None => format!("现在是 {now}，时区未知"),
        },
        Fact::ClockWrong { now } => format!("时钟显示 {now}，不可能正确"),
        Fact::TokenMade => "控制台令牌由守护进程生成，保存在 .ship/run".into(),
        Fact::TokenStrong => "控制台令牌足够长".into(),
        Fact::TokenWeak { characters, .. } => format!("控制台令牌只有 {characters} 个字符"),
    }
}

fn chinese_advice(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::IdleAdapter(idle) if idle.why != Idle::Disabled => {
            format!("请填写，或把 adapters.{}.enabled 设为 false", idle.name)
        }
        Fact::Offline { key_unused: true } => {
            "已设置 OPENAI_API_KEY，但 ship.json 没有使用：请把 llm.apiKey 设为 ${OPENAI_API_KEY}".into()
        }
        Fact::ModelFails { kind, .. } => chinese_model_advice(*kind).into(),
        Fact::ModelSilent { .. } => "请检查 llm.baseUrl、网络和代理".into(),
        Fact::ModelUnusable { .. } => "请检查 ship.json 的 llm 部分".into(),
        Fact::ModelEnds { alternatives, .. } | Fact::ModelNotListed { alternatives, .. } => {
            match alternatives.as_slice() {
                [] => "请把 llm.model 换成别的模型".into(),
                names => format!("请把 llm.model 换成别的模型，例如 {}", names.join("、")),
            }
        }
        Fact::NotWritable { .. } => "请修改所有者或权限，或清理磁盘".into(),
        Fact::OpenToOthers { path, .. } => format!("chmod 700 {}", path.display()),
        Fact::Tracked(names) => {
            format!("请运行 git rm -r --cached {}，并更换已提交过的密钥", names.join(" "))
        }
        Fact::DiskFree { .. } if fact.verdict() != super::fact::Verdict::Ok => "请清理磁盘".into(),
        Fact::PortTaken { chosen: true, .. } => {
            "请停止那个程序，或把 adapters.web.listen 改为其他端口".into()
        }
        Fact::PortTaken { .. } => "`shipagent run` 会使用下一个空闲端口并打印出来".into(),
        Fact::PortRefused { .. } => "请把 adapters.web.listen 设为本机地址和大于 1023 的端口".into(),
        Fact::OpenListen(_) => "请监听 127.0.0.1，并在前面放置带 TLS 的代理".into(),
        Fact::LockUnclear(_) => "请检查 .ship/run 的权限".into(),
        Fact::Sandbox(report) => return sandbox_words::advice(report, Language::Zh),
        Fact::Sockets { .. } => "请从 permissions.exec_shell.sockets 中删去命令不需要的套接字".into(),
        Fact::ClockWrong { .. } => "请校准时钟，最好用 NTP".into(),
        Fact::TokenWeak { .. } => "请用 16 个以上的随机字符：openssl rand -hex 16".into(),
        _ => return None,
    })
}

fn chinese_model_advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Auth => "请检查 llm.apiKey 及其变量",
        ErrorKind::Quota => "请充值，或换一个密钥",
        ErrorKind::Rate => "请稍候，或换一个密钥",
        ErrorKind::Network | ErrorKind::Timeout => "请检查 llm.baseUrl、网络和代理",
        ErrorKind::BadRequest | ErrorKind::ContextLength => "请检查 llm.model：服务器上有这个模型吗？",
        ErrorKind::BadResponse => "请检查 llm.baseUrl：应写到 /chat/completions 之前",
        ErrorKind::Server
        | ErrorKind::TooManySteps
        | ErrorKind::Loop
        | ErrorKind::Storage
        | ErrorKind::Internal => "请稍后再试",
    }
}

//! What a chat platform can say about its bot: how bad it is, and how to put it in both languages. Pure.

use super::fact::Verdict;
use crate::domain::Language;

/// What a platform said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// The credentials are good, and this is the bot.
    Bot { name: String },
    /// The same, but in groups it hears only what is for it; `wants_all` when it is told to answer everything.
    BotHearsLittle { name: String, wants_all: bool },
    /// The credentials are good, but the bot is not switched on.
    BotOff { name: String },
    /// The credentials were refused.
    BadCredentials { detail: String },
    /// A webhook that is not ours takes what the bot is sent.
    ForeignWebhook,
    /// This machine may not call.
    AddressNotListed { detail: String },
    /// Something is not permitted.
    NoPermission { to: Missing, detail: String },
    /// No connection can be begun today.
    NoSessions,
    /// It could not be asked.
    Unreachable { detail: String },
    /// It said nothing in time.
    Silent { seconds: u64 },
}

/// What is not permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Send,
    /// To show answers while they grow.
    Grow,
}

impl Probe {
    /// How bad it is.
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Bot { .. } | Self::BotHearsLittle { wants_all: false, .. } => Verdict::Ok,
            Self::BotHearsLittle { wants_all: true, .. }
            | Self::BotOff { .. }
            | Self::ForeignWebhook
            | Self::NoSessions
            | Self::NoPermission { to: Missing::Grow, .. } => Verdict::Warning,
            Self::BadCredentials { .. }
            | Self::AddressNotListed { .. }
            | Self::NoPermission { to: Missing::Send, .. }
            | Self::Unreachable { .. }
            | Self::Silent { .. } => Verdict::Error,
        }
    }

    pub(super) fn say(&self, language: Language) -> String {
        match language {
            Language::En => self.english(),
            Language::Zh => self.chinese(),
        }
    }

    /// What to do about it, if anything.
    pub(super) fn advice(&self, platform: &str, language: Language) -> Option<String> {
        match language {
            Language::En => self.english_advice(platform),
            Language::Zh => self.chinese_advice(platform),
        }
    }

    fn english(&self) -> String {
        match self {
            Self::Bot { name } => format!("the bot is {name}"),
            Self::BotHearsLittle { name, .. } => {
                format!("the bot is {name}; privacy mode is on, so in groups it hears little")
            }
            Self::BotOff { name } => format!("the bot {name} is not switched on"),
            Self::BadCredentials { detail } => format!("the credentials were refused: {detail}"),
            Self::ForeignWebhook => "a webhook is set for this bot, but ship.json says polling".into(),
            Self::AddressNotListed { detail } => {
                format!("this machine's address is not on the bot's whitelist: {detail}")
            }
            Self::NoPermission { to: Missing::Send, detail } => {
                format!("the bot may not send messages: {detail}")
            }
            Self::NoPermission { to: Missing::Grow, detail } => {
                format!("answers cannot be shown while they grow: {detail}")
            }
            Self::NoSessions => "no further connection can be begun today".into(),
            Self::Unreachable { detail } => format!("it cannot be asked: {detail}"),
            Self::Silent { seconds } => format!("it said nothing in {seconds} seconds"),
        }
    }

    fn english_advice(&self, platform: &str) -> Option<String> {
        Some(match self {
            Self::Bot { .. } => return None,
            Self::BotHearsLittle { .. } => {
                "for groups: BotFather, /setprivacy, Disable; then remove the bot from the group and add it again".into()
            }
            Self::BotOff { .. } => "switch the bot on and publish a version of the app".into(),
            Self::BadCredentials { .. } => format!("check {} and the variables behind it", keys(platform)),
            Self::ForeignWebhook => {
                "`shipagent run` takes it away; make sure that no other program uses this bot".into()
            }
            Self::AddressNotListed { .. } => "add it to the IP whitelist in the bot's settings".into(),
            Self::NoPermission { to, .. } => {
                format!("add the permission {} and publish a version of the app", to.scope())
            }
            Self::NoSessions => "wait until tomorrow, and see in .ship/logs why so many were begun".into(),
            Self::Unreachable { .. } | Self::Silent { .. } => {
                format!("check the network, the proxy and {}", address(platform))
            }
        })
    }

    fn chinese(&self) -> String {
        match self {
            Self::Bot { name } => format!("机器人是 {name}"),
            Self::BotHearsLittle { name, .. } => {
                format!("机器人是 {name}；隐私模式已开启，在群里只能收到少量消息")
            }
            Self::BotOff { name } => format!("机器人 {name} 尚未启用"),
            Self::BadCredentials { detail } => format!("凭据被拒绝：{detail}"),
            Self::ForeignWebhook => "此机器人设置了 webhook，而 ship.json 中是 polling".into(),
            Self::AddressNotListed { detail } => format!("本机地址不在机器人的白名单中：{detail}"),
            Self::NoPermission { to: Missing::Send, detail } => format!("机器人无权发送消息：{detail}"),
            Self::NoPermission { to: Missing::Grow, detail } => format!("无法逐步显示回答：{detail}"),
            Self::NoSessions => "今天无法再建立新的连接".into(),
            Self::Unreachable { detail } => format!("无法询问：{detail}"),
            Self::Silent { seconds } => format!("在 {seconds} 秒内没有回答"),
        }
    }

    fn chinese_advice(&self, platform: &str) -> Option<String> {
        Some(match self {
            Self::Bot { .. } => return None,
            Self::BotHearsLittle { .. } => {
                "如需在群里使用：在 BotFather 中执行 /setprivacy 并选择 Disable，然后把机器人移出群再重新加入"
                    .into()
            }
            Self::BotOff { .. } => "请启用机器人并发布应用版本".into(),
            Self::BadCredentials { .. } => format!("请检查 {} 及其变量", keys(platform)),
            Self::ForeignWebhook => "`shipagent run` 会移除它；请确认没有其他程序使用此机器人".into(),
            Self::AddressNotListed { .. } => "请在机器人的设置中把它加入 IP 白名单".into(),
            Self::NoPermission { to, .. } => format!("请添加权限 {} 并发布应用版本", to.scope()),
            Self::NoSessions => "请等到明天，并在 .ship/logs 中查看为何建立了这么多连接".into(),
            Self::Unreachable { .. } | Self::Silent { .. } => {
                format!("请检查网络、代理和 {}", address(platform))
            }
        })
    }
}

impl Missing {
    const fn scope(self) -> &'static str {
        match self {
            Self::Send => "im:message:send_as_bot",
            Self::Grow => "cardkit:card:write",
        }
    }
}

/// The keys of a platform's credentials.
fn keys(platform: &str) -> String {
    match platform {
        "telegram" => "adapters.telegram.botToken".to_owned(),
        _ => format!("adapters.{platform}.appId, adapters.{platform}.appSecret"),
    }
}

/// The key of a platform's address.
fn address(platform: &str) -> String {
    let key = if platform == "feishu" { "domain" } else { "apiUrl" };
    format!("adapters.{platform}.{key}")
}

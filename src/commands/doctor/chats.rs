//! Asks each configured chat platform who its bot is and what it lacks. All at once, in bounded time, and nothing is
//! said to anybody.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join3;

use super::fact::Fact;
use super::probe::{Missing, Probe};
use crate::adapters::{feishu, qq, telegram};
use crate::chats;
use crate::config::{FeishuSettings, GroupRespond, QqMode, QqSettings, Settings, TelegramSettings};
use crate::domain::Platform;
use crate::ports::Clock;

/// The longest a platform is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes the client that talks to the platforms. Called only where there is one to talk to.
pub type HttpFactory<'a> = &'a (dyn Fn() -> Result<reqwest::Client, String> + Send + Sync);

/// Asks all that are configured.
pub(super) async fn ask_platforms(
    settings: &Settings,
    http: HttpFactory<'_>,
    clock: &Arc<dyn Clock>,
) -> Vec<Fact> {
    let of_telegram = bounded("telegram", settings.telegram.as_ref(), http, async |own, http| {
        telegram::check(http, &own.api_url, &own.bot_token)
            .await
            .into_iter()
            .filter_map(|finding| telegram_news(finding, own))
            .collect()
    });
    let of_feishu = bounded("feishu", settings.feishu.as_ref(), http, async |own: &FeishuSettings, http| {
        let Ok(platform) = "feishu".parse::<Platform>() else { return Vec::new() };
        let found = feishu::check(http, &chats::feishu(own, &platform, settings)).await;
        found.into_iter().filter_map(feishu_news).collect()
    });
    let of_qq = bounded("qq", settings.qq.as_ref(), http, async |own: &QqSettings, http| {
        let Ok(platform) = "qq".parse::<Platform>() else { return Vec::new() };
        let found = qq::check(&chats::qq(own, &platform, settings), http, clock.clone()).await;
        found.into_iter().filter_map(|finding| qq_news(finding, own)).collect()
    });
    let (telegram, feishu, qq) = join3(of_telegram, of_feishu, of_qq).await;
    telegram.into_iter().chain(feishu).chain(qq).collect()
}

/// Asks one platform, where it is configured, for no longer than there is patience.
async fn bounded<S>(
    platform: &'static str,
    settings: Option<&S>,
    http: HttpFactory<'_>,
    ask: impl AsyncFnOnce(&S, reqwest::Client) -> Vec<Probe>,
) -> Vec<Fact> {
    let Some(settings) = settings else { return Vec::new() };
    let mut news = match http() {
        Ok(http) => match tokio::time::timeout(PATIENCE, ask(settings, http)).await {
            Ok(news) => news,
            Err(_) => vec![Probe::Silent { seconds: PATIENCE.as_secs() }],
        },
        Err(detail) => vec![Probe::Unreachable { detail }],
    };
    // Two calls that failed for one reason are one piece of news.
    news.dedup();
    news.into_iter().map(|news| Fact::Chat { platform, news }).collect()
}

fn telegram_news(finding: telegram::Finding, own: &TelegramSettings) -> Option<Probe> {
    Some(match finding {
        telegram::Finding::Bot { name, hears_all: true } => Probe::Bot { name: format!("@{name}") },
        telegram::Finding::Bot { name, hears_all: false } => Probe::BotHearsLittle {
            name: format!("@{name}"),
            wants_all: own.groups.respond == GroupRespond::All,
        },
        // It is what was asked for.
        telegram::Finding::Webhook if own.webhook_url.is_some() => return None,
        telegram::Finding::Webhook => Probe::ForeignWebhook,
        telegram::Finding::BadToken { what } => Probe::BadCredentials { detail: what },
        telegram::Finding::Trouble { what } => Probe::Unreachable { detail: what },
    })
}

fn feishu_news(finding: feishu::Finding) -> Option<Probe> {
    use feishu::{About, CheckStatus};
    let detail = finding.detail;
    Some(match (finding.about, finding.status) {
        (About::Bot, CheckStatus::Good) => Probe::Bot { name: detail },
        (About::Bot, _) => Probe::BotOff { name: detail },
        // The bot's name says as much.
        (_, CheckStatus::Good) => return None,
        (About::Credentials, _) => Probe::BadCredentials { detail },
        (About::Connection, _) => Probe::Unreachable { detail },
        (About::Sending, _) => Probe::NoPermission { to: Missing::Send, detail },
        (About::Growing, _) => Probe::NoPermission { to: Missing::Grow, detail },
    })
}

fn qq_news(finding: qq::Finding, own: &QqSettings) -> Option<Probe> {
    Some(match finding {
        qq::Finding::Bot { name } => Probe::Bot { name },
        qq::Finding::Gateway { sessions_left: Some(0) } if own.mode == QqMode::Websocket => Probe::NoSessions,
        qq::Finding::Gateway { .. } => return None,
        qq::Finding::BadCredentials { what } => Probe::BadCredentials { detail: what },
        qq::Finding::AddressNotListed { what } => Probe::AddressNotListed { detail: what },
        qq::Finding::Trouble { what } => Probe::Unreachable { detail: what },
    })
}

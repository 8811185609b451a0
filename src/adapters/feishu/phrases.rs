//! What only Feishu gives reason to say.

use super::connection::Refusal;
use crate::phrases::phrases;

phrases! {
    format bot_off(name: &str) { en: "the bot {name} is not switched on", zh: "机器人 {name} 尚未启用" }
    text bot_off_fix() {
        en: "switch the bot on and publish a version of the app",
        zh: "请启用机器人并发布应用版本",
    }
    text hearing_bots() {
        en: "give the app im:message.group_at_msg.include_bot:readonly and im:message:readonly and publish a version; a bot is then \
             told of messages of other bots that really mention it",
        zh: "请为应用添加 im:message.group_at_msg.include_bot:readonly 和 im:message:readonly 权限并发布版本；之后机器人会收到其他机器人真正 @ 它的\
             消息",
    }
    format may_not_send(detail: &str) {
        en: "the bot may not send messages: {detail}",
        zh: "机器人无权发送消息：{detail}",
    }
    format may_not_stream(detail: &str) {
        en: "answers cannot be shown while they grow: {detail}",
        zh: "无法逐步显示回答：{detail}",
    }
    format bad_credentials(detail: &str) {
        en: "the app id or secret is wrong: {detail}",
        zh: "app id 或 secret 不正确：{detail}",
    }
    text unverified_webhook() {
        en: "webhook mode needs adapters.feishu.encryptKey or adapters.feishu.verificationToken",
        zh: "webhook 模式需要 adapters.feishu.encryptKey 或 adapters.feishu.verificationToken",
    }
    format connection_refused(refusal: Refusal, detail: &str) {
        (Refusal::NoCredentials, _) => {
            en: "no credentials were given ({detail})",
            zh: "没有提供凭据（{detail}）",
        }
        (Refusal::WrongCredentials, _) => {
            en: "the app id or secret is wrong, or no version of the app is published ({detail})",
            zh: "app id 或 secret 不正确，或者应用尚未发布版本（{detail}）",
        }
        (Refusal::TooManyConnections, _) => {
            en: "the app has too many connections ({detail})",
            zh: "应用的连接数过多（{detail}）",
        }
        (Refusal::OtherPlatform, _) => {
            en: "the app lives on the other platform: set adapters.feishu.domain to the one it was made on ({detail})",
            zh: "应用属于另一个平台：请把 adapters.feishu.domain 设为创建它的平台（{detail}）",
        }
        (Refusal::Refused, _) => {
            en: "the platform refuses the app ({detail})",
            zh: "平台拒绝了此应用（{detail}）",
        }
    }
    format add_scope(scope: &str) {
        en: "add the permission {scope} and publish a version of the app",
        zh: "请添加权限 {scope} 并发布应用版本",
    }
}

//! What only Feishu gives reason to say.

use crate::phrases::phrases;

phrases! {
    format bot_off(name: &str) { en: "the bot {name} is not switched on", zh: "机器人 {name} 尚未启用" }
    text bot_off_fix() {
        en: "switch the bot on and publish a version of the app",
        zh: "请启用机器人并发布应用版本",
    }
    format may_not_send(detail: &str) {
        en: "the bot may not send messages: {detail}",
        zh: "机器人无权发送消息：{detail}",
    }
    format may_not_stream(detail: &str) {
        en: "answers cannot be shown while they grow: {detail}",
        zh: "无法逐步显示回答：{detail}",
    }
    format add_scope(scope: &str) {
        en: "add the permission {scope} and publish a version of the app",
        zh: "请添加权限 {scope} 并发布应用版本",
    }
}

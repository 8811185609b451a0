//! What only Telegram gives reason to say.

use crate::phrases::phrases;

phrases! {
    text bot() { en: "the Telegram bot", zh: "Telegram 机器人" }
    format privacy_mode(name: &str) {
        en: "the bot is @{name}; privacy mode is on, so in groups it hears little",
        zh: "机器人是 @{name}；隐私模式已开启，在群里只能收到少量消息",
    }
    text privacy_mode_fix() {
        en: "for groups: BotFather, /setprivacy, Disable; then remove the bot from the group and add it again",
        zh: "如需在群里使用：在 BotFather 中执行 /setprivacy 并选择 Disable，然后把机器人移出群再重新加入",
    }
    text hearing_bots() {
        en: "in @BotFather, switch on Bot-to-Bot Communication Mode; a bot is then told of /command@it and of replies to it, and of \
             everything with privacy mode off or as an administrator",
        zh: "在 @BotFather 中开启 Bot-to-Bot Communication Mode；之后机器人会收到发给它的 /command@它 和对它的回复，关闭隐私模式或设为管理员后\
             可收到全部消息",
    }
    format bad_token(error: &str) {
        en: "telegram does not accept the bot token ({error}): check adapters.telegram.botToken in ship.json, or get a \
             token from @BotFather; a server of your own also needs the right adapters.telegram.apiUrl",
        zh: "Telegram 不接受机器人令牌（{error}）：请检查 ship.json 中的 adapters.telegram.botToken，或从 @BotFather 获取令牌；自建服务器\
             还需要正确的 adapters.telegram.apiUrl",
    }
    format bad_webhook(error: &str) {
        en: "telegram does not accept the webhook ({error}): check adapters.telegram.webhookUrl in ship.json",
        zh: "Telegram 不接受 webhook（{error}）：请检查 ship.json 中的 adapters.telegram.webhookUrl",
    }
    text foreign_webhook() {
        en: "a webhook is set for this bot, but ship.json says polling",
        zh: "此机器人设置了 webhook，而 ship.json 中是 polling",
    }
    text foreign_webhook_fix() {
        en: "`shipagent run` takes it away; make sure that no other program uses this bot",
        zh: "`shipagent run` 会移除它；请确认没有其他程序使用此机器人",
    }
}

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
    text foreign_webhook() {
        en: "a webhook is set for this bot, but ship.json says polling",
        zh: "此机器人设置了 webhook，而 ship.json 中是 polling",
    }
    text foreign_webhook_fix() {
        en: "`shipagent run` takes it away; make sure that no other program uses this bot",
        zh: "`shipagent run` 会移除它；请确认没有其他程序使用此机器人",
    }
}

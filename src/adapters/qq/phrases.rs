//! What only QQ gives reason to say.

use crate::phrases::phrases;

phrases! {
    text content_refused() {
        en: "(QQ did not let my answer through. It is in the console; please ask in other words.)",
        zh: "（QQ 未放行我的回答。完整内容可在控制台查看，请换个说法再问。）",
    }
    format file_refused(name: &str) {
        en: "(I could not send the file {name} here. It is in the console.)",
        zh: "（无法在此发送文件 {name}，可在控制台下载。）",
    }
    format bad_credentials(detail: &str) {
        en: "QQ refused the credentials ({detail}): check adapters.qq.appId and appSecret",
        zh: "QQ 拒绝了凭据（{detail}）：请检查 adapters.qq.appId 和 appSecret",
    }
    format no_intents(names: &str) {
        en: "QQ grants this bot none of the events it needs: ask for {names} in the bot's console",
        zh: "QQ 没有授予此机器人所需的任何事件：请在机器人管理后台申请 {names}",
    }
    text no_sessions() { en: "no further connection can be begun today", zh: "今天无法再建立新的连接" }
    text no_sessions_fix() {
        en: "wait until tomorrow, and see in .ship/logs why so many were begun",
        zh: "请等到明天，并在 .ship/logs 中查看为何建立了这么多连接",
    }
    format address_not_listed(detail: &str) {
        en: "this machine's address is not on the bot's whitelist: {detail}",
        zh: "本机地址不在机器人的白名单中：{detail}",
    }
    text address_not_listed_fix() {
        en: "add it to the IP whitelist in the bot's settings",
        zh: "请在机器人的设置中把它加入 IP 白名单",
    }
}

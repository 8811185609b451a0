//! What chat platforms give reason to say, and what the built-in offline model answers.

use super::table::phrases;

phrases! {
    text press_counted() { en: "Got it.", zh: "已收到。" }
    text press_without_question() { en: "There is no such question any more.", zh: "这个问题已不存在。" }
    text press_again() { en: "That did not work. Please press again.", zh: "没有成功，请再按一次。" }
    text message_recalled() { en: "[its author took this message back]", zh: "[消息已被撤回]" }
    text qq_content_refused() {
        en: "(QQ did not let my answer through. It is in the console; please ask in other words.)",
        zh: "（QQ 未放行我的回答。完整内容可在控制台查看，请换个说法再问。）",
    }
    format qq_file_refused(name: &str) {
        en: "(I could not send the file {name} here. It is in the console.)",
        zh: "（无法在此发送文件 {name}，可在控制台下载。）",
    }

    format probe_bot(name: &str) { en: "the bot is {name}", zh: "机器人是 {name}" }
    format probe_bad_credentials(detail: &str) {
        en: "the credentials were refused: {detail}",
        zh: "凭据被拒绝：{detail}",
    }
    format probe_bad_credentials_fix(keys: &str) {
        en: "check {keys} and the variables behind it",
        zh: "请检查 {keys} 及其变量",
    }
    format probe_unreachable(detail: &str) { en: "it cannot be asked: {detail}", zh: "无法询问：{detail}" }
    format probe_silent(seconds: u64) {
        en: "it said nothing in {seconds} seconds",
        zh: "在 {seconds} 秒内没有回答",
    }
    format probe_check_network(key: &str) {
        en: "check the network, the proxy and {key}",
        zh: "请检查网络、代理和 {key}",
    }
    text telegram_bot() { en: "the Telegram bot", zh: "Telegram 机器人" }
    format telegram_privacy_mode(name: &str) {
        en: "the bot is @{name}; privacy mode is on, so in groups it hears little",
        zh: "机器人是 @{name}；隐私模式已开启，在群里只能收到少量消息",
    }
    text telegram_privacy_mode_fix() {
        en: "for groups: BotFather, /setprivacy, Disable; then remove the bot from the group and add it again",
        zh: "如需在群里使用：在 BotFather 中执行 /setprivacy 并选择 Disable，然后把机器人移出群再重新加入",
    }
    text telegram_foreign_webhook() {
        en: "a webhook is set for this bot, but ship.json says polling",
        zh: "此机器人设置了 webhook，而 ship.json 中是 polling",
    }
    text telegram_foreign_webhook_fix() {
        en: "`shipagent run` takes it away; make sure that no other program uses this bot",
        zh: "`shipagent run` 会移除它；请确认没有其他程序使用此机器人",
    }
    format feishu_bot_off(name: &str) { en: "the bot {name} is not switched on", zh: "机器人 {name} 尚未启用" }
    text feishu_bot_off_fix() {
        en: "switch the bot on and publish a version of the app",
        zh: "请启用机器人并发布应用版本",
    }
    format feishu_may_not_send(detail: &str) {
        en: "the bot may not send messages: {detail}",
        zh: "机器人无权发送消息：{detail}",
    }
    format feishu_may_not_stream(detail: &str) {
        en: "answers cannot be shown while they grow: {detail}",
        zh: "无法逐步显示回答：{detail}",
    }
    format feishu_add_scope(scope: &str) {
        en: "add the permission {scope} and publish a version of the app",
        zh: "请添加权限 {scope} 并发布应用版本",
    }
    text qq_no_sessions() { en: "no further connection can be begun today", zh: "今天无法再建立新的连接" }
    text qq_no_sessions_fix() {
        en: "wait until tomorrow, and see in .ship/logs why so many were begun",
        zh: "请等到明天，并在 .ship/logs 中查看为何建立了这么多连接",
    }
    format qq_address_not_listed(detail: &str) {
        en: "this machine's address is not on the bot's whitelist: {detail}",
        zh: "本机地址不在机器人的白名单中：{detail}",
    }
    text qq_address_not_listed_fix() {
        en: "add it to the IP whitelist in the bot's settings",
        zh: "请在机器人的设置中把它加入 IP 白名单",
    }

    text offline_hello() { en: "Hello! ", zh: "你好！" }
    text offline_welcome() { en: "You are welcome.", zh: "不客气。" }
    text offline_goodbye() { en: "Goodbye.", zh: "再见。" }
    format offline_heard(quoted: &str) {
        en: "You said: “{quoted}”. I cannot think about it, for I am only the offline model. ",
        zh: "你说的是：“{quoted}”。我只是离线模型，没法真正思考它。",
    }
    text offline_introduction() {
        en: "I am the built-in offline model: no network, no key, the same answer every time. ",
        zh: "我是内置的离线模型：不联网、不用密钥，回答固定。",
    }
    text offline_hints() {
        en: "Try one of these:\n\n- `read: README.md`\n- `list: .`\n- `search: TODO`\n- `time`\n- `run: ls`\n\n\
             For real answers, set a model and its key in the settings.",
        zh: "可以试试：\n\n- `读：README.md`\n- `列出：.`\n- `搜索：TODO`\n- `现在几点`\n- `运行：ls`\n\n\
             想要真正的回答，请在设置里配置模型和密钥。",
    }
    format offline_will_use(tools: &str) { en: "I will use {tools}.", zh: "我来调用 {tools}。" }
    format offline_lacks(tools: &str) {
        en: "I was not given the tool {tools}, so I cannot do that.",
        zh: "我没有 {tools} 这个工具，所以做不到。",
    }
    text offline_between_sentences() { en: " ", zh: "" }
    format offline_no_result(tool: &str) { en: "{tool} gave nothing.", zh: "{tool} 没有返回内容。" }
    format offline_result(count: usize, tool: &str) {
        (1, _) => { en: "{tool} gave one line:", zh: "{tool} 返回了 {count} 行：" }
        _ => { en: "{tool} gave {count} lines:", zh: "{tool} 返回了 {count} 行：" }
    }
}

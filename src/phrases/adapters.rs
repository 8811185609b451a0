//! Messages that all chat platforms share, and the answers of the offline model. The messages of one platform
//! are in its own folder.

use super::table::phrases;

phrases! {
    text press_counted() { en: "Got it.", zh: "已收到。" }
    text press_without_question() { en: "There is no such question any more.", zh: "这个问题已不存在。" }
    text press_again() { en: "That did not work. Please press again.", zh: "没有成功，请再按一次。" }
    text stopped_before_read() {
        en: "Stopped. Your message had not been read yet; it is kept, and not answered.",
        zh: "已停止。您的消息还没有处理完；它会保留，但不会回答。",
    }
    text stopped_message() { en: "[stopped by its author before it was read]", zh: "[处理之前已被作者停止]" }
    text message_recalled() { en: "[its author took this message back]", zh: "[消息已被撤回]" }

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

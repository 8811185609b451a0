//! Questions and messages of `init`, and messages of a start.

use std::fmt::Display;

use super::table::phrases;

phrases! {
    text ask_language() { en: "Language of the agent’s own words · 语言", zh: "智能体自身文字的语言 · Language" }
    /// The languages, each by its own name.
    text own_name_en() { en: "English", zh: "English（英语）" }
    text own_name_zh() { en: "Chinese (中文)", zh: "中文" }
    text ask_number() { en: "Number", zh: "编号" }
    format bad_number(most: usize) { en: "a number from 1 to {most}", zh: "请输入 1 到 {most} 的编号" }
    text ask_provider() { en: "Which model answers?", zh: "由哪个模型回答？" }
    format bad_provider(ids: &str) {
        en: "a number, one of {ids}, or an address such as http://127.0.0.1:11434/v1",
        zh: "请输入编号、{ids} 之一，或地址（例如 http://127.0.0.1:11434/v1）",
    }
    text ask_address() {
        en: "Address of the server, up to /v1",
        zh: "服务器地址（写到 /v1 为止）",
    }
    format ask_key(provider: &str, page: &str) {
        en: "Key for {provider} (made at {page}); it is not shown, Enter skips",
        zh: "{provider} 的密钥（在 {page} 创建）；输入时不显示，按 Enter 跳过",
    }
    format ask_key_again(variable: &str) {
        en: "Key; it is not shown, Enter takes the one in {variable}",
        zh: "密钥；输入时不显示，按 Enter 使用 {variable} 中的密钥",
    }
    text ask_key_if_needed() {
        en: "Key, where the server needs one; it is not shown, Enter for none",
        zh: "密钥（服务器需要时）；输入时不显示，不需要则按 Enter",
    }
    text not_checked() {
        en: "  Without a key the model is not asked now; put the key into .env later.",
        zh: "  没有密钥，暂不测试模型；之后请把密钥写入 .env。",
    }
    format asking_server(address: &str) { en: "  asking {address} …", zh: "  正在测试 {address} …" }
    format server_answered(address: &str) { en: "  ✓ {address} answers", zh: "  ✓ {address} 可用" }
    format model_answered(model: &str) { en: "  ✓ {model} answers", zh: "  ✓ {model} 可用" }
    format trouble(message: &str) { en: "  ✗ {message}", zh: "  ✗ {message}" }
    format fine(message: &str) { en: "  ✓ {message}", zh: "  ✓ {message}" }
    text ask_what_now() { en: "What now?", zh: "接下来怎么做？" }
    text retry_key() { en: "Try again, with the same or another key", zh: "重试，用同一个或另一个密钥" }
    text retry_provider() { en: "Choose another provider", zh: "另选服务商" }
    text retry_values() { en: "Enter them again", zh: "重新输入" }
    text keep_anyway() { en: "Keep it and go on", zh: "保留并继续" }
    text ask_model() { en: "Name of the model", zh: "模型名称" }
    format ask_model_of_list(count: usize) {
        en: "The server has {count} models; choose a number, or type a name",
        zh: "服务器有 {count} 个模型；请选择编号，或输入名称",
    }
    text ask_name() { en: "Name of the agent", zh: "智能体的名称" }
    text ask_purpose() {
        en: "What is it for? One sentence for Agent.md, or - for the template alone",
        zh: "它的用途是什么？用一句话写入 Agent.md；只用模板则写 -",
    }
    format ask_adapters(names: &str) {
        en: "Chat platforms besides the web console: {names}, several with commas",
        zh: "网页控制台之外的聊天平台：{names}，可用逗号分隔多个",
    }
    format ask_secret(platform: &str, variable: &str, stored: bool) {
        (_, _, true) => {
            en: "{platform}: {variable}; it is not shown, Enter takes the one that is set",
            zh: "{platform}：{variable}；输入时不显示，按 Enter 使用已有的值",
        }
        (_, _, false) => {
            en: "{platform}: {variable}; it is not shown, Enter leaves it for later",
            zh: "{platform}：{variable}；输入时不显示，按 Enter 以后再填",
        }
    }
    format asking_platform(title: &str) { en: "  asking {title} …", zh: "  正在检查 {title} …" }
    format owner_by_invitation(bot: &str, message: &str, link: &str) {
        en: "To be its owner, send this to {bot} within an hour, while `shipagent run` runs: {message} ({link})",
        zh: "要成为所有者，请在一小时内、`shipagent run` 运行期间向{bot}发送：{message}（{link}）",
    }
    format owner_by_code(platform: &str) {
        en: "To be its owner: start it, write to the bot in {platform}; it answers with a code for `shipagent access approve CODE --role owner`.",
        zh: "要成为所有者：启动后在 {platform} 中给机器人发消息，它会回复一个配对码，再运行 `shipagent access approve 配对码 --role owner`。",
    }
    text between_names() { en: ", ", zh: "、" }
    format ask_overwrite(name: &str) { en: "{name} exists. Overwrite it?", zh: "{name} 已存在，覆盖吗？" }
    format bad_adapter(names: &str) { en: "{names} or none", zh: "{names} 或 none" }
    format wrote(name: &str) { en: "wrote {name}", zh: "已写入 {name}" }
    format changed(name: &str) { en: "changed {name}", zh: "已更改 {name}" }
    format kept(name: &str) { en: "kept, as it was there already: {name}", zh: "已存在，保持不变： {name}" }
    text next_steps() {
        en: "Next: edit Agent.md, then `shipagent run`.",
        zh: "下一步：编辑 Agent.md，然后运行 `shipagent run`。",
    }
    format next_steps_with(variables: &str) {
        en: "Next: edit Agent.md, set {variables} in .env, then `shipagent run`.",
        zh: "下一步：编辑 Agent.md，在 .env 中设置 {variables}，然后运行 `shipagent run`。",
    }
    text no_terminal() {
        en: "standard input is not a terminal, so nothing can be asked; use --yes to take the defaults",
        zh: "标准输入不是终端，无法提问；请用 --yes 采用默认值",
    }
    text input_ended() {
        en: "the input ended before everything was answered; nothing was written",
        zh: "输入在回答完之前就结束了；没有写入任何文件",
    }
    format bad_option(option: &str, why: &str) { en: "{option}: {why}", zh: "{option}：{why}" }
    format terminal_unreadable(cause: impl Display) {
        en: "the terminal cannot be read: {cause}",
        zh: "无法读取终端：{cause}",
    }
    format terminal_unwritable(cause: impl Display) {
        en: "the terminal cannot be written: {cause}",
        zh: "无法写入终端：{cause}",
    }
    format cannot_write(path: impl Display, cause: impl Display) {
        en: "cannot write {path}: {cause}",
        zh: "无法写入 {path}：{cause}",
    }

    /// The names of the lines of the start, padded to one width.
    text line_project() { en: "project ", zh: "项目" }
    text line_model() { en: "model   ", zh: "模型" }
    text line_adapters() { en: "adapters", zh: "接入" }
    text line_starting() { en: "starting", zh: "启动中" }
    text line_resumed() { en: "resumed ", zh: "恢复" }
    text line_warnings() { en: "warnings", zh: "警告" }
    text line_console() { en: "console ", zh: "控制台" }
    text line_stop() { en: "stop    ", zh: "停止" }
    text line_sandbox() { en: "sandbox ", zh: "沙箱" }
    text line_sockets() { en: "sockets ", zh: "套接字" }
    format token_is_in(address: impl Display, place: &str) {
        en: "http://{address}/ (the token is in {place})",
        zh: "http://{address}/（令牌在 {place} 中）",
    }
    format not_reached_yet(names: &str) {
        en: "{names} (not reached yet; it goes on trying)",
        zh: "{names}（尚未连上，会继续尝试）",
    }
    format warnings(count: usize) {
        en: "{count}, see above; shipagent doctor lists them again",
        zh: "{count} 条，见上文；shipagent doctor 会再次列出",
    }
    text how_to_stop() { en: "Ctrl-C (twice: at once)", zh: "Ctrl-C（按两次立即停止）" }
    format offline_model(key: &str) {
        en: "offline (built in, no network; set {key} for a real one)",
        zh: "offline（内置，无需联网；设置 {key} 可使用真正的模型）",
    }
    text console_is_off() {
        en: "--listen: the console is turned off in ship.json (adapters.web.enabled)",
        zh: "--listen：ship.json 中关闭了控制台（adapters.web.enabled）",
    }

    text another_daemon() {
        en: "another daemon already serves this project: stop it first, or use the running one",
        zh: "另一个守护进程已在服务此项目：请先停止它，或直接使用它",
    }
    format another_daemon_process(pid: u32) {
        en: "another daemon (process {pid}) already serves this project: stop it first, or use the running one",
        zh: "另一个守护进程（进程 {pid}）已在服务此项目：请先停止它，或直接使用它",
    }
    format address_in_use(address: impl Display) {
        en: "{address} is in use by another program: stop it, or set adapters.web.listen to another port",
        zh: "{address} 已被其他程序占用：请停止该程序，或把 adapters.web.listen 设为其他端口",
    }
    format address_not_permitted(address: impl Display) {
        en: "not allowed to listen on {address}: ports below 1024 need privileges",
        zh: "无权监听 {address}：1024 以下的端口需要特权",
    }
    format cannot_listen(address: impl Display, cause: impl Display) {
        en: "cannot listen on {address}: {cause}",
        zh: "无法监听 {address}：{cause}",
    }
    format bad_shell_rule(cause: impl Display) {
        en: "ship.json: permissions.exec_shell: {cause}",
        zh: "ship.json：permissions.exec_shell 中的规则无效：{cause}",
    }
    format no_http_client(cause: impl Display) {
        en: "cannot set up http for the chat platforms: {cause}",
        zh: "无法为聊天平台建立 HTTP 客户端：{cause}",
    }
}

//! Questions and messages of `init`, and messages of a start.

use std::fmt::Display;

use super::table::phrases;

phrases! {
    text ask_name() { en: "Name of the agent", zh: "智能体的名称" }
    text ask_server() {
        en: "Model: openai, offline, or a server's address such as http://127.0.0.1:11434/v1",
        zh: "模型：openai、offline，或服务器地址，例如 http://127.0.0.1:11434/v1",
    }
    text ask_model() { en: "Name of the model", zh: "模型名称" }
    text ask_key_variable() {
        en: "Variable that holds the key, or - for none",
        zh: "保存密钥的环境变量，不需要则写 -",
    }
    format ask_adapters(names: &str) {
        en: "Adapters besides the web console: {names}, several with commas",
        zh: "网页控制台之外的接入：{names}，可用逗号分隔多个",
    }
    text between_names() { en: ", ", zh: "、" }
    format ask_overwrite(name: &str) { en: "{name} exists. Overwrite it?", zh: "{name} 已存在，覆盖吗？" }
    text bad_name() { en: "a name has 1 to 80 characters", zh: "名称须有 1 到 80 个字符" }
    text bad_address() {
        en: "write the address as http://host or https://host/path",
        zh: "请把地址写成 http://主机 或 https://主机/路径",
    }
    text bad_variable() {
        en: "a variable's name has letters, digits and _, and no digit first",
        zh: "变量名只用字母、数字和 _，且不以数字开头",
    }
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

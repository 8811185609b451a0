//! What `shipagent service` and `shipagent open` say.

use std::fmt::Display;

use super::table::phrases;

phrases! {
    text no_systemd() {
        en: "systemd does not manage services here (a container, or another system): start `shipagent run` with the \
             supervisor that you have; `shipagent service install --print` prints the unit to copy from",
        zh: "这里没有由 systemd 管理服务（可能是容器或其他系统）：请用现有的进程管理程序启动 `shipagent run`；\
             `shipagent service install --print` 会打印可供参考的单元文件",
    }
    format installed(name: &str, file: impl Display) {
        en: "{name} is installed and runs ({file}). `shipagent service logs` shows what it says, \
             `shipagent open` opens the console.",
        zh: "{name} 已安装并正在运行（{file}）。`shipagent service logs` 查看日志，`shipagent open` 打开控制台。",
    }
    text linger() {
        en: "It ends when you log out, unless `loginctl enable-linger` was run once.",
        zh: "退出登录后服务会停止，除非运行过一次 `loginctl enable-linger`。",
    }
    format uninstalled(name: &str) {
        en: "{name} is stopped and removed; the project and its `.ship` folder are untouched.",
        zh: "{name} 已停止并移除；项目及其 `.ship` 目录保持不变。",
    }
    format not_installed(project: impl Display) {
        en: "no service of {project} was installed: `shipagent service install` does it (with --name, if it has another name)",
        zh: "{project} 没有安装服务：请运行 `shipagent service install`（名称不同时请加 --name）",
    }
    format name_taken(name: &str, file: impl Display) {
        en: "{file} belongs to another project or was written by hand: choose another name with --name, or remove {name} first",
        zh: "{file} 属于其他项目或由人工编写：请用 --name 换一个名称，或先移除 {name}",
    }
    format not_as_root(project: impl Display) {
        en: "{project} belongs to root, and a service that runs commands should not be root: \
             name a user with --run-as and give them the folder (chown -R USER: {project})",
        zh: "{project} 属于 root，而运行命令的服务不应以 root 身份运行：请用 --run-as 指定用户，\
             并把目录交给该用户（chown -R USER: {project}）",
    }
    format bad_name(name: &str) {
        en: "`{name}` cannot be a name: letters, digits, `-`, `_`, `.` and `:` can",
        zh: "`{name}` 不能作为名称：只能使用字母、数字、`-`、`_`、`.` 和 `:`",
    }
    text no_home() {
        en: "HOME is not set: where the units of this user are is unknown",
        zh: "没有设置 HOME：无法确定该用户的单元目录",
    }
    format refused_by_systemd(command: &str, said: &str) {
        en: "`systemctl {command}` failed: {said}",
        zh: "`systemctl {command}` 失败：{said}",
    }
    format cannot_write(file: impl Display, error: impl Display) {
        en: "{file} cannot be written: {error} (services of the machine need root: sudo, or --user)",
        zh: "无法写入 {file}：{error}（系统服务需要 root 权限：请使用 sudo，或加 --user）",
    }
    format cannot_start(program: &str, error: impl Display) {
        en: "{program} cannot be started: {error}",
        zh: "无法启动 {program}：{error}",
    }
    format odd_path(path: impl Display) {
        en: "a unit cannot hold this path: {path}",
        zh: "单元文件无法包含此路径：{path}",
    }

    text no_daemon_to_open() {
        en: "no daemon runs in this project: start it with `shipagent run`",
        zh: "该项目没有正在运行的守护进程：请用 `shipagent run` 启动",
    }
    format bad_base(base: &str) {
        en: "`{base}` is not an address such as https://agent.example.org",
        zh: "`{base}` 不是有效地址，应类似 https://agent.example.org",
    }
    format login_link(minutes: u64) {
        en: "This link logs in once, within {minutes} minutes:",
        zh: "此链接可在 {minutes} 分钟内登录一次：",
    }
}

//! The help of the command line. An item is a command (`approvals list`), behind a slash one of its arguments
//! (`approvals list/state`), and behind a `=` one of its values. An argument without a command belongs to all.

use super::table::phrases;

phrases! {
    named help(item: &str) {
        "" => { en: "Turns a project directory into an agent people talk to", zh: "把项目目录变成可以与人对话的智能体" }
        "/directory" => { en: "The project directory: where Agent.md is", zh: "项目目录：Agent.md 所在的目录" }
        "/json" => { en: "Print JSON, for programs", zh: "输出 JSON，供程序使用" }

        "run" => {
            en: "Run the agent: the web console and every adapter that ship.json turns on",
            zh: "运行智能体：网页控制台，以及 ship.json 中启用的所有接入",
        }
        "run/listen" => {
            en: "Serve the console and the API here: an address with a port, or a port of 127.0.0.1",
            zh: "控制台和 API 的监听地址：地址加端口，或 127.0.0.1 的端口",
        }
        "run/setup" => {
            en: "In a new directory: write a first Agent.md, and set everything else up in the console",
            zh: "用于新目录：写入初始 Agent.md，其余在控制台中设置",
        }
        "init" => { en: "Make a project: write Agent.md and ship.json", zh: "新建项目：写入 Agent.md 和 ship.json" }
        "init/yes" => { en: "Ask nothing: take the defaults, keep files that exist", zh: "不提问：采用默认值，保留已有文件" }
        "init/force" => { en: "Ask nothing and overwrite files that exist", zh: "不提问，并覆盖已有文件" }
        "init/name" => { en: "The agent's name [default: the directory's name]", zh: "智能体的名称 [默认：目录名]" }
        "init/purpose" => { en: "What the agent is for, a sentence for Agent.md", zh: "智能体的用途，写入 Agent.md 的一句话" }
        "init/language" => {
            en: "The language of the daemon's own words: en or zh [default: that of each person]",
            zh: "守护进程自身文字的语言：en 或 zh [默认：与每个人一致]",
        }
        "init/provider" => {
            en: "The provider of the model: openai, deepseek, qwen, moonshot, glm, ollama, other or offline",
            zh: "模型服务商：openai、deepseek、qwen、moonshot、glm、ollama、other 或 offline",
        }
        "init/base_url" => {
            en: "The address of the model's server, such as http://127.0.0.1:11434/v1",
            zh: "模型服务器的地址，例如 http://127.0.0.1:11434/v1",
        }
        "init/model" => { en: "The model's name", zh: "模型名称" }
        "init/key_variable" => {
            en: "The environment variable that holds the server's key",
            zh: "保存服务器密钥的环境变量",
        }
        "init/adapters" => {
            en: "An adapter to prepare, besides the web console; may be given several times",
            zh: "网页控制台之外要准备的接入；可以给出多次",
        }
        "doctor" => { en: "Check everything the agent needs and say what to do", zh: "检查智能体需要的一切，并说明该怎么做" }
        "service" => {
            en: "Run the agent as a systemd service: install, look at and remove it",
            zh: "以 systemd 服务运行智能体：安装、查看和移除",
        }
        "service install" => { en: "Write the unit, enable and start it", zh: "写入单元文件，启用并启动服务" }
        "service install/run_as" => {
            en: "The user that it runs as [default: the owner of the project]",
            zh: "运行服务的用户 [默认：项目的所有者]",
        }
        "service install/print" => { en: "Print the unit and change nothing", zh: "打印单元文件，不做任何更改" }
        "service install/user" | "service uninstall/user" | "service status/user" | "service logs/user"
        | "service restart/user" => {
            en: "A service of the current user; without root it always is one",
            zh: "当前用户的服务；没有 root 权限时总是如此",
        }
        "service install/name" | "service uninstall/name" | "service status/name" | "service logs/name"
        | "service restart/name" => {
            en: "The service's name [default: shipagent-<directory>]",
            zh: "服务的名称 [默认：shipagent-<目录名>]",
        }
        "service uninstall" => { en: "Stop it and remove the unit; the project stays", zh: "停止服务并移除单元文件；项目保留" }
        "service status" => { en: "Show whether it runs", zh: "显示是否正在运行" }
        "service logs" => { en: "Show what it says", zh: "显示日志" }
        "service logs/follow" => { en: "Show new lines as they come", zh: "持续显示新的日志" }
        "service logs/lines" => { en: "Only so many of the newest lines", zh: "只显示最新的若干行" }
        "service restart" => { en: "Restart it gracefully; nothing is lost", zh: "平稳重启；不会丢失任何内容" }
        "open" => {
            en: "Open the console of the running daemon with a link that logs in once",
            zh: "用一次性登录链接打开正在运行的守护进程的控制台",
        }
        "open/print" => { en: "Print the link only; start no browser", zh: "只打印链接，不启动浏览器" }
        "open/base" => {
            en: "The console's public address, such as https://agent.example.org",
            zh: "控制台的公开地址，例如 https://agent.example.org",
        }
        "chat" => { en: "Talk to the agent in this terminal", zh: "在此终端中与智能体对话" }
        "chat/message" => {
            en: "Say this, print the answer and end; what is piped into the standard input goes below it",
            zh: "发送这条消息，打印回答后结束；通过管道传入标准输入的内容附在其后",
        }
        "chat/thread" => {
            en: "Which conversation to go on with, by name or by id; a new name begins a new one",
            zh: "继续哪个会话，可用名字或 id；新名字会开始新的会话",
        }
        "threads" => { en: "Look at conversations", zh: "查看会话" }
        "threads list" => { en: "List them, newest first", zh: "列出会话，最新的在前" }
        "threads show" => { en: "Show one", zh: "显示一个会话" }
        "threads show/thread" | "threads export/thread" => {
            en: "The thread's id, as `threads list` prints it",
            zh: "会话的 id，即 `threads list` 打印的 id",
        }
        "threads show/limit" => { en: "Only so many of the newest messages", zh: "只显示最新的若干条消息" }
        "threads export" => {
            en: "Write one to standard output or a file, whole",
            zh: "把整个会话写到标准输出或文件",
        }
        "threads export/format" => { en: "In which form", zh: "导出的格式" }
        "threads export/format=jsonl" => {
            en: "One UIMessage per line, the newest version of each",
            zh: "每行一个 UIMessage，各取最新版本",
        }
        "threads export/format=markdown" => { en: "To read", zh: "供阅读" }
        "threads export/output" => {
            en: "Where to; a file that exists is not overwritten",
            zh: "写到哪里；已有的文件不会被覆盖",
        }
        "approvals" => { en: "Decide what the agent asks for", zh: "决定智能体的请求" }
        "approvals list" => { en: "List them, newest first", zh: "列出请求，最新的在前" }
        "approvals list/state" => { en: "Which of them", zh: "列出哪些" }
        "approvals list/state=pending" => { en: "Those that wait", zh: "等待决定的" }
        "approvals list/state=all" => { en: "All there ever were", zh: "所有提出过的" }
        "approvals show" => {
            en: "Show one, with everything that is known about the call",
            zh: "显示一个请求，以及该调用的所有已知信息",
        }
        "approvals show/approval" | "approvals approve/approval" | "approvals deny/approval" | "approvals done/approval" => {
            en: "Its number (A1) or its id",
            zh: "请求的编号（A1）或 id",
        }
        "approvals approve" => {
            en: "Say yes; to a call that a restart cut off: run it again",
            zh: "同意；若调用被重启打断：重新执行",
        }
        "approvals approve/scope" => {
            en: "How far it reaches: once, thread, shape, project, or minutes=N",
            zh: "同意的范围：once、thread、shape、project 或 minutes=N",
        }
        "approvals approve/reason" | "approvals deny/reason" | "approvals done/reason" => {
            en: "Why, for the record and for the agent",
            zh: "理由，供记录和智能体参考",
        }
        "approvals deny" => {
            en: "Say no; to a call that a restart cut off: leave it",
            zh: "拒绝；若调用被重启打断：不再执行",
        }
        "approvals done" => {
            en: "Say that a call that a restart cut off was done",
            zh: "说明被重启打断的调用已经完成",
        }
        "grants" => {
            en: "Look at what was allowed for longer than once, and take it back",
            zh: "查看和收回长期授权",
        }
        "grants list" => { en: "List them, oldest first", zh: "列出授权，最早的在前" }
        "grants revoke" => {
            en: "Take one back: from the next call on the agent asks again",
            zh: "收回一个授权：从下一次调用起，智能体会再次询问",
        }
        "grants revoke/grant" => { en: "Its number, such as G1", zh: "授权的编号，例如 G1" }
        "memory" => { en: "Look at what is remembered between conversations", zh: "查看跨会话的记忆" }
        "memory search" => {
            en: "Search notes and core memory; works with and without a running daemon",
            zh: "搜索笔记和核心记忆；无论守护进程是否运行都可以使用",
        }
        "memory search/query" => { en: "What to look for, in your own words", zh: "要查找的内容，用自己的话说即可" }
        "memory search/limit" => { en: "How many results to print at most", zh: "最多打印多少条结果" }
        "memory edit" => {
            en: "Change core memory: with your editor, or to the content of a file",
            zh: "修改核心记忆：用你的编辑器，或换成一个文件的内容",
        }
        "memory edit/file" => { en: "The new content; - reads standard input", zh: "新内容所在的文件；- 表示标准输入" }
        "memory forget" => {
            en: "Remove an item, its text in the history of changes included",
            zh: "删除一条记忆，包括它在修改记录中的内容",
        }
        "memory forget/id" => { en: "Its id, such as k3f9a", zh: "它的 id，例如 k3f9a" }
        "memory forget/history" => {
            en: "Also what was said in the direct chats of the scope: it stays in the thread files and is not found any more",
            zh: "也包括该范围私聊中说过的话：仍留在会话文件里，但不再能搜到",
        }
        "memory forget/all" => { en: "Everything of the scope, notes included", zh: "该范围的全部内容，包括笔记" }
        "memory undo" => { en: "Take back the last change", zh: "撤销上一次修改" }
        "memory export" => {
            en: "Write core memory, notes, changes and a person's messages into a new folder",
            zh: "把核心记忆、笔记、修改记录和个人消息导出到新文件夹",
        }
        "memory export/folder" => { en: "The folder to make", zh: "要新建的文件夹" }
        "memory show/scope" | "memory path/scope" | "memory edit/scope" | "memory forget/scope" | "memory undo/scope"
        | "memory export/scope" | "memory search/scope" | "memory import/scope" => {
            en: "Whose: project, main, peer:NAME, PLATFORM:user:ID or group:PLATFORM:chat:ID",
            zh: "范围：project、main、peer:名字、平台:user:ID 或 group:平台:chat:ID",
        }
        "memory import" => {
            en: "Add conversations to the notes: every *.jsonl of a folder, a line is {\"id\", \"at\": milliseconds, \"author\", \"text\"}",
            zh: "把对话加入笔记：读取文件夹中的每个 *.jsonl，每行为 {\"id\", \"at\": 毫秒, \"author\", \"text\"}",
        }
        "memory import/folder" => { en: "The folder with the files", zh: "文件所在的文件夹" }
        "memory reindex" => {
            en: "Make the search index anew from the files it comes from",
            zh: "根据原始文件重建搜索索引",
        }
        "memory status" => { en: "Show what the search index holds", zh: "显示搜索索引的内容" }
        "memory show" => { en: "Show it", zh: "显示记忆" }
        "memory path" => {
            en: "Print the path of the file it is in, which you may write yourself",
            zh: "打印记忆文件的路径，你可以自己修改它",
        }
        "memory show/user" | "memory path/user" => {
            en: "About this person, such as telegram:user:123456, instead of the project",
            zh: "关于此人（例如 telegram:user:123456），而不是项目",
        }
        "tasks" => { en: "Look at scheduled tasks, start and pause them", zh: "查看、启动和暂停定时任务" }
        "tasks list" => { en: "List the tasks with their next runs", zh: "列出任务及其下次运行时间" }
        "tasks show" => { en: "Show a task and its file", zh: "显示一个任务及其文件" }
        "tasks run" => { en: "Start a run now; the schedule stays as it is", zh: "立即运行一次；时间表不变" }
        "tasks pause" => { en: "Start no more runs of a task", zh: "暂停一个任务" }
        "tasks resume" => {
            en: "End a pause, or enable a task that failed too often",
            zh: "恢复一个暂停的任务，或重新启用失败过多的任务",
        }
        "tasks validate" => {
            en: "Check task files and print their next five times",
            zh: "检查任务文件并打印接下来的五个时间",
        }
        "tasks history" => { en: "Show the last runs of a task", zh: "显示一个任务最近的运行" }
        "tasks clean" => { en: "Move the files of tasks that are over to .ship/tasks/done", zh: "把已结束任务的文件移到 .ship/tasks/done" }
        "tasks show/task" | "tasks run/task" | "tasks pause/task" | "tasks resume/task" | "tasks validate/task"
        | "tasks history/task" => {
            en: "The task: the name of its file without .md",
            zh: "任务：文件名去掉 .md",
        }
        "access" => { en: "Let people in, and out", zh: "放行用户，或收回访问权" }
        "access list" => {
            en: "List who was let in, which groups are open, and who asks",
            zh: "列出已放行的人、开放的群组和申请者",
        }
        "access approve" => { en: "Let in whoever was given this code", zh: "放行持有此配对码的人" }
        "access approve/code" => { en: "The code", zh: "配对码" }
        "access approve/role" => {
            en: "What they may do: owner (like those in ship.json), member (talk, and approve what they asked for), or guest \
                 (talk; what needs approval needs somebody else's)",
            zh: "对方的身份：owner（与 ship.json 中的所有者相同）、member（可以对话，并批准自己提出的操作）或 \
                 guest（可以对话；需要批准的操作要由别人同意）",
        }
        "access invite" => {
            en: "Make a code that lets in one person, whoever brings it first",
            zh: "生成一个邀请码，放行最先出示它的人",
        }
        "access invite/role" => { en: "What they may do: owner, member or guest", zh: "对方的身份：owner、member 或 guest" }
        "access role" => { en: "Change what somebody may do who was let in", zh: "更改已放行者的身份" }
        "access role/who" => { en: "Such as telegram:user:123", zh: "例如 telegram:user:123" }
        "access role/role" => { en: "owner, member or guest", zh: "owner、member 或 guest" }
        "access revoke" => { en: "Take access back from a person or a group", zh: "收回用户或群组的访问权" }
        "access revoke/who" => {
            en: "Such as telegram:user:123 or telegram:chat:-100123",
            zh: "例如 telegram:user:123 或 telegram:chat:-100123",
        }
        "audit" => { en: "Read who was allowed what, and what came of it", zh: "查看谁被允许做什么，结果如何" }
        "audit/since" => {
            en: "Only what happened since: 30m, 2h, 7d, or a date such as 2026-11-16",
            zh: "只看此后的记录：30m、2h、7d，或日期，例如 2026-11-16",
        }
        "audit/thread" => { en: "Only what happened in this conversation", zh: "只看此会话中的记录" }
        "audit/event" => {
            en: "Only this kind of event, such as decision, execution, or grant (for all of grant-*)",
            zh: "只看此类事件，例如 decision、execution，或 grant（即所有 grant-*）",
        }
        "audit/limit" => { en: "Only so many of the newest lines", zh: "只看最新的若干行" }
        "audit/json" => {
            en: "Print the lines as they are, one JSON object each",
            zh: "按原样打印，每行一个 JSON 对象",
        }
        "usage" => { en: "Show what calls of models used and cost", zh: "查看模型调用的用量和费用" }
        "usage/by" => {
            en: "How to group: day, month, model, thread, person, task or purpose; several with commas",
            zh: "分组方式：day、month、model、thread、person、task 或 purpose；可用逗号给出多个",
        }
        "usage/since" => {
            en: "Only what was used since: 30m, 2h, 7d, or a date such as 2026-11-16 [default: 30 days, by month 12 months]",
            zh: "只看此后的用量：30m、2h、7d，或日期，例如 2026-11-16 [默认：30 天；按月则为 12 个月]",
        }
        "usage/until" => {
            en: "Only what was used before; a date belongs to the range",
            zh: "只看此前的用量；给出日期时包含当天",
        }
        "usage/csv" => { en: "Print a table for spreadsheets", zh: "输出电子表格可读的 CSV" }
        "config" => { en: "Look at the configuration, and change it", zh: "查看和修改配置" }
        "config check" => {
            en: "Check ship.json and .env, and name every mistake at once",
            zh: "检查 ship.json 和 .env，一次列出所有错误",
        }
        "config get" => {
            en: "Print the settings with where each comes from; secrets are left out",
            zh: "打印设置及其来源，不含密钥",
        }
        "config get/key" => {
            en: "A key such as llm.model, or a section such as llm; without it, all that are set",
            zh: "键（如 llm.model）或一节（如 llm）；不写则打印所有已设置的键",
        }
        "config set" => {
            en: "Change a key of ship.json; comments and order stay",
            zh: "修改 ship.json 中的一个键，注释和顺序不变",
        }
        "config set/key" => { en: "The key, such as llm.model", zh: "键，例如 llm.model" }
        "config set/value" => {
            en: "A text, or JSON for a list, number, true or false; without it, one line of the standard input",
            zh: "文本；列表、数字、true 或 false 用 JSON 书写；不写则读取标准输入的一行",
        }
        "config unset" => {
            en: "Remove a key from ship.json, so that its default applies",
            zh: "从 ship.json 中删去一个键，恢复默认值",
        }
        "config unset/key" => { en: "The key, such as llm.model", zh: "键，例如 llm.model" }
        "config schema" => {
            en: "Print the JSON Schema of ship.json, for editors",
            zh: "打印 ship.json 的 JSON Schema，供编辑器使用",
        }
        "config reference" => {
            en: "Print what every key of ship.json means, as Markdown",
            zh: "以 Markdown 打印 ship.json 每个键的含义",
        }
        "man" => { en: "Write the manual pages into a folder", zh: "把手册页写入一个目录" }
        "man/dir" => { en: "The folder", zh: "目录" }
        "completions" => { en: "Print a completion script for a shell", zh: "打印 shell 的补全脚本" }
        "completions/shell" => { en: "The shell", zh: "哪种 shell" }
    }
    /// What `--help` says beyond `-h`.
    named long_help(item: &str) {
        "run" => {
            en: "Stops gracefully on the first SIGINT or SIGTERM and at once on the second.",
            zh: "收到第一个 SIGINT 或 SIGTERM 时平稳停止，收到第二个时立即停止。",
        }
        "run/listen" => {
            en: "Takes precedence over adapters.web.listen. Port 0 takes a free port.",
            zh: "优先于 adapters.web.listen。端口 0 表示使用任意空闲端口。",
        }
        "init" => {
            en: "Asks on a terminal; files that exist are never overwritten without a yes.",
            zh: "在终端中提问；未经同意，不会覆盖已有文件。",
        }
        "config set" => {
            en: "Nothing is written unless the whole file is valid with the change. A secret is written to .env (only its \
                 owner may read it) and ship.json gets a ${VAR} that stands for it; leave the value out to keep it from the \
                 history of the shell.",
            zh: "修改后整个文件有效才会写入。密钥写入 .env（仅所有者可读），ship.json 中用 ${VAR} 引用；省略值可避免密钥留在 \
                 shell 历史中。",
        }
        "doctor" => {
            en: "Looks at Agent.md, the configuration, the model (with one real call of a single token), the state directory, \
                 disk, port, lock, sandbox and clock. Ends with 1 when something must be mended.",
            zh: "检查 Agent.md、配置、模型（真实调用一次，只生成一个 token）、状态目录、磁盘、端口、锁、沙箱和时钟。\
                 有需要修复的问题时，退出码为 1。",
        }
        "chat" => {
            en: "Uses the running daemon; without one, the agent runs inside this process. Ctrl-C stops the turn. With a \
                 message, or with one piped in, prints the answer and ends; when the agent asks for approval first, it prints \
                 the number of the request and how to answer, and ends with 1.",
            zh: "使用正在运行的守护进程；没有守护进程时，智能体在本进程中运行。Ctrl-C 停止当前回答。给出消息或通过管道传入\
                 消息时，打印回答后结束；若智能体先请求批准，则打印请求的编号和回答方法，退出码为 1。",
        }
        "chat/thread" => {
            en: "Without it, one message gets a conversation of its own, and typed lines go on with `terminal`.",
            zh: "不给出时，单条消息使用单独的会话，逐行输入则继续 `terminal` 会话。",
        }
        "completions" => {
            en: "For example: shipagent completions bash > ~/.local/share/bash-completion/completions/shipagent",
            zh: "例如：shipagent completions bash > ~/.local/share/bash-completion/completions/shipagent",
        }
    }
    text exit_codes() {
        en: "Exit codes:\n\
             \x20 0  all is well\n\
             \x20 1  it did not work\n\
             \x20 2  the command line makes no sense\n\
             \x20 3  Agent.md, ship.json or .env is not as it should be\n\
             \x20 4  another daemon runs in this project\n\
             \x20 5  the address is already in use\n\
             \x20 6  .ship cannot be written (permissions, read-only or full disk)",
        zh: "退出码：\n\
             \x20 0  一切正常\n\
             \x20 1  没有成功\n\
             \x20 2  命令行写法有误\n\
             \x20 3  Agent.md、ship.json 或 .env 有问题\n\
             \x20 4  此项目已有守护进程在运行\n\
             \x20 5  地址已被占用\n\
             \x20 6  无法写入 .ship（权限、只读或磁盘已满）",
    }
    text chat_exit_codes() {
        en: "Exit codes:\n\
             \x20 0  answered, or the conversation was left\n\
             \x20 1  not answered: the turn failed or was stopped, the daemon ended,\n\
             \x20    or a request waits for a decision (its number and how to answer are printed)\n\
             \x20 2  nothing to say, an unusable --thread, or an input that is too long or not text\n\
             \x20 3  Agent.md, ship.json or .env is not as it should be\n\
             \x20 4  another process has this project and cannot be talked to\n\
             \x20 6  .ship cannot be written (permissions, read-only or full disk)",
        zh: "退出码：\n\
             \x20 0  已回答，或离开了对话\n\
             \x20 1  没有回答：回答失败或被停止、守护进程结束，\n\
             \x20    或有请求等待决定（会打印编号和回答方法）\n\
             \x20 2  没有消息、--thread 不可用，或输入太长、不是文本\n\
             \x20 3  Agent.md、ship.json 或 .env 有问题\n\
             \x20 4  另一个无法对话的进程占用了此项目\n\
             \x20 6  无法写入 .ship（权限、只读或磁盘已满）",
    }

    text usage() { en: "Usage:", zh: "用法：" }
    text commands() { en: "Commands", zh: "命令" }
    text arguments() { en: "Arguments", zh: "参数" }
    text options() { en: "Options", zh: "选项" }
    text print_help() { en: "Print help", zh: "显示帮助" }
    text print_version() { en: "Print version", zh: "显示版本" }
    text help_of_command() {
        en: "Print this message or the help of the given subcommand(s)",
        zh: "显示此信息，或指定命令的帮助",
    }
    format default_value(value: &str) { en: "[default: {value}]", zh: "[默认：{value}]" }
    format possible_values(values: &str) { en: "[possible values: {values}]", zh: "[可选值：{values}]" }
    text between_values() { en: ", ", zh: "、" }

    format error(what: &str) { en: "error: {what}", zh: "错误：{what}" }
    format unknown_command(given: &str) { en: "unrecognized subcommand '{given}'", zh: "没有命令“{given}”" }
    format unknown_argument(given: &str) { en: "unexpected argument '{given}' found", zh: "没有参数“{given}”" }
    format missing_argument(names: &str) {
        en: "the following required arguments were not provided: {names}",
        zh: "缺少必需的参数：{names}",
    }
    format bad_value(value: &str, argument: &str) {
        en: "invalid value '{value}' for '{argument}'",
        zh: "“{argument}”的值“{value}”无效",
    }
    format missing_value(argument: &str) {
        en: "a value is required for '{argument}' but none was supplied",
        zh: "“{argument}”缺少值",
    }
    format used_twice(argument: &str) {
        en: "the argument '{argument}' cannot be used multiple times",
        zh: "“{argument}”不能重复使用",
    }
    format cannot_combine(argument: &str, other: &str) {
        en: "the argument '{argument}' cannot be used with '{other}'",
        zh: "“{argument}”不能与“{other}”同时使用",
    }
    format too_many_values(argument: &str) {
        en: "too many values for '{argument}'",
        zh: "“{argument}”的值过多",
    }
    format too_few_values(argument: &str) {
        en: "too few values for '{argument}'",
        zh: "“{argument}”的值不足",
    }
    format no_equals(argument: &str) {
        en: "an equal sign is needed when assigning values to '{argument}'",
        zh: "给“{argument}”赋值需要等号",
    }
    text not_utf8() { en: "invalid UTF-8 was detected in the arguments", zh: "参数中含有无效的 UTF-8 字符" }
    text missing_command() { en: "a subcommand is required", zh: "缺少命令" }
    format tip_similar(similar: &str) { en: "a similar one exists: '{similar}'", zh: "相近的有：“{similar}”" }
    text more_with_help() { en: "For more information, try '--help'.", zh: "更多信息请用“--help”查看。" }
}

/// The items that have help, for the test that each of them exists.
#[cfg(test)]
pub(crate) fn items() -> Vec<&'static str> {
    let named = ROWS.iter().flat_map(|rows| *rows).filter(|row| row.kind == "named");
    named.flat_map(|row| row.name.split('"').skip(1).step_by(2)).collect()
}

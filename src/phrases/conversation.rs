//! Messages of the daemon in a conversation: errors, status, help, files and memory.

use std::fmt::Display;

use super::table::phrases;
use crate::domain::{ChangeRefusal, Command, ErrorKind, ScopeKey, ThreadState};

phrases! {
    /// What happened to a turn, and what to do.
    text error(kind: ErrorKind) {
        ErrorKind::Auth => {
            en: "The model refused the API key. The operator should check `llm.apiKey` (`shipagent doctor` tells more).",
            zh: "模型拒绝了 API 密钥。请运维者检查 `llm.apiKey`（可运行 `shipagent doctor`）。",
        }
        ErrorKind::Quota => {
            en: "The model account is out of credit or quota. The operator should top it up or set another model in \
                 `llm.fallbacks`.",
            zh: "模型账户的余额或额度已用完。请运维者充值，或在 `llm.fallbacks` 中设置备用模型。",
        }
        ErrorKind::Rate => {
            en: "The model is getting too many requests right now. Please try again in a minute.",
            zh: "模型当前请求过多，请过一分钟再试。",
        }
        ErrorKind::ContextLength => {
            en: "This conversation has become too long for the model. Send /new to start afresh, or ask about a smaller \
                 part.",
            zh: "对话太长，超出了模型的上下文。请发送 /new 重新开始，或把问题缩小一些。",
        }
        ErrorKind::Network => {
            en: "The model could not be reached. Please try again; if it goes on, the operator should check the network \
                 and `llm.baseUrl`.",
            zh: "无法连接模型，请重试。如果一直这样，请运维者检查网络和 `llm.baseUrl`。",
        }
        ErrorKind::Timeout => {
            en: "The model did not answer in time. Please try again, perhaps with a smaller question.",
            zh: "模型没有及时回答，请重试，或把问题缩小一些。",
        }
        ErrorKind::Server => {
            en: "The model's server failed. Please try again in a moment.",
            zh: "模型服务器出错，请稍后重试。",
        }
        ErrorKind::BadRequest => {
            en: "The model did not accept the request. The operator should check `llm.model` and `llm.baseUrl` (the log \
                 has the server's answer).",
            zh: "模型没有接受这次请求。请运维者检查 `llm.model` 和 `llm.baseUrl`（日志中有服务器的答复）。",
        }
        ErrorKind::BadResponse => {
            en: "The model's answer could not be understood. Please try again; if it goes on, the operator should look \
                 into the log.",
            zh: "无法理解模型的答复，请重试。如果一直这样，请运维者查看日志。",
        }
        ErrorKind::TooManySteps => {
            en: "This took more steps than one turn may have, so I stopped. Say \"go on\" to continue, or ask for a \
                 smaller part.",
            zh: "这一轮的步骤太多，我先停在这里。回复“继续”可以接着做，或把任务拆小一些。",
        }
        ErrorKind::Loop => {
            en: "The model kept repeating the same call, so I stopped it. Please ask again in other words.",
            zh: "模型一直在重复同一个调用，我把它停下了。请换个说法再问。",
        }
        ErrorKind::Budget => {
            en: "The spending limit of this project is reached, so I stopped here. An owner can allow more with /budget.",
            zh: "已达到本项目的费用上限，我先停在这里。所有者可以用 /budget 放宽。",
        }
        ErrorKind::Storage => {
            en: "The conversation could not be saved, so I stopped. The operator should check the disk (`shipagent \
                 doctor` tells more); then try again.",
            zh: "对话没能保存，我先停下了。请运维者检查磁盘（可运行 `shipagent doctor`），然后重试。",
        }
        ErrorKind::Internal => {
            en: "Something went wrong inside me. Please try again; the operator will find the details in the log.",
            zh: "我内部出了问题，请重试；运维者可以在日志中看到详情。",
        }
    }
    /// What happened, in one short sentence. `retrying` and `switching` go on from it.
    text trouble(kind: ErrorKind) {
        ErrorKind::Auth => { en: "The model refused the API key.", zh: "模型拒绝了 API 密钥，" }
        ErrorKind::Quota => { en: "The model account is out of quota.", zh: "模型账户的额度已用完，" }
        ErrorKind::Rate => { en: "The model is getting too many requests.", zh: "模型当前请求过多，" }
        ErrorKind::ContextLength => { en: "The conversation is too long for this model.", zh: "对话对这个模型来说太长，" }
        ErrorKind::Network => { en: "The connection to the model broke.", zh: "与模型的连接中断，" }
        ErrorKind::Timeout => { en: "The model is not answering in time.", zh: "模型没有及时回答，" }
        ErrorKind::Server => { en: "The model's server has a problem.", zh: "模型服务器出错，" }
        ErrorKind::BadRequest => { en: "The model did not accept the request.", zh: "模型没有接受这次请求，" }
        ErrorKind::BadResponse => { en: "The model's answer could not be understood.", zh: "无法理解模型的答复，" }
        ErrorKind::TooManySteps | ErrorKind::Loop => { en: "The model is going in circles.", zh: "模型在原地打转，" }
        ErrorKind::Budget => { en: "The spending limit is reached.", zh: "已达到费用上限，" }
        ErrorKind::Storage => { en: "The conversation could not be saved.", zh: "对话没能保存，" }
        ErrorKind::Internal => { en: "Something went wrong.", zh: "出了点问题，" }
    }
    format retrying(trouble: &str) { en: "{trouble} Trying again.", zh: "{trouble}正在重试。" }
    format switching(trouble: &str, model: &str) {
        en: "{trouble} Switching to {model}.",
        zh: "{trouble}改用模型 {model}。",
    }

    text busy() {
        en: "Too many messages are waiting here, so this one was not taken. Please send it again when the current answer \
             is done, or /stop it.",
        zh: "这里等待处理的消息太多，这一条没有收下。请等当前回答结束后再发，或发送 /stop 停止它。",
    }
    text stopping() {
        en: "I am being shut down and did not take this message. Please send it again later.",
        zh: "我正在关闭，没有收下这条消息，请稍后再发。",
    }
    text not_stored_in_time() {
        en: "The message could not be stored in time: send it again with the same id.",
        zh: "消息没能及时保存：请用同一个 id 再发一次。",
    }
    text only_last_answer() {
        en: "Only the last answer can be made anew, and only while nothing else is going on: send a new message instead.",
        zh: "只有最后一个回答可以重新生成，而且只能在没有其他任务进行时：请改发一条新消息。",
    }
    text no_such_message() {
        en: "There is no such message of yours in this conversation.",
        zh: "这个对话里没有你的这条消息。",
    }
    text stopped() { en: "Stopped.", zh: "已停止。" }
    format transcript(quoted: &str) {
        en: "The last spoken message was understood as:\n\n{quoted}",
        zh: "上一条语音消息的识别结果：\n\n{quoted}",
    }
    format from_operator(text: &str) { en: "**Operator:** {text}", zh: "**操作者：**{text}" }
    format from_operator_with_files(text: &str, names: &str) {
        en: "**Operator:** {text}\n\n(with files: {names})",
        zh: "**操作者：**{text}\n\n（附文件：{names}）",
    }
    text no_transcript() {
        en: "The last spoken message has no transcript.",
        zh: "上一条语音消息没有识别结果。",
    }
    text nothing_spoken() {
        en: "There is no spoken message in this conversation.",
        zh: "这个对话里没有语音消息。",
    }
    text nothing_to_stop() { en: "Nothing is running.", zh: "当前没有正在进行的任务。" }
    text not_theirs_to_stop() {
        en: "Somebody else's request is being worked on or waits here. Whoever made it may end it, and so may an owner, \
             an administrator of this chat, or whoever may decide it.",
        zh: "这里正在处理或等待的是别人的请求：只有发起人、所有者、本群管理员和有权决定的人可以结束它。",
    }
    text new_conversation() {
        en: "A new conversation begins. What was said before is no longer considered.",
        zh: "已开始新的对话，之前的内容不再参考。",
    }
    text compacting() { en: "Summing up the earlier conversation…", zh: "正在整理之前的对话……" }
    format compacted(by_rules: bool, messages: u64, before: u64, after: u64) {
        (false, ..) => {
            en: "Summed up {messages} earlier messages. A prompt is now about {after} tokens instead of {before}. Nothing was \
                 deleted: the whole conversation can still be read.",
            zh: "已整理之前的 {messages} 条消息，提示词现在约 {after} 个 token（原来 {before} 个）。没有删除任何内容，完整对话仍可查看。",
        }
        (true, ..) => {
            en: "Summed up {messages} earlier messages. A prompt is now about {after} tokens instead of {before}. The model gave \
                 no usable summary, so the first lines were kept. Nothing was deleted: the whole conversation can still be \
                 read.",
            zh: "已整理之前的 {messages} 条消息，提示词现在约 {after} 个 token（原来 {before} 个）。模型没有给出可用的摘要，因此保留了每条的第一行。没有删除任何内容，完整对话仍可查看。",
        }
    }
    text nothing_to_compact() {
        en: "There is too little to sum up: the newest turns always stay as they are.",
        zh: "可以整理的内容太少：最近几轮对话始终保持原样。",
    }
    text compact_later() {
        en: "A turn is running. Send /compact again when it is done.",
        zh: "正在处理一轮对话，结束后请再发一次 /compact。",
    }
    text storage_failed() {
        en: "Your message could not be saved, so it was not taken. Please send it again; if this goes on, the operator \
             should check the disk (`shipagent doctor` tells more).",
        zh: "消息没能保存，因此没有收下，请再发一次。如果一直这样，请运维者检查磁盘（可运行 `shipagent doctor`）。",
    }
    format still_thinking(time: &str) {
        en: "Waiting for the model, {time} so far.",
        zh: "正在等待模型回答，已用 {time}。",
    }
    format seconds(seconds: u64) { en: "{seconds} s", zh: "{seconds} 秒" }
    format minutes(minutes: u64, seconds: u64) { en: "{minutes} min {seconds} s", zh: "{minutes} 分 {seconds} 秒" }
    text instructions_changed() { en: "Agent.md changed and was read again.", zh: "Agent.md 有改动，已重新读取。" }
    text truncated() {
        en: "(The answer reached the model's length limit and stops here. Say \"go on\" for the rest.)",
        zh: "（回答达到了模型的长度上限，到此为止。回复“继续”可以看后面的内容。）",
    }
    text empty_answer() {
        en: "(The model gave no answer. Please ask again, perhaps in other words.)",
        zh: "（模型没有给出回答。请再问一次，或换个说法。）",
    }

    text help() {
        en: "Just write what you need. Besides, there are these commands:",
        zh: "直接写下你的需求即可。另外还有这些命令：",
    }
    /// The description of a command.
    text command(command: Command) {
        Command::Help => { en: "shows this list", zh: "显示这个列表" }
        Command::Status => { en: "says what I am doing", zh: "查看我在做什么" }
        Command::Stop => { en: "stops what I am doing", zh: "停止当前任务" }
        Command::New => { en: "starts a new conversation", zh: "开始新的对话" }
        Command::Compact => {
            en: "sums up the conversation so far; words behind it say what to keep",
            zh: "整理之前的对话；后面可以写要保留的重点",
        }
        Command::Cancel => { en: "withdraws requests that wait for a decision", zh: "撤回等待决定的请求" }
        Command::Approvals => { en: "lists requests that wait for a decision", zh: "列出等待决定的请求" }
        Command::Approve => { en: "says yes to a request, as in /approve A1", zh: "同意一个请求，例如 /approve A1" }
        Command::Deny => { en: "says no to a request, as in /deny A1", zh: "拒绝一个请求，例如 /deny A1" }
        Command::Grants => {
            en: "lists what is allowed for longer; /grants revoke G1 takes it back",
            zh: "列出长期授权；/grants revoke G1 可收回",
        }
        Command::Model => {
            en: "says which model answers; /model NAME chooses another one",
            zh: "查看由哪个模型回答；/model 名称 可更换",
        }
        Command::Usage => { en: "shows what was spent", zh: "查看用量和费用" }
        Command::Memory => {
            en: "shows what I remember; /memory forget K removes an item, /memory undo takes back the last change",
            zh: "查看跨会话的记忆；/memory forget K 删除一条，/memory undo 撤销上一次修改",
        }
        Command::Forget => {
            en: "/forget me removes everything I remember about you",
            zh: "/forget me 删除关于你的全部记忆",
        }
        Command::Tasks => { en: "lists the tasks of this project", zh: "列出这个项目的任务" }
        Command::Transcript => {
            en: "shows what was understood of the last spoken message",
            zh: "查看上一条语音消息的识别结果",
        }
        Command::Budget => {
            en: "shows the spend caps; owners stop all model calls with /budget stop",
            zh: "查看花费上限；所有者可用 /budget stop 停止所有模型调用",
        }
        Command::Id => { en: "shows the ids of this conversation and of you", zh: "查看这个对话和你的 id" }
    }

    text status(state: ThreadState) {
        ThreadState::Idle => { en: "Idle: ready for your next message.", zh: "空闲，可以直接发消息。" }
        ThreadState::Running => { en: "Working.", zh: "正在处理。" }
        ThreadState::AwaitingApproval => { en: "Waiting for a decision.", zh: "正在等待决定。" }
    }
    format status_working(time: &str, step: u32) {
        en: "Working for {time}, step {step}.",
        zh: "正在处理，已用 {time}，第 {step} 步。",
    }
    format status_queued(count: usize) { en: "Waiting messages: {count}", zh: "等待中的消息：{count}" }
    format model(name: &str) { en: "Model: {name}", zh: "模型：{name}" }
    format status_undelivered(count: usize) { en: "Replies on their way: {count}", zh: "正在发送的回复：{count}" }
    format status_held(count: usize) {
        en: "Held back until somebody wrote here, because the platform takes no more replies to the last message: {count}. \
             They follow now, as far as it lets them.",
        zh: "平台不再接受对上一条消息的回复，因此暂存：{count} 条。现在随本条消息尽量送出。",
    }
    text agents_stop() {
        en: "We agents stop talking to each other here. Name one of us to go on.",
        zh: "智能体之间的对话到此为止。要继续，请点名其中一个。",
    }
    text agents_spent() {
        en: "We agents have said enough to each other for now. Name one of us to go on; we answer you, and each other again later.",
        zh: "智能体之间暂时说得够多了。要继续，请点名其中一个：会回答你，彼此之间稍后再继续。",
    }
    format gate_used_up(room: impl Display) {
        en: "{room}: too many messages there name nobody to decide about each. Until there is room again (6 a minute, 200 a day) I answer \
             only those that name me.",
        zh: "{room}：没有点名的消息太多，无法逐条判断。在有余量之前（每分钟 6 条，每天 200 条），我只回答点名我的消息。",
    }
    format status_others(names: &str) { en: "Other agents here: {names}", zh: "这里的其他智能体：{names}" }
    format status_dead(count: usize) {
        en: "Replies that could not be delivered: {count} (the operator can see them in the log)",
        zh: "无法送达的回复：{count}（运维者可在日志中查看）",
    }
    format target_refused(by: impl Display, thread: impl Display) {
        en: "{by} may not have results sent to {thread}: only owners may, and people who have written there themselves",
        zh: "{by} 不能把结果发送到 {thread}：只有所有者和在那里发过言的人可以",
    }
    format asked_by_task(task: &str) {
        en: "asked by the scheduled task {task}",
        zh: "来自定时任务 {task}",
    }
    format target_nobody(thread: impl Display) {
        en: "nobody is known who asked for a result to be sent to {thread}",
        zh: "不知道是谁要求把结果发送到 {thread}",
    }
    format target_not_served(thread: impl Display) {
        en: "{thread} belongs to a platform that is not set up: see `adapters` in ship.json",
        zh: "{thread} 所属的平台没有配置：请检查 ship.json 中的 `adapters`",
    }
    format held(count: usize) {
        en: "Replies waiting for the next message in this chat, as its platform lets no more be sent now: {count}.",
        zh: "该平台目前不允许再发送，{count} 条回复将在收到下一条消息后送达。",
    }
    format ids(thread: impl Display, author: impl Display) {
        en: "Conversation: `{thread}`\n\nYou: `{author}`",
        zh: "对话：`{thread}`\n\n你：`{author}`",
    }

    format pair(code: &str, minutes: u64) {
        en: "I do not know you yet. Ask my operator to confirm this code within {minutes} minutes: `{code}`\n\n\
             (On the machine: `shipagent access approve {code}`)",
        zh: "我还不认识你。请让我的管理者在 {minutes} 分钟内确认这个配对码：`{code}`\n\n\
             （在机器上运行：`shipagent access approve {code}`）",
    }
    text not_served() {
        en: "I am not set up for this group, so I am leaving. My operator can allow it in `allowedChats`.",
        zh: "我没有被允许在这个群里服务，这就离开。管理者可以把它加入 `allowedChats`。",
    }

    format file_too_big(name: &str, megabytes: u64) {
        en: "{name} is too big: I can take files of up to {megabytes} MB. Please send a smaller one.",
        zh: "{name} 太大：我最多能接收 {megabytes} MB 的文件，请发小一点的。",
    }
    format voice_too_long(limit: &str) {
        en: "This recording is longer than {limit}, so I did not listen to it. Please send a shorter one, or write.",
        zh: "这段录音超过 {limit}，我没有听。请发短一点的，或改用文字。",
    }
    format voice_too_big(megabytes: u64) {
        en: "This recording is larger than {megabytes} MB, so I did not listen to it. Please send a shorter one, or write.",
        zh: "这段录音超过 {megabytes} MB，我没有听。请发短一点的，或改用文字。",
    }
    text voice_no_words() {
        en: "I heard no words in this recording. Please speak again, or write.",
        zh: "我在这段录音里没有听到话。请再说一次，或改用文字。",
    }
    text voice_unreadable() {
        en: "I cannot listen to this kind of recording. It is kept. Please write, or record it another way.",
        zh: "我听不了这种格式的录音。录音已保存，请改用文字，或换一种方式录制。",
    }
    text voice_unavailable() {
        en: "I cannot listen right now: the speech recogniser does not answer. The recording is kept. Please write, or \
             send it again later.",
        zh: "我现在听不了：语音识别服务没有回应。录音已保存，请改用文字，或稍后再发。",
    }
    text voice_stopped() {
        en: "I did not listen to this recording: an owner has stopped all model calls. An owner starts them again with \
             /budget resume. The recording is kept; send it again after that.",
        zh: "我没有听这段录音：所有者已停止所有模型调用。所有者发送 /budget resume 可恢复。录音已保存，恢复后请再发一次。",
    }
    text voice_over_budget() {
        en: "I did not listen to this recording: a spend cap is used up (/budget shows which). The recording is kept. \
             Please write, or send it again later.",
        zh: "我没有听这段录音：已达到费用上限（/budget 可查看）。录音已保存，请改用文字，或稍后再发。",
    }
    text speech_code_omitted() { en: "The code is in the text.", zh: "代码见文字消息。" }
    text speech_table_omitted() { en: "The table is in the text.", zh: "表格见文字消息。" }
    text speech_rest_omitted() { en: "The rest is in the text.", zh: "其余内容见文字消息。" }
    format file_lost(name: &str) {
        en: "I could not fetch {name}. Please send it again.",
        zh: "没能取到 {name}，请再发一次。",
    }
    text rest_in_file() { en: "(The answer is long: the file has all of it.)", zh: "（回答较长，完整内容见文件。）" }
    format left_out(count: &str) { en: "[… {count} characters left out …]", zh: "[…… 省略 {count} 个字符 ……]" }

    format keep_these(count: usize) {
        en: "Always remember this? ({count} new from this conversation)",
        zh: "要一直记住这些吗？（来自本次对话，共 {count} 条）",
    }
    format keep_how(file: &str) {
        en: "Approve keeps all of it in `{file}`, deny none of it; to choose, reply with numbers, such as “keep 1 3”. It stays in \
             the notes, which are only searched.",
        zh: "同意：全部写入 `{file}`；拒绝：都不写入；只要其中几条，请回复编号，例如“留 1、3”。这些内容仍留在只供搜索的笔记里。",
    }
    format not_kept(why: &str) { en: "It could not be written into memory: {why}", zh: "没能写入记忆：{why}" }
    text quotes_note() {
        en: "its words come from a note that nobody has reviewed",
        zh: "其中的内容来自一条没有人核对过的笔记",
    }
    text carries_memory() {
        en: "it takes what is remembered here to another conversation",
        zh: "它会把这里记住的内容带到另一个对话",
    }
    text after_tool_output() {
        en: "it was decided after reading the output of tools, which may come from anybody",
        zh: "它是在读取工具输出之后决定的，而输出可能来自任何人",
    }
    text memory_unreadable() {
        en: "I cannot read that now; the operator finds the reason in the log.",
        zh: "现在读不了，原因请运维者查看日志。",
    }
    text memory_of_person_is_private() {
        en: "What I remember about you alone I use and show only where nobody else reads along.",
        zh: "只与你有关的记忆，仅在私聊中使用和显示。",
    }
    format memory_empty(scope: &ScopeKey, file: &str) {
        (ScopeKey::Project, _) => {
            en: "I remember nothing about this project yet. It would be in {file}.",
            zh: "关于这个项目还没有任何记忆。记忆会放在 {file}。",
        }
        (ScopeKey::Group(_), _) => {
            en: "I remember nothing about this group yet. It would be in {file}.",
            zh: "关于这个群还没有任何记忆。记忆会放在 {file}。",
        }
        (ScopeKey::Main | ScopeKey::Peer(_) | ScopeKey::Person(_), _) => {
            en: "I remember nothing about you yet. It would be in {file}.",
            zh: "关于你还没有任何记忆。记忆会放在 {file}。",
        }
    }
    format memory_heading(scope: &ScopeKey, file: &str) {
        (ScopeKey::Project, _) => { en: "**About this project** ({file}):", zh: "**关于这个项目**（{file}）：" }
        (ScopeKey::Group(_), _) => { en: "**About this group** ({file}):", zh: "**关于这个群**（{file}）：" }
        (ScopeKey::Main | ScopeKey::Peer(_) | ScopeKey::Person(_), _) => { en: "**About you** ({file}):", zh: "**关于你**（{file}）：" }
    }
    format memory_item(text: &str, id: &str, by: &str, day: &str) {
        en: "- {text} (`{id}`, {by}, {day})",
        zh: "- {text}（`{id}`，{by}，{day}）",
    }
    format memory_item_by_hand(text: &str, id: &str) { en: "- {text} (`{id}`)", zh: "- {text}（`{id}`）" }
    text memory_notes_heading() { en: "Newest notes, which are only found by search:", zh: "最新的笔记（只在搜索时找到）：" }
    format memory_note(text: &str, id: &str, day: &str) {
        en: "- {text} (`{id}`, {day})",
        zh: "- {text}（`{id}`，{day}）",
    }
    format memory_note_unreviewed(text: &str, id: &str, day: &str) {
        en: "- {text} (`{id}`, {day}, nobody has confirmed it)",
        zh: "- {text}（`{id}`，{day}，未经确认）",
    }
    format memory_forgotten(id: &str) {
        en: "Forgotten: `{id}`. Its text is in no file of mine any more.",
        zh: "已忘记 `{id}`，它的内容已从我的文件中删除。",
    }
    text memory_undone() { en: "The last change was taken back.", zh: "已撤销上一次修改。" }
    format memory_add_undone(text: &str) {
        en: "Taken back: I no longer remember “{text}”.",
        zh: "已撤销：我不再记住“{text}”。",
    }
    format memory_replace_undone(before: &str, after: &str) {
        en: "Taken back: instead of “{after}” it says “{before}” again.",
        zh: "已撤销：“{after}”已恢复为“{before}”。",
    }
    format memory_section_undone(section: &str) {
        en: "Taken back: the section “{section}” is as it was before.",
        zh: "已撤销：“{section}”一节已恢复原样。",
    }
    format memory_edit_undone(file: &str) {
        en: "Taken back: {file} is as it was before.",
        zh: "已撤销：{file} 已恢复原样。",
    }
    text memory_how_to() {
        en: "`/memory` shows what I remember here, `/memory forget K` removes the item K, `/memory undo` takes back the last change.",
        zh: "`/memory` 查看这里的记忆，`/memory forget K` 删除 K 这一条，`/memory undo` 撤销上一次修改。",
    }
    text memory_not_theirs() {
        en: "That is not yours to change: what all or a group share is changed by an owner, or by an administrator of the group.",
        zh: "你不能修改它：大家或群共享的记忆由所有者或群管理员修改。",
    }
    format memory_too_large(tokens: usize, now: usize) {
        en: "That would take about {tokens} tokens; core memory has room for 2000 and takes {now} now. Forget something first.",
        zh: "这样大约需要 {tokens} 个 token；核心记忆最多 2000 个，现在占 {now} 个。请先删除一些。",
    }
    format memory_no_item(id: &str) { en: "I remember nothing called `{id}` here.", zh: "这里没有 `{id}` 这一条记忆。" }
    text memory_refused(refusal: &ChangeRefusal) {
        ChangeRefusal::Changed => { en: "It was changed since; look at it again.", zh: "之后它又被修改过，请重新查看。" }
        ChangeRefusal::NotText => {
            en: "The file is not UTF-8 text. The operator has to repair it first.",
            zh: "文件不是 UTF-8 文本，需要运维者先修好。",
        }
        ChangeRefusal::TooLong => {
            en: "The file is too long to be changed here. The operator has to shorten it first.",
            zh: "文件太长，无法在这里修改，需要运维者先缩短。",
        }
        ChangeRefusal::NothingToUndo => { en: "There is nothing to take back.", zh: "没有可以撤销的修改。" }
        ChangeRefusal::Forgotten => {
            en: "What was forgotten cannot be brought back.",
            zh: "已忘记的内容无法恢复。",
        }
        _ => { en: "That cannot be remembered.", zh: "这个不能记住。" }
    }
    format forget_me_ask(count: usize) {
        en: "I remember {count} things about you. `/forget me yes` removes them for good, from notes and history of changes too.",
        zh: "我记得关于你的 {count} 条内容。发送 `/forget me yes` 会彻底删除它们，包括笔记和修改记录中的内容。",
    }
    format forget_me_done(count: usize) {
        en: "Done: {count} things I remembered about you are gone. What we said in our direct chats I can still search. Shall I \
             forget that as well? `/forget me everything` takes it out of the search and begins a new conversation.",
        zh: "已完成：关于你的 {count} 条记忆已删除。我们私聊中说过的话我仍能搜索到。也要忘掉吗？发送 `/forget me everything` \
             会把它们移出搜索，并开始新的对话。",
    }
    format forget_me_everything(count: usize) {
        en: "Done: {count} things I remembered about you are gone, I find nothing any more that was said in our direct chats, and a \
             new conversation begins here. The record itself stays; the operator can delete it.",
        zh: "已完成：关于你的 {count} 条记忆已删除，私聊中说过的话我再也搜索不到，这里开始新的对话。对话记录本身仍在，运维者可以删除。",
    }
    text forget_me_in_private() {
        en: "Please send `/forget me` in a direct chat: what I remember about one person I keep only there.",
        zh: "请在私聊中发送 `/forget me`：关于个人的记忆只在私聊中保存。",
    }
    text forget_me_how_to() { en: "Send `/forget me`.", zh: "请发送 `/forget me`。" }
    text memory_cut() {
        en: "*The file is longer; I read no more of it than this.*",
        zh: "*文件更长，我只读到这里。*",
    }
}

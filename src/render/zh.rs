//! The daemon's words in Chinese.

use super::phrases::{Phrase, Status};
use crate::domain::{
    Answer, Approval, ApprovalKind, ApprovalNumber, ApprovalState, Command, ErrorKind, Language, ThreadState,
};

pub(super) fn say(phrase: &Phrase) -> String {
    match phrase {
        Phrase::Error(kind) => error(*kind).into(),
        Phrase::Retrying(kind) => format!("{}正在重试。", trouble(*kind)),
        Phrase::Switching { kind, model } => format!("{}改用模型 {model}。", trouble(*kind)),
        Phrase::Busy => "这里等待处理的消息太多，这一条没有收下。请等当前回答结束后再发，或发送 /stop 停止它。".into(),
        Phrase::Stopping => "我正在关闭，没有收下这条消息，请稍后再发。".into(),
        Phrase::Stopped => "已停止。".into(),
        Phrase::NothingToStop => "当前没有正在进行的任务。".into(),
        Phrase::NewConversation => "已开始新的对话，之前的内容不再参考。".into(),
        Phrase::Compacting => "正在整理之前的对话……".into(),
        Phrase::Compacted { messages, before, after, by_rules } => {
            let how = if *by_rules { "模型没有给出可用的摘要，因此保留了每条的第一行。" } else { "" };
            format!(
                "已整理之前的 {messages} 条消息，提示词现在约 {after} 个 token（原来 {before} 个）。{how}没有删除任何内容，完整对话仍可查看。"
            )
        }
        Phrase::NothingToCompact => "可以整理的内容太少：最近几轮对话始终保持原样。".into(),
        Phrase::CompactLater => "正在处理一轮对话，结束后请再发一次 /compact。".into(),
        Phrase::Help => help(),
        Phrase::Status(status) => self::status(status),
        Phrase::StorageFailed => {
            "消息没能保存，因此没有收下，请再发一次。如果一直这样，请运维者检查磁盘（可运行 `shipagent doctor`）。"
                .into()
        }
        Phrase::StillThinking(seconds) => format!("正在等待模型回答，已用 {}。", duration(*seconds)),
        Phrase::InstructionsChanged => "Agent.md 有改动，已重新读取。".into(),
        Phrase::Truncated => "（回答达到了模型的长度上限，到此为止。回复“继续”可以看后面的内容。）".into(),
        Phrase::EmptyAnswer => "（模型没有给出回答。请再问一次，或换个说法。）".into(),
        Phrase::Resolved { approval, by } => resolved(approval, by.as_deref()),
        Phrase::Counted { number, answer } => match answer {
            Answer::Approve(_) => format!("{number}：已同意。"),
            Answer::Deny => format!("{number}：已拒绝。"),
            Answer::Done => format!("{number}：已记为完成。"),
        },
        Phrase::NotOpen => "没有这个待决定的请求了：它已经被决定或撤回。".into(),
        Phrase::NotTheirs(number) => format!("你不能决定 {number}：请让发起人或所有者来决定。"),
        Phrase::AnswerInWords(number) => format!(
            "这些按钮是群升级之前的，已经无法更改。请直接点同意或拒绝，或回复“同意 {number}”或“拒绝 {number}”。"
        ),
        Phrase::TooLate(number) => format!("{number} 已过期，没有执行。如仍需要，请重新提出。"),
        Phrase::WhetherMeant(questions) => {
            format!("不能确定你指的是下面的请求。如果是，请带上编号回复：\n{}", choices(questions))
        }
        Phrase::Reminder(numbers) => format!(
            "我在等待对 {} 的决定：请回复“同意”或“拒绝”（有多个时带上编号），或发送 /cancel 撤回。你的消息随后处理。",
            list(numbers)
        ),
        Phrase::NotTheirsToWithdraw(numbers) => {
            format!("你不能撤回 {}：只有发起人和有权决定的人可以撤回。", list(numbers))
        }
        Phrase::NotTheirsToStop => {
            "这里正在处理或等待的是别人的请求：只有发起人、所有者、本群管理员和有权决定的人可以结束它。".into()
        }
        Phrase::Withdrawn(0) => "没有等待决定的请求。".into(),
        Phrase::Withdrawn(count) => format!("已撤回 {count} 个请求。"),
        Phrase::Pending(approvals) if approvals.is_empty() => "没有等待决定的请求。".into(),
        Phrase::Pending(approvals) => {
            let lines = approvals.iter().map(|one| format!("- {}：{}", one.number, one.summary));
            format!("等待决定：\n{}", lines.collect::<Vec<_>>().join("\n"))
        }
        Phrase::ModelIs(model) => format!("模型：{model}"),
        Phrase::Id { thread, author } => format!("对话：`{thread}`\n\n你：`{author}`"),
        Phrase::NoGrants => "没有长期授权。".into(),
        Phrase::Pair { code, minutes } => format!(
            "我还不认识你。请让我的管理者在 {minutes} 分钟内确认这个配对码：`{code}`\n\n（在机器上运行：`shipagent access approve {code}`）"
        ),
        Phrase::NotServed => "我没有被允许在这个群里服务，这就离开。管理者可以把它加入 `allowedChats`。".into(),
        Phrase::FileTooBig { name, megabytes } => {
            format!("{name} 太大：我最多能接收 {megabytes} MB 的文件，请发小一点的。")
        }
        Phrase::FileLost(name) => format!("没能取到 {name}，请再发一次。"),
        Phrase::Held(count) => format!("该平台目前不允许再发送，{count} 条回复将在收到下一条消息后送达。"),
        Phrase::WholeCall(number) => format!("{number}：下面所询问内容的全文。"),
        Phrase::WholeAbove(Some(file)) => format!("全文见上面的文件：`{file}`。"),
        Phrase::WholeAbove(None) => "全文见上面的消息。".into(),
        Phrase::RestInFile => "（回答较长，完整内容见文件。）".into(),
    }
}

/// Each question with the words that answer it.
fn choices(questions: &[Approval]) -> String {
    let line = |one: &Approval| {
        let replies = Phrase::suggested_replies(one.kind, one.number, Language::Zh);
        let replies: Vec<String> = replies.iter().map(|reply| format!("`{reply}`")).collect();
        format!("- {}：{}（{}）", one.number, one.summary, replies.join(" / "))
    };
    questions.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What happened, and what to do.
const fn error(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Auth => "模型拒绝了 API 密钥。请运维者检查 `llm.apiKey`（可运行 `shipagent doctor`）。",
        ErrorKind::Quota => "模型账户的余额或额度已用完。请运维者充值，或在 `llm.fallbacks` 中设置备用模型。",
        ErrorKind::Rate => "模型当前请求过多，请过一分钟再试。",
        ErrorKind::ContextLength => "对话太长，超出了模型的上下文。请发送 /new 重新开始，或把问题缩小一些。",
        ErrorKind::Network => "无法连接模型，请重试。如果一直这样，请运维者检查网络和 `llm.baseUrl`。",
        ErrorKind::Timeout => "模型没有及时回答，请重试，或把问题缩小一些。",
        ErrorKind::Server => "模型服务器出错，请稍后重试。",
        ErrorKind::BadRequest => {
            "模型没有接受这次请求。请运维者检查 `llm.model` 和 `llm.baseUrl`（日志中有服务器的答复）。"
        }
        ErrorKind::BadResponse => "无法理解模型的答复，请重试。如果一直这样，请运维者查看日志。",
        ErrorKind::TooManySteps => "这一轮的步骤太多，我先停在这里。回复“继续”可以接着做，或把任务拆小一些。",
        ErrorKind::Loop => "模型一直在重复同一个调用，我把它停下了。请换个说法再问。",
        ErrorKind::Storage => {
            "对话没能保存，我先停下了。请运维者检查磁盘（可运行 `shipagent doctor`），然后重试。"
        }
        ErrorKind::Internal => "我内部出了问题，请重试；运维者可以在日志中看到详情。",
    }
}

/// What happened, in one short sentence.
const fn trouble(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Auth => "模型拒绝了 API 密钥，",
        ErrorKind::Quota => "模型账户的额度已用完，",
        ErrorKind::Rate => "模型当前请求过多，",
        ErrorKind::ContextLength => "对话对这个模型来说太长，",
        ErrorKind::Network => "与模型的连接中断，",
        ErrorKind::Timeout => "模型没有及时回答，",
        ErrorKind::Server => "模型服务器出错，",
        ErrorKind::BadRequest => "模型没有接受这次请求，",
        ErrorKind::BadResponse => "无法理解模型的答复，",
        ErrorKind::TooManySteps | ErrorKind::Loop => "模型在原地打转，",
        ErrorKind::Storage => "对话没能保存，",
        ErrorKind::Internal => "出了点问题，",
    }
}

pub(super) const fn of_command(command: Command) -> &'static str {
    match command {
        Command::Help => "显示这个列表",
        Command::Status => "查看我在做什么",
        Command::Stop => "停止当前任务",
        Command::New => "开始新的对话",
        Command::Compact => "整理之前的对话；后面可以写要保留的重点",
        Command::Cancel => "撤回等待决定的请求",
        Command::Approvals => "列出等待决定的请求",
        Command::Approve => "同意一个请求，例如 /approve A1",
        Command::Deny => "拒绝一个请求，例如 /deny A1",
        Command::Grants => "列出长期授权；/grants revoke G1 可收回",
        Command::Model => "查看由哪个模型回答",
        Command::Memory => "查看跨会话的记忆",
        Command::Tasks => "列出这个项目的任务",
        Command::Id => "查看这个对话和你的 id",
    }
}

fn help() -> String {
    let mut text = "直接写下你的需求即可。另外还有这些命令：".to_owned();
    for command in Command::ALL {
        text.push_str(&format!("\n- /{} {}", command.name(), of_command(command)));
    }
    text
}

fn status(status: &Status) -> String {
    let mut lines = vec![match (status.state, status.running) {
        (ThreadState::Idle, _) => "空闲，可以直接发消息。".to_owned(),
        (ThreadState::Running, Some((seconds, step))) => {
            format!("正在处理，已用 {}，第 {step} 步。", duration(seconds))
        }
        (ThreadState::Running, None) => "正在处理。".to_owned(),
        (ThreadState::AwaitingApproval, _) => "正在等待决定。".to_owned(),
    }];
    if status.queued > 0 {
        lines.push(format!("等待中的消息：{}", status.queued));
    }
    if !status.model.is_empty() {
        lines.push(format!("模型：{}", status.model));
    }
    if status.undelivered > 0 {
        lines.push(format!("正在发送的回复：{}", status.undelivered));
    }
    if status.held > 0 {
        let held = status.held;
        lines.push(format!("平台不再接受对上一条消息的回复，因此暂存：{held} 条。现在随本条消息尽量送出。"));
    }
    if status.dead > 0 {
        lines.push(format!("无法送达的回复：{}（运维者可在日志中查看）", status.dead));
    }
    lines.join("\n")
}

fn duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} 秒"),
        (minutes, seconds) => format!("{minutes} 分 {seconds} 秒"),
    }
}

fn resolved(approval: &Approval, by: Option<&str>) -> String {
    let number = approval.number;
    let by = by.map(|by| format!("{by} ")).unwrap_or_default();
    let cut_off = approval.kind == ApprovalKind::UnknownOutcome;
    match &approval.state {
        ApprovalState::Pending => format!("{number} 等待决定。"),
        ApprovalState::Approved { .. } if cut_off => format!("{by}已同意重跑 {number}。"),
        ApprovalState::Spent { .. } if cut_off => format!("{by}已确认 {number} 做过了。"),
        ApprovalState::Denied { .. } if cut_off => format!("{by}已跳过 {number}。"),
        ApprovalState::Expired { .. } if cut_off => format!("{number} 过期未决定，没有重跑。"),
        ApprovalState::Approved { .. } | ApprovalState::Spent { .. } => format!("{by}已同意 {number}。"),
        ApprovalState::Denied { .. } => format!("{by}已拒绝 {number}。"),
        ApprovalState::Expired { .. } => format!("{number} 过期未决定，没有执行。"),
        ApprovalState::Cancelled { .. } => format!("{number} 已撤回。"),
    }
}

fn list(numbers: &[ApprovalNumber]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join("、")
}

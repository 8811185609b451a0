//! What `access` says, in both languages.

use crate::domain::{Language, Role};
use crate::ports::{AdapterTable, Guest, Invitation, Invited, Member};

/// The heads of the table's columns.
pub(super) const fn columns(language: Language) -> [&'static str; 5] {
    match language {
        Language::En => ["WHO", "NAME", "WHAT", "SINCE", "BY"],
        Language::Zh => ["对象", "名字", "身份", "时间", "由谁"],
    }
}

/// What somebody is to the agent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// The agent is theirs, too.
    Owner,
    /// Somebody who was let in.
    Member,
    /// Somebody who was let in only to talk.
    Guest,
    /// A group that is open.
    Group,
    Asks,
    /// Somebody who was removed.
    Removed,
}

impl Part {
    /// What somebody of this role is.
    pub(super) const fn of(role: Role) -> Self {
        match role {
            Role::Owner => Self::Owner,
            Role::Member => Self::Member,
            Role::Guest => Self::Guest,
        }
    }
}

/// The word for it.
pub(super) const fn role(part: Part, language: Language) -> &'static str {
    match (part, language) {
        (Part::Owner, Language::En) => "owner",
        (Part::Owner, Language::Zh) => "所有者",
        (Part::Member, Language::En) => "member",
        (Part::Member, Language::Zh) => "成员",
        (Part::Guest, Language::En) => "guest",
        (Part::Guest, Language::Zh) => "访客",
        (Part::Group, Language::En) => "group",
        (Part::Group, Language::Zh) => "群组",
        (Part::Asks, Language::En) => "asks",
        (Part::Asks, Language::Zh) => "待批准",
        (Part::Removed, Language::En) => "removed",
        (Part::Removed, Language::Zh) => "已移除",
    }
}

/// The code that somebody was given.
pub(super) fn with_code(code: &str, until: &str, language: Language) -> String {
    match language {
        Language::En => format!("code {code} until {until}"),
        Language::Zh => format!("配对码 {code}，有效至 {until}"),
    }
}

/// There is nobody to list.
pub(super) const fn nobody(language: Language) -> &'static str {
    match language {
        Language::En => "nobody was let in beyond what ship.json says, and nobody asks",
        Language::Zh => "除 ship.json 之外没有放行任何人，也没有人在申请",
    }
}

/// How to let somebody in.
pub(super) const fn how_to_approve(language: Language) -> &'static str {
    match language {
        Language::En => "`shipagent access approve CODE` lets somebody in, once they told you their code",
        Language::Zh => "对方把配对码告诉你之后，用 `shipagent access approve CODE` 放行",
    }
}

/// Somebody was let in.
pub(super) fn let_in(member: &Member, language: Language) -> String {
    let who = match &member.name {
        Some(name) => {
            let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
            format!("{} ({name})", member.id)
        }
        None => member.id.to_string(),
    };
    let part = Part::of(member.role);
    match (part, language) {
        (Part::Member, Language::En) => format!("{who} may talk to the agent now"),
        (Part::Member, Language::Zh) => format!("{who} 现在可以与助手对话了"),
        (_, Language::En) => format!("{who} may talk to the agent now, as {}", role(part, language)),
        (_, Language::Zh) => format!("{who} 现在可以与助手对话了，身份：{}", role(part, language)),
    }
}

/// Somebody may do other things from now on.
pub(super) fn changed(member: &Member, language: Language) -> String {
    let part = role(Part::of(member.role), language);
    match language {
        Language::En => format!("{} is {part} now", member.id),
        Language::Zh => format!("{} 现在的身份：{part}", member.id),
    }
}

/// Nobody waits with this code.
pub(super) const fn no_such_code(language: Language) -> &'static str {
    match language {
        Language::En => {
            "nobody waits with this code: it is wrong, was used, or is older than an hour \
             (`shipagent access list` shows who asks)"
        }
        Language::Zh => {
            "没有人持有这个配对码：它不正确、已经用过，或已超过一小时（`shipagent access list` 会列出申请者）"
        }
    }
}

/// Too many wrong codes.
pub(super) fn locked(millis: u64, language: Language) -> String {
    let minutes = millis.div_ceil(60_000).max(1);
    match language {
        Language::En => format!("too many wrong codes: none is looked at for another {minutes} min"),
        Language::Zh => format!("错误的配对码太多：{minutes} 分钟内不再接受"),
    }
}

/// Access was taken back.
pub(super) fn revoked(guest: &Guest, language: Language) -> String {
    match language {
        Language::En => {
            let groups = match guest {
                Guest::Person(_) => "; groups do not let them back in, only you do",
                Guest::Chat(_) => "",
            };
            format!("{guest} has no access any more, unless ship.json gives it{groups}")
        }
        Language::Zh => {
            let groups = match guest {
                Guest::Person(_) => "；在群里也不再理会，直到你重新放行",
                Guest::Chat(_) => "",
            };
            format!("已收回 {guest} 的访问权（ship.json 中的名单除外）{groups}")
        }
    }
}

/// There was nothing to take back.
pub(super) fn unknown(guest: &Guest, language: Language) -> String {
    match language {
        Language::En => {
            format!(
                "{guest} was not let in here: `shipagent access list` shows who was; ship.json may name others"
            )
        }
        Language::Zh => {
            format!("{guest} 不在名单里：`shipagent access list` 会列出已放行的人；ship.json 里可能另有名单")
        }
    }
}

/// Neither a person nor a group.
pub(super) fn bad_guest(who: &str, language: Language) -> String {
    match language {
        Language::En => {
            format!("{who:?} is neither a person (telegram:user:123) nor a group (telegram:chat:-100123)")
        }
        Language::Zh => {
            format!("{who:?} 既不是用户（telegram:user:123），也不是群组（telegram:chat:-100123）")
        }
    }
}

pub(super) fn bad_person(who: &str, language: Language) -> String {
    match language {
        Language::En => format!("{who:?} is no person: write telegram:user:123"),
        Language::Zh => format!("{who:?} 不是用户：请写成 telegram:user:123"),
    }
}

/// An invitation, with how the invited person brings its code on each platform that can redeem one.
pub(super) fn invited(invitation: &Invitation, adapters: &AdapterTable, language: Language) -> String {
    let (code, part) = (&invitation.code, role(Part::of(invitation.role), language));
    let ways = adapters.iter().filter_map(|def| def.invitation).map(|way| {
        let Invited { bot, message, link } = way(code, language);
        match language {
            Language::En => format!(
                "whoever sends `{message}` to {bot} first, within an hour, is let in as {part}; as a link: {link}"
            ),
            Language::Zh => {
                format!("一小时内最先向 {bot}发送 `{message}` 的人会被放行，身份：{part}；链接形式：{link}")
            }
        }
    });
    std::iter::once(code.clone()).chain(ways).collect::<Vec<_>>().join(
        "
",
    )
}

/// There is no project state to write to.
pub(super) const fn no_state(language: Language) -> &'static str {
    match language {
        Language::En => "the agent has never run here: start it with `shipagent run` first",
        Language::Zh => "助手还没有在这里运行过：请先执行 `shipagent run`",
    }
}

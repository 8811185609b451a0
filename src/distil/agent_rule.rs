//! What `Agent.md` says about memory: how often to distil, and the section that says what matters.

/// After how many turns of people a conversation is distilled, where nothing says otherwise.
pub const DISTIL_EVERY: u32 = 30;
const MOST_TURNS: u32 = 10_000;
/// How far apart the words of a rule may stand, in words or characters.
const REACH: usize = 6;

const DISTIL_WORDS: [&str; 8] =
    ["distil", "distill", "distils", "distilled", "distilling", "consolidate", "consolidated", "memorize"];
const TURN_WORDS: [&str; 8] =
    ["turn", "turns", "message", "messages", "round", "rounds", "exchanges", "questions"];
const CHINESE_DISTIL: [&str; 5] = ["提炼", "蒸馏", "整理记忆", "总结记忆", "归纳"];
const CHINESE_TURNS: [&str; 8] = ["轮", "条消息", "次对话", "条对话", "个回合", "回合", "句", "次"];
const CHINESE_NEVER: [&str; 6] = ["不要提炼", "不提炼", "无需提炼", "禁止提炼", "从不提炼", "关闭提炼"];
const CHINESE_DIGITS: &str = "零一二三四五六七八九";

/// What was read in `Agent.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentRules {
    /// After how many turns to distil, with the line that says so; 0 is never.
    pub distil_every: Option<(u32, String)>,
    /// The text of the section about memory.
    pub section: Option<String>,
}

/// How often a conversation is distilled, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DistilEvery {
    ShipJson(u32),
    /// With the line of `Agent.md`.
    AgentMd(u32, String),
    Default(u32),
}

impl DistilEvery {
    /// The setting counts before the rule, the rule before the default.
    pub fn of(setting: Option<u32>, rules: &AgentRules) -> Self {
        match (setting, &rules.distil_every) {
            (Some(turns), _) => Self::ShipJson(turns),
            (None, Some((turns, line))) => Self::AgentMd(*turns, line.clone()),
            (None, None) => Self::Default(DISTIL_EVERY),
        }
    }

    /// The number of turns; nothing where conversations are not distilled.
    pub const fn turns(&self) -> Option<u32> {
        match self {
            Self::ShipJson(turns) | Self::AgentMd(turns, _) | Self::Default(turns) => match *turns {
                0 => None,
                turns => Some(turns),
            },
        }
    }
}

impl AgentRules {
    /// Reads the text of `Agent.md`. The first rule counts.
    pub fn read(agent_md: &str) -> Self {
        let distil_every = agent_md.lines().find_map(|line| {
            let turns = english(line).or_else(|| chinese(line))?;
            Some((turns, line.trim().trim_start_matches(['-', '*', ' ']).to_owned()))
        });
        Self { distil_every, section: section(agent_md) }
    }
}

/// `distil every 30 turns`, `every 30 messages, distil …`, `never distil`, `distil: off`.
fn english(line: &str) -> Option<u32> {
    let low = line.to_lowercase();
    let words: Vec<&str> =
        low.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let distil = words.iter().position(|word| DISTIL_WORDS.contains(word))?;
    let near = |at: usize| at.abs_diff(distil) <= REACH;
    for (at, three) in words.windows(3).enumerate() {
        if let [every, number, unit] = three
            && *every == "every"
            && TURN_WORDS.contains(unit)
            && near(at)
            && let Ok(turns) = number.parse::<u32>()
        {
            return (turns <= MOST_TURNS).then_some(turns);
        }
    }
    let before = distil.checked_sub(1).and_then(|at| words.get(at));
    let not = before.is_some_and(|word| matches!(*word, "never" | "not" | "don" | "t"));
    let off = words.get(distil + 1).is_some_and(|word| matches!(*word, "off" | "never" | "nothing"));
    (not || off).then_some(0)
}

/// `每 30 轮提炼一次`, `每三十轮对话提炼记忆`, `不要提炼`.
fn chinese(line: &str) -> Option<u32> {
    if CHINESE_NEVER.iter().any(|phrase| line.contains(phrase)) {
        return Some(0);
    }
    if !CHINESE_DISTIL.iter().any(|word| line.contains(word)) {
        return None;
    }
    line.match_indices('每').find_map(|(at, every)| {
        let rest = line.get(at + every.len()..)?.trim_start_matches([' ', '隔']);
        let is_number = |c: char| c.is_ascii_digit() || CHINESE_DIGITS.contains(c) || "十百两".contains(c);
        let end = rest.find(|c: char| !is_number(c)).unwrap_or(rest.len());
        let (number, unit) = (rest.get(..end)?, rest.get(end..)?.trim_start_matches([' ', '个']));
        let counted = CHINESE_TURNS.iter().any(|word| unit.starts_with(word));
        number_of(number).filter(|turns| counted && *turns <= MOST_TURNS)
    })
}

/// A number up to 999, in digits or in Chinese.
fn number_of(text: &str) -> Option<u32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let (mut sum, mut digit): (u32, Option<u32>) = (0, None);
    for c in text.chars() {
        match c {
            '百' => sum = sum.checked_add(digit.take().unwrap_or(1).checked_mul(100)?)?,
            '十' => sum = sum.checked_add(digit.take().unwrap_or(1).checked_mul(10)?)?,
            '两' => digit = Some(2),
            c => digit = Some(u32::try_from(CHINESE_DIGITS.chars().position(|known| known == c)?).ok()?),
        }
    }
    let sum = sum.checked_add(digit.unwrap_or(0))?;
    (!text.is_empty()).then_some(sum)
}

/// The text below the heading `Memory` or `记忆`, up to the next heading that is not below it.
fn section(agent_md: &str) -> Option<String> {
    let mut level: Option<usize> = None;
    let mut fenced = false;
    let mut out = String::new();
    for line in agent_md.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let marks = line.chars().take_while(|c| *c == '#').count();
        let title = line.trim_matches(|c: char| c == '#' || c.is_whitespace()).to_lowercase();
        if marks > 0 && !fenced {
            match level {
                Some(own) if marks <= own => break,
                None if matches!(title.as_str(), "memory" | "记忆" | "memory 记忆" | "记忆 memory") => {
                    level = Some(marks);
                    continue;
                }
                _ => {}
            }
        }
        if level.is_some() {
            out.push_str(line);
            out.push('\n');
        }
    }
    Some(out.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_in_english_and_chinese() {
        for (text, turns) in [
            ("- Distil every 30 turns.", Some(30)),
            ("Please distill what matters every 12 messages.", Some(12)),
            ("Every 5 turns, distil the conversation into notes.", Some(5)),
            ("每 30 轮提炼一次", Some(30)),
            ("每30轮对话提炼一次记忆。", Some(30)),
            ("- 每隔二十轮，提炼要点", Some(20)),
            ("每一百二十条消息提炼一次", Some(120)),
            ("Never distil anything.", Some(0)),
            ("distil: off", Some(0)),
            ("不要提炼对话", Some(0)),
            ("Distil the report into one page.", None),
            ("Check the server every 30 turns of the crank.", None),
            ("每天早上提炼新闻", None),
            ("每 30 轮检查一次", None),
            ("distil every 99999999 turns", None),
            ("", None),
        ] {
            let read = AgentRules::read(&format!("# Agent\n\n{text}\n")).distil_every;
            assert_eq!(read.as_ref().map(|(turns, _)| *turns), turns, "{text}: {read:?}");
        }
    }

    #[test]
    fn the_setting_counts_before_the_rule_and_the_rule_before_the_default() {
        let rules = AgentRules::read("distil every 7 turns");
        assert_eq!(DistilEvery::of(Some(3), &rules), DistilEvery::ShipJson(3));
        assert_eq!(DistilEvery::of(None, &rules), DistilEvery::AgentMd(7, "distil every 7 turns".into()));
        assert_eq!(DistilEvery::of(None, &AgentRules::default()).turns(), Some(30));
        assert_eq!(DistilEvery::of(Some(0), &rules).turns(), None);
    }

    #[test]
    fn the_section_about_memory_ends_at_the_next_heading_of_its_level() {
        let text = "# Bo\n\n## Memory\n\nKeep names.\n\n### Never\nprices\n\n## Style\nbe short\n";
        assert_eq!(AgentRules::read(text).section.as_deref(), Some("Keep names.\n\n### Never\nprices"));
        assert_eq!(AgentRules::read("# Bo\n\n# 记忆\n记住称呼\n").section.as_deref(), Some("记住称呼"));
        assert_eq!(AgentRules::read("# Bo\nmemory\n## Memory lane\nx").section, None);
        assert_eq!(
            AgentRules::read("## Memory\n```\n# not a heading\n```\n").section.unwrap().lines().count(),
            3
        );
    }
}

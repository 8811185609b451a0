//! Cron expressions in words: the usual ones shorter than the library tells them, and all of them in Chinese.

use croner::Cron;
use croner::describe::{English, Language as CronLanguage};

use super::tasks as words;
use crate::domain::Language;

/// A cron expression in words.
pub(crate) fn cron(expression: &Cron, language: Language) -> String {
    if let Some(text) = at_one_time(expression.as_str(), language) {
        return text;
    }
    let text = match language {
        Language::En => expression.describe_lang(English),
        Language::Zh => expression.describe_lang(ChineseCron),
    };
    text.trim_end_matches('.').to_owned()
}

/// A time of every day, or of the days from one of a week to another; `None` for anything else.
fn at_one_time(expression: &str, language: Language) -> Option<String> {
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let [minute, hour, "*", "*", days] = fields.as_slice() else { return None };
    let (minute, hour): (u8, u8) = (minute.parse().ok()?, hour.parse().ok()?);
    let time = format!("{hour:02}:{minute:02}");
    let days = *days;
    if days == "*" {
        return Some(words::daily(&time, language));
    }
    let (first, last) = days.split_once('-').unwrap_or((days, days));
    let (first, last): (i8, i8) = (first.parse().ok()?, last.parse().ok()?);
    if first > last || last > 7 {
        return None;
    }
    let (first_day, last_day) = (words::weekday(first, language), words::weekday(last, language));
    Some(match first == last {
        true => words::weekly(&time, first_day, language),
        false => words::from_day_to_day(&time, first_day, last_day, language),
    })
}

/// Cron expressions in Chinese.
#[derive(Clone, Copy, Debug, Default)]
struct ChineseCron;

impl CronLanguage for ChineseCron {
    fn every_minute(&self) -> &'static str {
        "每分钟"
    }
    fn every_second_phrase(&self) -> &'static str {
        "每秒"
    }
    fn every_x_minutes(&self, step: u16) -> String {
        format!("每 {step} 分钟")
    }
    fn every_x_seconds(&self, step: u16) -> String {
        format!("每 {step} 秒")
    }
    fn every_x_hours(&self, step: u16) -> String {
        format!("每 {step} 小时")
    }
    fn every_minute_of_every_x_hours(&self, step: u16) -> String {
        format!("每 {step} 小时中的每分钟")
    }
    fn at_time(&self, time: &str) -> String {
        format!("在 {time}")
    }
    fn at_time_and_every_x_seconds(&self, time: &str, step: u16) -> String {
        format!("在 {time}，每 {step} 秒")
    }
    fn at_time_at_second(&self, time: &str, second: &str) -> String {
        format!("在 {time} 第 {second} 秒")
    }
    fn at_phrase(&self, phrase: &str) -> String {
        format!("在{phrase}")
    }
    fn on_phrase(&self, phrase: &str) -> String {
        phrase.to_owned()
    }
    fn in_phrase(&self, phrase: &str) -> String {
        phrase.to_owned()
    }
    fn second_phrase(&self, s: &str) -> String {
        format!("第 {s} 秒")
    }
    fn minute_phrase(&self, s: &str) -> String {
        format!("第 {s} 分")
    }
    fn minute_past_every_hour_phrase(&self, s: &str) -> String {
        format!("每小时{s}")
    }
    fn hour_phrase(&self, s: &str) -> String {
        format!("{s} 点")
    }
    fn year_phrase(&self, s: &str) -> String {
        format!("{s} 年")
    }
    fn day_phrase(&self, s: &str) -> String {
        format!("每月 {s} 日")
    }
    fn the_last_day_of_the_month(&self) -> &'static str {
        "每月最后一天"
    }
    fn the_weekday_nearest_day(&self, day: &str) -> String {
        format!("最接近 {day} 日的工作日")
    }
    fn the_last_weekday_of_the_month(&self, day: &str) -> String {
        format!("每月最后一个{day}")
    }
    fn the_nth_weekday_of_the_month(&self, n: u8, day: &str) -> String {
        format!("每月第 {n} 个{day}")
    }
    fn dom_and_dow_if_also(&self, dow: &str) -> String {
        format!("（且为{dow}）")
    }
    fn dom_and_dow_if_also_one_of(&self, dow: &str) -> String {
        format!("（且为其中之一：{dow}）")
    }
    fn list_conjunction_and(&self) -> &'static str {
        "和"
    }
    fn list_conjunction_or(&self) -> &'static str {
        "或"
    }
    fn list_conjunction_and_comma(&self) -> &'static str {
        "、"
    }
    fn day_of_week_names(&self) -> [&'static str; 7] {
        ["星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"]
    }
    fn month_names(&self) -> [&'static str; 12] {
        ["一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"]
    }
}

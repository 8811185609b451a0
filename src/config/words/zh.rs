//! The checker's words in Chinese.

use crate::config::dotenv::LineFault;
use crate::config::problem::{Fault, JsonType, Range, SyntaxFault, Words};

/// What is wrong and what to do about it.
pub(in crate::config) fn say(fault: &Fault) -> Words {
    let (message, fix) = match fault {
        Fault::Syntax(fault) => syntax(*fault),
        Fault::DotEnv(fault) => dotenv(*fault),
        Fault::Unreadable(why) => (format!("无法读取（{why}）"), "请检查文件权限".into()),
        Fault::TooLarge => ("文件超过 1 MiB".into(), "其中只应有配置".into()),
        Fault::NotUtf8 => ("文件不是 UTF-8 编码".into(), "请另存为 UTF-8".into()),
        Fault::DuplicateKey { first_line } => {
            (format!("这个键在第 {first_line} 行已经出现过"), "请删去其中一个".into())
        }
        Fault::UnknownKey { meant: Some(meant), .. } => {
            ("没有这个键".into(), format!("是不是想写 \"{meant}\"？"))
        }
        Fault::UnknownKey { meant: None, known } => {
            ("没有这个键".into(), format!("这里可用的键：{}", known.join("、")))
        }
        Fault::TypoInTool { meant } => ("没有这个工具".into(), format!("是不是想写 \"{meant}\"？")),
        Fault::UnknownTool { known } => {
            ("shipagent 没有叫这个名字的工具，此项不起作用".into(), format!("工具有：{}", known.join("、")))
        }
        Fault::WrongType { expected, found, in_quotes } => wrong_type(*expected, *found, *in_quotes),
        Fault::BadChoice { found, choices, meant } => (
            format!("{found:?} 不在可选值之中：{}", quoted(choices)),
            match meant {
                Some(meant) => format!("是不是想写 \"{meant}\"？"),
                None => "请从中选一个".into(),
            },
        ),
        Fault::OutOfRange { found, range } => out_of_range(found, range),
        Fault::EmptyText => ("内容为空".into(), "请填写，或删去这个键".into()),
        Fault::LongText { max } => (format!("超过 {max} 个字符"), "请缩短".into()),
        Fault::UnsetVariable(name) => (
            format!("变量 {name} 没有设置"),
            format!("请在环境变量或 .env 中设置，或给出默认值：${{{name}:-…}}"),
        ),
        Fault::OpenVariable => {
            ("\"${\" 没有对应的 \"}\"".into(), "请写 ${NAME}；若要这两个字符本身，请写 $${".into())
        }
        Fault::BadVariable(inside) => (
            format!("\"${{{inside}}}\" 不是变量"),
            "请写 ${NAME} 或 ${NAME:-默认值}，名称只用字母、数字和 _".into(),
        ),
        Fault::BadUrl(found) => {
            (format!("{found:?} 不是网址"), "请写成 http://主机 或 https://主机/路径".into())
        }
        Fault::BadListen(found) => {
            (format!("{found:?} 不是监听地址"), "请写 地址:端口，例如 127.0.0.1:7717".into())
        }
        Fault::BadAuthor { found, meant } => bad_author(found, meant.as_deref()),
        Fault::BadApprover { found, meant } => (
            format!("{found:?} 既不是角色，也不是用户 id"),
            match meant {
                Some(meant) => format!("是不是想写 \"{meant}\"？"),
                None => "请写 requester、owners、admins，或 telegram:user:123456 这样的 id".into(),
            },
        ),
        Fault::BadHost(found) => (
            format!("{found:?} 不是主机名"),
            "只写主机名，例如 agent.example.org，不带协议、端口和路径".into(),
        ),
        Fault::BadRule(found) => (
            format!("{found:?} 不是一条普通命令的开头"),
            "请写命令最前面的几个词，例如 \"git status\"，不带 * 和运算符".into(),
        ),
        Fault::BadSocket(found) => (
            format!("{found:?} 不是可供命令连接的套接字路径"),
            "请写绝对路径，例如 /run/docker.sock，不含 ..，也不在 .ship 中".into(),
        ),
        Fault::LiteralSecret { variable } => literal_secret(variable),
        Fault::KeyNeeded => (
            "api.openai.com 需要密钥".into(),
            "请设为 ${OPENAI_API_KEY}，或把 llm.baseUrl 设为自己的服务器".into(),
        ),
        Fault::Disagreement(why) => (format!("不被接受（{why}）"), "请报告此问题：检查本应说明原因".into()),
    };
    Words { message, fix }
}

fn literal_secret(variable: &str) -> (String, String) {
    (
        "密钥直接写在文件里，可能随提交、备份或工具泄露".into(),
        format!("请在 .env 中写 {variable}=…，此处改为 \"${{{variable}}}\""),
    )
}

fn syntax(fault: SyntaxFault) -> (String, String) {
    let (message, fix) = match fault {
        SyntaxFault::Empty => ("文件是空的", "请写入 {}，或删除文件"),
        SyntaxFault::MissingComma => ("缺少逗号", "请在此处加上"),
        SyntaxFault::SingleQuotes => ("JSON 不用单引号", "请用双引号"),
        SyntaxFault::UnquotedKey => ("键没有加引号", "请加双引号"),
        SyntaxFault::MissingColon => ("键后缺少冒号", "请写 \"键\": 值"),
        SyntaxFault::MissingValue => ("冒号后缺少值", "请写 \"键\": 值"),
        SyntaxFault::BareWord => ("单词没有加引号", "文本请加双引号；true、false、null 须小写"),
        SyntaxFault::BadNumber => ("数字写法不符合 JSON", "请写成 12、-3 或 0.5"),
        SyntaxFault::BadEscape => ("JSON 没有这种转义", "反斜杠请写成 \\\\"),
        SyntaxFault::OpenText => ("文本在行末没有结束", "请用双引号结束"),
        SyntaxFault::OpenObject => ("这个 { 没有结束", "请补上 }"),
        SyntaxFault::OpenArray => ("这个 [ 没有结束", "请补上 ]"),
        SyntaxFault::OpenComment => ("这个注释没有结束", "请补上 */"),
        SyntaxFault::SecondValue => ("结尾之后还有内容", "请删去，或检查前面的括号"),
        SyntaxFault::TooDeep => ("括号嵌套太深", "请检查括号"),
        SyntaxFault::StraySign => ("此处不应有这个符号", "请删去，或补上它前面缺少的内容"),
    };
    (message.into(), fix.into())
}

fn dotenv(fault: LineFault) -> (String, String) {
    let (message, fix) = match fault {
        LineFault::NoEquals => ("这一行没有 \"=\"", "请写 NAME=值；注释以 # 开头"),
        LineFault::BadName => ("\"=\" 之前不是变量名", "请用字母、数字和 _，且不以数字开头"),
        LineFault::OpenQuote => ("引号没有结束", "请补上或去掉引号"),
        LineFault::AfterQuote => ("结束引号之后还有内容", "请把整个值放进引号"),
    };
    (message.into(), fix.into())
}

fn wrong_type(expected: JsonType, found: JsonType, in_quotes: bool) -> (String, String) {
    let message = format!("应为{}，却是{}", wanted(expected), type_name(found));
    let fix = match (expected, found) {
        (_, JsonType::Null) => "请给出值，或删去这个键",
        _ if in_quotes => "请去掉引号",
        (JsonType::Text, JsonType::Integer | JsonType::Number | JsonType::Boolean) => "请加双引号",
        (JsonType::Integer, JsonType::Number) => "请去掉小数部分",
        (JsonType::Array, _) => "请放进方括号：[ … ]",
        (JsonType::Object, _) => "请写 { \"键\": 值 }",
        (JsonType::Text, _) => "请写一段双引号中的文本",
        (JsonType::Integer | JsonType::Number, _) => "请写一个数字",
        (JsonType::Boolean, _) => "请写 true 或 false",
        (JsonType::Null, _) => "请删去这个键",
    };
    (message, fix.into())
}

/// What is wanted of a number is not that it has a fraction.
fn wanted(json: JsonType) -> &'static str {
    if json == JsonType::Number { "数字" } else { type_name(json) }
}

fn type_name(json: JsonType) -> &'static str {
    match json {
        JsonType::Object => "对象",
        JsonType::Array => "列表",
        JsonType::Text => "文本",
        JsonType::Integer => "整数",
        JsonType::Number => "小数",
        JsonType::Boolean => "true 或 false",
        JsonType::Null => "null",
    }
}

fn out_of_range(found: &str, range: &Range) -> (String, String) {
    let fix = match range {
        Range::Between(min, max) => format!("请用 {min} 到 {max} 之间的数"),
        Range::MoreThan(min) => format!("请用大于 {min} 的数"),
        Range::Representable => "请用小一些的数".into(),
    };
    (format!("{found} 超出范围"), fix)
}

fn bad_author(found: &str, meant: Option<&str>) -> (String, String) {
    match meant {
        Some(meant) => (format!("{found:?} 中的平台不存在"), format!("是不是想写 \"{meant}\"？")),
        None => (format!("{found:?} 不是用户 id"), "请写 平台:user:id，例如 telegram:user:123456".into()),
    }
}

fn quoted(choices: &[String]) -> String {
    choices.iter().map(|choice| format!("\"{choice}\"")).collect::<Vec<_>>().join("、")
}

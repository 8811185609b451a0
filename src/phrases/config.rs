//! Messages about problems in `ship.json`, `.env` and `Agent.md`, each with its advice.

use std::fmt::Display;

use super::table::phrases;

phrases! {
    text between_message_and_fix() { en: "; ", zh: "；" }
    format warning(line: &str) { en: "warning: {line}", zh: "提醒：{line}" }
    text between_names() { en: ", ", zh: "、" }
    format did_you_mean(meant: &str) { en: "did you mean \"{meant}\"?", zh: "是不是想写 \"{meant}\"？" }

    format unreadable(why: &str) { en: "cannot be read ({why})", zh: "无法读取（{why}）" }
    text unreadable_fix() { en: "check its permissions", zh: "请检查文件权限" }
    text too_large() { en: "is larger than 1 MiB", zh: "文件超过 1 MiB" }
    text too_large_fix() { en: "keep only configuration in it", zh: "其中只应有配置" }
    text not_utf8() { en: "is not UTF-8", zh: "文件不是 UTF-8 编码" }
    text not_utf8_fix() { en: "save it as UTF-8", zh: "请另存为 UTF-8" }
    format duplicate_key(line: usize) {
        en: "this key is already set on line {line}",
        zh: "这个键在第 {line} 行已经出现过",
    }
    text duplicate_key_fix() { en: "remove one of the two", zh: "请删去其中一个" }
    text unknown_key() { en: "unknown key", zh: "没有这个键" }
    format known_keys(names: &str) { en: "the keys here are {names}", zh: "这里可用的键：{names}" }
    text no_such_tool() { en: "there is no such tool", zh: "没有这个工具" }
    text unknown_tool() {
        en: "shipagent has no tool of this name, so this does nothing",
        zh: "shipagent 没有叫这个名字的工具，此项不起作用",
    }
    format known_tools(names: &str) { en: "the tools are {names}", zh: "工具有：{names}" }
    format bad_choice(found: &str, choices: &str) {
        en: "{found:?} is not one of {choices}",
        zh: "{found:?} 不在可选值之中：{choices}",
    }
    text bad_choice_fix() { en: "choose one of these", zh: "请从中选一个" }
    format out_of_range(found: &str) { en: "{found} is out of range", zh: "{found} 超出范围" }
    format range_between(min: &str, max: &str) {
        en: "use a number from {min} to {max}",
        zh: "请用 {min} 到 {max} 之间的数",
    }
    format range_more_than(min: &str) { en: "use a number above {min}", zh: "请用大于 {min} 的数" }
    text range_smaller() { en: "use a smaller number", zh: "请用小一些的数" }
    text empty_text() { en: "is empty", zh: "内容为空" }
    text empty_text_fix() { en: "fill it in, or remove the key", zh: "请填写，或删去这个键" }
    format long_text(max: u64) { en: "has more than {max} characters", zh: "超过 {max} 个字符" }
    text long_text_fix() { en: "shorten it", zh: "请缩短" }
    format unset_variable(name: &str) { en: "the variable {name} is not set", zh: "变量 {name} 没有设置" }
    format unset_variable_fix(name: &str) {
        en: "set it in the environment or in .env, or give a default: ${{{name}:-…}}",
        zh: "请在环境变量或 .env 中设置，或给出默认值：${{{name}:-…}}",
    }
    text open_variable() { en: "\"${\" has no closing \"}\"", zh: "\"${\" 没有对应的 \"}\"" }
    text open_variable_fix() {
        en: "write ${NAME}, or $${ for the two characters",
        zh: "请写 ${NAME}；若要这两个字符本身，请写 $${",
    }
    format bad_variable(inside: &str) { en: "\"${{{inside}}}\" names no variable", zh: "\"${{{inside}}}\" 不是变量" }
    text bad_variable_fix() {
        en: "write ${NAME} or ${NAME:-default}, with letters, digits and _ in the name",
        zh: "请写 ${NAME} 或 ${NAME:-默认值}，名称只用字母、数字和 _",
    }
    format bad_url(found: &str) { en: "{found:?} is not a web address", zh: "{found:?} 不是网址" }
    text bad_url_fix() {
        en: "write it as http://host or https://host/path",
        zh: "请写成 http://主机 或 https://主机/路径",
    }
    format bad_listen(found: &str) { en: "{found:?} is not an address to listen at", zh: "{found:?} 不是监听地址" }
    text bad_listen_fix() {
        en: "write address:port, such as 127.0.0.1:7717",
        zh: "请写 地址:端口，例如 127.0.0.1:7717",
    }
    format no_such_platform(found: &str) { en: "{found:?} names a platform there is not", zh: "{found:?} 中的平台不存在" }
    format bad_author(found: &str) { en: "{found:?} is not a person's id", zh: "{found:?} 不是用户 id" }
    text bad_author_fix() {
        en: "write platform:user:id, such as telegram:user:123456",
        zh: "请写 平台:user:id，例如 telegram:user:123456",
    }
    format bad_peer(found: &str) { en: "{found:?} is not a name for a person", zh: "{found:?} 不能用作人名" }
    text bad_peer_fix() {
        en: "use 1 to 64 letters, digits, '-', '_' or '.'",
        zh: "请用 1 到 64 个字母、数字、“-”、“_”或“.”",
    }
    format bad_model_name(found: &str) { en: "{found:?} is not a name for a model", zh: "{found:?} 不能用作模型的名称" }
    text bad_model_name_fix() {
        en: "use 1 to 32 small letters, digits, '-', '_' or '.', beginning with a letter or digit; \"default\" means the model of `llm`",
        zh: "请用 1 到 32 个小写字母、数字、“-”、“_”或“.”，以字母或数字开头；“default”指 `llm` 的模型",
    }
    format two_peers(found: &str, other: &str) {
        en: "{found:?} is linked to {other:?} already",
        zh: "{found:?} 已经归到 {other:?} 名下",
    }
    text two_peers_fix() { en: "list an identity under one person only", zh: "一个身份只能归到一个人名下" }
    format bad_approver(found: &str) {
        en: "{found:?} is neither a role nor a person's id",
        zh: "{found:?} 既不是角色，也不是用户 id",
    }
    text bad_approver_fix() {
        en: "write requester, owners, admins, or an id such as telegram:user:123456",
        zh: "请写 requester、owners、admins，或 telegram:user:123456 这样的 id",
    }
    format bad_host(found: &str) { en: "{found:?} is not a host name", zh: "{found:?} 不是主机名" }
    text bad_host_fix() {
        en: "write the name alone, such as agent.example.org, without scheme, port or path",
        zh: "只写主机名，例如 agent.example.org，不带协议、端口和路径",
    }
    format bad_origin(found: &str) { en: "{found:?} is not the origin of a web page", zh: "{found:?} 不是网页的来源（origin）" }
    text bad_origin_fix() {
        en: "write scheme, host and port as a browser does, such as https://app.example.org or http://localhost:3000, without a path and without *",
        zh: "按浏览器的写法写协议、主机和端口，例如 https://app.example.org 或 http://localhost:3000，不带路径，也不用 *",
    }
    format bad_time_zone(found: &str) { en: "{found:?} is not a time zone", zh: "{found:?} 不是时区" }
    text bad_time_zone_fix() {
        en: "write a name such as Asia/Shanghai or Europe/Berlin; abbreviations such as CST name several zones",
        zh: "请写 Asia/Shanghai、Europe/Berlin 这样的名称；CST 之类的缩写可能指多个时区",
    }
    format bad_rule(found: &str) {
        en: "{found:?} is not the beginning of one plain command",
        zh: "{found:?} 不是一条普通命令的开头",
    }
    text bad_rule_fix() {
        en: "write its first words, such as \"git status\", without * or operators",
        zh: "请写命令最前面的几个词，例如 \"git status\"，不带 * 和运算符",
    }
    format bad_socket(found: &str) {
        en: "{found:?} is not the path of a socket that commands may connect to",
        zh: "{found:?} 不是可供命令连接的套接字路径",
    }
    text bad_socket_fix() {
        en: "write an absolute path such as /run/docker.sock, without .. and not inside .ship",
        zh: "请写绝对路径，例如 /run/docker.sock，不含 ..，也不在 .ship 中",
    }
    text literal_secret() {
        en: "this secret is written into the file, where commits, backups and tools can pick it up",
        zh: "密钥直接写在文件里，可能随提交、备份或工具泄露",
    }
    format literal_secret_fix(variable: &str) {
        en: "put {variable}=… into .env and write \"${{{variable}}}\" here",
        zh: "请在 .env 中写 {variable}=…，此处改为 \"${{{variable}}}\"",
    }
    format needed_for(provider: &str) {
        en: "is missing: provider \"{provider}\" needs it",
        zh: "缺少：provider 为 \"{provider}\" 时需要它",
    }
    text needed_for_fix() {
        en: "write it, or set the provider to \"off\"",
        zh: "请填写，或把 provider 设为 \"off\"",
    }
    format no_rate(found: &str) {
        en: "how much {found} one US dollar is, is not known",
        zh: "不知道 1 美元等于多少 {found}",
    }
    text no_rate_fix() {
        en: "set budget.perDollar, such as 7.2",
        zh: "请设置 budget.perDollar，例如 7.2",
    }
    text key_needed() { en: "api.openai.com needs a key", zh: "api.openai.com 需要密钥" }
    text key_needed_fix() {
        en: "set it to ${OPENAI_API_KEY}, or set llm.baseUrl to your own server",
        zh: "请设为 ${OPENAI_API_KEY}，或把 llm.baseUrl 设为自己的服务器",
    }
    text bad_key() { en: "is not the path of a key", zh: "不是键的路径" }
    text bad_key_fix() {
        en: "write it with dots, such as llm.model or llm.fallbacks[0].model",
        zh: "请用点号书写，例如 llm.model 或 llm.fallbacks[0].model",
    }
    text not_inside() { en: "the value around this key has no keys", zh: "外层的值不能包含键" }
    text not_inside_fix() { en: "set the value around it", zh: "请设置外层的值" }
    format no_element(length: usize) {
        en: "is behind the end of the list, which has {length} entries",
        zh: "超出列表末尾，列表只有 {length} 项",
    }
    format no_element_fix(length: usize) { en: "use [{length}] to add one", zh: "要添加一项，请用 [{length}]" }
    format cannot_write(file: &str, why: &dyn Display) { en: "{file} cannot be written ({why})", zh: "无法写入 {file}（{why}）" }
    format key_set(key: &str) { en: "{key} is set in ship.json", zh: "已在 ship.json 中设置 {key}" }
    format key_removed(key: &str) { en: "{key} is removed from ship.json", zh: "已从 ship.json 中删去 {key}" }
    text counts_after_restart() { en: "a running daemon takes this up after a restart", zh: "运行中的守护进程重启后生效" }
    format key_unchanged(key: &str) { en: "{key} has this value already", zh: "{key} 已是这个值" }
    format key_not_there(key: &str) { en: "{key} is not in ship.json", zh: "ship.json 中没有 {key}" }
    format variable_written(name: &str) {
        en: "{name} is written to .env, which only its owner may read",
        zh: "{name} 已写入 .env，仅所有者可读",
    }
    format variable_overridden(name: &str) {
        en: "the environment sets {name} to something else, which takes precedence over .env",
        zh: "环境变量 {name} 另有取值，优先于 .env",
    }
    text secret_not_shown() { en: "(secret, not shown)", zh: "（密钥，不显示）" }
    text no_value() { en: "(none)", zh: "（无）" }
    format disagreement(why: &str) { en: "is not accepted ({why})", zh: "不被接受（{why}）" }
    text disagreement_fix() {
        en: "please report this: the check should have said why",
        zh: "请报告此问题：检查本应说明原因",
    }

    format wrong_type(expected: &str, found: &str) {
        en: "should be {expected}, but is {found}",
        zh: "应为{expected}，却是{found}",
    }
    text a_number() { en: "a number", zh: "数字" }
    text type_object() { en: "an object", zh: "对象" }
    text type_array() { en: "a list", zh: "列表" }
    text type_text() { en: "text", zh: "文本" }
    text type_integer() { en: "a whole number", zh: "整数" }
    text type_number() { en: "a number with a fraction", zh: "小数" }
    text type_boolean() { en: "true or false", zh: "true 或 false" }
    text type_null() { en: "null", zh: "null" }
    text give_value() { en: "give it a value, or remove the key", zh: "请给出值，或删去这个键" }
    text remove_quotes() { en: "remove the quotes", zh: "请去掉引号" }
    text put_in_quotes() { en: "put it in double quotes", zh: "请加双引号" }
    text no_fraction() { en: "leave out the fraction", zh: "请去掉小数部分" }
    text put_in_brackets() { en: "put it in brackets: [ … ]", zh: "请放进方括号：[ … ]" }
    text write_object() { en: "write { \"key\": value }", zh: "请写 { \"键\": 值 }" }
    text write_text() { en: "write one text in double quotes", zh: "请写一段双引号中的文本" }
    text write_number() { en: "write one number", zh: "请写一个数字" }
    text write_boolean() { en: "write true or false", zh: "请写 true 或 false" }
    text remove_key() { en: "remove the key", zh: "请删去这个键" }

    text json_empty() { en: "is empty", zh: "文件是空的" }
    text json_empty_fix() { en: "write {} into it, or remove it", zh: "请写入 {}，或删除文件" }
    text json_missing_comma() { en: "a comma is missing", zh: "缺少逗号" }
    text json_missing_comma_fix() { en: "put one here", zh: "请在此处加上" }
    text json_single_quotes() { en: "single quotes are not JSON", zh: "JSON 不用单引号" }
    text json_single_quotes_fix() { en: "use double quotes", zh: "请用双引号" }
    text json_unquoted_key() { en: "this key has no quotes", zh: "键没有加引号" }
    text json_missing_colon() { en: "a colon is missing behind the key", zh: "键后缺少冒号" }
    text json_missing_value() { en: "a value is missing behind the colon", zh: "冒号后缺少值" }
    text json_write_pair() { en: "write \"key\": value", zh: "请写 \"键\": 值" }
    text json_bare_word() { en: "a word without quotes", zh: "单词没有加引号" }
    text json_bare_word_fix() {
        en: "put text in double quotes; true, false and null are lower-case",
        zh: "文本请加双引号；true、false、null 须小写",
    }
    text json_bad_number() { en: "not a number in JSON's notation", zh: "数字写法不符合 JSON" }
    text json_bad_number_fix() { en: "write it as 12, -3 or 0.5", zh: "请写成 12、-3 或 0.5" }
    text json_bad_escape() { en: "an escape that JSON does not have", zh: "JSON 没有这种转义" }
    text json_bad_escape_fix() { en: "write a backslash as \\\\", zh: "反斜杠请写成 \\\\" }
    text json_open_text() { en: "this text does not end on its line", zh: "文本在行末没有结束" }
    text json_open_text_fix() { en: "close it with a double quote", zh: "请用双引号结束" }
    text json_open_object() { en: "this { is never closed", zh: "这个 { 没有结束" }
    text json_open_object_fix() { en: "add the missing }", zh: "请补上 }" }
    text json_open_array() { en: "this [ is never closed", zh: "这个 [ 没有结束" }
    text json_open_array_fix() { en: "add the missing ]", zh: "请补上 ]" }
    text json_open_comment() { en: "this comment is never closed", zh: "这个注释没有结束" }
    text json_open_comment_fix() { en: "add the missing */", zh: "请补上 */" }
    text json_second_value() { en: "something stands behind the end", zh: "结尾之后还有内容" }
    text json_second_value_fix() { en: "remove it, or mend the braces above", zh: "请删去，或检查前面的括号" }
    text json_too_deep() { en: "too many brackets inside each other", zh: "括号嵌套太深" }
    text json_too_deep_fix() { en: "mend the brackets", zh: "请检查括号" }
    text json_stray_sign() { en: "a sign that does not belong here", zh: "此处不应有这个符号" }
    text json_stray_sign_fix() {
        en: "remove it, or add what is missing before it",
        zh: "请删去，或补上它前面缺少的内容",
    }

    text env_no_equals() { en: "this line has no \"=\"", zh: "这一行没有 \"=\"" }
    text env_no_equals_fix() { en: "write NAME=value, or begin a comment with #", zh: "请写 NAME=值；注释以 # 开头" }
    text env_bad_name() { en: "the part before \"=\" is not a name", zh: "\"=\" 之前不是变量名" }
    text env_bad_name_fix() {
        en: "use letters, digits and _, and no digit first",
        zh: "请用字母、数字和 _，且不以数字开头",
    }
    text env_open_quote() { en: "this quote is never closed", zh: "引号没有结束" }
    text env_open_quote_fix() { en: "close it, or remove it", zh: "请补上或去掉引号" }
    text env_after_quote() { en: "something stands behind the closing quote", zh: "结束引号之后还有内容" }
    text env_after_quote_fix() { en: "quote the whole value", zh: "请把整个值放进引号" }

    format no_project(directory: impl Display) {
        en: "{directory} is not a directory; give the project directory with -C DIR",
        zh: "{directory} 不是目录；请用 -C DIR 指定项目目录",
    }
    format no_agent_md(path: impl Display) {
        en: "{path} is missing; run `shipagent init` to create one, or give another directory with -C DIR",
        zh: "缺少 {path}；请运行 `shipagent init` 创建，或用 -C DIR 指定其他目录",
    }
    format agent_md_empty(path: impl Display) {
        en: "{path} is empty; write down who the agent is and what it should do",
        zh: "{path} 是空的；请写下这个智能体是谁、该做什么",
    }
    format agent_md_too_large(path: impl Display) {
        en: "{path} is larger than 256 KiB; all of it goes into every call, so shorten it",
        zh: "{path} 超过 256 KiB；它会进入每次调用，请缩短",
    }
    format agent_md_not_utf8(path: impl Display) {
        en: "{path} is not UTF-8; save it as UTF-8",
        zh: "{path} 不是 UTF-8 编码；请另存为 UTF-8",
    }
    format agent_md_unreadable(path: impl Display, cause: impl Display) {
        en: "{path} cannot be read ({cause}); check its permissions",
        zh: "无法读取 {path}（{cause}）；请检查文件权限",
    }

    text valid() { en: "ship.json is valid", zh: "ship.json 有效" }
    text defaults_apply() {
        en: "there is no ship.json: the defaults apply",
        zh: "没有 ship.json：使用默认值",
    }
    format problems(count: usize) {
        1 => { en: "{count} problem", zh: "{count} 个问题" }
        _ => { en: "{count} problems", zh: "{count} 个问题" }
    }
}

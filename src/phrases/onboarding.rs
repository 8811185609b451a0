//! Questions and messages of the onboarding, in the terminal and in the answers to the console.

use std::fmt::Display;

use super::table::phrases;
use crate::domain::ErrorKind;

phrases! {
    named provider(id: &str) {
        "openai" => { en: "OpenAI", zh: "OpenAI" }
        "deepseek" => { en: "DeepSeek", zh: "DeepSeek（深度求索）" }
        "qwen" => { en: "Qwen (DashScope)", zh: "通义千问（DashScope）" }
        "moonshot" => { en: "Kimi (Moonshot)", zh: "Kimi（月之暗面 Moonshot）" }
        "glm" => { en: "GLM (Zhipu)", zh: "GLM（智谱）" }
        "ollama" => { en: "Ollama, on this machine", zh: "Ollama（本机）" }
        "other" => { en: "Another OpenAI-compatible server", zh: "其他兼容 OpenAI 的服务器" }
    }
    text offline_title() { en: "None for now: the built-in offline model", zh: "暂不使用：内置的离线模型" }

    text unknown_provider() { en: "there is no such provider", zh: "没有这个模型服务商" }
    text unknown_platform() { en: "there is no such chat platform", zh: "没有这个聊天平台" }
    text bad_model() { en: "write the model's name, such as gpt-6-luna", zh: "请写模型名称，例如 gpt-6-luna" }
    text bad_secret() {
        en: "a key or token is one word without spaces: copy it whole, and nothing beside it",
        zh: "密钥或令牌是一个不含空格的词：请完整复制，不要带上其他内容",
    }
    text bad_name() { en: "a name has 1 to 80 characters", zh: "名称须有 1 到 80 个字符" }
    text bad_address() {
        en: "write the address as http://host or https://host/path",
        zh: "请把地址写成 http://主机 或 https://主机/路径",
    }
    text bad_variable() {
        en: "a variable's name has letters, digits and _, and no digit first",
        zh: "变量名只用字母、数字和 _，且不以数字开头",
    }
    format purpose_too_long(most: usize) { en: "at most {most} characters", zh: "最多 {most} 个字符" }
    format values_missing(names: &str) { en: "fill in {names}", zh: "请填写 {names}" }
    format cannot_write(path: impl Display, cause: impl Display) {
        en: "cannot write {path}: {cause}",
        zh: "无法写入 {path}：{cause}",
    }

    text model_trouble(kind: ErrorKind) {
        ErrorKind::Auth => { en: "The server refused the key.", zh: "服务器拒绝了这个密钥。" }
        ErrorKind::Quota => {
            en: "The key is right, but its account has no credit left.",
            zh: "密钥正确，但账户余额不足。",
        }
        ErrorKind::Rate => { en: "The server is busy: try again in a moment.", zh: "服务器繁忙：请稍后再试。" }
        ErrorKind::Network => {
            en: "The server could not be reached: check the address, the network and the proxy.",
            zh: "无法连接服务器：请检查地址、网络和代理。",
        }
        ErrorKind::Timeout => { en: "The server did not answer in time.", zh: "服务器没有及时响应。" }
        ErrorKind::BadRequest | ErrorKind::ContextLength => {
            en: "The server did not accept the request: check the model’s name and the address.",
            zh: "服务器没有接受请求：请检查模型名称和地址。",
        }
        ErrorKind::BadResponse => {
            en: "This is no OpenAI-compatible server: the address should end where /chat/completions begins.",
            zh: "这不是兼容 OpenAI 的服务器：地址应写到 /chat/completions 之前。",
        }
        ErrorKind::Server
        | ErrorKind::TooManySteps
        | ErrorKind::Loop
        | ErrorKind::Budget
        | ErrorKind::Storage
        | ErrorKind::Internal => { en: "The server failed: try again later.", zh: "服务器出错：请稍后再试。" }
    }
    format no_such_model(model: &str) {
        en: "This server has no model {model}.",
        zh: "这个服务器没有模型 {model}。",
    }
    format section_invalid(cause: impl Display) {
        en: "These values cannot be used: {cause}",
        zh: "这些值无法使用：{cause}",
    }
    format platform_unreachable(cause: impl Display) {
        en: "The platform could not be reached: {cause}",
        zh: "无法连接平台：{cause}",
    }
    format platform_silent(seconds: u64) {
        en: "The platform did not answer within {seconds} seconds.",
        zh: "平台在 {seconds} 秒内没有响应。",
    }
}

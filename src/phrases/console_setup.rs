//! Texts of the onboarding in the console. Written into `adapters/web/page/phrases.js` together with those of `page.rs`.

use super::table::phrases;

phrases! {
    text setup_title() { en: "Set up", zh: "初始设置" }
    text setup_offer() {
        en: "The built-in model answers for now. Choose a real one, and where people reach the agent.",
        zh: "目前由内置模型回答。可以选择真正的模型，以及人们在哪里联系智能体。",
    }
    text setup_open() { en: "Set it up", zh: "开始设置" }
    text setup_later() { en: "Not now", zh: "以后再说" }
    text setup_lost() {
        en: "Keys and tokens are kept on this page alone, and it was loaded again: enter it once more.",
        zh: "密钥和令牌只保存在此页面中，而页面已重新加载：请再输入一次。",
    }
    text setup_over() {
        en: "This project has its configuration in ship.json; there is nothing left to set up here.",
        zh: "此项目的配置已在 ship.json 中，这里没有需要设置的内容了。",
    }
    format setup_place(at: &str, count: &str) { en: "Step {at} of {count}", zh: "第 {at} 步，共 {count} 步" }
    named setup_titles(key: &str) {
        "language" => { en: "Language", zh: "语言" }
        "provider" => { en: "Which model answers?", zh: "由哪个模型回答？" }
        "key" => { en: "Connect it", zh: "连接模型" }
        "model" => { en: "Choose the model", zh: "选择模型" }
        "agent" => { en: "Who is the agent?", zh: "智能体是谁？" }
        "platform" => { en: "Where do people reach it?", zh: "人们在哪里联系它？" }
        "owner" => { en: "Become its owner", zh: "成为所有者" }
        "done" => { en: "Everything is ready", zh: "一切就绪" }
    }
    text setup_next() { en: "Continue", zh: "继续" }
    text setup_back() { en: "Back", zh: "上一步" }
    text setup_skip() { en: "Skip", zh: "跳过" }
    text setup_anyway() { en: "Keep it and go on", zh: "保留并继续" }
    text setup_test() { en: "Test and continue", zh: "测试并继续" }
    text setup_use() { en: "Use this model", zh: "使用此模型" }
    text setup_finish() { en: "Save and start", zh: "保存并启动" }
    text setup_pair() { en: "Confirm the code", zh: "确认配对码" }
    text setup_start() { en: "Start chatting", zh: "开始对话" }
    text setup_language_about() {
        en: "The language of this console and of the agent’s own messages. It answers people in theirs.",
        zh: "控制台和智能体自身消息的语言。它会用对方的语言回答。",
    }
    text setup_provider_about() {
        en: "Any OpenAI-compatible server works. You can change it later in ship.json.",
        zh: "任何兼容 OpenAI 的服务器都可以。以后可在 ship.json 中更改。",
    }
    text setup_offline() { en: "None for now", zh: "暂不选择" }
    text setup_offline_about() { en: "try without a key: the built-in model", zh: "无需密钥：使用内置模型" }
    text setup_address() { en: "Address of the server", zh: "服务器地址" }
    format setup_key(name: &str) { en: "Key for {name}", zh: "{name} 的密钥" }
    text setup_key_other() { en: "Key for this server", zh: "此服务器的密钥" }
    text setup_key_at() { en: "Made here:", zh: "在此创建：" }
    format setup_key_in(name: &str) { en: "Empty: the key in {name} is used.", zh: "留空则使用 {name} 中的密钥。" }
    text setup_key_maybe() { en: "Empty where the server needs none.", zh: "服务器不需要密钥时留空。" }
    text setup_key_about() {
        en: "The key is stored in .env, readable by you alone. The test makes one short call.",
        zh: "密钥保存在 .env 中，仅你可读。测试会进行一次简短的调用。",
    }
    text setup_asking() { en: "Asking the model…", zh: "正在测试模型…" }
    format setup_answers(model: &str) { en: "{model} answers.", zh: "{model} 可用。" }
    text setup_model() { en: "Name of the model", zh: "模型名称" }
    format setup_models(count: &str) { en: "The server has {count} models", zh: "服务器有 {count} 个模型" }
    text setup_model_other() { en: "Or another name", zh: "或其他名称" }
    text setup_no_list() { en: "The server lists no models: write the name.", zh: "服务器没有列出模型：请填写名称。" }
    text setup_name() { en: "Name", zh: "名称" }
    text setup_purpose() { en: "What is it for?", zh: "它的用途是什么？" }
    text setup_purpose_about() {
        en: "One or two sentences. They begin Agent.md, which you can edit at any time.",
        zh: "一两句话即可，会写入 Agent.md 开头，可随时编辑。",
    }
    text setup_platform_about() {
        en: "The console is always there. A chat platform needs a bot of yours; the guide in docs/platforms.md makes one.",
        zh: "控制台始终可用。聊天平台需要你自己的机器人；docs/platforms.md 说明如何创建。",
    }
    text setup_platform_none() { en: "The console only", zh: "只用控制台" }
    named setup_platform_hint(key: &str) {
        "telegram" => {
            en: "Send /newbot to @BotFather; it answers with the token.",
            zh: "向 @BotFather 发送 /newbot，它会回复令牌。",
        }
        "feishu" => {
            en: "Create a custom app with a bot at open.feishu.cn (Lark: open.larksuite.com); its id and secret are under “Credentials”.",
            zh: "在 open.feishu.cn 创建带机器人的自建应用（Lark 用 open.larksuite.com），id 和密钥在“凭证与基础信息”里。",
        }
        "qq" => {
            en: "Create a bot at q.qq.com; its id and secret are in the development settings.",
            zh: "在 q.qq.com 创建机器人，id 和密钥在开发设置里。",
        }
    }
    text setup_asking_platform() { en: "Asking the platform…", zh: "正在检查平台…" }
    text setup_writing() { en: "Saving, and starting with the new settings…", zh: "正在保存，并用新设置启动…" }
    text setup_slow() {
        en: "The settings are saved, but the daemon has not started with them yet: its terminal or log says why.",
        zh: "设置已保存，但守护进程还没有用新设置启动：请查看终端或日志。",
    }
    text setup_owner_about() {
        en: "Write to your bot now. It answers with a code; type it here, and you may approve what the agent asks for.",
        zh: "现在给你的机器人发一条消息，它会回复一个配对码；在这里输入后，你就可以批准智能体的请求。",
    }
    named setup_next_steps(key: &str) {
        "agent" => { en: "Agent.md says who the agent is: edit it at any time.", zh: "Agent.md 说明智能体是谁，可随时编辑。" }
        "ship" => { en: "ship.json and .env hold the settings; shipagent doctor checks them.", zh: "ship.json 和 .env 保存设置；用 shipagent doctor 检查。" }
        "service" => { en: "shipagent service install keeps it running.", zh: "用 shipagent service 安装为系统服务，可以一直运行。" }
    }
}

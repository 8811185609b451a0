// All texts of the console, in both languages.

import { ACCESS } from './strings-access.js';
import { APPROVALS } from './strings-approvals.js';

const STRINGS = {
  en: {
    skip: 'Skip to the message box',
    sidebar: 'Conversations and status',
    threads: 'Conversations',
    conversation: 'Conversation',
    messages: 'Messages',
    newChat: 'New chat',
    openMenu: 'Open the conversation list',
    closeMenu: 'Close the conversation list',
    noThreads: 'Conversations will appear here.',
    untitled: 'Untitled',
    adapters: 'Channels',
    adapterState: { starting: 'starting', up: 'connected', degraded: 'silent', restarting: 'restarting', failed: 'failed' },
    version: 'version {version}',

    connecting: 'Connecting…',
    connected: 'Connected',
    reconnecting: 'Reconnecting…',
    offline: 'Daemon not reachable',

    toLight: 'Use the light theme',
    toDark: 'Use the dark theme',
    toOther: '切换到中文',
    otherShort: '中',

    loadEarlier: 'Load earlier messages',
    loadingEarlier: 'Loading…',
    earlierFailed: 'Could not load. Try again',
    jump: 'Jump to latest',
    today: 'Today',
    yesterday: 'Yesterday',

    composerForm: 'Write a message',
    composerLabel: 'Message',
    composerPlaceholder: 'Message, or / for a command',
    composerHint: 'Enter sends · Shift+Enter for a new line · Esc stops',
    send: 'Send',
    stop: 'Stop',
    stopping: 'Stopping…',
    readonly: 'This conversation lives in {channel}. It can be read here and answered there.',

    you: 'You',
    working: 'Working…',
    awaiting: 'Waiting for approval',
    queued: '{count} queued',
    dismiss: 'Dismiss',
    sending: 'Sending…',
    notSent: 'Not sent.',
    notSentNetwork: 'Not sent: the daemon could not be reached.',
    notSentWhy: 'Not sent: {why}',
    retry: 'Try again',
    stopped: 'Stopped',
    failed: 'Failed',
    interrupted: 'Interrupted',
    newConversation: 'New conversation',
    checkpoint: 'Earlier conversation summarised, {count} messages',
    checkpointOpen: 'Open:',
    copy: 'Copy',
    copied: 'Copied',

    thinking: 'Thinking…',
    thought: 'Thinking',
    errorTitle: 'Something went wrong',
    errorRetryable: 'This may pass; sending the message again can help.',
    file: 'File',
    image: 'Image',
    taskDone: 'done',
    taskOpen: 'open',

    toolInput: 'Input',
    toolOutput: 'Output',
    toolError: 'Error',
    toolNoOutput: 'No output.',
    toolMore: 'Show all ({size})',
    state: {
      'input-streaming': 'preparing',
      'input-available': 'running',
      'approval-requested': 'waiting for approval',
      approved: 'approved',
      'approval-responded': 'answered',
      'output-available': 'done',
      'output-error': 'failed',
      'output-denied': 'denied',
      halted: 'not finished',
    },

    hello: 'I’m {name}.',
    helloSub: 'I work in this project’s directory: I can read it, search it and act on what you ask.',
    suggestions: [
      { label: 'What are you?', text: 'What are you?' },
      { label: 'Read the agent file', text: 'read: Agent.md' },
      { label: 'List the project', text: 'list: .' },
      { label: 'Search for “hello”', text: 'search: hello' },
    ],
    suggestionsLabel: 'Things to try',

    loginTitle: 'Open the console',
    loginWhere: 'This console asks for a token. The daemon prints the console URL with the token when it starts.',
    loginFile: 'The token is also in the file',
    loginLabel: 'Token',
    loginSubmit: 'Continue',
    loginWrong: 'This token was not accepted.',
    loginFailed: 'The daemon could not be reached.',
    loginLimited: 'Too many wrong tokens. Try again in {seconds} seconds.',
    signOut: 'Sign out',
    moreThreads: 'Show earlier conversations',
    connectionLost: 'The connection to the daemon is lost. Trying again…',
    retryNow: 'Try now',
    stopWithdraws: 'Stop, and take the question back',
    instructionsRead: 'Agent.md changed and was read again.',
    outcomeApproved: 'Approved',
    outcomeDenied: 'Denied',
  },

  zh: {
    skip: '跳到输入框',
    sidebar: '会话与状态',
    threads: '会话列表',
    conversation: '当前会话',
    messages: '消息',
    newChat: '新会话',
    openMenu: '打开会话列表',
    closeMenu: '关闭会话列表',
    noThreads: '会话会显示在这里。',
    untitled: '未命名',
    adapters: '渠道',
    adapterState: { starting: '启动中', up: '已连接', degraded: '无响应', restarting: '重启中', failed: '失败' },
    version: '版本 {version}',

    connecting: '正在连接…',
    connected: '已连接',
    reconnecting: '正在重连…',
    offline: '无法连接守护进程',

    toLight: '切换到浅色主题',
    toDark: '切换到深色主题',
    toOther: 'Switch to English',
    otherShort: 'EN',

    loadEarlier: '加载更早的消息',
    loadingEarlier: '正在加载…',
    earlierFailed: '加载失败，再试一次',
    jump: '回到最新',
    today: '今天',
    yesterday: '昨天',

    composerForm: '写消息',
    composerLabel: '消息',
    composerPlaceholder: '输入消息，或以 / 开头输入命令',
    composerHint: 'Enter 发送 · Shift+Enter 换行 · Esc 停止',
    send: '发送',
    stop: '停止',
    stopping: '正在停止…',
    readonly: '此会话来自 {channel}，在这里只能查看，请到那边回复。',

    you: '你',
    working: '正在处理…',
    awaiting: '等待批准',
    queued: '{count} 条排队中',
    dismiss: '关闭',
    sending: '正在发送…',
    notSent: '未发送。',
    notSentNetwork: '未发送：无法连接守护进程。',
    notSentWhy: '未发送：{why}',
    retry: '重试',
    stopped: '已停止',
    failed: '失败',
    interrupted: '已中断',
    newConversation: '新的对话',
    checkpoint: '之前的对话已整理，共 {count} 条消息',
    checkpointOpen: '未答复：',
    copy: '复制',
    copied: '已复制',

    thinking: '思考中…',
    thought: '思考过程',
    errorTitle: '出错了',
    errorRetryable: '可能是暂时的问题，重新发送一次也许就好。',
    file: '文件',
    image: '图片',
    taskDone: '已完成',
    taskOpen: '未完成',

    toolInput: '输入',
    toolOutput: '输出',
    toolError: '错误',
    toolNoOutput: '没有输出。',
    toolMore: '显示全部（{size}）',
    state: {
      'input-streaming': '准备中',
      'input-available': '运行中',
      'approval-requested': '等待批准',
      approved: '已批准',
      'approval-responded': '已答复',
      'output-available': '完成',
      'output-error': '失败',
      'output-denied': '已拒绝',
      halted: '未完成',
    },

    hello: '我是 {name}。',
    helloSub: '我在这个项目目录里工作：可以阅读、搜索，并按你的要求动手。',
    suggestions: [
      { label: '你是谁？', text: '你是谁？' },
      { label: '读一读 Agent.md', text: '读：Agent.md' },
      { label: '看看项目里有什么', text: '列出：.' },
      { label: '搜索 “hello”', text: '搜索：hello' },
    ],
    suggestionsLabel: '可以试试',

    loginTitle: '打开控制台',
    loginWhere: '控制台需要令牌。守护进程启动时会打印带令牌的控制台地址。',
    loginFile: '令牌也保存在文件',
    loginLabel: '令牌',
    loginSubmit: '继续',
    loginWrong: '令牌不正确。',
    loginFailed: '无法连接守护进程。',
    loginLimited: '令牌错误次数过多，请在 {seconds} 秒后再试。',
    signOut: '退出登录',
    moreThreads: '显示更早的会话',
    connectionLost: '与守护进程的连接已断开，正在重试…',
    retryNow: '立即重试',
    stopWithdraws: '停止并撤回询问',
    instructionsRead: 'Agent.md 已更改并重新读取。',
    outcomeApproved: '已同意',
    outcomeDenied: '已拒绝',
  },
};

for (const name of Object.keys(STRINGS)) Object.assign(STRINGS[name], APPROVALS[name], ACCESS[name]);

const CHANNELS = {
  en: { web: 'Web', telegram: 'Telegram', api: 'the API', cli: 'the command line', feishu: 'Feishu', lark: 'Lark', qq: 'QQ', slack: 'Slack', discord: 'Discord' },
  zh: { web: '网页', telegram: 'Telegram', api: 'API', cli: '命令行', feishu: '飞书', lark: 'Lark', qq: 'QQ', slack: 'Slack', discord: 'Discord' },
};

let current = 'en';

export const language = () => current;

/** The language: the choice made here, the daemon's setting, or the browser's. */
export function chooseLanguage(remembered, configured) {
  const wish = [remembered, configured].find((value) => value === 'zh' || value === 'en');
  current = wish ?? ((navigator.language ?? '').toLowerCase().startsWith('zh') ? 'zh' : 'en');
  return current;
}

/** A string with its `{names}` filled in. */
export function t(key, values) {
  const text = STRINGS[current][key] ?? STRINGS.en[key] ?? key;
  if (!values || typeof text !== 'string') return text;
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

export function channelName(channel) {
  return CHANNELS[current][channel] ?? channel.charAt(0).toUpperCase() + channel.slice(1);
}

/** A person's name: `123 (Telegram)` of `telegram:user:123`. */
export function personName(authorId) {
  const [channel, , ...rest] = String(authorId ?? '').split(':');
  let name = rest.join(':');
  try {
    name = decodeURIComponent(name);
  } catch {
    // Shown undecoded.
  }
  const place = channelName(channel || '?').replace(/^the /, '');
  if (!name) return place;
  return current === 'zh' ? `${name}（${place}）` : `${name} (${place})`;
}

const locale = () => (current === 'zh' ? 'zh-CN' : navigator.language?.startsWith('en') ? navigator.language : 'en-GB');

const formats = new Map();
function format(name, options) {
  const key = `${current}:${name}`;
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(locale(), options));
  return formats.get(key);
}

export const clock = (ms) => format('clock', { hour: 'numeric', minute: '2-digit' }).format(ms);

/** "Today", "Yesterday" or the date; also a key for the day it names. */
export function dayLabel(ms) {
  const start = (time) => new Date(time).setHours(0, 0, 0, 0);
  const days = Math.round((start(Date.now()) - start(ms)) / 86_400_000);
  if (days === 0) return t('today');
  if (days === 1) return t('yesterday');
  return format('day', { year: 'numeric', month: 'long', day: 'numeric' }).format(ms);
}

/** A time of the daemon as text: "Today 14:03". Empty if there is none. */
export function moment(text) {
  const at = Date.parse(text ?? '');
  return Number.isFinite(at) ? `${dayLabel(at)} ${clock(at)}` : '';
}

function span(minutes) {
  if (minutes < 60) return [minutes, 'minute'];
  return minutes < 2_880 ? [Math.round(minutes / 60), 'hour'] : [Math.round(minutes / 1_440), 'day'];
}

/** How long until a time: "in 3 hours". */
export function until(ms) {
  const [amount, unit] = span(Math.max(0, Math.round((ms - Date.now()) / 60_000)));
  return new Intl.RelativeTimeFormat(locale(), { numeric: 'always' }).format(amount, unit);
}

/** How long since a time: "3 hours ago", "this minute". */
export function ago(ms) {
  const [amount, unit] = span(Math.max(0, Math.floor((Date.now() - ms) / 60_000)));
  return new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' }).format(-amount, unit);
}

/** A short age for lists: "now", "5m", "3h", "2d", then a date. */
export function age(ms) {
  const minutes = Math.max(0, Math.floor((Date.now() - ms) / 60_000));
  const zh = current === 'zh';
  if (minutes < 1) return zh ? '刚刚' : 'now';
  if (minutes < 60) return zh ? `${minutes}分钟` : `${minutes}m`;
  if (minutes < 1440) return zh ? `${Math.floor(minutes / 60)}小时` : `${Math.floor(minutes / 60)}h`;
  if (minutes < 10_080) return zh ? `${Math.floor(minutes / 1440)}天` : `${Math.floor(minutes / 1440)}d`;
  return format('short', { month: 'short', day: 'numeric' }).format(ms);
}

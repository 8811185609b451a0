// Colours for code: comments, strings, numbers, keywords. One pass over the text with one pattern per
// family of languages; what is unknown stays plain. Pure.

// Longer code is shown without colours: they would cost more than they tell.
const MOST_CHARS = 60_000;

const words = (text) => new Set(text.split(' '));

const C_STRINGS = String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?`;
const JS_STRINGS = `${C_STRINGS}|\`(?:[^\`\\\\]|\\\\.)*\`?`;
const PY_STRINGS = String.raw`"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|${C_STRINGS}`;
const SLASHES = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`;
const HASH = String.raw`#[^\n]*`;

const FAMILIES = [
  {
    names: 'js javascript mjs jsx ts typescript tsx json jsonc json5', comment: SLASHES, string: JS_STRINGS,
    keywords: words('as async await break case catch class const continue default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null of private public readonly return set static super switch this throw true try type typeof undefined var void while yield'),
  },
  {
    names: 'rust rs', comment: SLASHES, string: String.raw`"(?:[^"\\]|\\[^])*"?|'(?:[^'\\\n]|\\.)'`,
    keywords: words('as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while'),
  },
  {
    names: 'c h cpp c++ cc hpp cs csharp java kotlin kt swift go golang php scala dart zig', comment: SLASHES, string: JS_STRINGS,
    keywords: words('abstract auto bool boolean break byte case catch chan char class const continue default defer delete do double else enum extends extern false final finally float for foreach func fun go goto guard if implements import in inline int interface internal let long map namespace new nil null operator override package private protected public range return select short signed sizeof static string struct super switch template this throw throws true try type typedef union unsigned using val var virtual void volatile when while'),
  },
  {
    names: 'py python', comment: HASH, string: PY_STRINGS,
    keywords: words('and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield match case self'),
  },
  {
    names: 'sh bash zsh shell console fish', comment: String.raw`(?<=^|\s)#[^\n]*`, string: String.raw`"(?:[^"\\]|\\[^])*"?|'[^']*'?`,
    keywords: words('if then else elif fi for in do done while until case esac function return export local set unset cd echo exit source sudo'),
  },
  { names: 'yaml yml toml ini conf env properties dockerfile docker makefile make', comment: HASH, string: C_STRINGS, keywords: words('true false null yes no on off FROM RUN CMD COPY ADD ENV ARG WORKDIR EXPOSE ENTRYPOINT USER') },
  { names: 'rb ruby elixir perl pl r', comment: HASH, string: C_STRINGS, keywords: words('alias and begin break case class def defmodule do else elsif end ensure false for if in module my nil not or redo rescue retry return self sub super then true undef unless until use when while yield') },
  {
    names: 'sql postgres mysql sqlite', comment: String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$)`, string: String.raw`'(?:[^']|'')*'?`, ignoreCase: true,
    keywords: words('add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists false foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then true union unique update using values view when where with'),
  },
  { names: 'lua', comment: String.raw`--[^\n]*`, string: C_STRINGS, keywords: words('and break do else elseif end false for function if in local nil not or repeat return then true until while') },
  { names: 'css scss less', comment: String.raw`\/\*[^]*?(?:\*\/|$)`, string: C_STRINGS, keywords: words('') },
  { names: 'html xml svg vue', comment: String.raw`<!--[^]*?(?:-->|$)`, string: C_STRINGS, keywords: words('') },
];

const byName = new Map(FAMILIES.flatMap((family) => family.names.split(' ').map((name) => [name, family])));
const patterns = new Map();

function patternOf(family) {
  if (!patterns.has(family)) {
    patterns.set(family, new RegExp(`(${family.comment})|(${family.string})|(\\b(?:0x[\\da-f_]+|\\d[\\d_]*(?:\\.\\d+)?(?:e[+-]?\\d+)?)\\b)|([A-Za-z_$][\\w$]*)`, 'gi'));
  }
  return patterns.get(family);
}

/** Pieces `[kind, text]`; the kind is `''`, `comment`, `string`, `number` or `keyword`. Null where the language is unknown. */
export function highlight(lang, text) {
  const family = byName.get(String(lang).toLowerCase());
  if (!family || text.length > MOST_CHARS) return null;
  const out = [];
  const put = (kind, piece) => {
    if (piece === '') return;
    const last = out.at(-1);
    if (last && last[0] === kind) last[1] += piece;
    else out.push([kind, piece]);
  };
  let at = 0;
  for (const found of text.matchAll(patternOf(family))) {
    put('', text.slice(at, found.index));
    at = found.index + found[0].length;
    const word = family.ignoreCase ? found[4]?.toLowerCase() : found[4];
    put(found[1] !== undefined ? 'comment' : found[2] !== undefined ? 'string' : found[3] !== undefined ? 'number' : family.keywords.has(word) ? 'keyword' : '', found[0]);
  }
  put('', text.slice(at));
  return out;
}

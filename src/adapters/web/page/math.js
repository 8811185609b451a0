// Formulas: a subset of LaTeX as a tree for MathML. What is not understood stays as it was typed.
// Pure: the tree is `{tag, text?, children?, attrs?}`.

const MAX_DEPTH = 40;
const MAX_CHARS = 4_000;

const GREEK = {
  alpha: 'α', beta: 'β', gamma: 'γ', delta: 'δ', epsilon: 'ϵ', varepsilon: 'ε', zeta: 'ζ', eta: 'η', theta: 'θ', iota: 'ι', kappa: 'κ', lambda: 'λ', mu: 'μ', nu: 'ν', xi: 'ξ', pi: 'π', rho: 'ρ',
  sigma: 'σ', tau: 'τ', upsilon: 'υ', phi: 'ϕ', varphi: 'φ', chi: 'χ', psi: 'ψ', omega: 'ω', Gamma: 'Γ', Delta: 'Δ', Theta: 'Θ', Lambda: 'Λ', Xi: 'Ξ', Pi: 'Π', Sigma: 'Σ', Phi: 'Φ', Psi: 'Ψ', Omega: 'Ω',
  infty: '∞', partial: '∂', nabla: '∇', hbar: 'ℏ', ell: 'ℓ', emptyset: '∅', ldots: '…', dots: '…', cdots: '⋯',
};
const OPERATORS = {
  times: '×', cdot: '⋅', div: '÷', pm: '±', mp: '∓', le: '≤', leq: '≤', ge: '≥', geq: '≥', ne: '≠', neq: '≠', approx: '≈', equiv: '≡', sim: '∼', propto: '∝', to: '→', rightarrow: '→', leftarrow: '←', Rightarrow: '⇒',
  Leftrightarrow: '⇔', iff: '⇔', implies: '⇒', mapsto: '↦', in: '∈', notin: '∉', subset: '⊂', subseteq: '⊆', cup: '∪', cap: '∩', setminus: '∖', forall: '∀', exists: '∃', neg: '¬', land: '∧', wedge: '∧', lor: '∨', vee: '∨',
  mid: '∣', parallel: '∥', perp: '⊥', angle: '∠', circ: '∘', oplus: '⊕', otimes: '⊗', langle: '⟨', rangle: '⟩', lfloor: '⌊', rfloor: '⌋', lceil: '⌈', rceil: '⌉', ll: '≪', gg: '≫', star: '⋆', ast: '∗', prime: '′',
  '{': '{', '}': '}', '|': '‖', '%': '%', $: '$', '#': '#', '&': '&', _: '_',
};
const LARGE = { sum: '∑', prod: '∏', int: '∫', iint: '∬', oint: '∮', bigcup: '⋃', bigcap: '⋂' };
const NAMES = new Set(['lim', 'sin', 'cos', 'tan', 'log', 'ln', 'exp', 'max', 'min', 'sup', 'inf', 'det', 'dim', 'ker', 'gcd', 'arg', 'deg', 'Pr', 'sec', 'csc', 'cot', 'arcsin', 'arccos', 'arctan', 'sinh', 'cosh', 'tanh', 'mod']);
const UNDER = new Set(['lim', 'max', 'min', 'sup', 'inf']);
const ACCENTS = { hat: '^', bar: '¯', vec: '→', tilde: '~', dot: '˙', ddot: '¨', overline: '¯' };
const SPACES = { ',': '0.17em', ':': '0.22em', ';': '0.28em', ' ': '0.3em', quad: '1em', qquad: '2em', '!': '-0.17em' };
const FONTS = { mathbb: 'double-struck', mathcal: 'script', mathfrak: 'fraktur', mathbf: 'bold' };
const DOUBLE = { A: '𝔸', B: '𝔹', C: 'ℂ', D: '𝔻', E: '𝔼', F: '𝔽', N: 'ℕ', P: 'ℙ', Q: 'ℚ', R: 'ℝ', Z: 'ℤ' };

const node = (tag, children, attrs) => ({ tag, children, attrs });
const leaf = (tag, text, attrs) => ({ tag, text, attrs });
const row = (children) => (children.length === 1 ? children[0] : node('mrow', children));

class Reader {
  constructor(source) {
    this.tokens = source.match(/\\[a-zA-Z]+|\\[^]|\d+(?:\.\d+)?|[^\s]|\s+/g) ?? [];
    this.at = 0;
    this.depth = 0;
  }

  peek() {
    while (/^\s+$/.test(this.tokens[this.at] ?? '')) this.at++;
    return this.tokens[this.at];
  }

  next() {
    const token = this.peek();
    this.at++;
    return token;
  }

  /** The items up to a token, which is taken. */
  until(...ends) {
    if (++this.depth > MAX_DEPTH) throw new RangeError('too deep');
    const items = [];
    for (let token = this.peek(); token !== undefined && !ends.includes(token); token = this.peek()) items.push(this.item());
    this.end = this.next();
    this.depth--;
    return items;
  }

  argument() {
    if (this.peek() === '{') {
      this.next();
      return row(this.until('}'));
    }
    return this.atom();
  }

  /** The text of a group, as it was typed. */
  raw() {
    let text = '';
    if (this.next() !== '{') return text;
    for (let token = this.tokens[this.at++]; token !== undefined && token !== '}'; token = this.tokens[this.at++]) text += token;
    return text;
  }

  item() {
    const base = this.atom();
    let [sub, sup] = [null, null];
    for (let token = this.peek(); token === '_' || token === '^' || token === "'"; token = this.peek()) {
      this.next();
      if (token === '_') sub = this.argument();
      else if (token === "'") sup = leaf('mo', '′');
      else sup = this.argument();
    }
    if (!sub && !sup) return base;
    const around = base.attrs?.movable;
    const [both, below, above] = around ? ['munderover', 'munder', 'mover'] : ['msubsup', 'msub', 'msup'];
    return sub && sup ? node(both, [base, sub, sup]) : sub ? node(below, [base, sub]) : node(above, [base, sup]);
  }

  atom() {
    const token = this.next();
    if (token === undefined) return leaf('mrow', '');
    if (token === '{') return row(this.until('}'));
    if (/^\d/.test(token)) return leaf('mn', token);
    if (/^\p{L}$/u.test(token)) return leaf('mi', token);
    if (!token.startsWith('\\')) return leaf('mo', token);
    return this.command(token.slice(1));
  }

  command(name) {
    if (name === 'frac' || name === 'dfrac' || name === 'tfrac') return node('mfrac', [this.argument(), this.argument()]);
    if (name === 'binom') return node('mrow', [leaf('mo', '('), node('mfrac', [this.argument(), this.argument()], { linethickness: '0' }), leaf('mo', ')')]);
    if (name === 'sqrt') {
      if (this.peek() !== '[') return node('msqrt', [this.argument()]);
      this.next();
      const degree = row(this.until(']'));
      return node('mroot', [this.argument(), degree]);
    }
    if (['text', 'mathrm', 'operatorname', 'textbf', 'mathit'].includes(name)) return leaf('mtext', this.raw());
    if (FONTS[name]) {
      const text = this.raw();
      return leaf('mi', name === 'mathbb' ? DOUBLE[text] ?? text : text, { mathvariant: FONTS[name] });
    }
    if (ACCENTS[name]) return node('mover', [this.argument(), leaf('mo', ACCENTS[name])], { accent: 'true' });
    if (name === 'left' || name === 'right' || /^[bB]ig+[lr]?$/.test(name)) {
      const fence = this.next() ?? '';
      return leaf('mo', fence === '.' ? '' : OPERATORS[fence.replace(/^\\/, '')] ?? fence);
    }
    if (name === 'begin') return this.environment(this.raw());
    if (SPACES[name]) return leaf('mspace', '', { width: SPACES[name] });
    if (LARGE[name]) return leaf('mo', LARGE[name], { movable: !/int$/.test(name) });
    if (NAMES.has(name)) return leaf('mi', name, { movable: UNDER.has(name) });
    if (GREEK[name]) return leaf('mi', GREEK[name]);
    if (OPERATORS[name]) return leaf('mo', OPERATORS[name]);
    throw new SyntaxError(name);
  }

  environment(name) {
    if (!/^(?:[bpvV]?matrix|cases|aligned|align\*?)$/.test(name)) throw new SyntaxError(name);
    const rows = [[]];
    for (;;) {
      rows.at(-1).push(node('mtd', this.until('&', '\\\\', '\\end')));
      if (this.end === undefined || this.end === '\\end') break;
      if (this.end === '\\\\') rows.push([]);
    }
    this.raw();
    const table = node('mtable', rows.map((cells) => node('mtr', cells)));
    const [open, close] = { bmatrix: ['[', ']'], pmatrix: ['(', ')'], vmatrix: ['|', '|'], Vmatrix: ['‖', '‖'], cases: ['{', ''] }[name] ?? ['', ''];
    return node('mrow', [open ? leaf('mo', open) : null, table, close ? leaf('mo', close) : null].filter(Boolean));
  }
}

/** The tree of a formula, or null where it is not understood. */
export function parseMath(source) {
  if (source.length > MAX_CHARS) return null;
  try {
    const reader = new Reader(source);
    const items = reader.until();
    return items.length ? node('mrow', items) : null;
  } catch {
    return null;
  }
}

// Markdown becomes elements, never markup: rendered here into a small imitation of the DOM.

import assert from 'node:assert/strict';
import test from 'node:test';

// Pictures are observed, and none is in sight here.
/** @type {any} */ (globalThis).IntersectionObserver = class {
  observe() {}
};

class Text {
  constructor(text) {
    this.textContent = String(text);
  }

  get html() {
    return this.textContent.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  }
}

class Element {
  constructor(tag) {
    this.tag = tag;
    this.attributes = new Map();
    this.childNodes = [];
    this.parent = null;
    this.style = {};
    this.classList = { add: (name) => this.setAttribute('class', `${this.getAttribute('class') ?? ''} ${name}`.trim()) };
    this.dataset = {};
  }

  append(...nodes) {
    for (const node of nodes) {
      const child = typeof node === 'string' ? new Text(node) : node;
      child.parent = this;
      this.childNodes.push(child);
    }
  }

  replaceChildren(...nodes) {
    this.childNodes = [];
    this.append(...nodes);
  }

  replaceWith(node) {
    node.parent = this.parent;
    this.parent.childNodes[this.parent.childNodes.indexOf(this)] = node;
  }

  remove() {
    this.parent?.childNodes.splice(this.parent.childNodes.indexOf(this), 1);
  }

  get children() {
    return this.childNodes.filter((node) => node instanceof Element);
  }

  get lastChild() {
    return this.childNodes.at(-1) ?? null;
  }

  hasChildNodes() {
    return this.childNodes.length > 0;
  }

  get textContent() {
    return this.childNodes.map((node) => node.textContent).join('');
  }

  set textContent(text) {
    this.childNodes = text === '' ? [] : [new Text(text)];
  }

  setAttribute(name, value) {
    this.attributes.set(name, String(value));
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  hasAttribute(name) {
    return this.attributes.has(name);
  }

  addEventListener() {}

  get html() {
    const href = this.hasAttribute('href') ? ` href="${this.getAttribute('href')}"` : '';
    return `<${this.tag}${href}>${this.childNodes.map((node) => node.html).join('')}</${this.tag}>`;
  }
}

globalThis.document = {
  createElement: (tag) => new Element(tag),
  createElementNS: (_, tag) => new Element(tag),
  createTextNode: (text) => new Text(text),
};

const { renderMarkdown } = await import('../../src/adapters/web/page/markdown.js');

function render(...sources) {
  const container = new Element('div');
  sources.forEach((source, at) => renderMarkdown(container, source, at < sources.length - 1));
  return container;
}

const html = (source) => render(source).children.map((run) => run.childNodes.map((node) => node.html).join('')).join('');

test('paragraphs, emphasis, code and lists', () => {
  assert.equal(html('Some *soft*, **loud** and `plain` words.'), '<p>Some <em>soft</em>, <strong>loud</strong> and <code>plain</code> words.</p>');
  assert.match(html('# Title\n\n- one\n- two'), /^<h\d>Title<\/h\d><ul><li>.*one.*<\/li><li>.*two.*<\/li><\/ul>$/);
});

test('what looks like markup stays text', () => {
  assert.equal(html('<img src=x onerror=alert(1)>').includes('<img'), false);
  assert.equal(render('<script>alert(1)</script>').textContent, '<script>alert(1)</script>');
});

test('links lead to the web and to mail, nowhere else', () => {
  assert.match(html('[a](https://example.org/x)'), /<a href="https:\/\/example\.org\/x">a<\/a>/);
  for (const address of ['javascript:alert(1)', 'data:text/html,x', 'JaVaScRiPt:alert(1)', 'vbscript:x', '/api/info']) {
    assert.equal(html(`[a](${address})`).includes('href'), false, address);
  }
});

test('a reply that grows ends as if it had come at once', () => {
  const source = 'First *words*.\n\n```js\nlet a = 1;\n```\n\n- one\n- two\n\nThe [end](https://example.org).\n';
  const steps = Array.from(source, (_, at) => source.slice(0, at + 1));
  assert.equal(render(...steps).html, render(source).html);
});

test('a link whose definition is still arriving has no target, and then the whole one', () => {
  const source = 'See [the *guide*][g] and [more].\n\n[g]: https://guide.example/a/long/path "Title"\n[more]: https://more.example/x\n\nThe end, [again][g].';
  const whole = new Set(['https://guide.example/a/long/path', 'https://more.example/x']);
  const container = new Element('div');
  const targets = () => [...container.html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);
  for (let end = 1; end <= source.length; end++) {
    renderMarkdown(container, source.slice(0, end), true);
    for (const href of targets()) assert.ok(whole.has(href), `${href} after ${JSON.stringify(source.slice(0, end))}`);
  }
  assert.equal(targets().length, 3);
  renderMarkdown(container, source, false);
  assert.equal(container.html, render(source).html);

  const ends = 'See [g].\n\n[g]: https://guide.example/x';
  const steps = Array.from(ends, (_, at) => ends.slice(0, at + 1));
  assert.equal(render(...steps, ends).html, render(ends).html, 'also where the last line is a definition');
  assert.ok(render(...steps, ends).html.includes('href="https://guide.example/x"'));
});

test('a definition with another target of the same label is rendered again', () => {
  const container = new Element('div');
  for (const target of ['https://one.example/', 'https://two.example/']) {
    renderMarkdown(container, `See [g].\n\n[g]: ${target}\n\ntext`, true);
    assert.ok(container.html.includes(`href="${target}"`), container.html);
  }
});

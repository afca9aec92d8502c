/** As much of a DOM as parts.js touches: elements, text, templates that read well-formed HTML. */

class Node {
  parent = null;

  get nextSibling() {
    return this.parent?.childNodes[this.parent.childNodes.indexOf(this) + 1] ?? null;
  }

  remove() {
    const siblings = this.parent.childNodes;
    siblings.splice(siblings.indexOf(this), 1);
    this.parent = null;
  }

  replaceWith(...nodes) {
    const { parent } = this;
    const place = parent.childNodes.indexOf(this);
    this.remove();
    parent.insertAt(place, nodes);
  }
}

export class Text extends Node {
  nodeType = 3;
  nodeName = "#text";

  constructor(data) {
    super();
    this.data = data;
  }

  get length() {
    return this.data.length;
  }

  get textContent() {
    return this.data;
  }

  get outerHTML() {
    return this.data.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }

  appendData(more) {
    this.data += more;
  }

  cloneNode() {
    return new Text(this.data);
  }

  isEqualNode(other) {
    return other.nodeType === 3 && other.data === this.data;
  }
}

export class Element extends Node {
  nodeType = 1;
  childNodes = [];

  constructor(name, attributes = {}) {
    super();
    this.nodeName = name;
    this.attributes = attributes;
  }

  get dataset() {
    return { refIndex: this.attributes["data-ref-index"] };
  }

  get elements() {
    return this.childNodes.filter((node) => node.nodeType === 1);
  }

  /** Live, as in a browser. */
  get children() {
    return new Proxy([], { get: (_, name) => this.elements[name] });
  }

  get firstChild() {
    return this.childNodes[0] ?? null;
  }

  get lastChild() {
    return this.childNodes.at(-1) ?? null;
  }

  get firstElementChild() {
    return this.elements[0] ?? null;
  }

  get lastElementChild() {
    return this.elements.at(-1) ?? null;
  }

  get textContent() {
    return this.childNodes.map((node) => node.textContent).join("");
  }

  get innerHTML() {
    return this.childNodes.map((node) => node.outerHTML).join("");
  }

  get outerHTML() {
    const attributes = Object.entries(this.attributes).map(([name, value]) => ` ${name}="${value}"`);
    return `<${this.nodeName}${attributes.join("")}>${this.innerHTML}</${this.nodeName}>`;
  }

  append(...nodes) {
    this.insertAt(this.childNodes.length, nodes);
  }

  insertAt(place, nodes) {
    const flat = nodes
      .map((node) => (typeof node === "string" ? new Text(node) : node))
      .flatMap((node) => (node.nodeName === "#fragment" ? [...node.childNodes] : [node]));
    for (const node of flat) {
      if (node.parent) node.remove();
      node.parent = this;
    }
    this.childNodes.splice(place, 0, ...flat);
  }

  cloneNode() {
    return new Element(this.nodeName, { ...this.attributes });
  }

  isEqualNode(other) {
    return other.outerHTML === this.outerHTML;
  }

  querySelector(name) {
    for (const child of this.elements) {
      const found = child.nodeName === name ? child : child.querySelector(name);
      if (found) return found;
    }
    return null;
  }
}

class Template extends Element {
  content = null;

  set innerHTML(html) {
    this.content = new Element("#fragment");
    let open = this.content;
    for (const [, end, name, attributes, text] of html.matchAll(/<(\/?)(\w+)([^>]*)>|([^<]+)/g)) {
      if (text) open.append(unescapeHtml(text));
      else if (end) open = open.parent;
      else {
        const pairs = attributes.matchAll(/([\w-]+)="([^"]*)"/g);
        const element = new Element(name, Object.fromEntries([...pairs].map((p) => p.slice(1))));
        open.append(element);
        if (name !== "br" && name !== "hr") open = element;
      }
    }
  }
}

const unescapeHtml = (text) =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

globalThis.document = {
  createElement: (name) => (name === "template" ? new Template(name) : new Element(name)),
};

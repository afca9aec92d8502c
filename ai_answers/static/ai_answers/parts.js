/** An answer's parts. Nodes shown already stay: text is only appended to. */
export const role = (root, name) => root.querySelector(`[data-role="${name}"]`);

export const fromTemplate = (root, name) =>
  role(root, name).content.firstElementChild.cloneNode(true);

/** The one place where text, made safe by the server, becomes HTML. */
export function toFragment(html) {
  const template = document.createElement("template");
  if (template.setHTML) template.setHTML(html, { sanitizer: {} });
  else template.innerHTML = html;
  return template.content;
}

export class Parts {
  #root;

  constructor(root) {
    this.#root = root;
  }

  apply({ index, html, child = [], append }) {
    const { children } = this.#root;
    while (children.length <= index) this.#root.append(document.createElement("div"));
    const part = children[index];
    if (append !== undefined) {
      const code = part.querySelector("code");
      if (code.lastChild) code.lastChild.appendData(append);
      else code.append(append);
      return part;
    }
    const fresh = toFragment(html);
    const steps = child.slice(0, -1);
    const parent = steps.reduce((node, step) => node.children[step], part.firstElementChild);
    const old = parent?.children[child.at(-1)];
    if (!child.length) morph(part, fresh);
    else if (!old) parent?.append(fresh);
    else if (!html || !keep(old, fresh.firstElementChild)) old.replaceWith(fresh);
    return part;
  }

  snapshot(htmls) {
    while (this.#root.children.length > htmls.length) this.#root.lastElementChild.remove();
    htmls.forEach((html, index) => this.apply({ index, html }));
  }
}

function morph(old, fresh) {
  let node = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const after = node?.nextSibling;
    if (!node) old.append(next);
    else if (!keep(node, next)) node.replaceWith(next);
    node = after;
  }
  while (node) {
    const after = node.nextSibling;
    node.remove();
    node = after;
  }
}

function keep(node, next) {
  if (node.nodeType === 3 && next.nodeType === 3) {
    if (next.data.startsWith(node.data)) node.appendData(next.data.slice(node.length));
    else node.data = next.data;
    return true;
  }
  const isChip = node.dataset?.refIndex;
  if (isChip) return isChip === next.dataset?.refIndex;
  if (!node.cloneNode().isEqualNode(next.cloneNode())) return false;
  morph(node, next);
  return true;
}

// Elements by hand: h("p", {class: "note"}, "text", child), and s(...) for SVG.
const svgNamespace = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== "") element.append(child);
  }
  return element;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(svgNamespace, tag), attributes, children);
}

/// A table whose rows become lists on a narrow screen, each cell with its column's name.
export function stacking(table) {
  const names = [...table.querySelectorAll("thead th")].map((each) => each.textContent);
  table
    .querySelectorAll("tbody tr")
    .forEach((row) => [...row.cells].forEach((cell, i) => (cell.dataset.name = names[i])));
  table.classList.add("stacking");
  return table;
}

export function byId(id) {
  return document.getElementById(id);
}

/// Writes only what changed, so that screen readers announce changes alone.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

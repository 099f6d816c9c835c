// Pages of the playground under mouse, finger and keyboard.

/// The cells of a group's row.
export function cellsOf(g) {
  return document.querySelectorAll(`.page[data-g="${g}"]`);
}

const pageOf = (element) => (element && element.closest ? element.closest(".page") : null);

/// A press turns a page over, and dragging gives the pages on the way the same.
function wirePointer(place, present, set) {
  let painting = null;
  place.addEventListener("pointerdown", (event) => {
    const cell = pageOf(event.target);
    if (!cell || event.button !== 0) return;
    painting = !present(cell);
    cell.releasePointerCapture?.(event.pointerId);
    set(cell, painting);
  });
  place.addEventListener("pointermove", (event) => {
    const cell = painting === null ? null : pageOf(document.elementFromPoint(event.clientX, event.clientY));
    if (cell && present(cell) !== painting) set(cell, painting);
  });
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => (painting = null));
}

const moves = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

/// The next cell in a direction becomes the row's stop of the Tab key.
function step(cell, [rows, columns]) {
  const g = Number(cell.dataset.g) + rows;
  const row = cellsOf(g).length > 0 ? cellsOf(g) : cellsOf(cell.dataset.g);
  const i = Math.min(Math.max(Number(cell.dataset.i) + columns, 0), row.length - 1);
  row.forEach((each) => (each.tabIndex = -1));
  row[i].tabIndex = 0;
  row[i].focus();
}

/// present(cell): is its page there? set(cell, value): makes it so.
export function wirePages(place, present, set) {
  wirePointer(place, present, set);
  place.addEventListener("keydown", (event) => {
    const cell = pageOf(event.target);
    if (!cell) return;
    if (event.key === " " || event.key === "Enter") set(cell, !present(cell));
    else if (moves[event.key]) step(cell, moves[event.key]);
    else return;
    event.preventDefault();
  });
}

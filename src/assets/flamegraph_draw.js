/*
 * flamegraph_draw.js - draws a flame graph: only frames that are wide enough to be seen, in rows that are on the
 * screen, become elements. Texts of the profiled process are set as text, never as markup.
 */

const SVG = 'http://www.w3.org/2000/svg';
const HTML = 'http://www.w3.org/1999/xhtml';
const ROW = 20;		// pixels, as in the static rectangles
const PADDING = 4;	// left and right of a label
const MARGIN = 0.01;	// of the width, left and right of the graph
const BOTTOM = 18;
const NARROWEST = 2;	// pixels; neighbours below share a box
const FAINTEST = 0.2;	// pixels; nothing is drawn below
const MOST_DRAWN = 5000;	// boxes; beyond, what counts as narrow grows
const ROWS_BEYOND = 15;	// drawn above and below the visible part
const LEAST_COLUMNS = 3;
const LEAST_WHERE = 6;
const FINDABLE = 40;	// pixels that a found frame shall have

/* ---- state ---- */

const state = { zoom: 0, current: 0, search: '', exact: false, flipped: false, stepped: false };
let drawn = null;	// what the last drawing showed, to know when scrolling needs another
let columnWidth = 7.3;
let graphTop = 0;
let width = 1200;

/* ---- elements ---- */

function make(space, name, attributes, ...children) {
	const e = document.createElementNS(space, name);
	for (const key in attributes)
		e.setAttribute(key, attributes[key]);
	e.append(...children);
	return e;
}
const html = (name, attributes, ...children) => make(HTML, name, attributes, ...children);
const svg = (name, attributes, ...children) => make(SVG, name, attributes, ...children);
const staticText = name => (root.querySelector('.head .' + name) || { textContent: '' }).textContent;
const button = (text, title, action) => {
	const b = html('button', { type: 'button', title: title, 'aria-label': title.replace(/ \(.*/, '') }, text);
	b.addEventListener('click', action);
	return b;
};

const input = html('input', {
	type: 'search', placeholder: 'Search functions and files', 'aria-label': 'Search',
	spellcheck: 'false', autocomplete: 'off',
});
const caseButton = button('Aa', 'Match case (c)', () => setCase(!state.exact));
const previousButton = button('\u2191', 'Previous match (Shift+F3)', () => nextMatch(-1));
const nextButton = button('\u2193', 'Next match (F3)', () => nextMatch(1));
const found = html('span', { class: 'found', role: 'status' });
const resetButton = button('Reset zoom', 'Reset zoom (Escape)', () => zoomTo(0));
const flipButton = button('Flip', 'Turn upside down (i)', () => setFlipped(!state.flipped));
const themeButton = button('Dark', 'Dark or light (d)', () => setTheme(isDark() ? 'light' : 'dark'));
const details = html('div', { class: 'details', 'aria-live': 'polite' });
const header = html('div', { class: 'ui' },
	html('h1', {}, staticText('title')), html('p', {}, staticText('about')),
	html('p', { class: 'small' }, staticText('trust')), legend());
const bar = html('div', { class: 'ui bar' },
	html('div', { class: 'tools' },
		html('div', { class: 'find', role: 'search' }, input, caseButton, previousButton, nextButton), found,
		html('span', { class: 'space' }), resetButton, flipButton, themeButton),
	details);
const tip = html('div', { class: 'card' });
const headerBox = svg('foreignObject', { x: 0, y: 0, width: '100%', height: 1 }, header);
const barBox = svg('foreignObject', { x: 0, y: 0, width: '100%', height: 1 }, bar);
const tipBox = svg('foreignObject', { class: 'tip', width: 1, height: 1, visibility: 'hidden' }, tip);
const frames = root.querySelector('.frames');

function legend() {
	const kinds = new Set(data.labels.slice(1).map(l => l[2]));
	const items = data.kinds.map((name, k) => k).filter(k => kinds.has(k)).map(k =>
		html('li', {}, svg('svg', { class: 'legend', 'aria-hidden': 'true' },
			svg('rect', { class: 'k' + k, width: 12, height: 12 })), data.kinds[k]));
	return html('ul', { class: 'keys', 'aria-label': 'Colours' }, ...items);
}

/* ---- drawing ---- */

function labelElement(i, pixels) {
	const columns = Math.floor((pixels - 2 * PADDING) / columnWidth);
	if (columns < LEAST_COLUMNS)
		return null;
	const name = nameOf(i), where = whereOf(i);
	const text = svg('text', { x: PADDING, y: 14 }, cut(name, columns));
	const left = columns - columnsOf(name) - 1;
	if (where && left >= LEAST_WHERE)
		text.append(svg('tspan', { class: 'w' }, ' ' + cut('(' + where + ')', left)));
	return text;
}

function spoken(i) {
	const kind = data.kinds[kindOf(i)];
	const share = samples(tree.total[i]) + ', ' + percent(tree.total[i], tree.total[0]);
	return textOf(i) + ', ' + (i ? kind + ', ' : '') + share;
}

const rowY = depth => (state.flipped ? tree.rows.length - 1 - depth : depth) * ROW;

function frameElement(b) {
	const i = b.node;
	const classes = ['f'];
	if (b.faded)
		classes.push('faded');
	if (b.match)
		classes.push('match');
	if (i === state.current)
		classes.push('current');
	const box = svg('svg', {
		class: classes.join(' '), x: b.x.toFixed(2), y: rowY(b.depth), width: b.width.toFixed(2), height: ROW,
		role: 'treeitem', 'aria-level': b.depth + 1, 'data-i': i, tabindex: i === state.current ? 0 : -1,
	});
	if (b.count > 1) {
		box.setAttribute('data-count', b.count);
		box.setAttribute('aria-label', grouped(b.count) + ' narrow frames, ' + samples(b.total));
	} else {
		box.setAttribute('aria-label', spoken(i));
	}
	if (i === state.zoom && i)
		box.setAttribute('aria-current', 'true');
	const narrow = b.count > 1 || b.width < 2 * NARROWEST;
	box.append(svg('rect', {
		class: 'k' + kindOf(i) + ' s' + shadeOf(i) + (narrow ? ' narrow' : ''), width: '100%', height: ROW,
	}));
	const label = b.count > 1 ? null : labelElement(i, b.width);
	if (label)
		box.append(label);
	return box;
}

/* One row's frames inside the zoomed one; too narrow neighbours share a box, which looks like its widest frame. */
function rowBoxes(depth, narrowest) {
	const row = tree.rows[depth], boxes = [];
	const left = width * MARGIN, scale = width * (1 - 2 * MARGIN) / tree.total[state.zoom];
	const end = lowerBound(row, tree.last[state.zoom] + 1);
	let open = null;
	for (let k = lowerBound(row, state.zoom); k < end; k++) {
		const i = row[k];
		const x = left + (tree.start[i] - tree.start[state.zoom]) * scale, w = tree.total[i] * scale;
		const narrow = w < narrowest && i !== state.current;
		if (narrow && open && open.width < narrowest && x - open.x - open.width < narrowest / 4) {
			open.width = x + w - open.x;
			open.count++;
			open.total += tree.total[i];
			open.match = open.match || isMatch(i);
			if (tree.total[i] > tree.total[open.node])
				open.node = i;
			open.end = i;
			continue;
		}
		const box = { node: i, first: i, end: i, depth, x, width: w, count: 1, total: tree.total[i], match: isMatch(i) };
		if (i === state.current)
			box.width = Math.max(w, NARROWEST);
		boxes.push(box);
		open = narrow ? box : null;
	}
	return boxes.filter(b => b.width >= FAINTEST || b.node === state.current);
}

/* The way to the zoomed frame, and below it the rows; the crowded ones coarser when there is too much to draw. */
function collect(visible) {
	const way = [], rows = [];
	for (let i = state.zoom; i;) {
		i = tree.parent[i];
		if (tree.depth[i] >= visible.first && tree.depth[i] <= visible.last)
			way.push({
				node: i, depth: tree.depth[i], x: width * MARGIN, width: width * (1 - 2 * MARGIN), count: 1,
				match: isMatch(i), faded: true,
			});
	}
	for (let depth = Math.max(tree.depth[state.zoom], visible.first); depth <= visible.last; depth++)
		rows.push({ depth: depth, boxes: rowBoxes(depth, NARROWEST) });
	if (rows.reduce((n, r) => n + r.boxes.length, 0) > MOST_DRAWN) {
		for (const r of rows)
			for (let narrowest = 2 * NARROWEST; r.boxes.length > MOST_DRAWN / rows.length && narrowest < width; narrowest *= 2)
				r.boxes = rowBoxes(r.depth, narrowest);
	}
	return way.concat(...rows.map(r => r.boxes));
}

/* Which rows are on the screen, or nearly. */
function visibleRows() {
	const top = -root.getBoundingClientRect().top - graphTop;
	const last = tree.rows.length - 1;
	const bound = y => Math.min(last, Math.max(0, Math.floor(y / ROW)));
	let first = bound(top - ROWS_BEYOND * ROW), final = bound(top + window.innerHeight + ROWS_BEYOND * ROW);
	if (state.flipped)
		[first, final] = [last - final, last - first];
	return { first: first, last: final };
}

function draw() {
	const focused = frames.contains(document.activeElement);
	drawn = visibleRows();
	drawn.boxes = collect(drawn);
	frames.classList.toggle('searched', matchingLabels !== null);
	frames.replaceChildren(...drawn.boxes.map(frameElement));
	resetButton.hidden = state.zoom === 0;
	if (focused)
		focusCurrent();
}

function focusCurrent() {
	const e = frames.querySelector('[data-i="' + state.current + '"]');
	if (e)
		e.focus({ preventScroll: true });
}

/* Where everything stands depends on how the texts above the graph wrap. */
function layout() {
	width = root.getBoundingClientRect().width || 1200;
	const headerHeight = header.offsetHeight, barHeight = bar.offsetHeight;
	headerBox.setAttribute('height', headerHeight);
	barBox.setAttribute('height', barHeight);
	barBox.setAttribute('data-y', headerHeight);
	graphTop = headerHeight + barHeight;
	frames.setAttribute('transform', 'translate(0 ' + graphTop + ')');
	root.setAttribute('height', graphTop + tree.rows.length * ROW + BOTTOM);
	stick();
	draw();
}

/* The bar stays in sight while the graph is scrolled. */
function stick() {
	barBox.setAttribute('y', Math.max(Number(barBox.getAttribute('data-y')), -root.getBoundingClientRect().top));
}

function measureColumn() {
	const text = svg('text', { x: 0, y: 0, visibility: 'hidden' }, 'M'.repeat(100));
	frames.append(text);
	columnWidth = text.getComputedTextLength() / 100 || columnWidth;
	text.remove();
}

/* ---- what a frame is ---- */

function amounts(i) {
	const parts = [samples(tree.total[i]), percent(tree.total[i], tree.total[0]) + (state.zoom ? ' of all' : '')];
	if (state.zoom && inside(i, state.zoom))
		parts.push(percent(tree.total[i], tree.total[state.zoom]) + ' of what is shown');
	parts.push(tree.self[i] ? 'self ' + grouped(tree.self[i]) + ', ' + percent(tree.self[i], tree.total[0]) : 'self 0');
	return parts.join(' \u00b7 ');
}

function describe(i) {
	details.replaceChildren(textOf(i) + ' ', html('span', {}, '\u2014 ' + amounts(i)));
}

function describeNothing() {
	if (state.zoom)
		describe(state.zoom);
	else
		details.replaceChildren(html('span', {}, samples(tree.total[0]) +
			' \u00b7 click or Enter zooms \u00b7 arrows move \u00b7 Escape resets \u00b7 Ctrl+F searches'));
}

/* The names behind a box of narrow frames: they get boxes of their own when zoomed. */
function narrowNames(box) {
	const row = tree.rows[box.depth];
	const from = lowerBound(row, box.first), to = lowerBound(row, box.end);
	const list = row.slice(from, to + 1).sort((a, b) => tree.total[b] - tree.total[a]);
	const names = [...new Set(list.slice(0, 100).map(nameOf))];
	return names.slice(0, 6).map(n => cut(n, 60)).join(', ') + (names.length > 6 ? ', ..' : '');
}

function showTip(e, x, y) {
	const i = Number(e.getAttribute('data-i'));
	const box = drawn.boxes.find(b => b.node === i);
	if (!box)
		return;
	if (box.count > 1) {
		tip.replaceChildren(html('b', {}, grouped(box.count) + ' narrow frames'),
			html('span', {}, narrowNames(box)), samples(box.total) + ' \u00b7 ' + percent(box.total, tree.total[0]));
		details.replaceChildren(grouped(box.count) + ' narrow frames: ' + narrowNames(box) + ' ',
			html('span', {}, '\u2014 ' + samples(box.total) + ' \u00b7 ' + percent(box.total, tree.total[0])));
	} else {
		const place = [whereOf(i), i ? data.kinds[kindOf(i)] : ''].filter(Boolean).join(' \u00b7 ');
		tip.replaceChildren(html('b', {}, nameOf(i)), html('span', {}, place), amounts(i));
		describe(i);
	}
	const own = root.getBoundingClientRect();
	const most = Math.min(520, width - 16);
	tipBox.setAttribute('width', most);
	const w = tip.offsetWidth, h = tip.offsetHeight;
	let top = y - own.top + 18;
	if (top + own.top + h + 8 > window.innerHeight)
		top = y - own.top - h - 12;
	tipBox.setAttribute('x', Math.max(8, Math.min(x - own.left + 12, width - w - 8)));
	tipBox.setAttribute('y', Math.max(0, top));
	tipBox.setAttribute('height', h);
	tipBox.setAttribute('visibility', 'visible');
}

function hideTip() {
	tipBox.setAttribute('visibility', 'hidden');
}

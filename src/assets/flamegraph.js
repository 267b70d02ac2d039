/* flamegraph.js - makes a flame graph answer: zoom, search, keyboard, address, colours at night. */

const alone = root === document.documentElement;	// else: part of a page that has keys of its own

/* ---- zoom ---- */

function zoomTo(i, keepAddress) {
	const moved = state.zoom !== i;
	state.zoom = i;
	if (!inside(state.current, i))
		state.current = i;
	hideTip();
	draw();
	describeNothing();
	showFound();
	if (moved && !keepAddress)
		writeAddress(true);
}

/* ---- search ---- */

function search(text, exact) {
	state.search = text;
	state.exact = exact;
	caseButton.setAttribute('aria-pressed', exact);
	if (text) {
		const matches = matcher(text, exact);
		matchingLabels = Uint8Array.from(data.labels, l => matches(l[1] ? l[0] + ' (' + l[1] + ')' : l[0]) ? 1 : 0);
	} else {
		matchingLabels = null;
	}
	draw();
	showFound();
}

function showFound(at) {
	if (matchingLabels === null) {
		found.textContent = '';
		return;
	}
	const list = matchingNodes();
	let text = 'Matched ' + percent(matchedSamples(0), tree.total[0]);
	if (state.zoom)
		text += ' of all, ' + percent(matchedSamples(state.zoom), tree.total[state.zoom]) + ' of what is shown';
	found.textContent = text + ' \u00b7 ' + (at === undefined ? '' : grouped(at + 1) + ' of ') + grouped(list.length) +
		(list.length === 1 && at === undefined ? ' frame' : ' frames');
}

function nextMatch(direction) {
	const list = matchingNodes();
	if (!list.length)
		return;
	let k = lowerBound(list, state.current);
	if (direction < 0)
		k--;
	else if (list[k] === state.current && state.stepped)
		k++;
	k = (k + list.length) % list.length;
	state.stepped = true;
	const i = list[k];
	const pixels = top => tree.total[i] / tree.total[top] * width;
	if (!inside(i, state.zoom) || pixels(state.zoom) < FINDABLE) {
		let top = i;
		while (top && pixels(tree.parent[top]) >= FINDABLE)
			top = tree.parent[top];
		zoomTo(top);
	}
	moveTo(i);
	showFound(k);
}

function setCase(exact) {
	search(state.search, exact);
	writeAddress(false);
}

/* ---- keyboard ---- */

/* Scroll so that the current frame is on the screen and not behind the bar. */
function reveal(i) {
	const y = root.getBoundingClientRect().top + graphTop + rowY(tree.depth[i]);
	const top = bar.offsetHeight + ROW, bottom = window.innerHeight - 2 * ROW;
	if (y < top)
		window.scrollBy(0, y - top);
	else if (y > bottom)
		window.scrollBy(0, y - bottom);
}

function moveTo(i) {
	state.current = i;
	reveal(i);
	stick();
	draw();
	focusCurrent();
	const e = frames.querySelector('[data-i="' + i + '"]');
	if (e) {
		const r = e.getBoundingClientRect();
		showTip(e, Math.max(r.left, 0), r.bottom - 14);
	}
}

function widestChild(i) {
	let best = -1;
	for (let k = i + 1; k <= tree.last[i]; k = tree.last[k] + 1)
		if (best < 0 || tree.total[k] > tree.total[best])
			best = k;
	return best;
}

function neighbour(i, step) {
	const row = tree.rows[tree.depth[i]];
	const k = row[lowerBound(row, i) + step];
	return k !== undefined && (inside(k, state.zoom) || inside(i, k)) ? k : -1;
}

function moves(key) {
	const i = state.current;
	const rootward = state.flipped ? 'ArrowDown' : 'ArrowUp', leafward = state.flipped ? 'ArrowUp' : 'ArrowDown';
	switch (key) {
	case rootward: return i ? tree.parent[i] : -1;
	case leafward: return inside(state.zoom, i) && i !== state.zoom ? ancestorChild(i) : widestChild(i);
	case 'ArrowLeft': return neighbour(i, -1);
	case 'ArrowRight': return neighbour(i, 1);
	case 'Home': return state.zoom;
	}
	return -1;
}

/* Above the zoomed frame only the way to it is shown. */
function ancestorChild(i) {
	let k = state.zoom;
	while (tree.parent[k] !== i)
		k = tree.parent[k];
	return k;
}

function onInputKey(e) {
	if (e.key === 'Enter') {
		nextMatch(e.shiftKey ? -1 : 1);
	} else if (e.key === 'Escape') {
		input.value = '';
		onSearch();
		moveTo(state.current);
		hideTip();
	} else {
		return;
	}
	e.preventDefault();
	e.stopPropagation();
}

/* Letters without Ctrl, Alt or Meta. */
function plainKey(e) {
	switch (e.key) {
	case '/': startSearch(); return true;
	case 'i': setFlipped(!state.flipped); return true;
	case 'd': setTheme(isDark() ? 'light' : 'dark'); return true;
	case 'c': setCase(!state.exact); return true;
	case 'Escape':
		hideTip();
		zoomTo(0);
		return true;
	case 'Backspace':
		zoomTo(tree.parent[state.zoom]);
		return true;
	case 'Enter': case ' ':
		if (!frames.contains(document.activeElement))
			return false;
		zoomTo(state.current);
		return true;
	}
	if (!/^(Arrow|Home)/.test(e.key) || (document.activeElement !== root && document.activeElement !== document.body &&
	    !frames.contains(document.activeElement) && document.activeElement !== null))
		return false;
	const next = moves(e.key);
	if (next >= 0)
		moveTo(next);
	return true;
}

function startSearch() {
	input.focus();
	input.select();
}

function onKey(e) {
	if (!alone && !root.contains(e.target))
		return;
	let done = false;
	if (e.key === 'F3' || ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'g')) {
		done = true;
		if (matchingLabels === null)
			startSearch();
		else
			nextMatch(e.shiftKey ? -1 : 1);
	} else if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'f') {
		/* A second time is for the browser's own. */
		done = document.activeElement !== input;
		if (done)
			startSearch();
	} else if (e.target !== input && !e.ctrlKey && !e.metaKey && !e.altKey) {
		done = plainKey(e);
	}
	if (done)
		e.preventDefault();
}

/* ---- address: x and y name the zoomed frame by its first sample and depth, s is what is searched ---- */

function writeAddress(newEntry) {
	const p = new URLSearchParams();
	if (state.zoom) {
		p.set('x', tree.start[state.zoom]);
		p.set('y', tree.depth[state.zoom]);
	}
	if (state.search)
		p.set('s', state.search);
	if (state.exact)
		p.set('c', 1);
	if (state.flipped)
		p.set('i', 1);
	try {
		const address = '#' + p.toString();
		if (newEntry)
			history.pushState(null, '', address);
		else
			history.replaceState(null, '', address);
	} catch (e) { /* a sandbox: the address stays as it is */ }
}

function readAddress() {
	const p = new URLSearchParams(location.hash.length > 1 ? location.hash.slice(1) : location.search);
	state.flipped = p.get('i') === '1';
	flipButton.setAttribute('aria-pressed', state.flipped);
	input.value = p.get('s') || '';
	search(input.value, p.get('c') === '1');
	zoomTo(p.has('x') ? Math.max(0, nodeAt(Number(p.get('x')), Number(p.get('y')))) : 0, true);
}

/* ---- looks ---- */

const darkRule = [...root.querySelector('style').sheet.cssRules].find(r => r.media && /dark/.test(r.media.mediaText));
const wantsDark = window.matchMedia('(prefers-color-scheme: dark)');
let theme = '';	// '': as the system has it

const isDark = () => theme ? theme === 'dark' : wantsDark.matches;

function setTheme(wanted) {
	theme = wanted;
	darkRule.media.mediaText = { dark: 'screen', light: 'not all' }[theme] || 'screen and (prefers-color-scheme: dark)';
	themeButton.textContent = isDark() ? 'Light' : 'Dark';
	try {
		localStorage.setItem('cspy-theme', theme);
	} catch (e) { /* not kept, then */ }
}

function keptTheme() {
	try {
		const kept = localStorage.getItem('cspy-theme');
		return kept === 'dark' || kept === 'light' ? kept : '';
	} catch (e) {
		return '';
	}
}

function setFlipped(flipped) {
	state.flipped = flipped;
	flipButton.setAttribute('aria-pressed', flipped);
	hideTip();
	draw();
	reveal(state.zoom);
	writeAddress(false);
}

function onSearch() {
	state.stepped = false;
	search(input.value, state.exact);
	writeAddress(false);
}

/* ---- start ---- */

function frameOf(e) {
	return e.target.closest ? e.target.closest('.f') : null;
}

function start() {
	root.setAttribute('data-script', '');
	frames.removeAttribute('stroke');
	frames.setAttribute('role', 'tree');
	frames.setAttribute('aria-label', 'Flame graph, ' + samples(tree.total[0]));
	root.insertBefore(headerBox, frames);
	root.append(barBox, tipBox);
	frames.replaceChildren();
	measureColumn();
	setTheme(keptTheme());

	frames.addEventListener('click', e => {
		const f = frameOf(e);
		if (f) {
			state.current = Number(f.getAttribute('data-i'));
			zoomTo(state.current);
			focusCurrent();
		}
	});
	frames.addEventListener('pointermove', e => {
		const f = frameOf(e);
		if (f)
			showTip(f, e.clientX, e.clientY);
	});
	frames.addEventListener('pointerleave', () => {
		hideTip();
		describeNothing();
	});
	input.addEventListener('input', onSearch);
	input.addEventListener('keydown', onInputKey);
	document.addEventListener('keydown', onKey);
	window.addEventListener('popstate', readAddress);
	window.addEventListener('resize', layout);
	window.addEventListener('scroll', () => {
		stick();
		const rows = visibleRows();
		if (rows.first < drawn.first || rows.last > drawn.last)
			draw();
	}, { passive: true });
	wantsDark.addEventListener('change', () => setTheme(theme));

	layout();
	readAddress();
	layout();
}

start();

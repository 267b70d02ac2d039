/*
 * flamegraph_tree.js - the frames of a flame graph as numbers, and texts as they are cut and found. It draws nothing.
 *
 * Every text is data from the profiled process. The three flamegraph*.js are one script, in one scope.
 */

const root = document.currentScript.closest('svg.cspy');
const data = JSON.parse(root.querySelector('.cspy-tree').textContent);
const tree = unpack(data);

/* Arrays by node, in preorder: a node's descendants are the nodes up to its `last`. */
function unpack(d) {
	const n = d.nodes.length / 3;
	const t = {
		count: n, depth: new Int32Array(n), parent: new Int32Array(n), label: new Int32Array(n), last: new Int32Array(n),
		self: new Float64Array(n), total: new Float64Array(n), start: new Float64Array(n), rows: [],
	};
	const path = [];
	for (let i = 0; i < n; i++) {
		const depth = i ? t.depth[i - 1] + 1 - d.nodes[3 * i + 2] : 0;
		t.label[i] = d.nodes[3 * i];
		t.self[i] = t.total[i] = d.nodes[3 * i + 1];
		t.depth[i] = depth;
		t.parent[i] = i ? path[depth - 1] : 0;
		path[depth] = i;
		(t.rows[depth] = t.rows[depth] || []).push(i);
	}
	for (let i = n - 1; i >= 0; i--) {
		t.last[i] = Math.max(t.last[i], i);
		if (i) {
			t.total[t.parent[i]] += t.total[i];
			t.last[t.parent[i]] = Math.max(t.last[t.parent[i]], t.last[i]);
		}
	}
	const next = new Float64Array(n);
	for (let i = 1; i < n; i++) {
		next[i] = t.start[i] = next[t.parent[i]];
		next[t.parent[i]] += t.total[i];
	}
	return t;
}

const nameOf = i => data.labels[tree.label[i]][0];
const whereOf = i => data.labels[tree.label[i]][1];
const kindOf = i => data.labels[tree.label[i]][2];
const shadeOf = i => data.labels[tree.label[i]][3];
const textOf = i => whereOf(i) ? nameOf(i) + ' (' + whereOf(i) + ')' : nameOf(i);
const inside = (i, top) => i >= top && i <= tree.last[top];

/* First place in a sorted list whose value is not below. */
function lowerBound(list, value) {
	let low = 0, high = list.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (list[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The node of a row that covers or follows a sample; -1 when there is none. */
function nodeAt(start, depth) {
	const row = tree.rows[depth];
	const found = row ? row.find(i => start >= tree.start[i] && start < tree.start[i] + tree.total[i]) : undefined;
	return found === undefined ? -1 : found;
}

const grouped = n => n.toLocaleString('en-US');
const samples = n => grouped(n) + (n === 1 ? ' sample' : ' samples');
const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + '%';

/* ---- texts ---- */

/* As flamegraph_text.c counts them for the static labels: these take two columns. */
const WIDE = new RegExp('[\\u1100-\\u115f\\u2e80-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f' +
	'\\uff00-\\uff60\\uffe0-\\uffe6\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]', 'u');

function columnsOf(text) {
	let n = 0;
	for (const c of text)
		n += WIDE.test(c) ? 2 : 1;
	return n;
}

function cut(text, columns) {
	if (text.length <= columns / 2 || columnsOf(text) <= columns)
		return text;
	let kept = '', n = 2;
	for (const c of text) {
		n += columnsOf(c);
		if (n > columns)
			break;
		kept += c;
	}
	return kept + '..';
}

/* ---- matches ---- */

let matchingLabels = null;	// by label; null while nothing is searched

const isMatch = i => matchingLabels !== null && matchingLabels[tree.label[i]] === 1;

/* As plain text, and as a regular expression where it is one: what people paste holds brackets. */
function matcher(text, exact) {
	const plain = exact ? text : text.toLowerCase();
	let pattern = null;
	try {
		pattern = new RegExp(text, exact ? 'u' : 'iu');
	} catch (e) { /* not one */ }
	return s => (exact ? s : s.toLowerCase()).includes(plain) || (pattern !== null && pattern.test(s));
}

/* Samples under matching frames inside `top`: what lies below a match is part of it and not counted again. */
function matchedSamples(top) {
	for (let i = top; ; i = tree.parent[i]) {
		if (isMatch(i))
			return tree.total[top];
		if (!i)
			break;
	}
	let sum = 0;
	for (let i = top; i <= tree.last[top]; i++)
		if (isMatch(i)) {
			sum += tree.total[i];
			i = tree.last[i];
		}
	return sum;
}

function matchingNodes() {
	const list = [];
	for (let i = 0; i < tree.count; i++)
		if (isMatch(i))
			list.push(i);
	return list;
}

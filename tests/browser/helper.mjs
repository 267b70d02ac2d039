// helper.mjs - make a flame graph of stacks, and open it in a browser.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const { chromium } = require('playwright-core');

// Where the Makefile builds it, unless MAKE_SVG says another place.
const makeSvg = process.env.MAKE_SVG || join(process.env.CSPY ? dirname(process.env.CSPY) :
	join(dirname(fileURLToPath(import.meta.url)), '../../build'), 'tests/browser/make_svg');

export const folder = mkdtempSync(join(tmpdir(), 'cspy-browser-'));

export function svgOf(folded, ...options) {
	return execFileSync(makeSvg, options, { input: folded, maxBuffer: 1 << 28 }).toString();
}

let files = 0;
export function write(text, ending = 'svg') {
	const path = join(folder, `graph${files++}.${ending}`);
	writeFileSync(path, text);
	return pathToFileURL(path).href;
}

export function launch() {
	return chromium.launch({
		executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
		args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
			'--disable-background-networking', '--disable-component-update', '--disable-sync'],
	});
}

// A page with the graph open; errors of its script end up in page.errors.
export async function open(browser, url, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
	const page = await context.newPage();
	page.errors = [];
	page.on('pageerror', e => page.errors.push(e.message));
	page.on('dialog', d => {
		page.errors.push('dialog: ' + d.message());
		d.dismiss();
	});
	await page.goto(url);
	return page;
}

// The frames as drawn: text, place and looks.
export function framesOf(page) {
	return page.$$eval('.frames .f', list => list.map(e => ({
		text: e.textContent, label: e.getAttribute('aria-label'), x: Number(e.getAttribute('x')),
		y: Number(e.getAttribute('y')), width: Number(e.getAttribute('width')), classes: [...e.classList],
	})));
}

export async function frame(page, start) {
	return (await framesOf(page)).find(f => f.label.startsWith(start));
}

// The graph is drawn anew some time after the window has changed.
export async function resize(page, width, height) {
	await page.setViewportSize({ width, height });
	await page.waitForFunction(w => Math.abs(document.querySelector('.frames .f').getAttribute('width') - 0.98 * w) < 1, width);
}

export function click(page, start) {
	return page.locator(`.frames .f[aria-label^="${start}"]`).first().click();
}

export const focused = page => page.evaluate(() => document.activeElement.getAttribute('aria-label') || '');
export const found = page => page.locator('.found').textContent();
export const hash = page => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

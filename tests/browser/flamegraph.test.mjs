// flamegraph.test.mjs - what a browser makes of the SVG flame graph.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, afterEach, before, test } from 'node:test';
import { click, focused, folder, found, frame, framesOf, hash, launch, open, resize, svgOf, write } from './helper.mjs';

// 200 samples: work 120 (of it json 60, SSL 30), wait 70, and idle 10. `parse` is found under itself.
const STACKS = `
{python}main (app.py:3);{python}work (app.py:10) 30
{python}main (app.py:3);{python}work (app.py:10);{python+}parse (json/decoder.py:33);{python+}parse (json/decoder.py:40) 40
{python}main (app.py:3);{python}work (app.py:10);{python+}parse (json/decoder.py:33) 20
{python}main (app.py:3);{python}work (app.py:10);{native}SSL_read (libssl.so.3:0) 30
{python}main (app.py:3);{python}wait (app.py:20);{kernel}sys_poll 70
{python}main (app.py:3);{gc}[gc] 9
{python}main (app.py:3);{python}a_function_with_a_long_name (app.py:90) 1
`;

let browser, url, page;

before(async () => {
	browser = await launch();
	url = write(svgOf(STACKS));
});
after(async () => {
	await browser.close();
	rmSync(folder, { recursive: true });
});
afterEach(async () => {
	if (page) {
		assert.deepEqual(page.errors, []);
		await page.context().close();
	}
	page = null;
});

test('all_frames_are_drawn_with_their_share_of_the_width', async () => {
	page = await open(browser, url);
	const work = await frame(page, 'work '), wait = await frame(page, 'wait '), main = await frame(page, 'main ');
	assert.equal((await framesOf(page)).length, 10);
	assert.ok(Math.abs(work.width / main.width - 0.6) < 0.001);
	assert.ok(Math.abs(wait.width / main.width - 0.35) < 0.001);
	assert.equal(work.label, 'work (app.py:10), Python, 120 samples, 60.00%');
	assert.equal(wait.x, (await frame(page, 'sys_poll')).x);
});

test('siblings_are_sorted_by_name', async () => {
	page = await open(browser, url);
	const row = (await framesOf(page)).filter(f => f.y === 40).sort((a, b) => a.x - b.x).map(f => f.label.split(/[ ,]/)[0]);
	assert.deepEqual(row, ['[gc]', 'a_function_with_a_long_name', 'wait', 'work']);
});

test('a_label_is_cut_and_hidden_under_three_characters', async () => {
	page = await open(browser, url);
	assert.equal((await frame(page, 'a_function')).text, '');
	assert.equal((await frame(page, 'main')).text, 'main (app.py:3)');
	await resize(page, 400, 800);
	const read = await frame(page, 'SSL_read');
	assert.match(read.text, /^SSL.*\.\.$/);
	for (const f of await page.locator('.frames .f text').all()) {
		const over = await f.evaluate(e => e.getBoundingClientRect().right - e.parentNode.getBoundingClientRect().right);
		assert.ok(over <= 0, await f.textContent());
	}
});

test('the_graph_is_as_wide_as_the_window', async () => {
	page = await open(browser, url);
	for (const width of [500, 1900]) {
		await resize(page, width, 600);
		const box = await page.locator('.frames .f').first().boundingBox();
		assert.ok(Math.abs(box.x - width * 0.01) < 2 && Math.abs(box.width - width * 0.98) < 3, JSON.stringify(box));
	}
});

test('a_click_zooms_and_fades_the_callers', async () => {
	page = await open(browser, url);
	await click(page, 'work ');
	const work = await frame(page, 'work '), main = await frame(page, 'main ');
	assert.equal(work.width, (await frame(page, 'all')).width);
	assert.ok(main.classes.includes('faded') && !work.classes.includes('faded'));
	assert.equal(await frame(page, 'wait '), undefined);
	assert.ok(Math.abs((await frame(page, 'SSL_read')).width / work.width - 0.25) < 0.001);
});

test('zooming_shows_the_name_of_a_frame_that_was_too_narrow', async () => {
	page = await open(browser, url);
	await click(page, 'a_function');
	assert.equal((await frame(page, 'a_function')).text, 'a_function_with_a_long_name (app.py:90)');
});

test('escape_and_the_button_reset_the_zoom', async () => {
	page = await open(browser, url);
	const reset = page.getByRole('button', { name: 'Reset zoom' });
	assert.equal(await reset.isVisible(), false);
	await click(page, 'work ');
	await page.keyboard.press('Escape');
	assert.ok(await frame(page, 'wait '));
	await click(page, 'wait ');
	await reset.click();
	assert.ok(await frame(page, 'work '));
	assert.deepEqual(await hash(page), {});
});

test('the_back_button_undoes_a_zoom', async () => {
	page = await open(browser, url);
	await click(page, 'work ');
	await click(page, 'SSL_read');
	await page.goBack();
	assert.ok(await frame(page, 'parse '));
	await page.goBack();
	assert.ok(await frame(page, 'wait '));
});

test('search_counts_a_frame_under_a_match_once', async () => {
	page = await open(browser, url);
	await page.keyboard.press('Control+f');
	await page.keyboard.type('parse');
	// 60 of 200 samples; both frames of the recursion match, added up they would be 100.
	assert.equal(await found(page), 'Matched 30.00% \u00b7 2 frames');
	assert.equal((await framesOf(page)).filter(f => f.classes.includes('match')).length, 2);
	await click(page, 'work ');
	assert.equal(await found(page), 'Matched 30.00% of all, 50.00% of what is shown \u00b7 2 frames');
});

test('search_takes_expressions_and_text_with_brackets', async () => {
	page = await open(browser, url);
	await page.getByLabel('Search').fill('^(wait|SSL_)');
	assert.match(await found(page), /^Matched 50.00% \u00b7 2 frames/);
	await page.getByLabel('Search').fill('work (app.py:10)');
	assert.match(await found(page), /^Matched 60.00% \u00b7 1 frame$/);
	await page.getByLabel('Search').fill('[gc');
	assert.match(await found(page), /^Matched 4.50% /);
});

test('case_counts_only_when_asked', async () => {
	page = await open(browser, url);
	await page.getByLabel('Search').fill('ssl_read');
	assert.match(await found(page), /^Matched 15.00%/);
	await page.getByRole('button', { name: 'Match case' }).click();
	assert.match(await found(page), /^Matched 0.00% \u00b7 0 frames/);
	assert.deepEqual(await hash(page), { s: 'ssl_read', c: '1' });
});

test('f3_goes_from_match_to_match', async () => {
	page = await open(browser, url);
	await page.keyboard.press('F3');
	await page.keyboard.type('app.py');
	const seen = [];
	for (let i = 0; i < 5; i++) {
		await page.keyboard.press('F3');
		seen.push((await focused(page)).split(' ')[0]);
	}
	assert.deepEqual(seen, ['main', 'a_function_with_a_long_name', 'wait', 'work', 'main']);
	await page.keyboard.press('Shift+F3');
	assert.match(await focused(page), /^work /);
	assert.match(await found(page), / 4 of 4 frames$/);
});

test('the_next_match_is_zoomed_to_where_it_can_be_seen', async () => {
	page = await open(browser, url);
	await page.getByLabel('Search').fill('long_name');
	await page.keyboard.press('Enter');
	assert.match(await focused(page), /^a_function_with_a_long_name/);
	assert.ok((await frame(page, 'a_function')).width >= 40);
});

test('escape_in_the_search_field_clears_it', async () => {
	page = await open(browser, url);
	await page.keyboard.press('/');
	await page.keyboard.type('parse');
	await page.keyboard.press('Escape');
	assert.equal(await found(page), '');
	assert.equal((await framesOf(page)).filter(f => f.classes.includes('match')).length, 0);
});

test('the_address_keeps_zoom_search_and_direction', async () => {
	page = await open(browser, url);
	await click(page, 'work ');
	await page.getByLabel('Search').fill('parse');
	await page.getByRole('button', { name: 'Turn upside down' }).click();
	assert.deepEqual(await hash(page), { x: '80', y: '2', s: 'parse', i: '1' });
	const address = page.url();
	await page.context().close();
	page = await open(browser, address);
	assert.equal((await frame(page, 'work ')).width, (await frame(page, 'all')).width);
	assert.match(await found(page), /50.00% of what is shown/);
	assert.equal(await page.getByLabel('Search').evaluate(e => e.value), 'parse');
	assert.ok((await frame(page, 'all')).y > (await frame(page, 'work ')).y);
});

test('an_address_that_names_no_frame_shows_everything', async () => {
	page = await open(browser, url + '#x=1000000&y=77&s=(');
	assert.ok(await frame(page, 'wait '));
});

test('the_query_of_other_flame_graphs_is_understood', async () => {
	page = await open(browser, url + '?s=wait');
	assert.match(await found(page), /^Matched 35.00%/);
});

test('arrows_walk_between_callers_callees_and_neighbours', async () => {
	page = await open(browser, url);
	const walk = async (key, start) => {
		await page.keyboard.press(key);
		assert.ok((await focused(page)).startsWith(start), `${key}: ${await focused(page)}`);
	};
	await walk('ArrowDown', 'main ');
	await walk('ArrowDown', 'work ');
	await walk('ArrowLeft', 'wait ');
	await walk('ArrowDown', 'sys_poll_[k]');
	await walk('ArrowRight', 'SSL_read');
	await walk('ArrowUp', 'work ');
	await page.keyboard.press('Enter');
	assert.equal((await frame(page, 'work ')).width, (await frame(page, 'all')).width);
	assert.match(await focused(page), /^work /);
	await page.keyboard.press('Backspace');
	assert.ok(await frame(page, 'wait '));
});

test('the_focused_frame_is_marked', async () => {
	page = await open(browser, url);
	await page.keyboard.press('ArrowDown');
	const width = await page.evaluate(() => getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth);
	assert.equal(width, '5px');
	assert.equal(await page.locator('.frames .f[tabindex="0"]').count(), 1);
});

test('tab_reaches_the_frames', async () => {
	page = await open(browser, url);
	let reached = false;
	for (let i = 0; i < 10 && !reached; i++) {
		await page.keyboard.press('Tab');
		reached = (await focused(page)).startsWith('all,');
	}
	assert.ok(reached);
});

test('a_screen_reader_meets_a_tree_of_named_frames', async () => {
	page = await open(browser, url);
	assert.equal(await page.getByRole('tree', { name: 'Flame graph, 200 samples' }).count(), 1);
	const read = page.getByRole('treeitem', { name: 'SSL_read (libssl.so.3), native, 30 samples, 15.00%' });
	assert.equal(await read.count(), 1);
	assert.equal(await read.getAttribute('aria-level'), '4');
});

test('the_tooltip_and_the_details_tell_samples_and_percent', async () => {
	page = await open(browser, url);
	await page.locator('.frames .f[aria-label^="work "]').hover();
	const tip = await page.locator('.tip').textContent();
	assert.match(tip, /^workapp\.py:10 \u00b7 Python120 samples \u00b7 60\.00% \u00b7 self 30, 15\.00%$/);
	assert.match(await page.locator('.details').textContent(), /^work \(app\.py:10\) \u2014 120 samples/);
	await page.mouse.move(600, 790);
	assert.equal(await page.locator('.tip').getAttribute('visibility'), 'hidden');
});

test('i_turns_the_graph_upside_down_and_the_arrows_with_it', async () => {
	page = await open(browser, url);
	assert.equal((await frame(page, 'all')).y, 0);
	await page.keyboard.press('i');
	assert.ok((await frame(page, 'all')).y > (await frame(page, 'main ')).y);
	await page.keyboard.press('ArrowUp');
	assert.match(await focused(page), /^main /);
});

test('the_legend_names_the_kinds_that_are_there', async () => {
	page = await open(browser, url);
	assert.deepEqual(await page.locator('.keys li').allTextContents(),
		['Python', 'Python library', 'native', 'kernel', 'garbage collection']);
});

const pageColor = () => getComputedStyle(document.documentElement).backgroundColor;

test('it_is_dark_where_the_system_is_and_light_when_asked', async () => {
	page = await open(browser, url, { colorScheme: 'dark' });
	assert.equal(await page.evaluate(pageColor), 'rgb(15, 18, 22)');
	await page.getByRole('button', { name: 'Dark or light' }).click();
	assert.equal(await page.evaluate(pageColor), 'rgb(255, 255, 255)');
	await page.keyboard.press('d');
	assert.equal(await page.evaluate(pageColor), 'rgb(15, 18, 22)');
});

test('the_chosen_theme_is_kept', async () => {
	page = await open(browser, url);
	await page.keyboard.press('d');
	await page.reload();
	assert.equal(await page.evaluate(pageColor), 'rgb(15, 18, 22)');
});

// WCAG's contrast of each label with what it stands on, with opacity worked in.
function worstContrast() {
	const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
	const parts = c => c.match(/[\d.]+/g).slice(0, 3).map(Number);
	const light = c => 0.2126 * linear(c[0] / 255) + 0.7152 * linear(c[1] / 255) + 0.0722 * linear(c[2] / 255);
	const over = (top, below, a) => top.map((v, i) => v * a + below[i] * (1 - a));
	const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
	const ground = parts(getComputedStyle(document.documentElement).backgroundColor);
	let worst = { value: 99 };
	for (const text of document.querySelectorAll('.frames text, .frames tspan')) {
		const rect = getComputedStyle(text.closest('.f').querySelector('rect')), ink = getComputedStyle(text);
		const fill = over(parts(rect.fill), ground, Number(rect.fillOpacity));
		const value = contrast(over(parts(ink.fill), fill, Number(ink.fillOpacity)), fill);
		if (value < worst.value)
			worst = { value, text: text.textContent, fill: rect.fill };
	}
	for (const e of document.querySelectorAll('.ui p, .ui h1, .ui li, .ui button, .details span, .found')) {
		const behind = e.closest('button, .find') ? parts(getComputedStyle(e.closest('button')).backgroundColor) : ground;
		const value = contrast(parts(getComputedStyle(e).color), e.closest('.find') ? ground : behind);
		if (value < worst.value)
			worst = { value, text: e.textContent };
	}
	return worst;
}

for (const colorScheme of ['light', 'dark']) {
	test(`labels_can_be_read_on_every_colour_when_it_is_${colorScheme}`, async () => {
		const kinds = ['python', 'python+', 'ruby', 'ruby+', 'js', 'js+', 'native', 'native+', 'kernel', 'gc', 'thread',
			'process', 'mark'];
		// Enough names for every shade of every kind.
		const stacks = kinds.map(k => Array.from({ length: 40 }, (_, i) => `{${k}}fn${i} (a.py:1)`).join(';') + ' 100');
		page = await open(browser, write(svgOf(stacks.join('\n'))), { colorScheme, viewport: { width: 2600, height: 1100 } });
		const shades = await page.$$eval('.frames rect', list => new Set(list.map(e => e.getAttribute('class'))).size);
		assert.equal(shades, 1 + 8 * kinds.length);
		let worst = await page.evaluate(worstContrast);
		assert.ok(worst.value >= 4.5, JSON.stringify(worst));
		await page.getByLabel('Search').fill('fn1');
		await page.waitForTimeout(200);
		worst = await page.evaluate(worstContrast);
		assert.ok(worst.value >= 4.5, 'searched: ' + JSON.stringify(worst));
	});
}

test('without_script_there_are_rectangles_labels_and_titles', async () => {
	page = await open(browser, url, { javaScriptEnabled: false });
	const titles = await page.locator('.frames svg > title').allTextContents();
	assert.equal(titles.length, 10);
	assert.ok(titles.includes('work (app.py:10) \u2014 120 samples, 60.00%'));
	assert.match(await page.locator('.frames').textContent(), /main \(app.py:3\)/);
	const box = await page.locator('.frames svg').nth(1).boundingBox();
	assert.ok(Math.abs(box.width - 1200 * 0.98) < 2 && box.height >= 19, JSON.stringify(box));
	assert.equal(await page.locator('.about').textContent(),
		'pid 4711 \u00b7 CPython 3.12.1 \u00b7 2 s at 100 samples/s \u00b7 200 samples');
	assert.equal(await page.locator('.legend text').count(), 5);
});

test('an_image_in_a_page_shows_the_graph', async () => {
	page = await open(browser, write(`<!doctype html><body style="margin:0"><img src="${url}">`, 'html'));
	const size = await page.$eval('img', e => [e.naturalWidth, e.naturalHeight]);
	assert.deepEqual(size, [1200, 118 + 5 * 20 + 18]);
});

test('inside_a_page_the_keys_of_the_page_are_left_alone', async () => {
	const inline = svgOf(STACKS).replace(/^<\?xml.*\n/, '');
	page = await open(browser, write(`<!doctype html><meta charset="utf-8"><input id="own"><div>${inline}</div>`, 'html'));
	await page.locator('#own').click();
	await page.keyboard.type('id/');
	assert.equal(await page.locator('#own').inputValue(), 'id/');
	await click(page, 'work ');
	assert.equal((await frame(page, 'work ')).width, (await frame(page, 'all')).width);
});

const HOSTILE = [
	'<script>parent.hit=1;alert(1)</script>',
	'</metadata></svg><script xmlns="http://www.w3.org/2000/svg">alert(1)</script>',
	']]></script><script>alert(1)</script>',
	'<img src=x onerror=alert(1)> & "\'',
	'" onload="alert(1)',
	'\\n\\xE2\\x80\\xAEevil \\x1B[31m\\x00',
	'\\xED\\xA0\\x80 \\xFF\\xFE \\xEF\\xBF\\xBF',
	'\u{1F525} \u65E5\u672C\u8A9E',
	'A'.repeat(65536),
];

test('names_are_text_and_never_run', async () => {
	const folded = HOSTILE.map((name, i) => `{python}${name};{native}${name} ${100 + i}`).join('\n');
	const svg = svgOf(folded, '-c', HOSTILE[2], '-t', HOSTILE[1]);
	for (const script of [true, false]) {
		page = await open(browser, write(svg), { javaScriptEnabled: script });
		assert.equal(await page.locator('parsererror').count(), 0);
		assert.equal(await page.locator('script').count(), 1);
		if (script) {
			for (const f of await page.locator('.frames .f').all())
				await f.hover();
			await click(page, '<img');
			assert.equal((await frame(page, '<img')).text, '<img src=x onerror=alert(1)> & "\'');
			assert.equal(await page.locator('.ui img, .ui script, .frames img').count(), 0);
			assert.deepEqual(page.errors, []);
			await page.context().close();
		}
	}
	// As a part of a page, too, where the HTML parser reads it.
	page = await open(browser, write(`<!doctype html><meta charset="utf-8">${svg.replace(/^<\?xml.*\n/, '')}`, 'html'));
	assert.equal(await page.locator('script').count(), 1);
	assert.equal(await page.locator('img').count(), 0);
});

test('an_empty_profile_says_why', async () => {
	page = await open(browser, write(svgOf('')));
	assert.equal(await page.locator('parsererror').count(), 0);
	assert.equal(await page.locator('.nothing').textContent(), 'No samples');
	assert.match(await page.locator('.reason').textContent(), /never looked at/);
});

test('without_lines_frames_that_read_the_same_are_one', async () => {
	page = await open(browser, write(svgOf(STACKS, '-F')));
	const parse = (await framesOf(page)).filter(f => f.label.startsWith('parse'));
	assert.equal(parse.length, 2);
	assert.match(parse[0].label, /^parse \(decoder\.py\), Python library, 60 samples/);
});

// A tree of n nodes as wide as it is deep, the same every time.
function manyStacks(n) {
	const paths = ['{python}f0 (m.py:1)'], depth = [0], leaf = [true];
	let seed = 1;
	const random = below => (seed = (seed * 48271) % 2147483647) % below;
	for (let i = 1; i < n; i++) {
		let p = random(10) < 7 ? Math.max(0, i - 1 - random(4000)) : i - 1;
		while (depth[p] > 60)
			p = random(i);
		paths.push(`${paths[p]};{python}f${i} (m${i % 99}.py:${i})`);
		depth.push(depth[p] + 1);
		leaf[p] = false;
		leaf.push(true);
	}
	return paths.filter((_, i) => leaf[i]).map(p => p + ' 7').join('\n');
}

test('fifty_thousand_frames_open_and_zoom', { timeout: 60000 }, async () => {
	const svg = svgOf(manyStacks(50000));
	assert.ok(svg.length < 5e6, `${svg.length} bytes`);
	page = await open(browser, write(svg));
	const elements = () => page.evaluate(() => document.querySelectorAll('.frames *').length);
	assert.ok(await elements() < 15000, `${await elements()} elements`);
	assert.match(await page.getByRole('tree').getAttribute('aria-label'), /^Flame graph, [\d,]+ samples$/);
	const ms = await page.evaluate(async () => {
		const wide = [...document.querySelectorAll('.frames .f')].find(f => f.getAttribute('aria-level') === '4');
		const start = performance.now();
		wide.dispatchEvent(new MouseEvent('click', { bubbles: true }));
		await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
		return performance.now() - start;
	});
	assert.ok(await page.locator('.frames .faded').count() >= 3);
	assert.ok(ms < 3000, `a zoom took ${ms} ms`);
	await page.keyboard.press('Escape');
	await page.getByLabel('Search').fill('f4999');
	assert.match(await found(page), / 11 frames$/);
	await page.keyboard.press('Enter');
	assert.match(await focused(page), /^f4999/);
});

test('rows_far_down_are_drawn_when_they_are_scrolled_to', async () => {
	const deep = Array.from({ length: 2000 }, (_, i) => `f${i}`).join(';') + ' 5';
	page = await open(browser, write(svgOf(deep)));
	assert.ok((await framesOf(page)).length < 120);
	assert.equal(await frame(page, 'f1500'), undefined);
	await page.evaluate(() => window.scrollTo(0, 1500 * 20));
	await page.waitForFunction(() => document.querySelector('.frames .f[aria-label^="f1500"]'));
	const bar = await page.locator('.bar').boundingBox();
	assert.ok(bar.y >= -1 && bar.y < 2, `the bar is at ${bar.y}`);
});

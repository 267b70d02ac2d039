/* flamegraph_assets.S - the script (three files, one scope of their own) and the style of the flame graph, as bytes. */
	.section .rodata

	.globl flamegraph_js, flamegraph_js_end
flamegraph_js:
	.ascii "(function () {\n'use strict';\n\n"
	.incbin "flamegraph_tree.js"
	.incbin "flamegraph_draw.js"
	.incbin "flamegraph.js"
	.ascii "})();\n"
flamegraph_js_end:
	.byte 0

	.globl flamegraph_css, flamegraph_css_end
flamegraph_css:
	.incbin "flamegraph.css"
flamegraph_css_end:
	.byte 0

	.section .note.GNU-stack, "", %progbits

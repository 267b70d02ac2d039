/* fuzz_linetable.c - any bytes as a line table: the first one picks the kind, the next two the offset. */
#include <stdlib.h>
#include <string.h>

#include "cpython/code.h"
#include "cpython/linetable.h"

enum { HEAD = 3, KINDS = LINES_LOCATIONS + 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cpy_layout layout = { .lines = size ? data[0] % KINDS : 0 };
	struct cpy_place place;
	uint32_t line, column;

	if (size < HEAD)
		return 0;
	/* A copy of its own, so that a read beyond the end is noticed. */
	struct cpy_code code = { .lines_len = size - HEAD, .first_line = data[0] };
	uint64_t offset = data[1] | (uint64_t)data[2] << 8;
	code.lines = malloc(code.lines_len + !code.lines_len);
	memcpy(code.lines, data + HEAD, code.lines_len);

	bool found = cpy_line_at(&layout, &code, offset, &line, &column);
	if (found && (line > INT32_MAX || (column && layout.lines != LINES_LOCATIONS)))
		abort();
	/* No table covers more than its bytes can say. */
	if (layout.lines >= LINES_310 &&
	    cpy_line_table(layout.lines, code.lines, code.lines_len, 1, (code.lines_len + 1) * 255, &place))
		abort();
	if (cpy_line_table(layout.lines, code.lines, code.lines_len, 1, UINT64_MAX, &place) &&
	    layout.lines >= LINES_310)
		abort();
	free(code.lines);
	return 0;
}
